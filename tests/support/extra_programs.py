"""Each extra's purpose, as a program that needs nothing else installed."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_DROP = """
import mujoco, sapwood.mujoco
model = mujoco.MjModel.from_xml_string('''
<mujoco><worldbody><geom type="plane" size="1 1 .1"/><body pos="0 0 .1"><freejoint/>
<geom type="box" size=".1 .1 .1"/></body></worldbody></mujoco>''')
data = mujoco.MjData(model)
stepper = sapwood.mujoco.Stepper(model)
"""
# that lies beside the package, and is not installed with it
_BENCHMARKS = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from benchmarks.command import main
"""

PROGRAMS = {
    "mujoco": _DROP + "stepper.run(data, 50)\nassert data.ncon == 4",
    "plot": """
import tqdm
from sapwood.studies.experiments.figures import make_figure
assert make_figure("5", ".", quick=True, progress=False).image.exists()
""",
    "peers": """
from sapwood.studies import peers
for name in ("clarabel", "qoco", "scs", "ecos", "scipy", "geodesic"):
    try:
        peers.load(name)
    except ModuleNotFoundError as error:
        assert error.name in ("qoco", "ecos"), error  # which come as no wheel here
""",
    "mesher": """
import numpy
from sapwood.fem import fill_surface
corners = numpy.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
mesh = fill_surface(corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]], 0.5)
assert len(mesh.tetrahedra) > 0
""",
    "sysid": "import sapwood.mujoco\nsapwood.mujoco.sysid_rollout()",
    "viewer": _DROP
    + """
import sapwood.viewer.scene, trimesh, PIL.Image
sapwood.viewer.record(stepper, data, 0.1).save("ball.html")
with sapwood.viewer.Viewer(stepper, data, port=0) as viewer:
    viewer.sync()
""",
    "video": """
import imageio, numpy
with imageio.get_writer("video.mp4", fps=10) as video:
    for i in range(3):
        video.append_data(numpy.full((64, 64, 3), i, numpy.uint8))
""",
    "environments": (ROOT / "examples/gymnasium_environment.py").read_text(encoding="utf-8")
    + "\nimport gymnasium_robotics\n",
    "programs": _BENCHMARKS
    + """
import numpy
from benchmarks.program_peers import PEERS
program = dict(H=numpy.eye(2), g=numpy.array([-1.0, 1.0]), lower=numpy.zeros(2))
for peer in PEERS.values():
    numpy.testing.assert_allclose(peer(program)(), [1.0, 0.0], atol=1e-5)
""",
    "geometry": """
import meshio, numpy
from sapwood.geometry import PressureField
soft = PressureField(modulus=1e5, margin=0.01)
box = PressureField(modulus=1e5).box([0.1, 0.1, 0.1])
meshio.Mesh(box.vertices, [("tetra", box.cells)]).write("box.vtk")
print(soft.mesh("box.vtk"), soft.convex("box.vtk"), soft.convex(box.vertices))
from sapwood import fem
rubber = fem.Material(young=1e5, poisson=0.3, density=1000.0)
fem.SeriesWriter("rest.xdmf", [fem.SoftBody(fem.read_mesh("box.vtk"), rubber)]).write(0.0)
""",
    "fclib": """
import h5py, numpy
from scipy import sparse
from sapwood.studies import fclib
problem = fclib.LocalProblem(
    W=sparse.csc_array(numpy.eye(3)), q=numpy.array([-1.0, 0.0, 0.0]), mu=numpy.array([0.5]))
assert fclib.solve(fclib.pose(problem), 1e-6).residual < 1e-6
""",
    "bench": _BENCHMARKS
    + f"""
files = [{str(ROOT / "tests/data")!r}, "--files", "stack*", "--repeat", "1"]
assert main(["solvers", *files, "--out", "."]) == 0
assert main(["steps", "--quick", "--out", "."]) == 0
import benchmarks.fclib, benchmarks.invdyn_peers
""",
    "pinocchio": _BENCHMARKS
    + """
from benchmarks.pinocchio_problems import make
assert make("talos stands")
""",
    "engines": _BENCHMARKS
    + """
assert main(["engines", "--quick", "--out", "."]) == 0
import benchmarks.slip_drake
assert ",drake-sap,ran," in open("engines.csv").read()
if sys.version_info < (3, 13):  # pybullet comes as no wheel for newer ones
    assert ",bullet,ran," in open("engines.csv").read()
""",
    "dask": """
from fractions import Fraction
from distributed import LocalCluster
from sapwood.studies.experiments.running.mapping import map_points
if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        address = cluster.scheduler_address
        ((_, outcome),) = map_points(Fraction, [{"numerator": 4}], scheduler=address)
    assert outcome.value == 4, outcome
""",
    "cones": "import diffcp, scipy.sparse",
    "torch": """
import numpy, torch
from sapwood.torch import solve
v = torch.tensor([0.1, 0.0, -0.1], dtype=torch.float64, requires_grad=True)
ground = dict(tree_nv=[3], A=numpy.eye(3).ravel(), tree_a=[0], tree_b=[-1], J=numpy.eye(3).ravel())
solve(**ground, v_star=v, mu=[0.5], dt=0.01, phi0=[0.0], k=[1e5], tau_d=[0.0]).v.sum().backward()
assert v.grad is not None
""",
    "jax": """
import jax, numpy
jax.config.update("jax_enable_x64", True)
from sapwood.jax import solve
ground = dict(tree_nv=[3], A=numpy.eye(3).ravel(), tree_a=[0], tree_b=[-1], J=numpy.eye(3).ravel())
def total(v):
    return solve(**ground, v_star=v, mu=[0.5], dt=0.01, phi0=[0.0], k=[1e5], tau_d=[0.0]).v.sum()
assert jax.grad(total)(jax.numpy.array([0.1, 0.0, -0.1])).shape == (3,)
""",
    "all": """
import importlib
from sapwood.cli import main
from sapwood.studies.experiments.figures import FIGURES
for entry in FIGURES.values():
    entry.plan(True)
    for package, extra in entry.packages:
        if extra != "sysid":  # MuJoCo's own identification, beside ours
            importlib.import_module(package)
assert main(["clutter", "--bodies", "4", "--seconds", "0.1", "--out", "clutter"]) == 0
""",
}

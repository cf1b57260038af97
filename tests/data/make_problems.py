"""Make the problem files beside this script: python make_problems.py [FOLDER]

Small scenes are simulated in MuJoCo's kinematics with the NumPy reference as contact solver, and
the problem of one chosen time step is written. v_ref is polished by Newton steps on a gradient in
extended precision, with formulas that share no code with the package (see helpers.py).

Needs mujoco. The files are committed; run this only to change the set.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

import sapwood
import sapwood.reference as reference

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import helpers

SOLIDS = '<geom type="box" size=".05 .05 .05"/>', '<geom type="sphere" size=".05"/>'
OPTION = '<option gravity="0 0 -9.81"><flag eulerdamp="disable"/></option>'
FLOOR = '<geom type="plane" size="5 5 .1"/>'


def clutter(n: int, seed: int) -> str:
    """n boxes and spheres falling in a column into a bin 24 cm wide."""
    rng = np.random.default_rng(seed)
    walls = "".join(
        f'<geom type="plane" size="5 5 .1" pos="{-0.12 * x} {-0.12 * y} 0" zaxis="{x} {y} 0"/>'
        for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1))
    )
    bodies = []
    for i in range(n):
        x, y = rng.uniform(-0.04, 0.04, 2)
        turn = " ".join(map(str, rng.uniform(-30, 30, 3)))
        bodies.append(
            f'<body pos="{x} {y} {0.12 + 0.12 * i}" euler="{turn}">'
            f"<freejoint/>{SOLIDS[i % 2]}</body>"
        )
    return f"<mujoco>{OPTION}<worldbody>{FLOOR}{walls}{''.join(bodies)}</worldbody></mujoco>"


def stack(n: int, ratio: float) -> str:
    """n boxes, each `ratio` times as dense as the one below."""
    bodies = "".join(
        f'<body pos="0 0 {0.05 + 0.1001 * i}"><freejoint/>'
        f'<geom type="box" size=".05 .05 .05" density="{10.0 * ratio**i}"/></body>'
        for i in range(n)
    )
    return f"<mujoco>{OPTION}<worldbody>{FLOOR}{bodies}</worldbody></mujoco>"


def quadruped(load: bool) -> str:
    """A trunk on four two-joint legs with sprung joints, a box dropped on its back if loaded."""
    legs = "".join(
        f'<body pos="{x} {y} 0"><joint axis="0 1 0" stiffness="60" damping=".5" springref="20"/>'
        f'<geom type="capsule" fromto="0 0 0 0 0 -.2" size=".02"/>'
        f'<body name="shank{i}" pos="0 0 -.2">'
        f'<joint axis="0 1 0" stiffness="60" damping=".5" springref="-40"/>'
        f'<geom type="capsule" fromto="0 0 0 0 0 -.2" size=".02"/></body></body>'
        for i, (x, y) in enumerate(itertools.product((-0.25, 0.25), (-0.15, 0.15)))
    )
    box = (
        '<body name="box" pos=".03 .02 .62"><freejoint/><geom type="box" size=".1 .1 .05"/></body>'
    )
    return (
        f'<mujoco>{OPTION}<worldbody>{FLOOR}<body name="trunk" pos="0 0 .45"><freejoint/>'
        f'<geom type="box" size=".3 .12 .05" density="300"/>{legs}</body>{box if load else ""}'
        f"</worldbody></mujoco>"
    )


def chain(links: int) -> str:
    """A hinged chain hung on the world that falls on the floor and on a ball."""
    body = ""
    for k in reversed(range(links)):
        offset = "0 0 0.5" if k == 0 else "0.12 0 0"
        body = (
            f'<body pos="{offset}"><joint axis="0 1 0" damping=".02"/><joint axis="0 0 1" '
            f'damping=".02"/><geom type="capsule" fromto="0 0 0 .12 0 0" size=".02"/>{body}</body>'
        )
    ball = '<body pos=".3 0 .05"><freejoint/><geom type="sphere" size=".05"/></body>'
    return f"<mujoco>{OPTION}<worldbody>{FLOOR}{body}{ball}</worldbody></mujoco>"


def gripper() -> str:
    """Two sliding fingers, each a tree of one velocity, squeezing a box in the air."""
    fingers = "".join(
        f'<body pos="{-0.075 * inwards} 0 .5"><joint name="{name}" type="slide" '
        f'axis="{inwards} 0 0"/><geom type="box" size=".02 .04 .04"/></body>'
        for name, inwards in (("left", 1), ("right", -1))
    )
    box = '<body pos="0 0 .5"><freejoint/><geom type="box" size=".05 .03 .03"/></body>'
    motors = '<motor joint="left"/><motor joint="right"/>'
    return (
        f"<mujoco>{OPTION}<worldbody>{box}{fingers}</worldbody>"
        f"<actuator>{motors}</actuator></mujoco>"
    )


def drives(model: mujoco.MjModel, data: mujoco.MjData) -> list:
    """Limits, controllers and friction of all hinges; the box on a strut, and two feet on a bar."""
    hinges = np.flatnonzero(np.asarray(model.jnt_type) == mujoco.mjtJoint.mjJNT_HINGE)
    J = np.eye(model.nv)[np.asarray(model.jnt_dofadr)[hinges]]
    q = np.asarray(data.qpos)[np.asarray(model.jnt_qposadr)[hinges]]
    knee = np.arange(len(hinges)) % 2

    def point(name: str, local: tuple[float, float, float]) -> tuple[np.ndarray, np.ndarray]:
        body = model.body(name).id
        at = data.xpos[body] + data.xmat[body].reshape(3, 3) @ local
        jacobian = np.zeros((3, model.nv))
        mujoco.mj_jac(model, data, jacobian, None, at, body)
        return at, jacobian

    box, J_box = point("box", (0.0, 0.0, 0.0))
    strut, J_strut = point("trunk", (0.03, 0.02, 0.17))
    (left, J_left), (right, J_right) = (point(f"shank{i}", (0.0, 0.0, -0.2)) for i in (0, 2))
    along = (right - left) / np.linalg.norm(right - left)
    return [
        sapwood.JointLimits(-J, phi0=np.where(knee, 0.0, 0.3) - q, k=1e4),
        sapwood.Bilaterals(J_box - J_strut, size=3, g=box - strut),
        sapwood.Controllers(J, Kp=120.0, Kd=2.0, q_0=q, q_d=np.where(knee, -0.7, 0.35), effort=4.0),
        sapwood.DryFrictions(J, f=0.3),
        sapwood.Bilaterals(
            (along @ (J_right - J_left))[None], g=np.linalg.norm(right - left) - 0.5, k=1e5,
            force_lower=-20.0, force_upper=20.0,
        ),
    ]  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One problem file: a scene, the step at which its problem is taken, and its material."""

    name: str
    xml: str
    dt: float
    step: int
    k: float = 1e12
    mu: tuple[float, ...] = (1.0,)
    delassus: str = "block"
    control: float = 0.0
    constraints: Callable[[mujoco.MjModel, mujoco.MjData], list] | None = None


CASES = (
    Case("clutter_12_impact_block", clutter(12, 1), 0.01, 35, mu=(1.0, 0.5, 0.3)),
    Case("clutter_12_settled_diagonal", clutter(12, 2), 0.01, 200, delassus="diagonal"),
    Case("clutter_8_soft_diagonal", clutter(8, 3), 0.01, 60, k=2e3, delassus="diagonal"),
    Case("clutter_8_frictionless_block", clutter(8, 4), 0.005, 72, mu=(0.0, 0.4)),
    Case("stack_5_massratio_block", stack(5, 4.0), 0.005, 2, mu=(0.5,)),
    Case("quadruped_1_impact_block", quadruped(False), 0.005, 23, mu=(0.8,)),
    Case("quadruped_1_loaded_diagonal", quadruped(True), 0.005, 42, mu=(0.8,), delassus="diagonal"),
    Case("chain_8_impact_block", chain(8), 0.005, 135, mu=(0.6,)),
    Case("chain_8_settled_diagonal", chain(8), 0.005, 300, mu=(0.6,), delassus="diagonal"),
    Case("gripper_1_squeeze_block", gripper(), 0.002, 11, mu=(0.7,), control=5.0),
    Case(
        "rows/quadruped_1_drives_block", quadruped(True), 0.005, 33, mu=(0.8,), constraints=drives
    ),
)


def build(model: mujoco.MjModel, data: mujoco.MjData, case: Case):
    """The contact problem of the present state."""
    mujoco.mj_fwdPosition(model, data)
    mujoco.mj_fwdVelocity(model, data)
    mujoco.mj_fwdActuation(model, data)
    mujoco.mj_fwdAcceleration(model, data)

    # A = M + dt D, v* = v + dt A^-1 qfrc_smooth, tree by tree
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M)
    M += case.dt * np.diag(np.asarray(model.dof_damping).reshape(model.nv, -1)[:, 0])
    v_star = data.qvel + case.dt * np.linalg.solve(M, data.qfrc_smooth)
    begin = np.asarray(model.tree_dofadr)
    trees = [slice(b, b + n) for b, n in zip(begin, model.tree_dofnum, strict=True)]

    tree_a, tree_b, J, phi0, mu = [], [], [], [], []
    for i in range(data.ncon):
        contact = data.contact[i]
        bodies = [int(model.geom_bodyid[g]) for g in contact.geom]
        jacobians = []
        for body in bodies:
            J_p = np.zeros((3, model.nv))
            mujoco.mj_jac(model, data, J_p, None, contact.pos, body)
            jacobians.append(J_p)
        frame = contact.frame.reshape(3, 3)[[1, 2, 0]]  # rows (t1, t2, n), n from geom 0 to geom 1
        J_c = frame @ (jacobians[1] - jacobians[0])
        touched = sorted({int(model.body_treeid[body]) for body in bodies} - {-1})
        if not touched:
            continue
        tree_a.append(touched[0])
        tree_b.append(touched[1] if len(touched) == 2 else -1)
        J.extend(J_c[:, trees[t]].ravel() for t in touched)
        phi0.append(contact.dist)
        mu.append(case.mu[i % len(case.mu)])
    n = len(mu)
    return sapwood.ContactProblem(
        tree_nv=np.array(model.tree_dofnum, dtype=np.int32),
        A=np.concatenate([M[t, t].ravel() for t in trees]),
        v_star=v_star,
        tree_a=np.array(tree_a, dtype=np.int32),
        tree_b=np.array(tree_b, dtype=np.int32),
        J=np.concatenate(J) if J else np.zeros(0),
        mu=np.array(mu),
        dt=case.dt,
        phi0=np.array(phi0),
        k=np.full(n, case.k),
        tau_d=np.full(n, case.dt),
        delassus=case.delassus,
        v_guess=data.qvel.copy(),
        constraints=case.constraints(model, data) if case.constraints else (),
    )


def polish(problem, v):
    """Newton steps with the Hessian in double and the gradient in extended precision."""
    v = v.astype(np.longdouble)
    objective = reference.Objective(problem)
    for _ in range(4):
        gradient = helpers.evaluate_wide(problem, v)[1]
        H = objective.hessian(objective.point(v.astype(float)).G)
        v -= np.linalg.solve(H, gradient.astype(float))
    return v.astype(float)


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for case in CASES:
        model = mujoco.MjModel.from_xml_string(case.xml)
        model.opt.timestep = case.dt
        data = mujoco.MjData(model)
        data.ctrl[:] = case.control
        for _ in range(case.step):
            data.qvel[:] = reference.solve(build(model, data, case)).v
            mujoco.mj_integratePos(model, data.qpos, data.qvel, case.dt)
        problem = build(model, data, case)
        tight = sapwood.SapSettings(relative_tolerance=1e-14)
        v_ref = polish(problem, reference.solve(problem, settings=tight).v)
        gamma_ref = helpers.evaluate_wide(problem, v_ref)[4].astype(float)
        names = "tree_nv A v_star tree_a tree_b J mu R_t R_n v_hat_n phi0 k tau_d v_guess".split()
        names.append("constraints")
        arrays = {name: getattr(problem, name) for name in names}
        written = sapwood.ContactProblem(
            **arrays,
            dt=case.dt,
            v_ref=v_ref,
            gamma_ref=gamma_ref,
            source=f"MuJoCo {mujoco.__version__}, make_problems.py: {case.name}",
        )
        path = folder / f"{case.name}.npz"
        path.parent.mkdir(exist_ok=True)
        sapwood.save_problem(path, written)
        print(
            f"{case.name:32s} {path.stat().st_size:6d} bytes  trees {problem.n_trees:3d}  "
            f"contacts {problem.n_contacts:3d}  of two trees {np.sum(problem.tree_b >= 0):3d}  "
            f"e_m {helpers.momentum_error(problem, v_ref):.1e}  "
            f"iterations {reference.solve(problem).iterations}"
        )


if __name__ == "__main__":
    main()

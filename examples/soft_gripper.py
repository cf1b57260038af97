"""An arm with two soft finger pads lifts a shell and a slippery bar, and holds them still."""

import sys

import mujoco
import numpy as np

from sapwood import fem
from sapwood.mujoco import Stepper, body_pose

ROBOT = """
<mujoco model="soft gripper">
  <option timestep="0.005"/>
  <worldbody>
    <geom name="table" type="plane" size="1 1 1"/>
    {object}
    <body name="upper" pos="0 0 0.3"><joint name="shoulder" axis="0 1 0" damping="1"/>
      <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02" contype="0" conaffinity="0"/>
      <body name="fore" pos="0.3 0 0"><joint name="elbow" axis="0 1 0" damping="1"/>
        <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02" contype="0" conaffinity="0"/>
        <body name="hand" pos="0.3 0 0"><joint name="wrist" axis="0 1 0" damping="0.5"/>
          <geom type="box" size="0.02 0.06 0.01" contype="0" conaffinity="0"/>
          <body name="left" pos="0 0.045 -0.06">
            <joint name="left" type="slide" axis="0 -1 0" damping="10"/>
            <geom type="box" size="0.015 0.005 0.05" mass="0.1"/></body>
          <body name="right" pos="0 -0.045 -0.06">
            <joint name="right" type="slide" axis="0 1 0" damping="10"/>
            <geom type="box" size="0.015 0.005 0.05" mass="0.1"/></body>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position joint="shoulder" kp="2000" kv="100"/>
    <position joint="elbow" kp="2000" kv="100"/>
    <position joint="wrist" kp="500" kv="30"/>
    <motor joint="left"/><motor joint="right"/>
  </actuator>
</mujoco>"""

BAR = '<geom type="box" size="0.01 0.015 0.06" mass="0.1" friction="0.15"/>'
SHELL = (
    '<geom type="ellipsoid" size="0.02 0.02 0.028" mass="0.06" shellinertia="true" friction="0.3"/>'
)
OBJECTS = {"bar": (BAR, 0.0601), "shell": (SHELL, 0.0281)}
REST = '<body name="object" pos="0.4 0 {height}"><freejoint/>{geom}</body>'


def angles(height):
    """Angles of the joints for a hand at x = 0.4 m and this height that points down."""
    x, z = 0.4, 0.3 - height
    elbow = 2 * np.arccos(np.hypot(x, z) / 0.6)
    shoulder = np.arctan2(z, x) - elbow / 2
    return np.array([shoulder, elbow, -shoulder - elbow])


def run(name, seconds_held=0.5):
    """Grip, lift and hold an object: the stepper, its data, and the speed of creep in m/s."""
    geom, height = OBJECTS[name]
    text = ROBOT.format(object=REST.format(height=height, geom=geom))
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.joint("shoulder").qpos[0], data.joint("elbow").qpos[0], data.joint("wrist").qpos[0] = (
        angles(0.12)
    )
    mujoco.mj_kinematics(model, data)
    foam = fem.Material(young=1e5, poisson=0.3, density=500.0, stiffness_damping=0.01)
    pads = []
    for side, inward in (("left", -1.0), ("right", 1.0)):
        pose = body_pose(data, side, [0.0, inward * 0.01, -0.035])
        pad = fem.SoftBody(
            fem.box([0.03, 0.01, 0.03], [4, 2, 4]), foam,
            friction=0.15 if name == "bar" else 0.5, dissipation_time=0.01, pose=pose, name=side,
        )  # fmt: skip
        back = inward * pad.mesh.vertices[:, 1] < -0.0049
        pad.attach(back, side, body_pose(data, side))
        pads.append(pad)
    stepper = Stepper(model, soft=pads)
    data.ctrl[:3] = angles(0.12)
    data.ctrl[3:] = 8.0  # N
    stepper.run(data, 100)  # grip
    for raised in np.linspace(0.12, 0.22, 100):
        data.ctrl[:3] = angles(raised)
        stepper.step(data)
    stepper.run(data, 200)  # come to rest
    offset = data.body("object").xpos - data.body("hand").xpos
    steps = round(seconds_held / 0.005)
    stepper.run(data, steps)
    moved = data.body("object").xpos - data.body("hand").xpos - offset
    return stepper, data, float(np.linalg.norm(moved)) / (steps * 0.005)


def draw(axes, stepper, data):
    """Draw pads, coloured by stress (kPa), and the object between them (mm): the last pad."""
    geom = data.model.body("object").geomadr[0]
    is_box = data.model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_BOX
    shape = fem.box([2.0] * 3, 1) if is_box else fem.ball(1.0, 10)
    x = shape.vertices * data.model.geom_size[geom] @ data.geom_xmat[geom].reshape(3, 3).T
    x += data.geom_xpos[geom]
    axes.plot_trisurf(*(1e3 * x.T), triangles=shape.faces, color="0.8", alpha=0.4)
    for pad in stepper.soft:
        drawn = axes.plot_trisurf(
            *(1e3 * pad.positions.T), triangles=pad.mesh.faces, cmap="viridis",
            edgecolor="0.2", lw=0.3,
        )  # fmt: skip
        drawn.set_array(1e-3 * pad.evaluate().von_mises[pad.mesh.face_tetrahedra])
        drawn.set_clim(0.0, 25.0)
    axes.set(xlabel="x (mm)", ylabel="y (mm)")
    axes.set_zlabel("z (mm)", labelpad=16)
    sides = [np.ptp(limits) for limits in (axes.get_xlim(), axes.get_ylim(), axes.get_zlim())]
    axes.set_box_aspect(sides, zoom=0.85)
    axes.locator_params(nbins=4)
    axes.xaxis.set_major_locator(plt.MultipleLocator(20))
    axes.tick_params(axis="z", pad=6)
    axes.view_init(elev=20, azim=-40)
    return drawn


seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 0.5
held = {}
for name in OBJECTS:
    stepper, data, creep = run(name, seconds)
    held[name] = stepper, data
    height = data.body("object").xpos[2] - OBJECTS[name][1]
    print(f"{name}: raised by {100 * height:.1f} cm, creeps by {1e6 * creep:.2g} um/s")
    for touch in stepper.soft_result.touches:
        print(f"  {touch.body} pad presses the {name} with {np.round(-touch.force, 3)} N")

if len(sys.argv) > 1:
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(10, 5), layout="constrained")
    for i, (name, (stepper, data)) in enumerate(held.items()):
        axes = figure.add_subplot(1, 2, i + 1, projection="3d")
        drawn = draw(axes, stepper, data)
        axes.set_title(f"A {name} held by two pads")
    figure.colorbar(drawn, ax=figure.axes, label="von Mises stress (kPa)", shrink=0.8)
    figure.savefig(sys.argv[1], dpi=120)

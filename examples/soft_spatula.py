"""Two soft pads hold a spatula by its handle, beside pads with a field of pressure."""

import sys

import mujoco
import numpy as np

from sapwood import PressureField, fem
from sapwood.mujoco import Stepper, body_pose

STEP, YOUNG, THICK = 0.005, 1e5, 0.01
SPATULA = """
<mujoco model="spatula">
  <option timestep="{step}" gravity="0 0 0"/>
  <worldbody>
    <body name="spatula" euler="0.5 0.4 0"><freejoint/>
      <geom name="handle" type="box" size="0.07 0.006 0.012" mass="0.02" friction="0.6"/>
      <geom name="blade" type="box" pos="0.12 0 0" size="0.05 0.002 0.03" mass="0.03"
        friction="0.6"/>
    </body>
    <body name="left" pos="-0.02 {y} 0"><joint name="left" type="slide" axis="0 -1 0" damping="10"/>
      <geom type="box" size="0.02 0.005 0.02" pos="0 0.005 0" mass="0.1" contype="0"
        conaffinity="0"/>{left}</body>
    <body name="right" pos="-0.02 -{y} 0">
      <joint name="right" type="slide" axis="0 1 0" damping="10"/>
      <geom type="box" size="0.02 0.005 0.02" pos="0 -0.005 0" mass="0.1" contype="0"
        conaffinity="0"/>{right}</body>
  </worldbody>
  <actuator><motor joint="left"/><motor joint="right"/></actuator>
</mujoco>"""
PAD = (
    '<geom name="{name}_pad" type="box" size="0.015 0.005 0.015" pos="0 {y} 0" mass="0.002"'
    ' friction="0.6"/>'
)


def model_of(kind):
    """Fingers whose pads are soft bodies, or geoms of the model."""
    pads = {"left": "", "right": ""}
    if kind == "field":
        pads = {
            name: PAD.format(name=name, y=y) for name, y in (("left", -0.005), ("right", 0.005))
        }
    return mujoco.MjModel.from_xml_string(SPATULA.format(step=STEP, y=0.0175, **pads))


def soft_pads(data):
    """A pad on each finger, towards the other one."""
    foam = fem.Material(young=YOUNG, poisson=0.3, density=500.0, stiffness_damping=0.01)
    mesh, pads = fem.box([0.03, THICK, 0.03], [3, 2, 3]), []
    for name, inward in (("left", -1.0), ("right", 1.0)):
        pad = fem.SoftBody(
            mesh, foam, friction=0.6, dissipation_time=0.01,
            pose=body_pose(data, name, [0.0, inward * THICK / 2, 0.0]), name=name,
        )  # fmt: skip
        back = inward * mesh.vertices[:, 1] < 1e-9 - THICK / 2
        pad.attach(back, name, body_pose(data, name))
        pads.append(pad)
    return pads


def hold(kind, force, seconds=0.4):
    """Grip the handle without gravity, then hold it: angles (degrees) of the spatula, stepper."""
    model = model_of(kind)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    if kind == "soft":
        stepper = Stepper(model, soft=soft_pads(data))
    else:
        field = PressureField(modulus=YOUNG / 2, resolution=0.01)
        stepper = Stepper(model, fields={"left_pad": field, "right_pad": field})
    data.ctrl[:] = force
    stepper.run(data, 40)
    model.opt.gravity[2] = -9.81
    turned = []
    for _ in range(round(seconds / STEP)):
        stepper.step(data)
        x = data.body("spatula").xmat[::3]
        turned.append(np.degrees(np.arctan2(-x[2], x[0])))
    return np.array(turned), stepper


curves = {}
for force in (1.5, 12.0):
    for kind in ("soft", "field"):
        curves[kind, force], stepper = hold(kind, force)
        angle = curves[kind, force] - curves[kind, force][0]
        print(f"{kind} pads, {force} N: turned by {angle[-1]:.2f} degrees")

if len(sys.argv) > 1:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(layout="constrained")
    for (kind, force), angle in curves.items():
        time = STEP * np.arange(1, len(angle) + 1)
        style, color = "-" if kind == "soft" else "--", "#0072b2" if force < 10 else "#d55e00"
        axes.plot(time, angle - angle[0], style, color=color, label=f"{kind} pads, {force:g} N")
    axes.set_title("A spatula between two pads")
    axes.set_xlabel("time (s)")
    axes.set_ylabel("turned by (degrees)")
    axes.legend()
    figure.savefig(sys.argv[1], dpi=120)

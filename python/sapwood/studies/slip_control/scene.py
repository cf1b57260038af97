"""The scene of section X-D: two fingers with soft pads, and the spatula between them.

Frame G of the gripper is fixed in the world; both fingers slide along its y axis. The pads are
ellipsoids, the handle of the spatula is a cylinder, and nothing else touches. Numbers are those of
Drake's example `spatula_slip_control`, where 0.1 s of dissipation time for each geom add up.
"""

from __future__ import annotations

import math

import mujoco
import numpy as np

from sapwood.geometry import FieldShape, PressureField
from sapwood.laws.materials import ContactMaterial
from sapwood.mujoco import Stepper

TIME_STEP = 5e-3
#: Grip force in N: loose, and what is added to it while the grip is secure.
LOOSE, ADDED = 1.0, 15.0
#: Period of the grip force in s, and the part of it in which the grip is secure.
PERIOD, DUTY = 6.0, 0.75

SIDES = ("left", "right")
#: Half axes of the pads, radius and length of the handle, m.
PAD, HANDLE = (0.04165, 0.04165, 0.0625), (0.015, 0.11)
Fields = dict[str | int, PressureField | FieldShape]

FIELDS: Fields = {
    "left pad": PressureField(modulus=1e5, resolution=0.04),
    "right pad": PressureField(modulus=1e5, resolution=0.04),
    "handle": PressureField(modulus=1e8, resolution=0.005),
}
#: Dissipation time of a contact, s.
TAU_D = 0.2
#: Angle by which the blade points down at first, rad.
TILT = 0.4
#: Where the fingers begin, m.
OPEN = 0.01

# inertia of the spatula in its frame S about the centre of mass, xx yy zz xy xz yz
_INERTIA = (
    "0.21095403274864072 0.03710803288660893 0.18858265237650276 "
    "-4.264472553729218e-08 0 -0.06982169738550205"
)
_QUATERNION = "0.6932876001677366 -0.14053635404772422 -0.140424485719301 0.6927357363779518"


def _half_turn(angle: float, axis: str) -> str:
    """Quaternion of a rotation about an axis of the frame."""
    s = math.sin(angle / 2)
    return " ".join(repr(x) for x in (math.cos(angle / 2), *(s * (axis == a) for a in "xyz")))


def _finger(side: str, y: float) -> str:
    return f"""
    <body name="{side} finger">
      <inertial pos="0 0 0" mass="0.1" diaginertia="0.16 0.16 0.16"/>
      <joint name="{side}" type="slide" axis="0 1 0"/>
      <geom name="{side} pad" type="ellipsoid" size="{PAD[0]} {PAD[1]} {PAD[2]}"
        pos="0 {y} -0.182" contype="1" conaffinity="0"/>
    </body>"""


#: The scene in MJCF.
XML = f"""
<mujoco model="slip control">
  <compiler autolimits="false"/>
  <option timestep="{TIME_STEP}" gravity="0 0 -9.81"/>
  <default><geom friction="1 0 0"/></default>
  <visual><global offwidth="960" offheight="720"/></visual>
  <worldbody>
    <light pos="0 -1 2" dir="0 1 -2"/>
    <body name="gripper" pos="0 0 0.25" quat="{_half_turn(-1.57, "y")}">
    {_finger("left", -0.041665)}
    {_finger("right", 0.041665)}
    </body>
    <body name="spatula" pos="0.35 0 0.25" quat="{_QUATERNION}">
      <freejoint name="spatula"/>
      <inertial pos="0 0.115649 0.044471" mass="0.068" fullinertia="{_INERTIA}"/>
      <geom name="handle" type="cylinder" size="{HANDLE[0]} {HANDLE[1] / 2}"
        pos="0 0.135 0.052" quat="{_half_turn(2.0, "x")}" contype="0" conaffinity="1"/>
    </body>
  </worldbody>
</mujoco>
"""


def slip_model() -> mujoco.MjModel:
    """Make the scene: two velocities of the fingers, six of the spatula.

    Returns
    -------
    mujoco.MjModel
        Without limits of the fingers, which they never reach.
    """
    return mujoco.MjModel.from_xml_string(XML)


def at_start(model: mujoco.MjModel) -> mujoco.MjData:
    """The open gripper about the handle, all at rest.

    Parameters
    ----------
    model : mujoco.MjModel
        Of `slip_model`.

    Returns
    -------
    mujoco.MjData
        At time 0.
    """
    data = mujoco.MjData(model)
    data.joint("left").qpos[0], data.joint("right").qpos[0] = -OPEN, OPEN
    return data


def slip_stepper(model: mujoco.MjModel, fields: Fields | None = None) -> Stepper:
    """The stepper of the experiment.

    Parameters
    ----------
    model : mujoco.MjModel
        Of `slip_model`.
    fields : dict, optional
        Other meshes for the three geoms, by name.

    Returns
    -------
    Stepper
        sigma = 1e-3, beta = 1, w of the diagonal of A, convex friction, relative tolerance 1e-6.
    """
    return Stepper(
        model,
        fields=FIELDS if fields is None else fields,
        contact=ContactMaterial(dissipation_time=TAU_D),
        sigma=1e-3,
        beta=1.0,
        delassus="diagonal",
        friction="convex",
    )


def grip_force(time: float, period: float = PERIOD) -> float:
    """Force that closes each finger in the step that begins at this time.

    Parameters
    ----------
    time : float
        s.
    period : float, optional
        s.

    Returns
    -------
    float
        N.
    """
    # times are sums of steps
    return LOOSE + ADDED * ((time + 1e-9) % period < DUTY * period)


def apply_grip(data: mujoco.MjData, force: float) -> None:
    """Push both fingers inward.

    Parameters
    ----------
    data : mujoco.MjData
        Of the scene.
    force : float
        N.
    """
    data.joint("left").qfrc_applied[0] = force
    data.joint("right").qfrc_applied[0] = -force


def pitch(data: mujoco.MjData) -> float:
    """Rotation of the blade's end downward since the start.

    Parameters
    ----------
    data : mujoco.MjData
        Of the scene.

    Returns
    -------
    float
        Degrees: the roll angle of the spatula, and the tilt that it begins with.
    """
    w, x, y, z = data.joint("spatula").qpos[3:]
    roll = math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
    return float(np.degrees(roll + TILT))

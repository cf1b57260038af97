"""The arm of Zapolsky and Drumwright, with a heavy box between its fingertips.

Seven links of 10 cm with hinges about x, y, z, x, y, z, x; the last one is the hand, with four
fingers of 5 cm that press on two opposite faces of a cube of 6000 kg/m^3. Masses, axes, places of
the fingertips and the mass of the cube are published, or follow from what is; an edge of 5.07 cm
then just fits between the fingertips. The moment of inertia of every link is that of the
published arm, but for its largest one, which is misprinted by ten times there; those of the fingers
are not known and are the same here. Only fingertips and cube touch.
"""

from __future__ import annotations

import math

import mujoco
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

N_ARM, N_FINGERS = 7, 4
N_JOINTS = N_ARM + N_FINGERS
#: Mass of the cube, kg, and its edge, m.
MASS = 0.782
EDGE = (MASS / 6000.0) ** (1.0 / 3.0)
#: Angle of the fingers to the hand while the fingertips touch the cube, rad.
GRIP = 0.785

_LINK, _FINGER, _TIP, _BESIDE = 0.1, 0.05, 0.01, 0.02
_AXES = ("1 0 0", "0 1 0", "0 0 1", "1 0 0", "0 1 0", "0 0 1", "1 0 0")
_INERTIA = 'mass=".1" diaginertia="1.083e-5 1.233e-4 1.275e-4"'
# the cube's centre in the frame of the hand
_HELD = np.array([_FINGER + _FINGER * math.cos(GRIP), 0.0, 0.0])

_SCENE = """<mujoco><option timestep="{dt}" cone="elliptic"/>
  <default><geom contype="0" conaffinity="0"/></default>
  <visual><headlight ambient=".5 .5 .5"/></visual>
  <worldbody>{arm}
    <camera pos=".55 -.55 .4" fovy="28" mode="targetbody" target="link_5"/>
    <body name="cube"><freejoint/>
      <geom name="cube" type="box" size="{half} {half} {half}" mass="{mass}" contype="1"
        conaffinity="1" friction="{mu}" rgba=".84 .37 0 1"/></body>
  </worldbody>
  <actuator>{motors}</actuator></mujoco>"""

_LINK_BODY = """<body name="link_{i}" pos="{x} 0 0"><joint name="joint_{i}" axis="{axis}"/>
  <inertial pos=".05 0 0" {inertia}/>
  <geom type="box" pos=".05 0 0" size=".05 .015 .01"/>"""

_FINGER_BODY = """<body name="finger_{i}" pos="{finger} {y} 0">
  <joint name="finger_{i}" axis="0 {side} 0"/><inertial pos=".025 0 0" {inertia}/>
  <geom type="capsule" fromto="0 0 0 {finger} 0 0" size=".005"/>
  <geom name="tip_{i}" pos="{finger} 0 0" size="{tip}" contype="1" conaffinity="1"
    friction="{mu}"/></body>"""


def arm(mu: float, dt: float) -> mujoco.MjModel:
    """Arm and cube.

    Parameters
    ----------
    mu
        Friction coefficient of fingertips and cube.
    dt
        Time step, s.

    Returns
    -------
    mujoco.MjModel
        A motor of gear 1 at each joint; the velocities are those of the arm's joints, of the
        fingers, and of the cube.
    """
    links = "".join(
        _LINK_BODY.format(i=i, x=_LINK if i else 0.0, axis=axis, inertia=_INERTIA)
        for i, axis in enumerate(_AXES)
    )
    # two fingers above the cube and two below
    fingers = "".join(
        _FINGER_BODY.format(i=i, y=y, side=side, finger=_FINGER, tip=_TIP, inertia=_INERTIA, mu=mu)
        for i, (y, side) in enumerate((y, side) for y in (_BESIDE, -_BESIDE) for side in (-1, 1))
    )
    joints = [f"joint_{i}" for i in range(N_ARM)] + [f"finger_{i}" for i in range(N_FINGERS)]
    return mujoco.MjModel.from_xml_string(
        _SCENE.format(
            dt=dt, mu=mu, half=EDGE / 2, mass=MASS, arm=links + fingers + "</body>" * N_ARM,
            motors="".join(f'<motor joint="{name}"/>' for name in joints),
        )
    )  # fmt: skip


def gripping(model: mujoco.MjModel) -> mujoco.MjData:
    """The state at the beginning: all joints of the arm at 90 degrees, at rest, the cube held.

    Parameters
    ----------
    model
        Made by `arm`.

    Returns
    -------
    mujoco.MjData
        Fingertips touch the cube by a hundredth of a millimetre.
    """
    data = mujoco.MjData(model)
    data.qpos[:N_ARM] = math.pi / 2
    data.qpos[N_ARM:N_JOINTS] = GRIP
    mujoco.mj_kinematics(model, data)
    hand = data.body("link_6")
    data.qpos[N_JOINTS : N_JOINTS + 3] = hand.xpos + hand.xmat.reshape(3, 3) @ _HELD
    data.qpos[N_JOINTS + 3 :] = hand.xquat
    return data


def displacement(data: mujoco.MjData) -> float:
    """Distance of the cube's centre from its first place in the hand, m; after kinematics."""
    hand, cube = data.body("link_6"), data.body("cube")
    return float(np.linalg.norm(cube.xpos - hand.xpos - hand.xmat.reshape(3, 3) @ _HELD))

"""An arm of seven joints with a hand of four fingers: KUKA's LBR iiwa 14 and Wonik's Allegro.

Places of joints, masses, inertias and ranges are those of the published descriptions (iiwa:
`iiwa14_primitive_collision.urdf` of RobotLocomotion/models, BSD; hand:
`allegro_hand_description`, BSD). Capsules in the place of the links' meshes and the armatures are
ours; damping and torques of the fingers are those of the real hand, not of its description, which
has them a hundred times too large. Frames of the palm: fingers along +z, the palm looks along +x,
the fingers stand in a row along y.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import mujoco
import numpy as np

N_ARM, N_HAND = 7, 16
N_JOINTS = N_ARM + N_HAND
SIDES = ("right", "left")
#: Passive damping of the arm's joints, N m s/rad.
DAMPING = (30.0, 30.0, 20.0, 20.0, 8.0, 5.0, 4.0)
#: Range of every joint of the hand, rad: three fingers, thumb.
HAND_RANGE = np.array(
    3 * [(-0.47, 0.47), (-0.196, 1.61), (-0.174, 1.709), (-0.227, 1.618)]
    + [(0.263, 1.396), (-0.105, 1.163), (-0.189, 1.644), (-0.162, 1.719)]
)
#: Largest torque of every joint of the hand, N m.
HAND_TORQUE = 0.7

_HALF = math.sqrt(0.5)
_STRAIGHT, _TILTED, _TURNED = (1, 0, 0, 0), (_HALF, _HALF, 0, 0), (0, 0, _HALF, _HALF)
# from the last link to the palm: the flange, and the hand's mount
_PALM = 0.045 + 0.095


class _Link(NamedTuple):
    """A link of the arm: its joint turns about z of its own frame. SI units."""

    at: tuple[float, ...]
    quaternion: tuple[float, ...]
    mass: float
    com: tuple[float, ...]
    inertia: tuple[float, ...]
    range: float
    torque: float
    armature: float
    radius: float
    capsule: tuple[float, ...]


# fmt: off
_LINKS = (
    _Link((0, 0, 0.1575), _STRAIGHT, 5.76, (0, -0.03, 0.12), (0.033, 0.0333, 0.0123),
          2.96705972839, 320, 0.1, 0.085, (0, 0, 0.01, 0, -0.035, 0.12)),
    _Link((0, 0, 0.2025), _TURNED, 6.35, (0.0003, 0.059, 0.042), (0.0305, 0.011, 0.0304),
          2.09439510239, 320, 0.1, 0.08, (0, 0, 0.035, 0, 0.175, 0.005)),
    _Link((0, 0.2045, 0), _TURNED, 3.5, (0, 0.03, 0.13), (0.025, 0.0238, 0.0076),
          2.96705972839, 176, 0.1, 0.075, (0, 0.005, 0.04, 0, 0.035, 0.205)),
    _Link((0, 0, 0.2155), _TILTED, 3.5, (0, 0.067, 0.034), (0.017, 0.006, 0.0164),
          2.09439510239, 176, 0.1, 0.075, (0, 0.01, 0.035, 0, 0.175, 0.005)),
    _Link((0, 0.1845, 0), _TURNED, 3.5, (0.0001, 0.021, 0.076), (0.01, 0.0087, 0.00449),
          2.96705972839, 110, 0.05, 0.06, (0, 0.01, 0.04, 0, 0.055, 0.175)),
    _Link((0, 0, 0.2155), _TILTED, 1.8, (0, 0.0006, 0.0004), (0.0049, 0.0047, 0.0036),
          2.09439510239, 40, 0.05, 0.07, (0, 0, -0.03, 0, -0.01, 0.01)),
    _Link((0, 0.081, 0), _TURNED, 1.2, (0, 0, 0.02), (0.001, 0.001, 0.001),
          3.05432619099, 40, 0.05, 0.05, (0, 0, -0.015, 0, 0, 0.045)),
)


class _Phalanx(NamedTuple):
    """A box of a finger, whose joint is at the origin of its frame. Right hand, SI units."""

    at: tuple[float, ...]
    axis: tuple[float, ...]
    mass: float
    half: tuple[float, ...]
    centre: tuple[float, ...]


_FINGER = (
    _Phalanx((0, 0, 0), (0, 0, 1), 0.0119, (0.0098, 0.01375, 0.0082), (0, 0, 0.0082)),
    _Phalanx((0, 0, 0.0164), (0, 1, 0), 0.065, (0.0098, 0.01375, 0.027), (0, 0, 0.027)),
    _Phalanx((0, 0, 0.054), (0, 1, 0), 0.0355, (0.0098, 0.01375, 0.0192), (0, 0, 0.0192)),
    _Phalanx((0, 0, 0.0384), (0, 1, 0), 0.0096, (0.0098, 0.01375, 0.01335), (0, 0, 0.01335)),
)
_THUMB = (
    _Phalanx((0, 0, 0), (-1, 0, 0), 0.0176, (0.0179, 0.017, 0.02275), (-0.0179, 0.009, 0.0145)),
    _Phalanx((-0.027, 0.005, 0.0399), (0, 0, 1), 0.0119, (0.0098, 0.01375, 0.00885),
             (0, 0, 0.00885)),
    _Phalanx((0, 0, 0.0177), (0, 1, 0), 0.038, (0.0098, 0.01375, 0.0257), (0, 0, 0.0257)),
    _Phalanx((0, 0, 0.0514), (0, 1, 0), 0.0388, (0.0098, 0.01375, 0.02115), (0, 0, 0.02115)),
)
# index, middle, ring, thumb: place of the root, its quaternion, phalanges, place of the tip
_ROOTS = (
    ("index", (0, 0.0435, -0.001542), (0.999048222, -0.043619387, 0, 0), _FINGER, 0.0267),
    ("middle", (0, 0, 0.0007), _STRAIGHT, _FINGER, 0.0267),
    ("ring", (0, -0.0435, -0.001542), (0.999048222, 0.043619387, 0, 0), _FINGER, 0.0267),
    ("thumb", (-0.0182, 0.019333, -0.045987),
     (0.477714418, -0.521333804, -0.521333804, -0.477714417), _THUMB, 0.0423),
)
# fmt: on
_TIP_RADIUS, _TIP_MASS = 0.012, 0.0168
#: Geoms of a hand, from the palm to the tips; in the scene the side and "_" stand before.
HAND_GEOMS = (
    "palm",
    *(f"{finger}_{part}" for finger, *_ in _ROOTS for part in (*range(4), "tip")),
)
_SILVER, _DARK, _TIP = (0.75, 0.76, 0.78, 1), (0.2, 0.21, 0.23, 1), (0.92, 0.92, 0.9, 1)


def robot(side: str, bits: tuple[int, int] = (0, 0)) -> mujoco.MjSpec:
    """One arm with its hand, upright on its base at the origin.

    Ranges of the joints are not limits of the model, so that contact is all that there is to solve
    for, as in the paper; the task stays within them, but for 0.02 rad of a thumb that is pressed.

    Parameters
    ----------
    side
        Of `SIDES`.
    bits
        contype and conaffinity of all geoms but the base's, which touches nothing.

    Returns
    -------
    mujoco.MjSpec
        Joints in the order of the arm, then of index, middle and ring finger and thumb, from the
        palm outwards; a motor for each of them, whose torque has that of gravity beside it; a body
        ``palm``.
    """
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    surface = {"contype": bits[0], "conaffinity": bits[1]}
    base = spec.worldbody.add_body(name="link_0")
    base.add_geom(
        type=mujoco.mjtGeom.mjGEOM_CYLINDER, size=(0.12, 0.075, 0), pos=(0, 0, 0.075), rgba=_SILVER,
        contype=0, conaffinity=0, mass=5.0,
    )  # fmt: skip
    body = base
    for i, link in enumerate(_LINKS):
        body = body.add_body(
            name=f"link_{i + 1}", pos=link.at, quat=link.quaternion, mass=link.mass, ipos=link.com,
            inertia=link.inertia, explicitinertial=True, gravcomp=1,
        )  # fmt: skip
        name = f"arm_{i + 1}"
        _add_joint(spec, body, name, (0, 0, 1), DAMPING[i], link.armature, link.torque)
        body.add_geom(
            type=mujoco.mjtGeom.mjGEOM_CAPSULE, fromto=link.capsule, size=(link.radius, 0, 0),
            friction=(0.5, 0.005, 0.0001), rgba=_SILVER, mass=0, **surface,
        )  # fmt: skip
    _add_hand(spec, body, side, surface | {"friction": (1.0, 0.005, 0.0001)})
    return spec


def _add_hand(
    spec: mujoco.MjSpec, flange: mujoco.MjsBody, side: str, surface: dict[str, Any]
) -> None:
    """Palm and fingers; a left hand is a right one seen in a mirror across y = 0."""
    mirror = 1.0 if side == "right" else -1.0
    palm = flange.add_body(name="palm", pos=(0, 0, _PALM), gravcomp=1)
    palm.add_geom(
        name="palm", type=mujoco.mjtGeom.mjGEOM_BOX, size=(0.0204, 0.0565, 0.0475),
        pos=(-0.0093, 0, -0.0475), mass=0.4154, rgba=_DARK, **surface,
    )  # fmt: skip
    for finger, at, quaternion, phalanges, tip in _ROOTS:
        w, x, y, z = quaternion
        frame = palm.add_frame(pos=_mirrored(at, mirror), quat=(w, mirror * x, y, mirror * z))
        body = palm
        for i, part in enumerate(phalanges):
            body = body.add_body(name=f"{finger}_{i}", pos=_mirrored(part.at, mirror), gravcomp=1)
            if i == 0:
                body.set_frame(frame)
            # rotations about y are the same in the mirror, others are reversed
            axis = (mirror * part.axis[0], part.axis[1], mirror * part.axis[2])
            _add_joint(spec, body, f"{finger}_{i}", axis, 0.15, 5e-4, HAND_TORQUE)
            body.add_geom(
                name=f"{finger}_{i}", type=mujoco.mjtGeom.mjGEOM_BOX, size=part.half,
                pos=_mirrored(part.centre, mirror), mass=part.mass, rgba=_DARK, **surface,
            )  # fmt: skip
        body.add_geom(
            name=f"{finger}_tip", type=mujoco.mjtGeom.mjGEOM_SPHERE, size=(_TIP_RADIUS, 0, 0),
            pos=(0, 0, tip), mass=_TIP_MASS, rgba=_TIP, **surface,
        )  # fmt: skip


def _mirrored(at: tuple[float, ...], mirror: float) -> tuple[float, float, float]:
    return at[0], mirror * at[1], at[2]


def _add_joint(
    spec: mujoco.MjSpec, body: mujoco.MjsBody, name: str, axis: tuple[float, ...], damping: float,
    armature: float, torque: float,
) -> None:  # fmt: skip
    """A hinge with a motor; the bound of its torque holds for that of gravity, too."""
    body.add_joint(
        name=name, axis=axis, damping=damping, armature=armature, actgravcomp=True,
        actfrclimited=True, actfrcrange=(-torque, torque),
    )  # fmt: skip
    motor = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
    motor.set_to_motor()

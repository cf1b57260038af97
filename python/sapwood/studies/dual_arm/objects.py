"""Jar, lid, marbles and bowl on a table, of boxes and spheres.

The origin of each object is the centre of its underside. Walls of the bowl are thick on purpose:
marbles arrive with 2 m/s, 10 mm in a step of 5 ms.
"""

from __future__ import annotations

import math
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

N_MARBLES = 16
#: Top of the table, m.
TABLE = 0.20
#: Where jar and bowl stand at the beginning, m.
JAR, BOWL = np.array([0.72, -0.03, TABLE]), np.array([0.74, 0.24, TABLE])
#: Height of the jar; of the centre of the lid's handle over the lid's underside, m.
JAR_HEIGHT, HANDLE = 0.150, 0.068
#: Radius of the bowl's rim and its height, m.
RIM, BOWL_HEIGHT = 0.125, 0.075
#: Bits (contype, conaffinity) of all objects: they touch each other and both robots.
BITS = (1, 7)

_BOX, _SPHERE = mujoco.mjtGeom.mjGEOM_BOX, mujoco.mjtGeom.mjGEOM_SPHERE
_STAVES, _SIDES = 12, 14
_LEAN = math.atan2(0.060, BOWL_HEIGHT)
_GLASS, _LID, _WHITE = (0.55, 0.75, 0.85, 0.35), (0.80, 0.33, 0.22, 1), (0.88, 0.86, 0.80, 1)
_WOOD, _FLOOR = (0.60, 0.45, 0.30, 1), (0.85, 0.86, 0.88, 1)
_MARBLES = (
    (0.20, 0.45, 0.75, 1),
    (0.90, 0.65, 0.15, 1),
    (0.30, 0.62, 0.35, 1),
    (0.65, 0.3, 0.6, 1),
)


def add_objects(spec: mujoco.MjSpec) -> None:
    """Put table and objects into a model, each of them a body of its own.

    Parameters
    ----------
    spec
        The model; gets bodies ``jar``, ``lid``, ``bowl``, ``marble_0`` and so on, and geoms
        ``table``, ``jar_stave_0``, ``lid_plate_0`` and so on.
    """
    world = spec.worldbody
    world.add_geom(
        name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=(3, 3, 0.1), pos=(0, 0, -0.45),
        rgba=_FLOOR, **_surface(0.3),
    )  # fmt: skip
    world.add_geom(
        name="table", type=_BOX, size=(0.30, 0.45, 0.02), pos=(0.90, 0, TABLE - 0.02), rgba=_WOOD,
        **_surface(0.3),
    )  # fmt: skip
    _add_jar(_free(world, "jar", JAR))
    _add_lid(_free(world, "lid", JAR + (0, 0, JAR_HEIGHT)))
    _add_bowl(_free(world, "bowl", BOWL))
    for i in range(N_MARBLES):
        # four layers of four, every second one turned by half the angle between two marbles
        layer, angle = i // 4, math.pi / 2 * (i % 4) + math.pi / 4 * (i // 4 % 2)
        at = (0.0225 * math.cos(angle), 0.0225 * math.sin(angle), 0.022 + 0.0265 * layer)
        marble = _free(world, f"marble_{i}", JAR + at)
        marble.add_geom(
            name=f"marble_{i}", type=_SPHERE, size=(0.015, 0, 0), mass=0.050, rgba=_MARBLES[i % 4],
            **_surface(0.2),
        )  # fmt: skip


def _surface(mu: float) -> dict[str, Any]:
    return {"friction": (mu, 0.005, 0.0001), "contype": BITS[0], "conaffinity": BITS[1]}


def _free(world: mujoco.MjsBody, name: str, at: Array) -> mujoco.MjsBody:
    body = world.add_body(name=name, pos=at)
    body.add_freejoint()
    return body


def _turned(angle: float) -> tuple[float, float, float, float]:
    """About z."""
    return math.cos(angle / 2), 0.0, 0.0, math.sin(angle / 2)


def _add_jar(jar: mujoco.MjsBody) -> None:
    """Twelve staves on two square plates; only the plates touch the table."""
    surface = _surface(0.3) | {"type": _BOX, "rgba": _GLASS}
    mass = 0.25
    for k in range(_STAVES):
        angle = 2 * math.pi * (k + 0.5) / _STAVES
        jar.add_geom(
            name=f"jar_stave_{k}", size=(0.003, 0.046 * math.tan(math.pi / _STAVES), 0.0745),
            pos=(0.043 * math.cos(angle), 0.043 * math.sin(angle), 0.0755), quat=_turned(angle),
            mass=0.75 * mass / _STAVES, **surface,
        )  # fmt: skip
    for k in range(2):
        jar.add_geom(
            name=f"jar_bottom_{k}", size=(0.0304, 0.0304, 0.003), pos=(0, 0, 0.003),
            quat=_turned(k * math.pi / 4), mass=0.125 * mass, **surface,
        )  # fmt: skip


def _add_lid(lid: mujoco.MjsBody) -> None:
    """A plate with eight knobs below, which centre it in the jar, and a handle for a whole hand."""
    surface = _surface(0.3) | {"rgba": _LID}
    mass = 0.12
    for k in range(2):
        lid.add_geom(
            name=f"lid_plate_{k}", type=_BOX, size=(0.0339, 0.0339, 0.004), pos=(0, 0, 0.004),
            quat=_turned(k * math.pi / 4), mass=0.25 * mass, **surface,
        )  # fmt: skip
    for k in range(8):
        angle = 2 * math.pi * k / 8
        lid.add_geom(
            name=f"lid_knob_{k}", type=_SPHERE, size=(0.006, 0, 0), mass=0.02 * mass,
            pos=(0.0315 * math.cos(angle), 0.0315 * math.sin(angle), -0.006), **surface,
        )  # fmt: skip
    lid.add_geom(
        name="lid_handle", type=_BOX, size=(0.018, 0.022, 0.060), pos=(0, 0, HANDLE),
        mass=0.34 * mass, **surface,
    )  # fmt: skip


def _add_bowl(bowl: mujoco.MjsBody) -> None:
    """Fourteen leaning boards on two square plates."""
    surface = _surface(0.2) | {"type": _BOX, "rgba": _WHITE}
    mass = 0.6
    for k in range(_SIDES):
        angle = 2 * math.pi * k / _SIDES
        lean = np.array([math.cos(_LEAN / 2), 0.0, math.sin(_LEAN / 2), 0.0])
        quaternion = np.empty(4)
        mujoco.mju_mulQuat(quaternion, np.array(_turned(angle)), lean)
        bowl.add_geom(
            name=f"bowl_side_{k}", size=(0.006, RIM * math.tan(math.pi / _SIDES), 0.0480),
            pos=(0.101 * math.cos(angle), 0.101 * math.sin(angle), 0.0455), quat=quaternion,
            mass=0.75 * mass / _SIDES, **surface,
        )  # fmt: skip
    for k in range(2):
        bowl.add_geom(
            name=f"bowl_bottom_{k}", size=(0.0488, 0.0488, 0.008), pos=(0, 0, 0.008),
            quat=_turned(k * math.pi / 4), mass=0.125 * mass, **surface,
        )  # fmt: skip

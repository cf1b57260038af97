"""Scenes of the benchmarks, by kind and size, such as clutter-40, open-400, wall-10 or rope-30.

Clutter (in the box, and on open floor) and humanoids are those of `sapwood.studies.scenes`. All
contacts are near-rigid, with the time step as dissipation time.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import mujoco

from sapwood.studies import scenes

_HEAD = """
<mujoco model="{name}">
  <option timestep="{time_step}" cone="elliptic"/>
  <size memory="{memory}M"/>
  <default><geom density="1000" friction="1 0 0"/></default>
  <worldbody>
    <geom type="plane" size="0 0 1"/>
    {bodies}
  </worldbody>
  {rest}
</mujoco>
"""


@dataclasses.dataclass(frozen=True)
class Kind:
    """A family of scenes of different sizes; times in s."""

    make: Callable[[int], mujoco.MjSpec]
    early: Callable[[int], float]
    """When most of it hits the floor, or is hit, by its size."""
    late: Callable[[int], float]
    """When it has settled, or nearly, by its size."""


def _from_text(
    name: str, time_step: float, bodies: str, rest: str = "", memory: int = 64
) -> mujoco.MjSpec:
    return mujoco.MjSpec.from_string(
        _HEAD.format(name=name, time_step=time_step, bodies=bodies, rest=rest, memory=memory)
    )


def quadrupeds(count: int) -> mujoco.MjSpec:
    """Four-legged robots of 18 degrees of freedom in a row, held up by springs in their joints."""
    legs = "".join(
        f"""
        <body pos="{0.2 * x} {0.12 * y} 0">
          <joint axis="1 0 0" stiffness="60" damping="2" armature="0.01"/>
          <joint axis="0 1 0" stiffness="60" damping="2" armature="0.01" ref="0.6"/>
          <geom type="capsule" fromto="0 0 0 -0.11 {0.03 * y} -0.17" size="0.02"/>
          <body pos="-0.11 {0.03 * y} -0.17">
            <joint axis="0 1 0" stiffness="60" damping="2" armature="0.01" ref="-1.2"/>
            <geom type="capsule" fromto="0 0 0 0.11 0 -0.17" size="0.015"/>
            <geom type="sphere" pos="0.11 0 -0.17" size="0.022"/>
          </body>
        </body>"""
        for x in (-1, 1)
        for y in (-1, 1)
    )
    bodies = "".join(
        f"""
        <body pos="0 {0.8 * (i - (count - 1) / 2)} 0.5">
          <freejoint/>
          <geom type="box" size="0.25 0.1 0.05"/>{legs}
        </body>"""
        for i in range(count)
    )
    return _from_text("quadrupeds", 0.005, bodies, memory=16 + count)


def wall(rows: int) -> mujoco.MjSpec:
    """A wall of bricks in running bond, as many wide as high, that a heavy ball flies into."""
    x, y, z = 0.1, 0.05, 0.05
    bricks = "".join(
        f"""
        <body pos="{2 * x * (column - rows / 2) + x * (row % 2)} 0 {z * (2 * row + 1)}">
          <freejoint/>
          <geom type="box" size="{x} {y} {z}"/>
        </body>"""
        for row in range(rows)
        for column in range(rows)
    )
    height, speed = rows * z, 8.0
    ball = f"""
        <body name="ball" pos="0 -1 {height}"><freejoint/><geom type="sphere" size="0.1"/></body>"""
    spec = _from_text("wall", 0.01, bricks + ball, memory=32 + rows * rows)
    model = spec.compile()
    velocity = [0.0] * model.nv
    velocity[-5] = speed  # of the ball, along y
    spec.add_key(name="start", qpos=model.qpos0, qvel=velocity)
    return spec


def rope(links: int) -> mujoco.MjSpec:
    """A rope of capsules in ball joints, let go in the air with a bend: one tree of 3 + 3 n."""
    length, radius = 0.1, 0.02
    geom = f'<geom type="capsule" fromto="0 0 0 {length} 0 0" size="{radius}"/>'
    inner = ""
    for i in range(links - 1, 0, -1):
        joint = '<joint type="ball" damping="0.1" armature="0.001"/>'
        turn = math.degrees(0.35 * math.cos(0.7 * i))
        inner = f'<body pos="{length} 0 0" euler="0 {turn:.6f} 0">{joint}{geom}{inner}</body>'
    bodies = f'<body pos="0 0 1.5" euler="20 0 0"><freejoint/>{geom}{inner}</body>'
    return _from_text("rope", 0.005, bodies)


def _fall(bodies: int) -> float:
    """Time in which the highest body of the clutter falls to the floor, s."""
    return math.sqrt(2.0 * 0.14 * bodies / 4 / 9.81)


def _clutter(walls: bool) -> Kind:
    return Kind(
        lambda n: scenes.clutter(bodies=n, walls=walls),
        lambda n: 0.3 + 0.7 * _fall(n),
        lambda n: 4.0 + _fall(n),
    )


def _at(make: Callable[[int], mujoco.MjSpec], early: float, late: float) -> Kind:
    return Kind(make, lambda _n: early, lambda _n: late)


KINDS = {
    "clutter": _clutter(walls=True),
    "open": _clutter(walls=False),
    "humanoids": _at(lambda n: scenes.humanoids(count=n), 1.2, 3.0),
    "quadrupeds": _at(quadrupeds, 0.2, 2.0),
    "wall": _at(wall, 0.12, 6.0),
    "rope": _at(rope, 1.2, 3.0),
}


def parse(name: str) -> tuple[Kind, int]:
    """Kind and size from a name such as ``clutter-40``.

    Raises
    ------
    ValueError
        There is no such kind, or the size is no whole number >= 1.
    """
    word, _, number = name.rpartition("-")
    if word not in KINDS or not number.isdigit() or int(number) < 1:
        known = ", ".join(f"{kind}-N" for kind in KINDS)
        raise ValueError(f"{name!r} is none of {known}")
    return KINDS[word], int(number)


def names_of(text: str) -> list[str]:
    """Names between commas, each once.

    Raises
    ------
    ValueError
        As for `parse`.
    """
    names = list(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        parse(name)
    return names

"""Scenes that every engine is given, as compiled models of MuJoCo, with their start."""

from __future__ import annotations

import dataclasses
import math

import mujoco
import numpy as np
from numpy.typing import NDArray

from benchmarks import scenes

GRAVITY = 9.81

_BOX = """<mujoco model="{name}"><option timestep="0.002" cone="elliptic"/>
  <default><geom friction="{mu} 0 0"/></default><worldbody>
  <geom type="plane" size="0 0 1"/>
  <body pos="0 0 0.01"><freejoint/><geom type="box" size=".05 .05 .01" mass="{mass}"/></body>
  </worldbody></mujoco>"""


@dataclasses.dataclass(frozen=True)
class Slide:
    """A flat box on a floor, along x."""

    mass: float
    mu: float
    force: float
    """N, all the time"""
    speed: float
    """at the start, m/s"""

    def exact(self, time: float) -> float:
        """Speed by Coulomb's law, m/s."""
        return max(0.0, self.speed + (self.force / self.mass - self.mu * GRAVITY) * time)


#: A box that is pushed, and one that slides until it stops.
SLIDES = {"push": Slide(2.0, 0.5, 12.0, 0.0), "brake": Slide(2.0, 0.8, 0.0, 2.0)}


@dataclasses.dataclass(frozen=True)
class Scene:
    """The simulated scene."""

    name: str
    model: mujoco.MjModel
    seconds: float
    qvel: NDArray[np.float64]
    """Start, with qpos0 for positions."""
    slide: Slide | None = None

    @property
    def steps(self) -> int:
        """Steps of the whole simulation."""
        return math.ceil(self.seconds / self.model.opt.timestep)

    @property
    def force(self) -> NDArray[np.float64]:
        """On the first body, all the time, N."""
        return np.array([0.0 if self.slide is None else self.slide.force, 0.0, 0.0])

    @property
    def ctrl(self) -> NDArray[np.float64]:
        """Controls: none of these scenes has actuators."""
        return np.zeros(self.model.nu)

    @property
    def dissipation_time(self) -> float:
        """Dissipation time of every contact, s."""
        return float(self.model.opt.timestep)


def make(name: str, seconds: float | None = None) -> Scene:
    """A scene by name: push, brake, or kind and size as in :mod:`benchmarks.scenes`.

    Parameters
    ----------
    name
        Name.
    seconds
        Simulated; None: until it has come to rest, or two seconds.

    Raises
    ------
    ValueError
        There is no such scene.
    """
    if name in SLIDES:
        slide = SLIDES[name]
        text = _BOX.format(name=name, mass=slide.mass, mu=slide.mu)
        model = mujoco.MjModel.from_xml_string(text)
        qvel = np.zeros(model.nv)
        qvel[0] = slide.speed
        return Scene(name, model, seconds or 2.0, qvel, slide)
    kind, size = scenes.parse(name)
    model = kind.make(size).compile()
    qvel = np.array(model.key_qvel[0]) if model.nkey else np.zeros(model.nv)
    return Scene(name, model, seconds or kind.late(size), qvel)

"""The interface of an engine in a comparison, and its input."""

from __future__ import annotations

import abc
import dataclasses
from typing import Protocol

import mujoco
import numpy as np
from numpy.typing import NDArray


class CannotSimulate(Exception):
    """The engine lacks something that the scene needs; the text says what."""


class Scene(Protocol):
    """A scene for an engine: a compiled model and its start, with qpos0 for positions."""

    @property
    def model(self) -> mujoco.MjModel:
        """The compiled model."""

    @property
    def qvel(self) -> NDArray[np.float64]:
        """Velocity at the start (nv,)."""

    @property
    def force(self) -> NDArray[np.float64]:
        """Constant force (3,) at the centre of mass of the first body, in the world, N."""

    @property
    def ctrl(self) -> NDArray[np.float64]:
        """Controls of the actuators (nu,)."""

    @property
    def dissipation_time(self) -> float:
        """Dissipation time of every contact, s."""


@dataclasses.dataclass(frozen=True)
class Setup:
    """A scene of a model, a velocity and a force; contacts dissipate over the time step.

    Attributes
    ----------
    model : mujoco.MjModel
        The compiled model.
    qvel : ndarray (nv,)
        Velocity at the start.
    force : ndarray (3,)
        Constant force on the first body, N.
    ctrl : ndarray (nu,)
        Constant controls of the actuators.
    """

    model: mujoco.MjModel
    qvel: NDArray[np.float64]
    force: NDArray[np.float64] = dataclasses.field(default_factory=lambda: np.zeros(3))
    ctrl: NDArray[np.float64] = dataclasses.field(default_factory=lambda: np.zeros(0))

    @property
    def dissipation_time(self) -> float:
        """Dissipation time of every contact, s."""
        return float(self.model.opt.timestep)


class Engine(abc.ABC):
    """One simulation of a scene by one engine.

    Parameters
    ----------
    scene
        What to simulate; the simulation stands at its start.

    Raises
    ------
    CannotSimulate
        The engine lacks something that the scene needs.
    """

    @abc.abstractmethod
    def __init__(self, scene: Scene) -> None: ...

    @abc.abstractmethod
    def advance(self, steps: int) -> None:
        """Take steps; what is timed."""

    @abc.abstractmethod
    def read(self, data: mujoco.MjData) -> None:
        """Write positions and velocities of now into data of the scene's model."""

    def close(self) -> None:
        """Release what the engine holds."""
        return


def refuse_beyond_bodies(model: mujoco.MjModel) -> None:
    """Refuse models with more than bodies, joints and contacts with sliding friction.

    Parameters
    ----------
    model : mujoco.MjModel
        The model of a scene.

    Raises
    ------
    CannotSimulate
        It has equality constraints, actuators, moving surfaces, or torsional friction.
    """
    if model.neq or model.nu:
        raise CannotSimulate("no equality constraints or actuators")
    if np.any(model.geom_surfacevel):
        raise CannotSimulate("no moving surfaces")
    if np.any(model.geom_condim != 3):
        raise CannotSimulate("sliding friction only")


def free_velocity(
    rotation: NDArray[np.float64], angular: NDArray[np.float64], linear: NDArray[np.float64]
) -> NDArray[np.float64]:
    """MuJoCo's velocity (6,) of a free joint from world velocities of the body and its origin."""
    return np.concatenate([linear, rotation.T @ angular])

"""What an engine does for the comparison."""

from __future__ import annotations

import abc

import mujoco
import numpy as np
from numpy.typing import NDArray

from benchmarks.engines.scenes import Scene


class CannotSimulate(Exception):
    """The engine lacks something that the scene needs; the text says what."""


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


def free_velocity(
    rotation: NDArray[np.float64], angular: NDArray[np.float64], linear: NDArray[np.float64]
) -> NDArray[np.float64]:
    """MuJoCo's velocity (6,) of a free joint from world velocities of the body and its origin."""
    return np.concatenate([linear, rotation.T @ angular])

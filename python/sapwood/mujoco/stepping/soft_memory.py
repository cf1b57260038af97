"""The state of soft steps beside that of MuJoCo, as a row of numbers.

A row has 1, the time, positions and velocities of the soft bodies, and what each body and flex
remembers of earlier steps, on which round-off depends. A row of zeros is the start.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.fem.body_step import BodyStep
from sapwood.fem.soft_step import SoftStep
from sapwood.fem.state import SoftState
from sapwood.mujoco.reading.soft_bodies import SoftModel

_Float = NDArray[np.float64]

_HEAD = 2  # whether there is a state, and its time


def memory_size(soft: SoftModel) -> int:
    """Length of a row.

    Parameters
    ----------
    soft : SoftModel
        The soft bodies and flexes.

    Returns
    -------
    int
        The length.
    """
    bodies = [len(body.mesh.vertices) for body in soft.bodies]
    flexes = [flex.vertices.stop - flex.vertices.start for flex in soft.flexes]
    # positions and velocities of bodies, then what they and the flexes remember
    remembered = sum(map(SoftStep.memory_of_vertices, bodies))
    remembered += sum(map(BodyStep.memory_of_vertices, flexes))
    return _HEAD + 6 * sum(bodies) + remembered


def motion_size(model: mujoco.MjModel, soft: SoftModel) -> int:
    """Number of values of the state on which forces of contact depend.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    soft : SoftModel
        Its soft bodies and flexes.

    Returns
    -------
    int
        Of time, qpos, qvel and act, and positions and velocities of the soft bodies.
    """
    bodies = sum(len(body.positions) for body in soft.bodies)
    return int(1 + model.nq + model.nv + model.na + 6 * bodies)


def state_in_row(soft: SoftModel, row: _Float) -> SoftState | None:
    """The state of the soft bodies in a row.

    Parameters
    ----------
    soft : SoftModel
        The soft bodies and flexes.
    row : ndarray (n,)
        The row.

    Returns
    -------
    SoftState or None
        The state; None for the start.
    """
    if not row[0]:
        return None
    n = [len(body.positions) for body in soft.bodies]
    ends = _HEAD + 6 * np.cumsum(n)
    arrays = [
        row[end - 6 * k : end].reshape(2, k, 3).copy() for end, k in zip(ends, n, strict=True)
    ]
    return SoftState(float(row[1]), tuple(x for x, _ in arrays), tuple(v for _, v in arrays))


class SoftMemory:
    """Saves and loads the state of soft steps.

    Parameters
    ----------
    soft : SoftModel
        The soft bodies and flexes.
    steps : sequence of BodyStep
        Their steps.
    """

    def __init__(self, soft: SoftModel, steps: Sequence[BodyStep]) -> None:
        self._soft, self._steps = soft, steps

    @property
    def size(self) -> int:
        """Length of a row."""
        return memory_size(self._soft)

    def save(self) -> _Float:
        """The state as a new row."""
        row, soft = np.zeros(self.size), self._soft
        row[0], row[1] = 1.0, soft.time
        begin = _HEAD
        for body in soft.bodies:
            end = begin + 6 * len(body.positions)
            row[begin:end] = np.concatenate([body.positions, body.velocities]).ravel()
            begin = end
        for step, part in self._parts(row):
            step.save_memory(part)
        return row

    def load(self, row: _Float, start: SoftState | None = None) -> None:
        """Set the state by a row; `start` is that of a row of zeros, and fits data of any time."""
        state = state_in_row(self._soft, row)
        self._soft.time = math.nan if state is None else state.time
        state = start if state is None else state
        if state is not None:
            state.restore(self._soft.bodies)
        for step, part in self._parts(row):
            step.load_memory(part)

    def _parts(self, row: _Float) -> list[tuple[BodyStep, _Float]]:
        """The part of a row of each step."""
        begin, found = len(row) - sum(step.memory_size for step in self._steps), []
        for step in self._steps:
            end = begin + step.memory_size
            found.append((step, row[begin:end]))
            begin = end
        return found

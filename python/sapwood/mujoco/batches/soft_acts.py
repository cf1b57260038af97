"""Steps of worlds with soft bodies or elastic flexes, for the C loop over worlds."""

from __future__ import annotations

import dataclasses

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.fem.friction_memory import FrictionMemory
from sapwood.fem.state import SoftState
from sapwood.mujoco.reading.soft_bodies import SoftModel
from sapwood.mujoco.results.faults import remembered_text
from sapwood.mujoco.results.results import StepError
from sapwood.mujoco.stepping.soft_memory import memory_size, motion_size
from sapwood.mujoco.stepping.soft_steps import SoftSteps

_Float = NDArray[np.float64]

_BEGIN, _STEP, _FORWARD, _END = range(4)  # sap_batch_act


@dataclasses.dataclass(frozen=True)
class SoftOutputs:
    """Inputs and outputs of worlds, one row for each world of a batch; None: there are none.

    Attributes
    ----------
    speeds : ndarray (n_worlds, 5), optional
        Speeds of release and slip.
    logs : tuple of ContactLog, optional
        Contacts of the last step.
    body_forces : ndarray (n_worlds, nbody, 3), optional
        Contact forces, N.
    """

    speeds: _Float | None = None
    logs: tuple[_core.ContactLog, ...] | None = None
    body_forces: _Float | None = None


@dataclasses.dataclass(frozen=True)
class SoftActs:
    """The hook of one call of the C loop.

    Attributes
    ----------
    workers : list of tuple
        Steps and data of each thread.
    ids : ndarray of int32 (n,), optional
        Indices of the worlds of the call; None is all.
    rows : ndarray (n_worlds, n_memory), optional
        What the steps of all worlds remember: their :class:`SoftMemory`, then with lagged friction
        their :class:`FrictionMemory`.
    starts : ndarray (n or 1, n_memory), optional
        What those of the call remember first, in place of their rows.
    start : SoftState
        State of the soft bodies of a world that remembers nothing.
    outputs : SoftOutputs
        Further inputs and outputs.
    solved : set of int
        Threads whose present world has solved for its forces.
    """

    workers: list[tuple[SoftSteps, mujoco.MjData]]
    ids: NDArray[np.int32] | None
    rows: _Float | None
    starts: _Float | None
    start: SoftState
    outputs: SoftOutputs
    solved: set[int] = dataclasses.field(default_factory=set)

    def __call__(self, worker: int, position: int, act: int, record: memoryview) -> None:
        """Act on the world at a position of the call, see ``sap_batch_act``."""
        steps, data = self.workers[worker]
        world = position if self.ids is None else int(self.ids[position])
        if act == _BEGIN:
            self._begin(steps, data, position, world)
            self.solved.discard(worker)
        elif act == _END:
            self._end(steps, data, world, worker in self.solved)
        else:
            self.solved.add(worker)
            if act == _STEP:
                steps.take(data, np.frombuffer(record, _core.STEP_RECORD))
            else:
                steps.forward(data)

    def _begin(self, steps: SoftSteps, data: mujoco.MjData, position: int, world: int) -> None:
        if self.starts is not None:
            row = self.starts[min(position, len(self.starts) - 1)]
        elif self.rows is not None:
            row = self.rows[world]
        else:
            row = np.zeros(steps.memory.size)
        n, friction = steps.memory.size, steps.friction_of(data)
        steps.memory.load(row[:n], self.start)
        if friction is not None:
            _load(friction[1], row[n:], steps, data)
        if self.outputs.speeds is not None:
            steps.speeds = tuple(self.outputs.speeds[world])

    def _end(self, steps: SoftSteps, data: mujoco.MjData, world: int, is_solved: bool) -> None:
        if self.rows is not None:
            n, friction = steps.memory.size, steps.friction_of(data)
            if friction is not None:
                _save(friction[1], self.rows[world, n:], steps, data)
            self.rows[world, :n] = steps.memory.save()
        if not is_solved:
            return
        if self.outputs.logs is not None:
            self.outputs.logs[world].clear()
            self.outputs.logs[world].append(steps.contacts())
        if self.outputs.body_forces is not None:
            self.outputs.body_forces[world] = steps.body_forces()


def row_size(model: mujoco.MjModel, soft: SoftModel, n_forces: int) -> int:
    """Length of a row.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    soft : SoftModel
        Its soft bodies and flexes.
    n_forces : int
        Forces of lagged friction that rows have room for; 0 without.

    Returns
    -------
    int
        The length.
    """
    n = memory_size(soft)
    return n + FrictionMemory.row_size(motion_size(model, soft), n_forces) if n_forces else n


def _load(friction: FrictionMemory, row: _Float, steps: SoftSteps, data: mujoco.MjData) -> None:
    """Remember the friction of a row, which may be empty."""
    if not row.size:
        friction.forget()
        return
    try:
        friction.load(row, steps.motion_size)
    except ValueError as error:
        raise StepError(remembered_text(1, 0), float(data.time)) from error


def _save(friction: FrictionMemory, row: _Float, steps: SoftSteps, data: mujoco.MjData) -> None:
    """Write the friction to a row."""
    n_state, n = steps.motion_size, friction.n_forces
    if FrictionMemory.row_size(n_state, n) > row.size:
        raise StepError(remembered_text(0, n), float(data.time))
    friction.save(row, n_state)

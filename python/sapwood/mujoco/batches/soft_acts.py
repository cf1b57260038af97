"""Steps of worlds with soft bodies or elastic flexes, for the C loop over worlds."""

from __future__ import annotations

import dataclasses

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.fem.state import SoftState
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
        What the steps of all worlds remember.
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
            self._begin(steps, position, world)
            self.solved.discard(worker)
        elif act == _END:
            self._end(steps, world, worker in self.solved)
        else:
            self.solved.add(worker)
            if act == _STEP:
                steps.take(data, np.frombuffer(record, _core.STEP_RECORD))
            else:
                steps.forward(data)

    def _begin(self, steps: SoftSteps, position: int, world: int) -> None:
        if self.starts is not None:
            row = self.starts[min(position, len(self.starts) - 1)]
        elif self.rows is not None:
            row = self.rows[world]
        else:
            row = np.zeros(steps.memory.size)
        steps.memory.load(row, self.start)
        if self.outputs.speeds is not None:
            steps.speeds = tuple(self.outputs.speeds[world])

    def _end(self, steps: SoftSteps, world: int, is_solved: bool) -> None:
        if self.rows is not None:
            self.rows[world] = steps.memory.save()
        if not is_solved:
            return
        if self.outputs.logs is not None:
            self.outputs.logs[world].clear()
            self.outputs.logs[world].append(steps.contacts())
        if self.outputs.body_forces is not None:
            self.outputs.body_forces[world] = steps.body_forces()

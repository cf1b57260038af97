"""The threads of a batch or a rollout: a stepper and data for each of them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.fem.state import SoftState
from sapwood.mujoco.batches.fields import WHOLE_STATE
from sapwood.mujoco.batches.soft_acts import SoftActs, SoftOutputs, row_size
from sapwood.mujoco.reading.parameters import StepParameters
from sapwood.mujoco.results.faults import Failure, failure_text
from sapwood.mujoco.results.results import StepError
from sapwood.mujoco.stepping.soft_steps import SoftSteps

Worker = tuple[_core.ModelStepper, mujoco.MjModel, mujoco.MjData, _core.FrictionMemory | None]
"""The stepper of a thread, its model, its data, and its friction of the step before."""


class Workers:
    """Some threads with a stepper each, and the C loop over worlds on them.

    Parameters
    ----------
    parameters : StepParameters
        Parameters of all steppers.
    engine : object
        The loaded MuJoCo, of :func:`sapwood.mujoco.reading.engine.engine`.
    own_models : bool
        Whether each thread has a copy of the model, for parameters of worlds.
    """

    def __init__(
        self, parameters: StepParameters, engine: object, *, own_models: bool = False
    ) -> None:
        self._parameters, self._engine, self._own_models = parameters, engine, own_models
        self.workers: list[Worker] = []
        self._soft: list[SoftSteps] = []
        self._core: _core.WorldBatch | None = None

    def _make(self) -> Worker:
        parameters, model = self._parameters, self._parameters.model
        own = copy.copy(model) if self._own_models else model
        if parameters.soft is not None:
            steps = SoftSteps(parameters.for_thread(own), self._engine)
            self._soft.append(steps)
            data = mujoco.MjData(own)
            friction = steps.friction_of(data)
            return steps.core, own, data, None if friction is None else friction[0]
        core = parameters.make_core()
        lags = self._parameters.settings.friction == "lagged"
        memory = _core.FrictionMemory(core) if lags else None
        return core, own, mujoco.MjData(own), memory

    def forget(self) -> None:
        """Drop all threads, for a process that has none of them."""
        self.workers, self._soft, self._core = [], [], None

    def loop(self, n: int) -> _core.WorldBatch:
        """The loop over worlds.

        Parameters
        ----------
        n : int
            Number of threads that it needs at least.

        Returns
        -------
        _core.WorldBatch
            A loop on at least so many threads.
        """
        if self._core is None or len(self.workers) < n:
            while len(self.workers) < n:
                self.workers.append(self._make())
            self._core = _core.WorldBatch(self._engine, self.workers)
        return self._core

    def arrays(self, get: Callable[[Worker], NDArray[Any]]) -> tuple[NDArray[Any], ...]:
        """An array of each thread, as the C loop takes them."""
        return tuple(get(worker) for worker in self.workers)

    def memory_size(self, remembered: int) -> int:
        """Number of values of a state that soft bodies and flexes have behind that of MuJoCo.

        Parameters
        ----------
        remembered : int
            Contacts of soft bodies that lagged friction may remember.

        Returns
        -------
        int
            The number.
        """
        parameters = self._parameters
        soft = parameters.soft
        return 0 if soft is None else row_size(parameters.model, soft, remembered)

    def soft_arguments(
        self,
        ids: NDArray[np.int32] | None,
        state: NDArray[np.float64] | None,
        starts: NDArray[np.float64] | None,
        outputs: SoftOutputs,
        remembered: int = 0,
    ) -> dict[str, Any]:
        """Arguments of the C loop for worlds with soft bodies or flexes; none without.

        Parameters
        ----------
        ids : ndarray of int32 (n,), optional
            Indices of the worlds of the call; None is all.
        state : ndarray (n_worlds, n_state), optional
            Rows of all worlds; what they have behind the state of MuJoCo is read and written.
        starts : ndarray (n or 1, n_state), optional
            Rows that the worlds of the call start from in place of their own.
        outputs : SoftOutputs
            Further inputs and outputs of worlds.
        remembered : int
            Contacts of soft bodies that rows have room for.

        Returns
        -------
        dict
            ``acts`` and ``behind``.
        """
        soft = self._parameters.soft
        if soft is None:
            return {}
        n = self.memory_size(remembered)
        first = mujoco.mj_stateSize(self._parameters.model, WHOLE_STATE)
        behind = slice(first, first + n)
        pairs = [(steps, worker[2]) for steps, worker in zip(self._soft, self.workers, strict=True)]
        rows, begin = ((None if a is None else a[:, behind]) for a in (state, starts))
        start = SoftState.of(soft.bodies)
        return {"acts": SoftActs(pairs, ids, rows, begin, start, outputs), "behind": n}

    def error_of(
        self, worker: int, failure: Failure | StepError, step: int, world: int | None
    ) -> StepError:
        """The error of a world that failed, while the data of its thread are as it left them.

        Parameters
        ----------
        worker : int
            Index of the thread.
        failure : tuple or StepError
            Report of the C core, or the error of a step that is put together in Python.
        step : int
            Number of steps taken before.
        world : int or None
            Index of the world, for the text.

        Returns
        -------
        StepError
            The error.
        """
        if isinstance(failure, StepError):
            return StepError(failure.args[0], failure.time, step, world)
        _, model, data, _ = self.workers[worker]
        return StepError(failure_text(failure, model, data), data.time, step, world)


def chunk_of(n_worlds: int, n_threads: int) -> int:
    """Number of worlds that a thread takes at a time: a tenth of its share.

    Parameters
    ----------
    n_worlds, n_threads : int
        Worlds of the call, and threads that share them.

    Returns
    -------
    int
        At least 1; all worlds for one thread.
    """
    parts = 1 if n_threads == 1 else 10 * n_threads
    return max(1, -(-n_worlds // parts))


def as_rows(array: NDArray[Any], n_worlds: int) -> NDArray[Any]:
    """A view of an array (n_worlds, ...) with two axes."""
    return array.reshape(n_worlds, int(np.prod(array.shape[1:], dtype=np.int64)))

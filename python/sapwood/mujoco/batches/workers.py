"""The threads of a batch or a rollout: a stepper and data for each of them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.mujoco.reading.parameters import StepParameters
from sapwood.mujoco.results.faults import Failure, failure_text
from sapwood.mujoco.results.results import StepError

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
        self._core: _core.WorldBatch | None = None

    def _make(self) -> Worker:
        core, model = self._parameters.make_core(), self._parameters.model
        own = copy.copy(model) if self._own_models else model
        lags = self._parameters.settings.friction == "lagged"
        memory = _core.FrictionMemory(core) if lags else None
        return core, own, mujoco.MjData(own), memory

    def forget(self) -> None:
        """Drop all threads, for a process that has none of them."""
        self.workers, self._core = [], None

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

    def error_of(self, worker: int, failure: Failure, step: int, world: int | None) -> StepError:
        """The error of a world that failed, while the data of its thread are as it left them.

        Parameters
        ----------
        worker : int
            Index of the thread.
        failure : tuple
            Report of the C core.
        step : int
            Number of steps taken before.
        world : int or None
            Index of the world, for the text.

        Returns
        -------
        StepError
            The error.
        """
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

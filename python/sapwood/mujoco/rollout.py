"""Many worlds of one model, stepped on all cores: open-loop controls in, states and sensors out."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood.base.checks import integer
from sapwood.base.hints import explained, warn_caller
from sapwood.base.processors import thread_count
from sapwood.mujoco.batches.workers import Workers, chunk_of
from sapwood.mujoco.batches.worlds import CONTROL, ORDER, WHOLE_STATE, Worlds
from sapwood.mujoco.reading.engine import engine
from sapwood.mujoco.reading.support import NotSupported
from sapwood.mujoco.results.results import RolloutResult, StepError
from sapwood.mujoco.stepper import Stepper
from sapwood.mujoco.stepping.forks import free_in_children
from sapwood.stepping.schemes import SYMPLECTIC_EULER

_Float = NDArray[np.float64]


class Rollout:
    """Rolls out worlds of one model; keeps the memory of its threads from call to call.

    As a context manager it releases that memory at the end of the block, by :meth:`close`. A copy,
    or what comes out of a pickle, has threads of its own, and follows its own model only.

    Parameters
    ----------
    model : mujoco.MjModel or Stepper
        The model to simulate. Of a stepper, the model and parameters are used; its results and
        counters stay as they are.
    nthread : int, optional
        Threads to use, at least 1; by default one per core that this process may run on.
    **options
        Options of :class:`Stepper`, for a model.

    Raises
    ------
    NotSupported, TypeError, ValueError
        As for :class:`Stepper`.
    """

    @explained(Stepper.__init__)
    def __init__(
        self, model: mujoco.MjModel | Stepper, *, nthread: int | None = None, **options: Any
    ) -> None:
        if isinstance(model, Stepper) and options:
            raise TypeError(f"{next(iter(options))}: a stepper has its options already")
        self._start(
            model if isinstance(model, Stepper) else Stepper(model, **options),
            thread_count(nthread, "nthread"),
        )

    def __getstate__(self) -> dict[str, Any]:
        return {"stepper": self._stepper, "nthread": self._nthread, "closed": self._closed}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._start(state["stepper"], state["nthread"])
        self._closed = state["closed"]

    def _start(self, stepper: Stepper, nthread: int) -> None:
        self._stepper, self._nthread = stepper, nthread
        stepper.follow()
        self._parameters = stepper.parameters
        if self._parameters.scheme != SYMPLECTIC_EULER:
            raise NotSupported("rollouts are by symplectic_euler, other schemes by Stepper.run")
        self._engine = engine()
        self._workers = Workers(self._parameters, self._engine)
        self._lock, self._closed = threading.Lock(), False
        free_in_children(self, Rollout._free)

    def _free(self) -> None:
        """Release, in a child process, the work of threads that stayed behind in the parent."""
        if self._lock.locked():
            self._lock = threading.Lock()
            self._workers.forget()

    def _follow(self) -> None:
        """Follow changes of the model."""
        self._stepper.follow()
        if self._stepper.parameters is not self._parameters:
            self._parameters = self._stepper.parameters
            self._workers = Workers(self._parameters, self._engine)

    def close(self) -> None:
        """Release the threads and their memory; later calls raise RuntimeError."""
        with self._lock:
            self._workers.forget()
            self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def nthread(self) -> int:
        """Number of threads."""
        return self._nthread

    def rollout(
        self,
        initial_state: ArrayLike,
        control: ArrayLike | None = None,
        *,
        control_spec: int = CONTROL,
        nstep: int | None = None,
        state: _Float | None = None,
        sensordata: _Float | None = None,
        chunk_size: int | None = None,
    ) -> RolloutResult:
        """Roll out worlds; see :func:`sapwood.mujoco.rollout`, which does the same.

        Parameters
        ----------
        initial_state, control, control_spec, nstep, state, sensordata, chunk_size
            Arguments of :func:`sapwood.mujoco.rollout`.

        Returns
        -------
        RolloutResult
            The result.

        Raises
        ------
        TypeError, ValueError
            If an argument is wrong; the message names it.

        Warns
        -----
        RuntimeWarning
            If worlds failed; the result says which.
        """
        worlds = Worlds(
            self._parameters.model, initial_state, control, control_spec, nstep, state, sensordata
        )
        return self._run(worlds, chunk_size)

    def _run(self, worlds: Worlds, chunk_size: int | None) -> RolloutResult:
        n_worlds, model = worlds.n_worlds, self._parameters.model
        if chunk_size is None:
            chunk_size = chunk_of(n_worlds, self._nthread)
        chunk_size = integer(chunk_size, "chunk_size", 1)
        n_threads = max(1, min(self._nthread, -(-n_worlds // chunk_size)))
        with self._lock:
            if self._closed:
                raise RuntimeError("this Rollout is closed: make a new one")
            self._follow()
            self._parameters.check_options()
            # the start of a world in all that its initial state does not give
            data = mujoco.MjData(model)
            neutral = np.empty(mujoco.mj_stateSize(model, WHOLE_STATE))
            mujoco.mj_getState(model, data, neutral, WHOLE_STATE)
            failures = worlds.run(self._workers, neutral, n_threads, chunk_size)
        if failures:
            warn_caller(
                f"{len(failures)} of {n_worlds} worlds failed, first {failures[0]}",
                RuntimeWarning,
            )
        return RolloutResult(
            state=worlds.state,
            sensordata=worlds.sensordata,
            steps=worlds.taken,
            failures=failures,
            records=worlds.records,
        )


@explained(
    Stepper.__init__,
    order=ORDER,
)
def rollout(
    model: mujoco.MjModel | Stepper | Sequence[mujoco.MjModel],
    initial_state: ArrayLike,
    control: ArrayLike | None = None,
    *,
    nthread: int | None = None,
    control_spec: int = CONTROL,
    nstep: int | None = None,
    state: _Float | None = None,
    sensordata: _Float | None = None,
    chunk_size: int | None = None,
    **options: Any,
) -> RolloutResult:
    """Step many worlds of one model on all cores, like ``mujoco.rollout``.

    Each world starts from its initial state, otherwise from new data, and takes nstep steps with
    its controls. The results are the same as of :meth:`Stepper.run`, bit for bit, for any number of
    threads. A world that fails ends at that step, and the others go on. The GIL is released. A
    :class:`Rollout` keeps memory from call to call.

    Lengths nbatch and nstep are taken from the arrays, whose leading axes may be missing or 1
    where all worlds, or all steps, share one value.

    Parameters
    ----------
    model : mujoco.MjModel, Stepper or sequence of mujoco.MjModel
        The model to simulate; see :class:`Rollout`. A sequence has the model of each world, all
        with the same sizes; worlds of one model should be neighbours.
    initial_state : array_like (nbatch, nstate)
        Initial state of each world, in the layout of ``mj_getState`` with ``mjSTATE_FULLPHYSICS``.
    control : array_like (nbatch, nstep, ncontrol), optional
        Controls, set before each step; without, they stay at zero.
    nthread : int, optional
        Threads to use, at least 1; by default one per core that this process may run on.
    control_spec : int
        Fields in ``control``: bits of ``mujoco.mjtState`` in ``mjSTATE_USER``.
    nstep : int, optional
        Steps to take; taken from the arrays where it is None, or 1.
    state, sensordata : ndarray (nbatch, nstep, ...), optional
        Arrays to write to; allocated if None.
    chunk_size : int, optional
        Worlds that a thread takes at a time; a tenth of its share where None.
    **options
        Options of :class:`Stepper`, for a model.

    Returns
    -------
    RolloutResult
        States, sensors, and how the steps went.

    Raises
    ------
    TypeError, ValueError
        For a wrong argument; the message names it.
    NotSupported
        The same as for :class:`Rollout`.

    Warns
    -----
    RuntimeWarning
        If worlds failed; the result says which.

    Examples
    --------
    >>> import mujoco, numpy as np, sapwood.mujoco
    >>> model = sapwood.studies.scenes.sphere_on_floor(1.0).compile()
    >>> data = mujoco.MjData(model)
    >>> spec = mujoco.mjtState.mjSTATE_FULLPHYSICS
    >>> start = np.empty(mujoco.mj_stateSize(model, spec))
    >>> mujoco.mj_getState(model, data, start, spec)
    >>> result = sapwood.mujoco.rollout(model, np.tile(start, (8, 1)), nstep=100)
    >>> result.state.shape, result.converged
    ((8, 100, 14), True)
    """
    if isinstance(model, Sequence):
        return _roll_out_models(
            model, initial_state, control, nthread, control_spec, nstep, state, sensordata,
            chunk_size, options,
        )  # fmt: skip
    pool = Rollout(model, nthread=nthread, **options)
    worlds = Worlds(
        pool._parameters.model, initial_state, control, control_spec, nstep, state, sensordata
    )
    return pool._run(worlds, chunk_size)


def _roll_out_models(
    models: Sequence[mujoco.MjModel],
    initial_state: ArrayLike,
    control: ArrayLike | None,
    nthread: int | None,
    control_spec: int,
    nstep: int | None,
    state: _Float | None,
    sensordata: _Float | None,
    chunk_size: int | None,
    options: dict[str, Any],
) -> RolloutResult:
    """Roll out worlds of a model each; neighbours with one model share a stepper."""
    if not models:
        raise ValueError("model has length 0: there are no worlds")
    for i, one in enumerate(models):
        if not isinstance(one, mujoco.MjModel):
            raise TypeError(f"model[{i}] must be a mujoco.MjModel, not {type(one).__name__}")
        if one.signature != models[0].signature:
            raise ValueError(f"model[{i}] has other elements than model[0]")
    n = len(models)
    all_worlds = Worlds(
        models[0], initial_state, control, control_spec, nstep, state, sensordata, n
    )
    threads = thread_count(nthread, "nthread")
    groups = [list(group) for _, group in itertools.groupby(range(n), lambda i: id(models[i]))]

    def run(group: list[int]) -> None:
        rows = slice(group[0], group[-1] + 1)
        with Rollout(models[group[0]], nthread=1, **options) as pool:
            part = all_worlds.part(rows)
            failures[rows.start] = pool._run(part, chunk_size).failures

    failures: dict[int, tuple[StepError, ...]] = {}
    with ThreadPoolExecutor(min(threads, len(groups))) as executor:
        list(executor.map(run, groups))
    for first, errors in failures.items():
        for error in errors:
            error.world = (error.world or 0) + first
    return RolloutResult(
        state=all_worlds.state,
        sensordata=all_worlds.sensordata,
        steps=all_worlds.taken,
        failures=tuple(error for first in sorted(failures) for error in failures[first]),
        records=all_worlds.records,
    )

"""Many worlds of one model, stepped on all cores: open-loop controls in, states and sensors out."""

from __future__ import annotations

import dataclasses
import itertools
import os
import threading
import warnings
import weakref
from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.checks import integer
from sapwood.mujoco.engine import EngineError
from sapwood.mujoco.results import StepError
from sapwood.mujoco.schemes import SchemeSteps
from sapwood.mujoco.stages import check_options
from sapwood.mujoco.stepper import Stepper
from sapwood.mujoco.support import NotSupported, failure_text
from sapwood.processors import usable_processors
from sapwood.solution import Status

_Float = NDArray[np.float64]

_ALL = int(mujoco.mjtState.mjSTATE_INTEGRATION)
_STATE = int(mujoco.mjtState.mjSTATE_FULLPHYSICS)
_CONTROL = int(mujoco.mjtState.mjSTATE_CTRL)
_USER = int(mujoco.mjtState.mjSTATE_USER)


@dataclasses.dataclass(frozen=True, eq=False)
class RolloutResult:
    """What a rollout leaves.

    Attributes
    ----------
    state : ndarray (nbatch, nstep, nstate)
        State after each step, ``mjSTATE_FULLPHYSICS``; NaN after a step that failed.
    sensordata : ndarray (nbatch, nstep, nsensordata)
        Sensors, as ``data.sensordata`` after each step; NaN after a step that failed.
    steps : ndarray of int (nbatch,)
        Steps that each world took; less than nstep where one failed.
    failures : tuple of StepError
        One for each world that failed, in their order, with its ``world`` and ``step``.
    records : structured ndarray (nbatch, nstep)
        How the steps went, with the columns of :class:`sapwood.mujoco.RunResult`; zero after a
        step that failed.
    """

    state: _Float
    sensordata: _Float
    steps: NDArray[np.int64]
    failures: tuple[StepError, ...]
    records: NDArray[np.void]

    @property
    def converged(self) -> bool:
        """Whether all worlds took all steps, and each met the tolerance of the solver."""
        return not self.failures and bool(np.all(self.records["status"] == Status.converged))


class Rollout:
    """Rolls out worlds of one model; keeps the memory of its threads from call to call.

    Parameters
    ----------
    model : mujoco.MjModel or Stepper
        What to simulate. Of a stepper, its model and parameters are used and its results and
        counters stay as they are.
    nthread : int, optional
        Threads to use, at least 1; by default one per core that this process may run on.
    **options
        Of :class:`Stepper`, where a model is given.

    Raises
    ------
    NotSupported, TypeError, ValueError
        As for :class:`Stepper`, and NotSupported where this version of MuJoCo cannot be driven from
        C.
    """

    def __init__(
        self, model: mujoco.MjModel | Stepper, *, nthread: int | None = None, **options: Any
    ) -> None:
        if isinstance(model, Stepper):
            if options:
                raise TypeError(f"{next(iter(options))}: a stepper has its options already")
            self._stepper = model
        else:
            self._stepper = Stepper(model, **options)
        if isinstance(self._stepper._engine, EngineError):
            raise NotSupported(f"MuJoCo {mujoco.__version__}: {self._stepper._engine}")
        if isinstance(self._stepper._core, SchemeSteps):
            raise NotSupported("rollouts are by symplectic_euler, other schemes by Stepper.run")
        self._nthread = usable_processors() if nthread is None else integer(nthread, "nthread", 1)
        self._workers: list[tuple[_core.ModelStepper, mujoco.MjData]] = []
        self._lock = threading.Lock()
        _rollouts.add(self)

    @property
    def nthread(self) -> int:
        """Number of threads."""
        return self._nthread

    def rollout(
        self,
        initial_state: ArrayLike,
        control: ArrayLike | None = None,
        *,
        control_spec: int = _CONTROL,
        nstep: int | None = None,
        state: _Float | None = None,
        sensordata: _Float | None = None,
        chunk_size: int | None = None,
    ) -> RolloutResult:
        """Roll out worlds; see :func:`sapwood.mujoco.rollout`, which does the same.

        Parameters
        ----------
        initial_state, control, control_spec, nstep, state, sensordata, chunk_size
            As there.

        Returns
        -------
        RolloutResult
            As there.

        Raises
        ------
        TypeError, ValueError
            As there.

        Warns
        -----
        RuntimeWarning
            As there.
        """
        task = _Task(
            self._stepper.model, initial_state, control, control_spec, nstep, state, sensordata
        )
        return self._run(task, chunk_size, stacklevel=2)

    def _run(self, task: _Task, chunk_size: int | None, stacklevel: int) -> RolloutResult:
        n_worlds, stepper = task.n_worlds, self._stepper
        if chunk_size is None:
            chunk_size = max(1, n_worlds // (10 * self._nthread))
        chunk_size = integer(chunk_size, "chunk_size", 1)
        n_threads = max(1, min(self._nthread, -(-n_worlds // chunk_size)))
        with self._lock:
            check_options(stepper.model, stepper._options)
            while len(self._workers) < n_threads:
                self._workers.append((stepper._make_core(), mujoco.MjData(stepper.model)))
            workers = self._workers[:n_threads]
            # what a world starts from where its initial state says nothing
            data = workers[0][1]
            mujoco.mj_resetData(stepper.model, data)
            neutral = np.empty(mujoco.mj_stateSize(stepper.model, _ALL))
            mujoco.mj_getState(stepper.model, data, neutral, _ALL)
            for core, _ in workers:
                core.accept_options(stepper._engine, stepper.model)
            failures = task.run(stepper._engine, stepper.model, neutral, workers, chunk_size)
        if failures:
            warnings.warn(
                f"{len(failures)} of {n_worlds} worlds failed, first {failures[0]}",
                RuntimeWarning,
                stacklevel=stacklevel + 1,
            )
        return RolloutResult(task.state, task.sensordata, task.taken, failures, task.records)


_rollouts: weakref.WeakSet[Rollout] = weakref.WeakSet()


def _free_rollouts() -> None:
    """Let go, in a child process, what threads were at work on that stayed behind."""
    for pool in list(_rollouts):
        if pool._lock.locked():
            pool._lock, pool._workers = threading.Lock(), []


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_rollouts)


def rollout(
    model: mujoco.MjModel | Stepper,
    initial_state: ArrayLike,
    control: ArrayLike | None = None,
    *,
    nthread: int | None = None,
    control_spec: int = _CONTROL,
    nstep: int | None = None,
    state: _Float | None = None,
    sensordata: _Float | None = None,
    chunk_size: int | None = None,
    **options: Any,
) -> RolloutResult:
    """Step many worlds of one model on all cores, like ``mujoco.rollout``.

    Each world starts from its initial state, with all else as in new data, and takes nstep steps
    with its controls. The results are those of :meth:`Stepper.run`, bit for bit, for any number of
    threads. A world that fails ends at that step, and the others go on. The GIL is released. Use a
    :class:`Rollout` to keep memory from call to call.

    Lengths nbatch and nstep are taken from the arrays, whose leading axes may be missing or 1
    where all worlds, or all steps, share one value.

    Parameters
    ----------
    model : mujoco.MjModel or Stepper
        What to simulate; see :class:`Rollout`.
    initial_state : array_like (nbatch, nstate)
        Where each world starts, in the layout of ``mj_getState`` with ``mjSTATE_FULLPHYSICS``.
    control : array_like (nbatch, nstep, ncontrol), optional
        Controls, set before each step; without, they stay at zero.
    nthread : int, optional
        Threads to use, at least 1; by default one per core that this process may run on.
    control_spec : int
        What ``control`` holds: bits of ``mujoco.mjtState`` in ``mjSTATE_USER``.
    nstep : int, optional
        Steps to take; taken from the arrays where it is None, or 1.
    state, sensordata : ndarray (nbatch, nstep, ...), optional
        Where to write; allocated where None.
    chunk_size : int, optional
        Worlds that a thread takes at a time; a tenth of its share where None.
    **options
        Of :class:`Stepper`, where a model is given.

    Returns
    -------
    RolloutResult
        States, sensors, and how the steps went.

    Raises
    ------
    TypeError, ValueError
        For a wrong argument; the text names it.
    NotSupported
        As for :class:`Rollout`.

    Warns
    -----
    RuntimeWarning
        Where worlds failed; the result says which.

    Examples
    --------
    >>> import mujoco, numpy as np, sapwood.mujoco
    >>> model = sapwood.scenes.sphere_on_floor(1.0).compile()
    >>> data = mujoco.MjData(model)
    >>> spec = mujoco.mjtState.mjSTATE_FULLPHYSICS
    >>> start = np.empty(mujoco.mj_stateSize(model, spec))
    >>> mujoco.mj_getState(model, data, start, spec)
    >>> result = sapwood.mujoco.rollout(model, np.tile(start, (8, 1)), nstep=100)
    >>> result.state.shape, result.converged
    ((8, 100, 14), True)
    """
    pool = Rollout(model, nthread=nthread, **options)
    task = _Task(
        pool._stepper.model, initial_state, control, control_spec, nstep, state, sensordata
    )
    return pool._run(task, chunk_size, stacklevel=2)


# ---- one call -----------------------------------------------------------------------------------


def _matrix(value: ArrayLike, name: str, ndim: int) -> _Float:
    """`value` with leading axes of length 1 where it has less than `ndim`."""
    array = _core.as_float64(value, name)
    if array.ndim > ndim:
        raise ValueError(f"{name} has {array.ndim} dimensions, expected {ndim} or less")
    return array.reshape((1,) * (ndim - array.ndim) + array.shape)


def _check_output(value: object, name: str) -> None:
    if value is not None and not (isinstance(value, np.ndarray) and value.ndim == 3):
        raise TypeError(f"{name} must be an ndarray of three dimensions")


def _length(axis: int, name: str, given: int | None, arrays: dict[str, _Float | None]) -> int:
    """The one length of an axis of all arrays, but for those that have length 1."""
    length, of = (1, "") if given is None else (given, name)
    for other, array in arrays.items():
        if array is None or array.shape[axis] == length:
            continue
        if length == 1:
            length, of = array.shape[axis], other
        elif array.shape[axis] != 1:
            raise ValueError(f"{other} has length {array.shape[axis]} along axis {axis}, {of} has "
                             f"{length}")  # fmt: skip
    return length


class _Task:
    """The arrays of one rollout, and the work on them."""

    def __init__(
        self,
        model: mujoco.MjModel,
        initial_state: ArrayLike,
        control: ArrayLike | None,
        control_spec: int,
        nstep: int | None,
        state: _Float | None,
        sensordata: _Float | None,
    ) -> None:
        spec = integer(control_spec, "control_spec", 0)
        if spec & ~_USER:
            raise ValueError(f"control_spec = {control_spec}: must be of bits in mjSTATE_USER")
        if nstep is not None:
            nstep = integer(nstep, "nstep", 0)
        initial = _matrix(initial_state, "initial_state", 2)
        matrix = None if control is None else _matrix(control, "control", 3)
        _check_output(state, "state")
        _check_output(sensordata, "sensordata")
        by_step = {"control": matrix, "state": state, "sensordata": sensordata}
        self.n_worlds = _length(0, "", None, {"initial_state": initial, **by_step})
        self.n_steps = _length(1, "nstep", nstep, by_step)

        shape = self.n_worlds, self.n_steps
        n_state = mujoco.mj_stateSize(model, _STATE)
        self.state = np.empty((*shape, n_state)) if state is None else state
        self.sensordata = (
            np.empty((*shape, model.nsensordata)) if sensordata is None else sensordata
        )
        self.records = np.empty(shape, dtype=_core.STEP_RECORD)
        self.taken = np.zeros(self.n_worlds, dtype=np.int64)
        self._stop = np.zeros(1, dtype=np.uint8)
        self._arguments: dict[str, Any] = {
            "steps": self.n_steps,
            "neutral_spec": _ALL,
            "state_spec": _STATE,
            "control_spec": spec,
            "initial_state": initial,
            "control": matrix,
            "state": self.state,
            "sensordata": self.sensordata,
            "records": self.records,
            "taken": self.taken,
            "stop": self._stop,
        }

    def run(
        self,
        engine: object,
        model: mujoco.MjModel,
        neutral: _Float,
        workers: Sequence[tuple[_core.ModelStepper, mujoco.MjData]],
        chunk: int,
    ) -> tuple[StepError, ...]:
        """Roll out all worlds, each worker on a thread, and tell which of them failed."""
        starts = itertools.count(0, chunk)
        failed: list[StepError] = []
        raised: list[BaseException] = []

        def work(core: _core.ModelStepper, data: mujoco.MjData, signals: bool) -> None:
            while (world := next(starts)) < self.n_worlds and not self._stop[0]:
                last = min(world + chunk, self.n_worlds)
                while world < last:
                    world, _, failure = core.rollout(
                        api=engine,
                        model=model,
                        data=data,
                        first=world,
                        last=last,
                        neutral=neutral,
                        signals=signals,
                        **self._arguments,
                    )
                    if failure is None:
                        break
                    step = int(self.taken[world])
                    if isinstance(failure, BaseException):
                        failure.add_note(f"in world {world}, step {step}")
                        raise failure
                    text = failure_text(failure, model, data)
                    failed.append(StepError(text, data.time, step, world))
                    self._blank(world, step)
                    world += 1

        def help_out(core: _core.ModelStepper, data: mujoco.MjData) -> None:
            try:
                work(core, data, False)
            except BaseException as error:
                raised.append(error)
                self._stop[0] = 1

        helpers = [threading.Thread(target=help_out, args=worker) for worker in workers[1:]]
        started: list[threading.Thread] = []
        try:
            for helper in helpers:
                helper.start()
                started.append(helper)
            work(*workers[0], threading.current_thread() is threading.main_thread())
            for helper in started:
                helper.join()
        except BaseException:
            self._stop[0] = 1
            raise
        finally:
            for helper in started:
                helper.join()
        if raised:
            raise raised[0]
        return tuple(sorted(failed, key=lambda error: error.world or 0))

    def _blank(self, world: int, step: int) -> None:
        """What a failed world leaves open."""
        self.state[world, step:] = np.nan
        self.sensordata[world, step:] = np.nan
        self.records[world, step:] = np.zeros((), self.records.dtype)

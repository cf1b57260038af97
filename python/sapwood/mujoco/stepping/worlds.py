"""The worlds of one rollout: their arrays, and the work on them by several threads."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.checks import integer
from sapwood.mujoco.results.faults import failure_text
from sapwood.mujoco.results.results import StepError

_Float = NDArray[np.float64]

Worker = tuple[_core.ModelStepper, mujoco.MjData, _core.FrictionMemory | None]
"""The stepper of a thread, its data, and its friction of the step before."""

WHOLE_STATE = int(mujoco.mjtState.mjSTATE_INTEGRATION)
CONTROL = int(mujoco.mjtState.mjSTATE_CTRL)
_STATE = int(mujoco.mjtState.mjSTATE_FULLPHYSICS)
_USER = int(mujoco.mjtState.mjSTATE_USER)

ORDER = "write rollout(model, initial_state, control), since threads have data of their own"


# ---- arrays -------------------------------------------------------------------------------------


def _matrix(value: ArrayLike, name: str, ndim: int) -> _Float:
    """`value` with leading axes of length 1 up to `ndim` axes."""
    array = _core.as_float64(value, name)
    if array.ndim > ndim:
        raise ValueError(f"{name} has {array.ndim} dimensions, expected {ndim} or less")
    return array.reshape((1,) * (ndim - array.ndim) + array.shape)


def _starts(model: mujoco.MjModel, initial_state: ArrayLike) -> _Float:
    first = initial_state[:1] if isinstance(initial_state, (list, tuple)) else [initial_state]
    if any(isinstance(value, mujoco.MjData) for value in first):
        raise TypeError(f"initial_state must be an array, not MjData: {ORDER}")
    initial = _matrix(initial_state, "initial_state", 2)
    size = mujoco.mj_stateSize(model, _STATE)
    if initial.shape[1] != size:
        raise ValueError(
            f"initial_state has shape {np.shape(initial_state)}, expected ({size},) or (any, "
            f"{size}), as mj_getState fills it with mjSTATE_FULLPHYSICS"
        )
    return initial


def _check_output(value: object, name: str) -> None:
    if value is not None and not (isinstance(value, np.ndarray) and value.ndim == 3):
        raise TypeError(f"{name} must be an ndarray of three dimensions")


def _length(axis: int, name: str, given: int | None, arrays: dict[str, _Float | None]) -> int:
    """The common length of an axis of all arrays; length 1 fits any."""
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


# ---- threads ------------------------------------------------------------------------------------


def _on_threads(
    work: Callable[[Worker, bool], None], workers: Sequence[Worker], stop: Callable[[], None]
) -> None:
    """Call `work` with each worker; all but the first run on a thread of their own.

    The second argument tells `work` whether to handle signals. An exception of one worker stops the
    others and is raised here after all threads have ended.
    """
    raised: list[BaseException] = []
    started: list[threading.Thread] = []

    def help_out(worker: Worker) -> None:
        try:
            work(worker, False)
        except BaseException as error:
            raised.append(error)
            stop()

    try:
        for worker in workers[1:]:
            helper = threading.Thread(target=help_out, args=(worker,))
            helper.start()
            started.append(helper)
        work(workers[0], threading.current_thread() is threading.main_thread())
        for helper in started:
            helper.join()
    except BaseException:
        stop()
        raise
    finally:
        for helper in started:
            helper.join()
    if raised:
        raise raised[0]


# ---- one rollout --------------------------------------------------------------------------------


class Worlds:
    """The arrays of one rollout, and its distribution over threads.

    Parameters
    ----------
    model : mujoco.MjModel
        The model of all worlds.
    initial_state, control, control_spec, nstep, state, sensordata
        Arguments of :func:`sapwood.mujoco.rollout`.

    Attributes
    ----------
    n_worlds, n_steps : int
        Worlds, and the steps to take in each.
    state, sensordata, records, taken : ndarray
        Arrays of :class:`RolloutResult`, where ``taken`` is ``steps``.

    Raises
    ------
    TypeError, ValueError
        For a wrong argument; the message names it.
    """

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
        initial = _starts(model, initial_state)
        matrix = None if control is None else _matrix(control, "control", 3)
        _check_output(state, "state")
        _check_output(sensordata, "sensordata")
        by_step = {"control": matrix, "state": state, "sensordata": sensordata}
        self.n_worlds = _length(0, "", None, {"initial_state": initial, **by_step})
        self.n_steps = _length(1, "nstep", nstep, by_step)

        shape = self.n_worlds, self.n_steps
        if state is None:
            state = np.empty((*shape, mujoco.mj_stateSize(model, _STATE)))
        if sensordata is None:
            sensordata = np.empty((*shape, model.nsensordata))
        self.state, self.sensordata = state, sensordata
        self.records = np.empty(shape, dtype=_core.STEP_RECORD)
        self.taken = np.zeros(self.n_worlds, dtype=np.int64)
        self._stop = np.zeros(1, dtype=np.uint8)
        self._arguments: dict[str, Any] = {
            "steps": self.n_steps,
            "neutral_spec": WHOLE_STATE,
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
        workers: Sequence[Worker],
        chunk: int,
    ) -> tuple[StepError, ...]:
        """Roll out all worlds.

        Parameters
        ----------
        engine : object
            The loaded MuJoCo.
        model : mujoco.MjModel
            The model of all worlds.
        neutral : ndarray
            The state that a world starts from where its initial state says nothing.
        workers : sequence of Worker
            One worker for each thread.
        chunk : int
            Worlds that a thread takes at a time.

        Returns
        -------
        tuple of StepError
            One error for each world that failed, in their order.
        """
        starts = itertools.count(0, chunk)
        failed: list[StepError] = []

        def work(worker: Worker, signals: bool) -> None:
            core, data, memory = worker
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
                        memory=memory,
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

        _on_threads(work, workers, lambda: self._stop.fill(1))
        return tuple(sorted(failed, key=lambda error: error.world or 0))

    def _blank(self, world: int, step: int) -> None:
        """Set the outputs of a failed world that no step filled."""
        self.state[world, step:] = np.nan
        self.sensordata[world, step:] = np.nan
        self.records[world, step:] = np.zeros((), self.records.dtype)

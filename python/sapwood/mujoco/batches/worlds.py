"""The worlds of one rollout: their arrays, and the call of the C loop that fills them."""

from __future__ import annotations

import copy
import threading
from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.checks import integer
from sapwood.mujoco.batches.soft_acts import SoftOutputs
from sapwood.mujoco.batches.workers import Workers
from sapwood.mujoco.results.faults import Failure
from sapwood.mujoco.results.results import StepError

_Float = NDArray[np.float64]

_Failures = tuple[StepError, ...]

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


# ---- one rollout --------------------------------------------------------------------------------


class Worlds:
    """The arrays of one rollout, and its distribution over threads.

    Parameters
    ----------
    model : mujoco.MjModel
        The model of all worlds.
    initial_state, control, control_spec, nstep, state, sensordata
        Arguments of :func:`sapwood.mujoco.rollout`.
    n_worlds : int, optional
        Number of worlds, where it is known.

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
        n_worlds: int | None = None,
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
        self.n_worlds = _length(0, "model", n_worlds, {"initial_state": initial, **by_step})
        self.n_steps = _length(1, "nstep", nstep, by_step)

        shape = self.n_worlds, self.n_steps
        if state is None:
            state = np.empty((*shape, mujoco.mj_stateSize(model, _STATE)))
        if sensordata is None:
            sensordata = np.empty((*shape, model.nsensordata))
        self.state, self.sensordata = state, sensordata
        self.records = np.empty(shape, dtype=_core.STEP_RECORD)
        self.taken = np.zeros(self.n_worlds, dtype=np.int64)
        self._arguments: dict[str, Any] = {
            "n_worlds": self.n_worlds,
            "steps": self.n_steps,
            "state_spec": WHOLE_STATE,
            "overlay": initial[:, None],
            "overlay_spec": _STATE,
            "control": matrix,
            "control_spec": spec,
            "step_records": self.records,
            "taken": self.taken,
        }
        self._check(model, matrix, spec)

    def part(self, rows: slice) -> Worlds:
        """Some of the worlds, with views of the arrays.

        Parameters
        ----------
        rows : slice
            Their places.

        Returns
        -------
        Worlds
            These worlds.
        """
        found = copy.copy(self)
        found.state, found.sensordata = self.state[rows], self.sensordata[rows]
        found.records, found.taken = self.records[rows], self.taken[rows]
        found.n_worlds = len(found.taken)
        found._arguments = self._arguments | {
            "n_worlds": found.n_worlds, "step_records": found.records, "taken": found.taken,
        }  # fmt: skip
        for name in ("overlay", "control"):
            array = self._arguments[name]
            if array is not None and len(array) > 1:
                found._arguments[name] = array[rows]
        return found

    def _check(self, model: mujoco.MjModel, control: _Float | None, spec: int) -> None:
        """Raise where an array has another shape or type than the C loop writes or reads."""
        shape, columns = (self.n_worlds, self.n_steps), mujoco.mj_stateSize(model, spec)
        if control is not None and control.shape[2] != columns:
            raise ValueError(f"control has shape {control.shape}, expected (any, any, {columns})")
        for name, size in (
            ("state", mujoco.mj_stateSize(model, _STATE)),
            ("sensordata", model.nsensordata),
        ):
            array = getattr(self, name)
            if array.dtype != np.float64:
                raise TypeError(f"{name} must have dtype float64, not {array.dtype}")
            if array.shape != (*shape, size):
                raise ValueError(f"{name} has shape {array.shape}, expected {(*shape, size)}")
            if not (array.flags.c_contiguous and array.flags.writeable and array.flags.aligned):
                raise ValueError(f"{name} must be C-contiguous, aligned and writeable")

    def run(self, workers: Workers, neutral: _Float, n_threads: int, chunk: int) -> _Failures:
        """Roll out all worlds.

        Parameters
        ----------
        workers : Workers
            The threads.
        neutral : ndarray
            The state that a world starts from where its initial state says nothing.
        n_threads : int
            Number of threads to use.
        chunk : int
            Worlds that a thread takes at a time.

        Returns
        -------
        tuple of StepError
            One error for each world that failed, in their order.
        """
        failed: list[StepError] = []

        def tell(worker: int, world: int, step: int, failure: Failure | BaseException) -> None:
            if isinstance(failure, BaseException) and not isinstance(failure, StepError):
                failure.add_note(f"in world {world}, step {step}")
                raise failure
            failed.append(workers.error_of(worker, failure, step, world))

        loop = workers.loop(n_threads)
        loop.accept_options()
        records: list[Any] = []
        if self.state.size:
            records.append((None, _STATE, self.state))
        if self.sensordata.size:
            records.append(
                (workers.arrays(lambda worker: worker[2].sensordata), 0, self.sensordata)
            )
        loop.run(
            **self._arguments,
            start=neutral,
            records=tuple(records),
            chunk=chunk,
            signals=threading.current_thread() is threading.main_thread(),
            failed=tell,
            **workers.soft_arguments(None, None, None, SoftOutputs()),
        )
        for error in failed:
            self._blank(error.world or 0, error.step or 0)
        return tuple(sorted(failed, key=lambda error: error.world or 0))

    def _blank(self, world: int, step: int) -> None:
        """Set the outputs of a failed world that no step filled."""
        self.state[world, step:] = np.nan
        self.sensordata[world, step:] = np.nan
        self.records[world, step:] = np.zeros((), self.records.dtype)

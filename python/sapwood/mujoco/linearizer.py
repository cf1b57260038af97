"""The memory in which steps of a stepper are linearized, for one thread at a time."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.mujoco.gradients.linearizations import Linearization, Linearizations, Tangents
from sapwood.mujoco.gradients.model_numbers import ChangedModels, Parameter
from sapwood.mujoco.gradients.state_copy import StateCopy
from sapwood.mujoco.gradients.step_differences import StepDifferences
from sapwood.mujoco.linearizable import check_linearizable
from sapwood.mujoco.reading.engine import engine
from sapwood.mujoco.reading.parameters import StepParameters
from sapwood.mujoco.results.faults import error_of
from sapwood.mujoco.results.results import StepError
from sapwood.mujoco.stepper import Stepper

_Float = NDArray[np.float64]
_States = tuple[_Float, _Float, _Float, _Float]


class Linearizer:
    """The memory of linearizations of one stepper, for one thread at a time.

    Parameters
    ----------
    stepper : Stepper
        The stepper.

    Raises
    ------
    TypeError, ValueError
        For a stepper whose steps have no derivative.
    """

    def __init__(self, stepper: Stepper) -> None:
        check_linearizable(stepper)
        self._read(stepper)
        self._copy = StateCopy(stepper.model)

    def _read(self, stepper: Stepper) -> None:
        self._parameters: StepParameters = stepper.parameters
        self._model, self._core = stepper.model, stepper.parameters.make_core()
        self._limits = self._model.actuator_ctrllimited, self._model.actuator_ctrlrange
        self._aside: mujoco.MjData | None = None
        self._changed: dict[tuple[Parameter, ...], ChangedModels] = {}

    def follow(self, stepper: Stepper) -> None:
        """Take over parameters of the stepper that changed.

        Parameters
        ----------
        stepper : Stepper
            The stepper of this linearizer.
        """
        stepper.follow()
        if stepper.parameters is not self._parameters:
            check_linearizable(stepper)
            self._read(stepper)

    def at(
        self, data: mujoco.MjData, step: float, soften: float, sensors: bool = False
    ) -> Linearization:
        """Linearize the step of a state.

        Parameters
        ----------
        data : mujoco.MjData
            The state and the controls; not changed.
        step : float
            Largest difference of a position, m or rad.
        soften : float
            Factor of R.
        sensors : bool
            Whether C and D are found.

        Returns
        -------
        Linearization
            The derivative.
        """
        scratch = self._copy.take(data)
        states = (scratch.qpos[None], scratch.qvel[None], scratch.act[None], scratch.ctrl[None])
        found = self._found(scratch, states, step, soften, sensors)
        C, D = (x[0] if x is not None else None for x in (found.C, found.D))
        return Linearization(
            found.A[0], found.B[0], C, D, None, found.v[0], float(found.distance[0]),
            int(found.contacts[0]), found.status(0),
        )  # fmt: skip

    def at_all(
        self,
        data: mujoco.MjData,
        states: _States,
        step: float,
        soften: float,
        note: Callable[[int], str],
    ) -> Linearizations:
        """Linearize the steps of many states.

        Parameters
        ----------
        data : mujoco.MjData
            The rest of all states; not changed.
        states : tuple of ndarray (n, nq), (n, nv), (n, na), (n, nu)
            Positions, velocities, activations and controls, contiguous.
        step : float
            Largest difference of a position, m or rad.
        soften : float
            Factor of R.
        note : callable
            The note of the error of a step, by its number.

        Returns
        -------
        Linearizations
            The derivatives.
        """
        return self._found(self._copy.take(data), states, step, soften, note=note)

    def _found(
        self,
        scratch: mujoco.MjData,
        states: _States,
        step: float,
        soften: float,
        sensors: bool = False,
        note: Callable[[int], str] | None = None,
    ) -> Linearizations:
        found = self._core.linearize(
            engine(), self._model, scratch, *self._limits, states, step, soften, sensors
        )
        error = error_of(found[0], self._model, scratch)
        if error is not None:
            if note is not None:
                error.add_note(note(found[1]))
            raise error
        return Linearizations(*found[2:])

    def tangents(
        self,
        data: mujoco.MjData,
        parameters: tuple[Parameter, ...],
        steps: int,
        ctrl: _Float | None = None,
        *,
        sensors: bool = False,
        soften: float = 1.0,
    ) -> Tangents:
        """Take steps of a state with their derivatives by numbers of the model.

        Parameters
        ----------
        data : mujoco.MjData
            The state; not changed.
        parameters : tuple
            The numbers.
        steps : int
            Number of steps.
        ctrl : ndarray (steps, nu), optional
            Controls of each step; those of `data` where it is None.
        sensors : bool
            Whether sensors and their derivatives are found.
        soften : float
            Factor of R.

        Returns
        -------
        Tangents
            The states after each step, and the derivatives.
        """
        if self._aside is None:
            self._aside = mujoco.MjData(self._model)
        changed = self._changed.get(parameters)
        if changed is None:
            changed = self._changed[parameters] = ChangedModels(self._parameters, parameters)
        scratch = self._copy.take(data)
        mujoco.mj_copyData(self._aside, self._model, scratch)
        model = self._model
        x = np.zeros((len(parameters), 2 * model.nv + model.na))
        failure, taken, *found = self._core.tangents(
            engine(), model, scratch, self._aside, changed.rows, changed.linear, x, steps, ctrl,
            sensors, soften,
        )  # fmt: skip
        error = error_of(failure, model, scratch)
        if error is not None:
            if isinstance(error, StepError):
                error.step = taken
            raise error
        return Tangents(*found)

    def differences(self, data: mujoco.MjData, h: float) -> tuple[_Float, _Float, _Float, _Float]:
        """Find A, B, C and D by central differences of steps.

        Parameters
        ----------
        data : mujoco.MjData
            The state and the controls; not changed.
        h : float
            The difference of each number.

        Returns
        -------
        A, B, C, D : ndarray
            As of :class:`Linearization`.
        """
        record = np.zeros(1, _core.STEP_RECORD)

        def take_step(scratch: mujoco.MjData) -> None:
            failure = self._core.start(engine(), self._model, scratch)
            if failure is None:
                _, _, failure = self._core.finish(engine(), self._model, scratch, None, record)
            error = error_of(failure, self._model, scratch)
            if error is not None:
                raise error

        return StepDifferences(self._model, self._copy.take(data), take_step).columns(h)


# by stepper: linearizers that no thread uses now
_unused: weakref.WeakKeyDictionary[Stepper, list[Linearizer]] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


@contextlib.contextmanager
def linearizer_of(stepper: Stepper) -> Iterator[Linearizer]:
    """A linearizer of a stepper that no other thread uses meanwhile.

    Parameters
    ----------
    stepper : Stepper
        The stepper.

    Yields
    ------
    Linearizer
        Its linearizer, with the present parameters of the stepper.
    """
    if not isinstance(stepper, Stepper):
        raise TypeError(f"stepper must be a Stepper, not {type(stepper).__name__}")
    with _lock:
        unused = _unused.setdefault(stepper, [])
        found = unused.pop() if unused else None
    if found is None:
        found = Linearizer(stepper)
    else:
        found.follow(stepper)
    try:
        yield found
    finally:
        with _lock:
            _unused.setdefault(stepper, []).append(found)

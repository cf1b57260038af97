"""The derivative of a step of a MuJoCo model by the state at its start and by its controls."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, NamedTuple

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.checks import integer
from sapwood.fem.state import SoftState
from sapwood.mujoco.gradients.model_numbers import ChangedModels, Parameter
from sapwood.mujoco.gradients.state_copy import StateCopy
from sapwood.mujoco.gradients.step_differences import StepDifferences
from sapwood.mujoco.linearizable import check_linearizable, difference_of, positive
from sapwood.mujoco.reading.arrays import check_data
from sapwood.mujoco.reading.engine import engine
from sapwood.mujoco.reading.parameters import StepParameters
from sapwood.mujoco.reading.support import NotSupported
from sapwood.mujoco.results.faults import error_of
from sapwood.mujoco.results.results import StepError
from sapwood.mujoco.soft_batch import linearize_soft_batch
from sapwood.mujoco.soft_linearization import SoftStepLinearization
from sapwood.mujoco.stepper import Stepper

_Float = NDArray[np.float64]

Status = Literal["ok", "near_kink", "limited_rebound"]

NO_DERIVATIVES = (
    "an impact rebounds less than by its restitution, so that it gains no energy: such a step has "
    "no derivatives"
)
"""The error of a step with status ``limited_rebound``."""


_DEFAULTS = "mode and soften have their defaults for a stepper with soft bodies"


class Linearization(NamedTuple):
    """The derivative of a step, see :func:`linearize`.

    With x = (dq, v, act), where dq (nv,) are small motions of the positions in the coordinates of
    the velocities, the step has dx' = A dx + B du. The order of rows and columns is that of
    ``mujoco.mjd_transitionFD``.
    """

    A: _Float
    """Derivative of the next state by the state (2 nv + na, 2 nv + na)."""
    B: _Float
    """Derivative of the next state by the controls (2 nv + na, nu)."""
    C: _Float | None
    """Derivative of the sensors of the step by the state (n_sensors, 2 nv + na), if asked for."""
    D: _Float | None
    """Derivative of the sensors of the step by the controls (n_sensors, nu), if asked for."""
    P: _Float | None
    """Derivative of the next state by the `parameters` (2 nv + na, n_parameters), if given."""
    v: _Float
    """Velocity after the step (nv,)."""
    distance: float
    """Least change of velocity, m/s, by which an acting contact comes to another region of its law;
    infinite where no contact acts."""
    contacts: int
    """Number of contacts with an impulse."""
    status: Status
    """``near_kink``: a contact or a limit is so close to another region of its law, or to a gap of
    0, that the differences may cross the boundary, or a contact that the engine finds by an
    iteration jumps within them. Then the derivative may be that of neither side.
    ``limited_rebound``: an impact rebounds less than by its restitution, so that it gains no
    energy; the derivative is that of the full rebound, which is not the step's."""


_States = tuple[_Float, _Float, _Float, _Float]


class Linearizations(NamedTuple):
    """Derivatives of n steps, each as a :class:`Linearization`."""

    A: _Float
    """(n, 2 nv + na, 2 nv + na)."""
    B: _Float
    """(n, 2 nv + na, nu)."""
    C: _Float | None
    """(n, n_sensors, 2 nv + na), if asked for."""
    D: _Float | None
    """(n, n_sensors, nu), if asked for."""
    q: _Float
    """Positions after the steps (n, nq)."""
    v: _Float
    """Velocities after the steps (n, nv)."""
    act: _Float
    """Activations after the steps (n, na)."""
    distance: _Float
    """(n,), m/s."""
    contacts: NDArray[np.int32]
    """(n,)."""
    near_kink: NDArray[np.bool_]
    """Steps with this status (n,)."""
    limited_rebound: NDArray[np.bool_]
    """Steps with this status (n,)."""

    def status(self, i: int) -> Status:
        """Return the status of step i."""
        near: Status = "near_kink" if self.near_kink[i] else "ok"
        return "limited_rebound" if self.limited_rebound[i] else near


class Tangents(NamedTuple):
    """Steps with their derivatives by numbers of the model."""

    q: _Float
    """Positions after each step (steps, nq)."""
    v: _Float
    """Velocities after each step (steps, nv)."""
    x: _Float
    """Derivatives of (dq, v, act) after each step (steps, n_parameters, 2 nv + na)."""
    sensors: _Float | None
    """Sensors of each step (steps, n_sensors)."""
    dy: _Float | None
    """Derivatives of the sensors (steps, n_parameters, n_sensors)."""
    near_kink: NDArray[np.bool_]
    """Steps with this ``Linearization.status`` (steps,)."""
    limited_rebound: NDArray[np.bool_]
    """Steps with this ``Linearization.status`` (steps,)."""


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


def linearize(
    stepper: Stepper,
    data: mujoco.MjData,
    *,
    mode: Literal["solve", "difference"] = "solve",
    step: float | Literal["auto"] = "auto",
    soften: float = 1.0,
    outputs: Literal["AB", "ABCD"] = "AB",
    parameters: Sequence[Parameter] = (),
) -> Linearization:
    """Find the derivative of one step by the state at its start and by its controls.

    The step is taken once. Its velocity solves A (v - v*) - J^T gamma(J v) = 0, whose derivative by
    v is factored at the solution. By the state and the controls that residual has central
    differences, at one velocity: they need MuJoCo's stages, and no solve. The next positions follow
    analytically.

    Parameters
    ----------
    stepper : Stepper
        A stepper with the default scheme, without pressure fields and rigid cores, whose friction
        is not lagged. With soft bodies A, B and P are those of :class:`SoftStepLinearization`,
        whose reverse mode does not form them; `mode` and `soften` have their defaults then, and
        sensors of forces and accelerations no C and D.
    data : mujoco.MjData
        The state and the controls; not changed. A control callback is not called.
    mode : {"solve", "difference"}
        "solve" is the way above. "difference" is a check of it: A, B, C and D are central
        differences of whole steps over `step`, which may cross any kink; all else is as with
        "solve".
    step : float or "auto"
        Largest difference of a position, m or rad; "auto" is 1e-6. Differences are smaller where a
        contact or a limit is near a boundary of its law: at most a tenth of the way to it, and of
        the gap or depth of a contact that acts.
    soften : float
        Factor > 0 of R of the contacts, in the derivative alone: the step and its impulses stay,
        and they change by 1/soften of what they do. Larger values help a planner through stiff
        contact. Not for contacts with torsional friction.
    outputs : {"AB", "ABCD"}
        "ABCD": also C and D, the derivatives of the sensors of the step, with its forces. They take
        as much time again, and more.
    parameters : sequence of tuple
        Numbers of the model, for P: (kind, name, field) or (kind, name, field, index), as
        :func:`sensitivities` takes them.

    Returns
    -------
    Linearization
        A and B in the tangent space and the order of ``mujoco.mjd_transitionFD``, and how near a
        kink the step is.

    Raises
    ------
    StepError
        If the step cannot be taken.
    TypeError, ValueError
        For a wrong argument; the message names it.

    Notes
    -----
    Differences do cross kinks of quantities that the engine clamps, other than controls at the ends
    of their ranges, which have one-sided differences. Shapes on which the engine's points of
    contact jump (boxes on boxes, meshes) have differences between jumps.

    Examples
    --------
    >>> import mujoco, sapwood
    >>> model = mujoco.MjModel.from_xml_string('''
    ... <mujoco><worldbody><body><joint name="x" type="slide" axis="1 0 0"/>
    ... <geom size=".1" mass="2"/></body></worldbody>
    ... <actuator><motor joint="x"/></actuator></mujoco>''')
    >>> stepper = sapwood.mujoco.Stepper(model, time_step=0.1)
    >>> found = sapwood.mujoco.linearize(stepper, mujoco.MjData(model))
    >>> print(abs(found.A.round(6)), found.B.ravel().round(6))
    [[1.  0.1]
     [0.  1. ]] [0.005 0.05 ]
    """
    if mode not in ("solve", "difference"):
        raise ValueError(f"mode = {mode!r}: must be 'solve' or 'difference'")
    if outputs not in ("AB", "ABCD"):
        raise ValueError(f"outputs = {outputs!r}: must be 'AB' or 'ABCD'")
    largest, factor = difference_of(step), positive(soften, "soften")
    sensors, numbers = outputs == "ABCD", tuple(map(_hashable, parameters))
    given: object = stepper
    if isinstance(given, Stepper) and given.parameters.soft is not None:
        if mode != "solve" or factor != 1.0:
            raise NotSupported(_DEFAULTS)
        of_soft = SoftStepLinearization(stepper, data, step=largest, parameters=numbers)
        return _linearize_soft(of_soft, bool(numbers), sensors)
    with linearizer_of(stepper) as linearizer:
        check_data(stepper.model, data)
        found = linearizer.at(data, largest, factor, sensors)
        if mode == "difference":
            A, B, C, D = linearizer.differences(data, largest)
            found = found._replace(A=A, B=B)
            if sensors:
                found = found._replace(C=C, D=D)
        if numbers:
            tangents = linearizer.tangents(data, numbers, 1, soften=factor)
            found = found._replace(P=np.ascontiguousarray(tangents.x[0].T))
        return found


def _linearize_soft(
    found: SoftStepLinearization, has_numbers: bool, sensors: bool
) -> Linearization:
    C, D = found.sensor_matrices()[:2] if sensors else (None, None)
    A, B, P = found.matrices()
    return Linearization(
        A, B, C, D, P if has_numbers else None, found.v, found.distance, found.contacts,
        found.status,
    )  # fmt: skip


def linearize_batch(
    stepper: Stepper,
    qpos: ArrayLike,
    qvel: ArrayLike,
    ctrl: ArrayLike | None = None,
    *,
    nthread: int = 1,
    data: mujoco.MjData | None = None,
    step: float | Literal["auto"] = "auto",
    soften: float = 1.0,
    soft_states: Sequence[SoftState] | None = None,
) -> tuple[_Float, _Float, list[str]]:
    """Find the derivatives of steps from many states, see :func:`linearize`.

    Parameters
    ----------
    stepper : Stepper
        As for :func:`linearize`.
    qpos, qvel : array_like (n, nq), (n, nv)
        The states.
    ctrl : array_like (n, nu), optional
        The controls; 0 where it is None.
    nthread : int
        Number of threads, from 1 on.
    data : mujoco.MjData, optional
        The rest of all states: activations, mocap bodies, applied forces. By default that of a
        model after a reset.
    step, soften
        As for :func:`linearize`.
    soft_states : sequence of SoftState, optional
        States of the soft bodies of the stepper (n), of which the times do not count; by default
        its present one in all states.

    Returns
    -------
    A : ndarray (n, 2 nv + na, 2 nv + na)
        Derivatives of the next states by the states. With soft bodies states are those of
        :class:`SoftStepLinearization`.
    B : ndarray (n, 2 nv + na, nu)
        Derivatives of the next states by the controls.
    status : list of str
        ``Linearization.status`` of each.

    Raises
    ------
    StepError
        If a step cannot be taken; a note says which.
    TypeError, ValueError
        For a wrong argument; the message names it.
    """
    largest, factor = difference_of(step), positive(soften, "soften")
    threads = integer(nthread, "nthread", 1)
    if not isinstance(stepper, Stepper):
        raise TypeError(f"stepper must be a Stepper, not {type(stepper).__name__}")
    model = stepper.model
    q = _core.as_float64(qpos, "qpos", (-1, model.nq), "finite")
    v = _core.as_float64(qvel, "qvel", (len(q), model.nv), "finite")
    given = np.zeros((len(q), model.nu)) if ctrl is None else ctrl
    u = _core.as_float64(given, "ctrl", (len(q), model.nu), "finite")
    rest = mujoco.MjData(model) if data is None else data
    check_data(model, rest)
    if stepper.parameters.soft is not None:
        if factor != 1.0:
            raise NotSupported(_DEFAULTS)
        return linearize_soft_batch(stepper, rest, (q, v, u), soft_states, largest, threads)
    if soft_states is not None:
        raise ValueError("soft_states: the stepper has no soft bodies")
    states = (q, v, np.tile(rest.act, (len(q), 1)), u)

    def run(part: slice) -> Linearizations:
        with linearizer_of(stepper) as linearizer:
            q, v, act, u = (x[part] for x in states)
            return linearizer.at_all(
                rest, (q, v, act, u), largest, factor, lambda i: f"in state {part.start + i}"
            )

    found = _run_all(run, len(q), threads)
    A, B = (np.concatenate([getattr(x, name) for x in found]) for name in "AB")
    return A, B, [x.status(i) for x in found for i in range(len(x.v))]


def _run_all(run: Callable[[slice], Linearizations], n: int, threads: int) -> list[Linearizations]:
    """Call run for equal parts of n states on as many threads; it runs alone in the caller's."""
    ends = [n * k // threads for k in range(threads + 1)]
    parts = [slice(*ends[k : k + 2]) for k in range(threads)]
    if threads == 1:
        return [run(parts[0])]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(run, parts))


def _hashable(parameter: Parameter) -> Parameter:
    return parameter if isinstance(parameter, str) else tuple(parameter)


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

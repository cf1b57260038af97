"""The derivative of a step of a MuJoCo model by the state at its start and by its controls."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, NamedTuple

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.checks import integer
from sapwood.mujoco.gradients.state_copy import StateCopy
from sapwood.mujoco.gradients.step_differences import StepDifferences
from sapwood.mujoco.reading.arrays import check_data
from sapwood.mujoco.reading.engine import engine
from sapwood.mujoco.reading.parameters import StepParameters
from sapwood.mujoco.reading.support import NotSupported
from sapwood.mujoco.results.faults import error_of
from sapwood.mujoco.stepper import Stepper
from sapwood.stepping.schemes import SYMPLECTIC_EULER

_Float = NDArray[np.float64]

DIFFERENCE = 1e-6
"""Largest difference of a position of ``step="auto"``, m or rad."""
LEAST_DIFFERENCE = 1e-9
"""Smallest difference of a position, m or rad: round-off of gaps is some 1e-16 m."""


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
    v: _Float
    """Velocity after the step (nv,)."""
    distance: float
    """Least change of velocity, m/s, by which an acting contact comes to another region of its law;
    infinite where no contact acts."""
    contacts: int
    """Number of contacts with an impulse."""
    status: Literal["ok", "near_kink"]
    """``near_kink``: a contact or a limit is so close to another region of its law, or to a gap of
    0, that the differences may cross the boundary. Then the derivative may be that of neither
    side."""


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
        _check(stepper)
        self._read(stepper)
        self._copy = StateCopy(stepper.model)

    def _read(self, stepper: Stepper) -> None:
        self._parameters: StepParameters = stepper.parameters
        self._model, self._core = stepper.model, stepper.parameters.make_core()
        self._limits = self._model.actuator_ctrllimited, self._model.actuator_ctrlrange

    def follow(self, stepper: Stepper) -> None:
        """Take over parameters of the stepper that changed.

        Parameters
        ----------
        stepper : Stepper
            The stepper of this linearizer.
        """
        stepper.follow()
        if stepper.parameters is not self._parameters:
            _check(stepper)
            self._read(stepper)

    def at(self, data: mujoco.MjData, step: float, soften: float) -> Linearization:
        """Linearize the step of a state.

        Parameters
        ----------
        data : mujoco.MjData
            The state and the controls; not changed.
        step : float
            Largest difference of a position, m or rad.
        soften : float
            Factor of R.

        Returns
        -------
        Linearization
            The derivative.
        """
        return self.find(self._copy.take(data), step, soften)

    def of_state(self, data: mujoco.MjData, q: _Float, v: _Float, u: _Float) -> mujoco.MjData:
        """Scratch data with positions, velocities and controls of their own.

        Parameters
        ----------
        data : mujoco.MjData
            The rest of the state.
        q, v, u : ndarray (nq,), (nv,), (nu,)
            Positions, velocities and controls.

        Returns
        -------
        mujoco.MjData
            Data for :meth:`find`.
        """
        scratch = self._copy.take(data)
        scratch.qpos[:], scratch.qvel[:], scratch.ctrl[:] = q, v, u
        return scratch

    def find(self, scratch: mujoco.MjData, step: float, soften: float) -> Linearization:
        """Linearize the step of scratch data of this linearizer.

        Parameters
        ----------
        scratch : mujoco.MjData
            Data whose state stays as it is; all else changes.
        step : float
            Largest difference of a position, m or rad.
        soften : float
            Factor of R.

        Returns
        -------
        Linearization
            The derivative.
        """
        failure, A, B, v, distance, contacts, least = self._core.linearize(
            engine(), self._model, scratch, *self._limits, step, soften
        )
        error = error_of(failure, self._model, scratch)
        if error is not None:
            raise error
        status: Literal["ok", "near_kink"] = "near_kink" if least < LEAST_DIFFERENCE else "ok"
        return Linearization(A, B, v, distance, contacts, status)

    def differences(self, data: mujoco.MjData, h: float) -> tuple[_Float, _Float]:
        """Find A and B by central differences of steps.

        Parameters
        ----------
        data : mujoco.MjData
            The state and the controls; not changed.
        h : float
            The difference of each number.

        Returns
        -------
        A, B : ndarray
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
) -> Linearization:
    """Find the derivative of one step by the state at its start and by its controls.

    The step is taken once. Its velocity solves A (v - v*) - J^T gamma(J v) = 0, whose derivative by
    v is factored at the solution. By the state and the controls that residual has central
    differences, at one velocity: they need MuJoCo's stages, and no solve. The next positions follow
    analytically.

    Parameters
    ----------
    stepper : Stepper
        A stepper with the default scheme, without pressure fields, whose friction is not lagged.
    data : mujoco.MjData
        The state and the controls; not changed. A control callback is not called.
    mode : {"solve", "difference"}
        "solve" is the way above. "difference" is a check of it: A and B are central differences of
        whole steps over `step`, which may cross any kink; all else is as with "solve".
    step : float or "auto"
        Largest difference of a position, m or rad; "auto" is 1e-6. Differences are smaller where a
        contact or a limit is near a boundary of its law: at most a tenth of the way to it, and of
        the gap or depth of a contact that acts.
    soften : float
        Factor > 0 of R of the contacts, in the derivative alone: the step and its impulses stay,
        and they change by 1/soften of what they do. Larger values help a planner through stiff
        contact. Not for contacts with torsional friction or a rigid core.

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
    largest, factor = _largest(step), _positive(soften, "soften")
    linearizer = _take(stepper)
    try:
        check_data(stepper.model, data)
        found = linearizer.at(data, largest, factor)
        if mode == "difference":
            A, B = linearizer.differences(data, largest)
            found = found._replace(A=A, B=B)
        return found
    finally:
        _leave(stepper, linearizer)


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

    Returns
    -------
    A : ndarray (n, 2 nv + na, 2 nv + na)
        Derivatives of the next states by the states.
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
    largest, factor = _largest(step), _positive(soften, "soften")
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
    n = 2 * model.nv + model.na
    A, B, status = np.empty((len(q), n, n)), np.empty((len(q), n, model.nu)), ["ok"] * len(q)

    def run(first: int) -> None:
        linearizer = _take(stepper)
        try:
            for i in range(first, len(q), threads):
                try:
                    scratch = linearizer.of_state(rest, q[i], v[i], u[i])
                    found = linearizer.find(scratch, largest, factor)
                except Exception as error:
                    error.add_note(f"in state {i}")
                    raise
                A[i], B[i], status[i] = found.A, found.B, found.status
        finally:
            _leave(stepper, linearizer)

    _run_all(run, threads)
    return A, B, status


def _run_all(run: Callable[[int], None], threads: int) -> None:
    """Call run(0), run(1) ... on as many threads; one runs in the caller's."""
    if threads == 1:
        run(0)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(run, range(threads)))


def _largest(step: float | Literal["auto"]) -> float:
    if isinstance(step, str):
        if step != "auto":
            raise ValueError(f"step = {step!r}: must be 'auto' or a number > 0")
        return DIFFERENCE
    return _positive(step, "step")


def _positive(value: float, name: str) -> float:
    return float(_core.as_float64(value, name, (), "positive"))


def _check(stepper: Stepper) -> None:
    if not isinstance(stepper, Stepper):
        raise TypeError(f"stepper must be a Stepper, not {type(stepper).__name__}")
    if stepper.scheme != SYMPLECTIC_EULER:
        raise ValueError(f"stepper.scheme = {stepper.scheme.name!r}: must be the default one")
    if stepper.settings.friction == "lagged":
        raise ValueError("stepper.friction = 'lagged': its bounds are of the step before")
    if stepper.soft:
        raise NotSupported("steps with soft bodies have no derivatives yet")
    if stepper.parameters.fields is not None:
        raise ValueError("stepper.fields: patches have no derivatives, as their faces come and go")
    model = stepper.model
    if model.npluginstate or getattr(model, "nhistory", 0):
        raise ValueError("the model has plugins or delays with a state of their own")


def _take(stepper: Stepper) -> Linearizer:
    """A linearizer of the stepper that no other thread uses."""
    if not isinstance(stepper, Stepper):
        raise TypeError(f"stepper must be a Stepper, not {type(stepper).__name__}")
    with _lock:
        unused = _unused.setdefault(stepper, [])
        found = unused.pop() if unused else None
    if found is None:
        return Linearizer(stepper)
    found.follow(stepper)
    return found


def _leave(stepper: Stepper, linearizer: Linearizer) -> None:
    with _lock:
        _unused.setdefault(stepper, []).append(linearizer)

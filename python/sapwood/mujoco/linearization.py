"""The derivative of a step of a MuJoCo model by the state at its start and by its controls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.model_data import check_data
from sapwood.base.processors import sharing_threads
from sapwood.fem.state import SoftState
from sapwood.mujoco.gradients.linearizations import Linearization, Linearizations
from sapwood.mujoco.gradients.model_numbers import Parameter, read_parameters
from sapwood.mujoco.linearizable import difference_of, softening
from sapwood.mujoco.linearizer import linearizer_of
from sapwood.mujoco.reading.support import NotSupported
from sapwood.mujoco.soft_batch import linearize_soft_batch
from sapwood.mujoco.soft_linearization import SoftStepLinearization
from sapwood.mujoco.stepper import Stepper

_Float = NDArray[np.float64]

_DEFAULTS = "mode and soften have their defaults for a stepper with soft bodies"


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
        whose reverse mode does not form them; `mode` and `soften` have their defaults then.
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
        Factor of R of the contacts, from 1e-12 to 1e12, in the derivative alone: the step and its
        impulses stay, and they change by 1/soften of what they do. Larger values help a planner
        through stiff contact. Not for contacts with torsional friction.
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

    Two effects of a step are left out. Contacts that the engine finds by iteration lie within its
    ``ccd_tolerance``, at a point that moves with the margin of the search, and so with the
    velocity. Trees in equality constraints that turn by more than 0.01 rad in the step have bias
    forces at the middle of the step, by the velocity of a first solve. ``mode="difference"`` has
    both.

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
    largest, factor = difference_of(step), softening(soften)
    sensors, numbers = outputs == "ABCD", read_parameters(parameters)
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
    largest, factor = difference_of(step), softening(soften)
    if not isinstance(stepper, Stepper):
        raise TypeError(f"stepper must be a Stepper, not {type(stepper).__name__}")
    model = stepper.model
    q = _core.as_float64(qpos, "qpos", (-1, model.nq), "finite")
    threads = min(sharing_threads(nthread, "nthread"), max(len(q), 1))
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

"""Runs with their derivatives by numbers of the model, for its identification."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.checks import integer
from sapwood.base.equality import compared_by_value
from sapwood.base.model_data import check_data
from sapwood.base.optional import install_command
from sapwood.mujoco.gradients.model_numbers import Parameter, read_parameters
from sapwood.mujoco.linearizer import linearizer_of
from sapwood.mujoco.rollout import rollout
from sapwood.mujoco.soft_sensitivities import soft_tangents
from sapwood.mujoco.stepper import Stepper

_Float = NDArray[np.float64]


@compared_by_value
class Sensitivities(NamedTuple):
    """A run with its derivatives by numbers of the model, see :func:`sensitivities`."""

    y: _Float
    """Sensors of each step (n_steps, n_sensors), as ``data.sensordata`` after it."""
    J: _Float
    """Derivatives of the sensors (n_steps, n_sensors, n_parameters)."""
    q: _Float
    """Positions after each step (n_steps, nq)."""
    v: _Float
    """Velocities after each step (n_steps, nv)."""
    X: _Float
    """Derivatives of (dq, v, act) after each step (n_steps, 2 nv + na, n_parameters); dq are
    motions of the positions in the coordinates of the velocities. With soft bodies the state is
    that of :class:`SoftStepLinearization`."""
    near_kink: NDArray[np.bool_]
    """Steps (n_steps,) so near a boundary of the contact law, or a jump of a contact, that
    derivatives may be wrong."""
    limited_rebound: NDArray[np.bool_]
    """Steps (n_steps,) whose derivatives are wrong: an impact rebounds less than by its
    restitution, so that it gains no energy."""
    held_rotation: NDArray[np.bool_]
    """Steps (n_steps,) in which trees of equality constraints turn fast, whose derivatives leave
    out a part: see ``Linearization.status``."""


def sensitivities(
    stepper: Stepper,
    data: mujoco.MjData,
    controls: ArrayLike | None = None,
    *,
    parameters: Sequence[Parameter],
    n_steps: int | None = None,
    sensors: bool = True,
) -> Sensitivities:
    """Take steps with their derivatives by numbers of the model.

    The derivatives of the state go along with the steps: each parameter costs the stages of one to
    three steps, and no solve. Without sensors, one is enough for inertial numbers, dampings,
    frictions of the model and gains of position servos. The derivatives are those of the steps as
    they are, with the contacts of each. A change of a number that moves the first step of a contact
    is outside of them.

    Parameters
    ----------
    stepper : Stepper
        As for :func:`linearize`. With soft bodies each step is linearized as by
        :class:`SoftStepLinearization`, whose parameters may be numbers of soft bodies; with sensors
        of forces or accelerations `sensors` must be False then.
    data : mujoco.MjData
        The state at the start; not changed.
    controls : array_like (n_steps, nu), optional
        Controls of each step. Without them those of `data` stay.
    parameters : sequence of tuple
        Numbers of the model, (kind, name, field) or (kind, name, field, index): "mass" and
        "inertia" of a "body"; "friction", "stiffness", "dissipation_time" and "restitution" of a
        "geom"; "stiffness", "damping", "armature" and "frictionloss" of a "joint" or a "tendon";
        "gear", "gainprm", "biasprm" and "dynprm" of an "actuator". Of the frictions of two geoms
        the larger counts, unless one has priority.
    n_steps : int, optional
        Number of steps, without controls.
    sensors : bool
        Whether `y` and `J` are found; without, they have no columns.

    Returns
    -------
    Sensitivities
        The run, and its derivatives per unit of each number.

    Raises
    ------
    StepError
        If a step cannot be taken.
    TypeError, ValueError
        For a wrong argument; the message names it.

    Notes
    -----
    Derivatives are within 2e-6 of the largest entry of their column for robots that land and stand
    (60 steps of two robots, solved to 1e-13, beside differences of single steps and of the run).
    Steps `near_kink` may be off by more.

    Examples
    --------
    >>> import mujoco, sapwood
    >>> model = mujoco.MjModel.from_xml_string('''
    ... <mujoco><worldbody><body name="cart"><joint name="x" type="slide" axis="1 0 0" damping="3"/>
    ... <geom size=".1" mass="2"/></body></worldbody><actuator><motor joint="x"/></actuator>
    ... <sensor><jointvel joint="x"/></sensor></mujoco>''')
    >>> stepper = sapwood.mujoco.Stepper(model, time_step=0.1)
    >>> run = sapwood.mujoco.sensitivities(stepper, mujoco.MjData(model), [[1.0]] * 3,
    ...     parameters=[("body", "cart", "mass"), ("joint", "x", "damping")])
    >>> print(run.y.ravel().round(4), run.J[-1].round(4))
    [0.     0.0435 0.0813] [[-0.0329 -0.0052]]
    """
    if not isinstance(stepper, Stepper):
        raise TypeError(f"stepper must be a Stepper, not {type(stepper).__name__}")
    check_data(stepper.model, data)
    if controls is None and n_steps is None:
        raise TypeError("sensitivities needs controls or n_steps")
    n = -1 if n_steps is None else integer(n_steps, "n_steps", 0)
    ctrl: _Float | None = None
    if controls is not None:
        ctrl = _core.as_float64(controls, "controls", (n, stepper.model.nu), "finite")
        n = len(ctrl)
    numbers = read_parameters(parameters)
    sensed = sensors and stepper.model.nsensordata > 0
    if stepper.parameters.soft is not None:
        soft = soft_tangents(stepper, data, numbers, n, ctrl, sensed)
        never = np.zeros(n, bool)
        return Sensitivities(
            soft.sensors, soft.dy, soft.q, soft.v, soft.x, soft.near_kink, never, never
        )
    with linearizer_of(stepper) as linearizer:
        found = linearizer.tangents(data, numbers, n, ctrl, sensors=sensed)
    y = np.zeros((n, 0)) if found.sensors is None else found.sensors
    dy = np.zeros((n, len(numbers), 0)) if found.dy is None else found.dy
    J, X = (np.swapaxes(array, 1, 2) for array in (dy, found.x))
    return Sensitivities(
        y, J, found.q, found.v, X, found.near_kink, found.limited_rebound, found.held_rotation
    )


def sysid_rollout(**options: Any) -> Callable[..., list[Any]]:
    """Make the simulation of ``mujoco.sysid`` one by this package.

    Parameters
    ----------
    **options
        Options of :class:`Stepper`, and `nthread` of :func:`rollout`.

    Returns
    -------
    callable
        For the argument ``custom_rollout`` of ``mujoco.sysid.build_residual_fn`` and
        ``mujoco.sysid.residual``.

    Raises
    ------
    ImportError
        If ``mujoco.sysid`` is missing; the message says how to install it.
    TypeError
        For an option that there is not.

    Notes
    -----
    A world that fails, such as one with a negative mass, raises its StepError.
    """
    if not hasattr(_sysid(), "SystemTrajectory"):  # a package is missing that the toolbox needs
        raise ImportError(
            f"sapwood.mujoco.sysid_rollout needs mujoco.sysid: {install_command('sysid')}"
        )
    known = {"nthread", *inspect.signature(Stepper).parameters} - {"model"}
    for name in options:
        if name not in known:
            raise TypeError(f"{name}: sysid_rollout has no such option")
    return functools.partial(_simulate, options)


def _sysid() -> Any:
    return importlib.import_module("mujoco.sysid")


def _simulate(
    options: Mapping[str, Any],
    *,
    models: Sequence[mujoco.MjModel],
    control_signal: Sequence[Any],
    initial_states: Sequence[ArrayLike],
    rollout_signal_mapping: Any,
    rollout_state_mapping: Any,
    ctrl_mapping: Any,
    **_: Any,
) -> list[Any]:
    """Simulate as ``mujoco.sysid`` asks for it."""
    sysid = _sysid()
    result = rollout(
        list(models),
        np.asarray(initial_states),
        # the first sensors are those of the initial state: the last control has none
        np.array([signal.data[:-1] for signal in control_signal]),
        **options,
    )
    if result.failures:
        raise result.failures[0]
    found = []
    for k, model in enumerate(models):
        times, forces = control_signal[k].times[:-1], control_signal[k].data[:-1]
        state, sensors = result.state[k], result.sensordata[k]
        found.append(
            sysid.SystemTrajectory(
                model=model,
                control=sysid.TimeSeries(times, forces, ctrl_mapping),
                sensordata=sysid.TimeSeries(state[:, 0], sensors, rollout_signal_mapping),
                initial_state=np.asarray(initial_states[k]),
                state=sysid.TimeSeries(state[:, 0], state, rollout_state_mapping),
            )
        )
    return found

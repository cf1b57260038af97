"""Runs with soft bodies and their derivatives by numbers of bodies and model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.fem.state import SoftState
from sapwood.mujoco.gradients.model_numbers import Parameter
from sapwood.mujoco.gradients.state_copy import StateCopy
from sapwood.mujoco.linearizable import check_linearizable
from sapwood.mujoco.results.results import StepError
from sapwood.mujoco.soft_linearization import SoftStepLinearization
from sapwood.mujoco.soft_start import own_steps
from sapwood.mujoco.step_numbers import step_numbers, unit_changes
from sapwood.mujoco.stepper import Stepper

_Float = NDArray[np.float64]


class SoftTangents(NamedTuple):
    """Steps with soft bodies, and their derivatives."""

    q: _Float
    """Positions of the model after each step (steps, nq)."""
    v: _Float
    """Velocities of the model after each step (steps, nv)."""
    x: _Float
    """Derivatives of the state of :class:`SoftStepLinearization` (steps, size, n_numbers)."""
    sensors: _Float
    """Sensors of each step (steps, n_sensors), or (steps, 0)."""
    dy: _Float
    """Derivatives of the sensors (steps, n_sensors, n_numbers)."""
    near_kink: NDArray[np.bool_]
    """Steps with this status (steps,)."""


def soft_tangents(
    stepper: Stepper,
    data: mujoco.MjData,
    parameters: Sequence[Parameter],
    steps: int,
    ctrl: _Float | None,
    sensors: bool,
) -> SoftTangents:
    """Take steps with their derivatives by numbers of soft bodies and of the model.

    Parameters
    ----------
    stepper : Stepper
        A stepper with soft bodies or elastic flexes, which stays as it is.
    data : mujoco.MjData
        The state at the start; not changed.
    parameters : sequence of tuple
        The numbers; an array has a column for each of its numbers.
    steps : int
        Number of steps.
    ctrl : ndarray (steps, nu) or None
        Controls of each step; those of `data` where it is None.
    sensors : bool
        Whether sensors and their derivatives are found.

    Returns
    -------
    SoftTangents
        The states after each step, and the derivatives.

    Raises
    ------
    StepError
        If a step cannot be taken.
    TypeError, ValueError
        For wrong numbers, and a stepper whose steps have no derivative.
    """
    check_linearizable(stepper, soft=True)
    stepper.follow()
    own, scratch = own_steps(stepper.parameters), StateCopy(stepper.model).take(data)
    ns = stepper.model.nsensordata if sensors else 0
    numbers = step_numbers(stepper.parameters, parameters)
    n_numbers, size = sum(np.size(number.value) for number in numbers), _size(stepper)
    found = SoftTangents(
        np.zeros((steps, scratch.qpos.size)), np.zeros((steps, scratch.qvel.size)),
        np.zeros((steps, size, n_numbers)), np.zeros((steps, ns)),
        np.zeros((steps, ns, n_numbers)), np.zeros(steps, bool),
    )  # fmt: skip
    x = np.zeros((size, n_numbers))
    for k in range(steps):
        if ctrl is not None:
            scratch.ctrl[:] = ctrl[k]
        state = SoftState.of(own.soft.bodies, own.soft.time)
        try:
            linear = SoftStepLinearization(
                stepper, scratch, parameters=parameters, soft_state=state
            )
            own.take(scratch, np.zeros(1, _core.STEP_RECORD))
        except StepError as error:
            error.step = k
            raise
        if ns:
            found.sensors[k], found.dy[k] = scratch.sensordata, _sensed(linear, x)
        x = _pushed(linear, x)
        found.q[k], found.v[k], found.x[k] = scratch.qpos, scratch.qvel, x
        found.near_kink[k] = linear.status == "near_kink"
    return found


def _size(stepper: Stepper) -> int:
    """Length of the state of a linearization."""
    vertices = sum(body.positions.size for body in stepper.soft)
    return int(2 * (stepper.model.nv + vertices) + stepper.model.na)


def _sensed(linear: SoftStepLinearization, x: _Float) -> _Float:
    """Derivatives of the sensors of a step (n_sensors, n_numbers), from those before it."""
    changes = [
        (k, change)
        for k, value in enumerate(linear.numbers.values())
        for change in unit_changes(value)
    ]
    columns = [linear.sensor_jvp(x[:, p], k, change) for p, (k, change) in enumerate(changes)]
    return np.stack(columns, axis=1)


def _pushed(linear: SoftStepLinearization, x: _Float) -> _Float:
    """Derivatives of the state after a step (size, n_numbers), from those before it."""
    found = np.empty_like(x)
    p = 0
    for label, value in linear.numbers.items():
        for change in unit_changes(value):
            found[:, p] = linear.jvp(x[:, p], parameters={label: change})
            p += 1
    return found

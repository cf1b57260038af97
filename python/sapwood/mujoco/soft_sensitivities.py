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
    near_kink: NDArray[np.bool_]
    """Steps with this status (steps,)."""


def soft_tangents(
    stepper: Stepper,
    data: mujoco.MjData,
    parameters: Sequence[Parameter],
    steps: int,
    ctrl: _Float | None,
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
    q, v = [np.zeros((0, each.size)) for each in (scratch.qpos, scratch.qvel)]
    states, kinks = [], []
    x: _Float | None = None
    for k in range(steps):
        if ctrl is not None:
            scratch.ctrl[:] = ctrl[k]
        try:
            found = SoftStepLinearization(
                stepper, scratch, parameters=parameters,
                soft_state=SoftState.of(own.soft.bodies, own.soft.time),
            )  # fmt: skip
            own.take(scratch, np.zeros(1, _core.STEP_RECORD))
        except StepError as error:
            error.step = k
            raise
        x = _pushed(found, x)
        states.append(x)
        q, v = np.vstack([q, scratch.qpos]), np.vstack([v, scratch.qvel])
        kinks.append(found.status == "near_kink")
    return SoftTangents(q, v, np.array(states), np.array(kinks, bool))


def _pushed(found: SoftStepLinearization, x: _Float | None) -> _Float:
    """Derivatives of the state after a step (size, n_numbers), from those before it."""
    columns: list[_Float] = []
    for label, value in found.numbers.items():
        for i in range(value.size):
            change = np.zeros(value.size)
            change[i] = 1.0
            before = np.zeros(found.size) if x is None else x[:, len(columns)]
            columns.append(found.jvp(before, parameters={label: change.reshape(value.shape)}))
    return np.array(columns).reshape(len(columns), found.size).T

"""Derivatives of steps with soft bodies from many states."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.fem.state import SoftState
from sapwood.mujoco.gradients.state_copy import StateCopy
from sapwood.mujoco.results.results import StepError
from sapwood.mujoco.soft_linearization import SoftStepLinearization
from sapwood.mujoco.stepper import Stepper

_Float = NDArray[np.float64]


def linearize_soft_batch(
    stepper: Stepper,
    rest: mujoco.MjData,
    states: tuple[_Float, _Float, _Float],
    soft_states: Sequence[SoftState] | None,
    step: float,
    threads: int,
) -> tuple[_Float, _Float, list[str]]:
    """Linearize steps with soft bodies from many states.

    Parameters
    ----------
    stepper : Stepper
        A stepper with soft bodies or elastic flexes.
    rest : mujoco.MjData
        The rest of all states; not changed.
    states : tuple of ndarray (n, nq), (n, nv), (n, nu)
        Positions, velocities and controls.
    soft_states : sequence of SoftState or None
        States of the soft bodies (n); None for the present one.
    step : float
        Largest difference of a position, m or rad.
    threads : int
        Number of threads.

    Returns
    -------
    A, B : ndarray (n, size, size), (n, size, nu)
        The derivatives.
    status : list of str
        Status of each.

    Raises
    ------
    StepError
        If a step cannot be taken; a note says which.
    TypeError, ValueError
        For states of other bodies.
    """
    n, model = len(states[0]), stepper.model
    soft = _checked(soft_states, stepper, n)

    def run(i: int) -> tuple[_Float, _Float, str]:
        data = StateCopy(model).take(rest)
        data.qpos[:], data.qvel[:], data.ctrl[:] = (x[i] for x in states)
        state = dataclasses.replace(soft[i], time=float(data.time))
        try:
            found = SoftStepLinearization(stepper, data, step=step, soft_state=state)
        except StepError as error:
            error.add_note(f"in state {i}")
            raise
        A, B, _ = found.matrices()
        return A, B, found.status

    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(run, range(n)))
    size = 2 * (model.nv + sum(body.positions.size for body in stepper.soft)) + model.na
    A = np.array([each[0] for each in found]).reshape(n, size, size)
    B = np.array([each[1] for each in found]).reshape(n, size, model.nu)
    return A, B, [each[2] for each in found]


def _checked(given: Sequence[SoftState] | None, stepper: Stepper, n: int) -> Sequence[SoftState]:
    """States of the soft bodies, each checked."""
    if given is None:
        return [SoftState.of(stepper.soft)] * n
    if len(given) != n:
        raise ValueError(f"soft_states has {len(given)} states for {n} of the model")
    shapes = [body.positions.shape for body in stepper.soft]
    for i, state in enumerate(given):
        if not isinstance(state, SoftState):
            raise TypeError(f"soft_states[{i}] must be a SoftState, not {type(state).__name__}")
        if [each.shape for each in state.positions] != shapes:
            raise ValueError(f"soft_states[{i}]: must have the bodies of the stepper")
    return given

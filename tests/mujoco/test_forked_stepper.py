"""Steppers and rollouts that another thread is using when the process forks work in the child."""

from __future__ import annotations

import os

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

import forks
from mujoco_models import (
    full_state,
    physics_state,
    twin_of,
)
from sapwood import Status
from sapwood.mujoco import Rollout, Stepper
from sapwood.studies import scenes

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.undisturbed,
]

N_CHILDREN = 30


@pytest.fixture(scope="module")
def model():
    return scenes.clutter(8, seed=1).compile()


def settled(model):
    data = mujoco.MjData(model)
    Stepper(model).run(data, 100)
    return data


@pytest.mark.parametrize("scheme", ["symplectic_euler", "midpoint"])
def test_a_child_runs_with_a_stepper_in_use(model, scheme):
    stepper, start = Stepper(model, scheme=scheme), settled(model)
    expected, busy = twin_of(model, start), twin_of(model, start)
    stepper.run(expected, 5)

    def child():
        data = twin_of(model, start)
        stepper.run(data, 5)
        return np.array_equal(full_state(model, data), full_state(model, expected))

    codes = forks.fork_beside(lambda: stepper.run(busy, 1), child, N_CHILDREN)
    assert codes == [0] * N_CHILDREN


def test_a_child_reads_a_stepper_in_use(model):
    """A child process forgets a change that was left in the middle."""
    stepper, start = Stepper(model), settled(model)
    busy = twin_of(model, start)
    stepper.step(busy)

    def child():
        solution, n = stepper.solution, stepper.n_contacts
        if solution is None:  # lost in the middle of a step
            return n == 0 and len(stepper.constraints) == 0
        return solution.status == Status.converged and len(solution.gamma) == n

    codes = forks.fork_beside(lambda: stepper.run(busy, 1), child, N_CHILDREN)
    assert codes == [0] * N_CHILDREN


def test_a_child_rolls_out_with_a_rollout_in_use(model):
    pool, start = Rollout(model, nthread=2), settled(model)
    initial = np.tile(physics_state(model, start), (4, 1))
    expected = pool.rollout(initial, nstep=3).state
    codes = forks.fork_beside(
        lambda: pool.rollout(initial, nstep=3),
        lambda: np.array_equal(pool.rollout(initial, nstep=3).state, expected),
        N_CHILDREN,
    )
    assert codes == [0] * N_CHILDREN

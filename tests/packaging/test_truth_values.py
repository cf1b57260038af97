"""Arguments that are True or False take nothing else: no "yes", no 2."""

from __future__ import annotations

import numpy as np
import pytest

import sapwood
from sapwood import qp
from sapwood.trajectory import FreeBodies, Sphere, simulate


def ball(**options):
    return FreeBodies(
        [Sphere(0.1)], [1.0], [[1.0, 1.0, 1.0]], dt=0.01, k=1e4, tau_d=0.01, mu=0.5, **options
    )


@pytest.fixture
def problem():
    return sapwood.ContactProblem(
        [3], np.eye(3).ravel(), [0.0, 0.0, -1.0], [0], [-1], np.eye(3).ravel(), [0.5],
        dt=0.01, phi0=[0.0], k=[1e5], tau_d=[0.0],
    )  # fmt: skip


def solved(problem):
    return sapwood.solve(problem, sensitivity=True)


CALLS = {
    "sensitivity": lambda p, x: sapwood.solve(p, sensitivity=x),
    "verbose": lambda p, x: sapwood.solve(p, verbose=x),
    "sensitivity of many": lambda p, x: sapwood.solve_batch([p], sensitivity=x),
    "frozen_regularization": lambda p, x: solved(p).vjp(np.ones(3), frozen_regularization=x),
    "frozen_regularization of rates": lambda p, x: solved(p).jvp(
        sapwood.Differential(mu=np.ones(1)), frozen_regularization=x
    ),
    "frozen_regularization of many": lambda p, x: sapwood.vjp_batch(
        [solved(p)], v_bars=np.ones((1, 3)), frozen_regularization=x
    ),
    "matrices": lambda p, x: sapwood.vjp_batch([solved(p)], v_bars=np.ones((1, 3)), matrices=x),
    "body_contacts": lambda _, x: ball(body_contacts=x),
    "checkpoints": lambda _, x: simulate(
        ball(), [[0, 0, 1, 1, 0, 0, 0]], np.zeros((1, 6)), n_steps=2, checkpoints=x
    ),
    "polish": lambda _, x: qp.solve(np.eye(1), [1.0], polish=x),
    "check_convex": lambda _, x: qp.solve(np.eye(1), [1.0], check_convex=x),
    "islands": lambda _, x: sapwood.SapSettings(islands=x),
}


@pytest.mark.parametrize("name", CALLS)
def test_truth_values_are_bools(name, problem):
    for wrong in ("yes", 2, None, 1.0):
        with pytest.raises(TypeError, match=f"^{name.split()[0]} .*must be (True or False|a bool)"):
            CALLS[name](problem, wrong)
    for right in (True, np.False_):
        CALLS[name](problem, right)

"""Derivatives of solutions: the core against dense matrices in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import sapwood
from differentials import CASES, ROWS
from sapwood.reference import solution_gradient

NUMBERS = ("A", "v_star", "J", "mu", "R_t", "R_n", "v_hat_n", "v_hat_t", "kappa", "core_lambda")
OTHERS = ("friction_bound", "spin_J", "spin_mu")


def pairs(problem, found, expected):
    """(name, value, gradient, its mirror) of all numbers."""
    for name in (*NUMBERS, *OTHERS):
        x = getattr(found, name)
        if x is not None:
            yield name, getattr(problem, name), x, getattr(expected, name)
    for k, group in enumerate(problem.constraints):
        one, other = found.constraints[k], expected.constraints[k]
        for name in ROWS:
            mirrored = np.ravel(getattr(other, name))
            yield f"constraints[{k}].{name}", getattr(group, name), getattr(one, name), mirrored


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_the_mirror(name, rng):
    case = CASES[name](rng)
    solution, problem = case.solve(sensitivity=True), case.problem()
    v_bar = rng.standard_normal(problem.nv)
    gamma_bar = rng.standard_normal((problem.n_contacts, 3))
    found = solution.vjp(v_bar, gamma_bar, frozen_regularization=True)
    expected = solution_gradient(
        problem, solution.v, v_bar, gamma_bar, friction=case.friction, soft_norm=case.soft_norm
    )
    # sums that cancel, as gradients by R_t of sliding contacts, are round-off of the others
    entries = list(pairs(problem, found, expected))
    sizes = [np.where(np.isfinite(value), np.abs(value), 0.0) for _, value, _, _ in entries]
    largest = max(
        np.max(np.abs(x) * size, initial=0.0)
        for (_, _, x, _), size in zip(entries, sizes, strict=True)
    )
    assert largest > 0.0
    for (number, _, x, y), size in zip(entries, sizes, strict=True):
        assert x.shape == y.shape, number
        error = np.abs(x - y) * size
        assert np.max(error, initial=0.0) <= 1e-8 * largest, number


def test_pools_without_derivatives_are_refused():
    with pytest.raises(TypeError, match="object has no derivatives"):
        sapwood.reference.solver.sensitivity.partials(
            object(), np.zeros((1, 3)), np.zeros((1, 3, 3))
        )

"""Settings at the ends of their ranges: a solve ends soon, with an answer or the truth about it."""

from __future__ import annotations

import numpy as np
import pytest

import helpers
from helpers import implementations
from sapwood import SapSettings, Status

CORES = {"core": np.ones(20, np.int8), "kappa": np.full(20, 1e-3)}


def problem_of(seed, cores):
    return helpers.random_problem(np.random.default_rng(seed), **(CORES if cores else {}))


# ---- work ----------------------------------------------------------------------------------------


@implementations
@pytest.mark.parametrize("cores", [False, True], ids=["plain", "cores"])
@pytest.mark.parametrize("rho", [0.9999, 1.0 - 2.0**-53, 1e-300])
def test_backtracking_ends_soon_for_every_rho(solver, cores, rho):
    """Fewer than 70 trials past the limit of 50 reach a step that changes no velocity any more."""
    settings = SapSettings(line_search="backtracking", armijo_rho=rho, max_iterations=20)
    solution = solver.solve(problem_of(0, cores), settings=settings)
    assert solution.line_search_trials <= 120 * solution.iterations


@implementations
def test_backtracking_ends_where_a_step_is_too_small_to_shrink(solver):
    """Half of the smallest number rounds to itself; and no trial is left out before that."""
    settings = SapSettings(
        line_search="backtracking", armijo_rho=0.5, line_search_max_trials=1_000_000,
        relative_tolerance=0.0, absolute_tolerance=0.0, max_iterations=12,
    )  # fmt: skip
    solution = solver.solve(problem_of(0, cores=True), settings=settings)
    assert solution.line_search_trials <= 1100 * solution.iterations


@implementations
@pytest.mark.parametrize("max_step", [1e6, 1e100, 1e300])
@pytest.mark.parametrize("line_search", ["exact", "backtracking"])
def test_steps_that_overflow_are_cut_short(solver, line_search, max_step):
    settings = SapSettings(line_search=line_search, max_step=max_step, armijo_rho=0.1)
    solution = solver.solve(problem_of(0, cores=False), settings=settings)
    assert solution.status == Status.converged

"""Solves that come to the end of double precision: soon, and with the truth about it."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import implementations
from sapwood import ContactProblem, SapSettings, Status

line_searches = pytest.mark.parametrize("line_search", ["exact", "backtracking"])


def squeezed(rng, v_star=0.0, least_R=-4):
    """A tree that pairs of opposite contacts squeeze; for v* = 0 it stays where it is."""
    n, k = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    M = rng.standard_normal((n, n))
    J = rng.standard_normal((k, 3, n))
    opposite = J * np.array([1.0, 1.0, -1.0])[:, None]
    R = np.full(2 * k, 10.0 ** rng.uniform(least_R, 0))
    return ContactProblem(
        tree_nv=[n],
        A=(M @ M.T + np.eye(n)).ravel(),
        v_star=v_star * rng.standard_normal(n),
        tree_a=np.zeros(2 * k, np.int32),
        tree_b=np.full(2 * k, -1, np.int32),
        J=np.concatenate([J, opposite]).ravel(),
        mu=np.tile(rng.choice([0.0, 0.5, 1.0], k), 2),
        R_t=R,
        R_n=R,
        v_hat_n=np.tile(10.0 ** rng.uniform(-3, 3, k), 2),
        dt=0.01,
    )


@implementations
@line_searches
@pytest.mark.parametrize("seed", range(20))
def test_what_is_squeezed_and_cannot_move_converges(solver, line_search, seed):
    """e_m compares round-off with round-off there; that nothing moves is proved all the same."""
    rng = np.random.default_rng(seed)
    problem = squeezed(rng)
    guess = rng.standard_normal(problem.nv) * 10.0 ** rng.uniform(-6, 2)
    solution = solver.solve(problem, guess, SapSettings(line_search=line_search))
    assert solution.status == Status.converged
    assert np.sqrt(problem.A @ np.outer(solution.v, solution.v).ravel()) <= (
        solution.velocity_error_bound
    )
    assert solution.velocity_error_bound <= 1e-6 * np.sqrt(solution.cost)


@implementations
@pytest.mark.parametrize("seed", range(10))
def test_what_is_squeezed_between_rigid_contacts_converges(solver, seed):
    """R alone limits the impulses, v_hat/R: proximal solves do not reach them, one solve does."""
    problem = squeezed(np.random.default_rng(seed), least_R=-12)
    solution = solver.solve(problem)
    assert solution.status == Status.converged
    assert np.sqrt(problem.A @ np.outer(solution.v, solution.v).ravel()) <= (
        solution.velocity_error_bound
    )


@implementations
def test_line_searches_at_round_off_end_where_nothing_moves(solver):
    """Halving on to the smallest number took a thousand trials each."""
    settings = SapSettings(relative_tolerance=0.0, absolute_tolerance=0.0)
    for seed in range(20):
        solution = solver.solve(
            squeezed(np.random.default_rng(seed), v_star=1.0), settings=settings
        )
        assert solution.line_search_trials <= 130 * solution.iterations


@implementations
def test_a_whole_that_meets_its_tolerance_has_converged(solver, rng):
    """One island comes to the end of double precision first, beside one of much more momentum."""
    B = rng.normal(size=(6, 6))
    A = np.zeros((9, 9))
    A[:6, :6] = B @ B.T + np.eye(6)
    A[6:, 6:] = 2.0**60 * np.eye(3)
    J = np.zeros((15, 9))
    J[:12, :6] = rng.normal(size=(12, 6))
    J[12:, 6:] = np.eye(3)
    R = np.array([1e-3] * 4 + [2.0**-60])
    arrays = {"mu": [0.5] * 5, "R_t": R, "R_n": R, "v_hat_n": [0.1] * 4 + [0.0]}
    v_star = np.append(rng.normal(size=6), [0.0, 0.0, -1.0])
    v_star[:6] *= -np.sign(J[2, :6] @ v_star[:6])  # something touches
    settings = SapSettings(relative_tolerance=1e-18, absolute_tolerance=0.0)

    alone = ContactProblem.from_dense(
        A=A[:6, :6],
        v_star=v_star[:6],
        J=J[:12, :6],
        dt=0.01,
        **{name: values[:4] for name, values in arrays.items()},
    )
    assert solver.solve(alone, settings=settings).status == Status.stalled
    both = ContactProblem.from_dense(A=A, v_star=v_star, J=J, trees=[6, 3], dt=0.01, **arrays)
    solution = solver.solve(both, settings=settings)
    assert solution.momentum_error <= 1e-18
    assert solution.status == Status.converged

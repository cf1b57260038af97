"""Bodies on many more near-rigid contacts than they have velocities: the default limit suffices."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import sapwood
from sapwood import SapSettings, Status, reference

COULOMB = SapSettings(friction="coulomb")
# bodies on top of each other, contacts between two of them, and the seed
TOWERS = ((4, 8, 10), (5, 6, 7), (6, 11, 5), (7, 19, 10), (1, 24, 1), (1, 24, 10))
SMALL = (5, 6, 7)


def moments(r):
    """Of forces along the axes at r, as rows (3, 6) of J."""
    x, y, z = r
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.hstack([np.eye(3), -cross])


def tower(n, per_body, seed, share=1e-6):
    """Bodies that slide on each other with random velocities, all R = share w."""
    rng = np.random.default_rng(seed)
    masses = 10.0 ** rng.uniform(-0.5, 1.0, n)
    A = [m * np.diag([1.0, 1.0, 1.0, *(0.01 * rng.uniform(0.3, 1.0, 3))]) for m in masses]
    blocks, w = [], []
    for b in np.repeat(np.arange(n), per_body):
        x, y = rng.uniform(-0.1, 0.1, 2)
        sides = [(b, moments([x, y, -0.1]))] + [(b - 1, -moments([x, y, 0.1]))] * int(b > 0)
        W = sum(J @ np.linalg.solve(A[body], J.T) for body, J in sides)
        blocks += [J.ravel() for _, J in sides]
        w.append(np.linalg.norm(W) / 3.0)
    tree_a = np.repeat(np.arange(n, dtype=np.int32), per_body)
    v = rng.standard_normal((n, 6)) * [1.0, 1.0, 0.0, 0.5, 0.5, 0.5]
    v[:, 2] = -0.05 - rng.uniform(0.0, 0.05, n)
    R = share * np.array(w)
    return sapwood.ContactProblem(
        [6] * n, np.ravel(A), v.ravel(), tree_a, tree_a - 1, np.concatenate(blocks),
        np.full(len(R), 0.7), R_t=R, R_n=R, v_hat_n=np.zeros(len(R)), dt=0.005,
    )  # fmt: skip


def solutions(solver, limits, settings, size):
    """Of a tower by these limits of iterations."""
    problem = tower(*size)
    return [
        solver.solve(problem, settings=dataclasses.replace(settings, max_iterations=most))
        for most in limits
    ]


@pytest.mark.parametrize("tolerance", [1e-6, 1e-9])
def test_the_default_limit_suffices(tolerance):
    settings = dataclasses.replace(COULOMB, relative_tolerance=tolerance)
    found = [sapwood.solve(tower(*size), settings=settings) for size in TOWERS]
    for size, solution in zip(TOWERS, found, strict=True):
        assert solution.status == Status.converged, size
        assert solution.coulomb_error <= tolerance, size
    # a limit that bounds the time of a solve is often met by these
    assert max(solution.iterations for solution in found) > 100


@pytest.mark.parametrize("solver", [sapwood, reference], ids=["C", "mirror"])
def test_of_all_iterates_with_coulombs_law_the_one_with_the_least_error_is_returned(solver):
    """And not that with the least |D r|, whose scale may be as small."""
    settings = dataclasses.replace(COULOMB, record_history=True)
    for solution in solutions(solver, (9, 19, 29), settings, SMALL):
        history = solution.history
        # steps of convex solves on the way tell the decrease of a cost, those of Coulomb's law not
        of_law = (history["iteration"] == 0) | (history["step"] > 0.0) & (
            history["decrease"] == 0.0
        )
        least = history["momentum_error"][of_law].min()
        assert solution.n_islands == 1
        assert solution.status == Status.friction_limit
        assert solution.coulomb_error <= least * (1.0 + 1e-9)


@pytest.mark.parametrize("solver", [sapwood, reference], ids=["C", "mirror"])
def test_more_convex_iterations_leave_no_larger_error(solver):
    errors = [s.momentum_error for s in solutions(solver, range(24), SapSettings(), (1, 8, 1))]
    assert np.all(np.diff(errors) <= 1e-9)

"""Bodies on many more near-rigid contacts than they have velocities: the default limit suffices."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import sapwood
from sapwood import SapSettings, Status, reference
from towers import tower

COULOMB = SapSettings(friction="coulomb")
# bodies on top of each other, contacts between two of them, and the seed
TOWERS = ((4, 8, 10), (5, 6, 7), (6, 11, 5), (7, 19, 10), (1, 24, 1), (1, 24, 10))
SMALL = (5, 6, 7)


def solutions(solver, limits, settings, size):
    """The solutions of a tower by these limits of iterations."""
    problem = tower(*size)
    return [
        solver.solve(problem, settings=dataclasses.replace(settings, max_iterations=most))
        for most in limits
    ]


@pytest.mark.parametrize("tolerance", [1e-6, 1e-9])
def test_the_default_limit_suffices(tolerance):
    settings = dataclasses.replace(COULOMB, relative_tolerance=tolerance)
    found = [sapwood.solve(tower(*size), settings=settings) for size in TOWERS]
    # the iteration is chaotic: with other round-off, as of another compiler, one of them may end at
    # the limit of detours
    done = [solution for solution in found if solution.status == Status.converged]
    assert len(done) >= len(TOWERS) - 1
    assert max(solution.coulomb_error for solution in done) <= tolerance
    assert max(solution.iterations for solution in done) <= 40


@pytest.mark.parametrize("solver", [sapwood, reference], ids=["C", "mirror"])
def test_of_all_iterates_with_coulombs_law_the_one_with_the_least_error_is_returned(solver):
    """And not that with the least |D r|, whose scale may be as small."""
    settings = dataclasses.replace(COULOMB, record_history=True)
    for solution in solutions(solver, (1, 2, 3), settings, SMALL):
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

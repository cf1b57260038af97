"""Objects that another thread is using when the process forks work on in the child."""

from __future__ import annotations

import os

import numpy as np
import pytest

import forks
import helpers
import sapwood
from sapwood import SapSettings, SapSolver

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.undisturbed,
]

N_CHILDREN = 30


@pytest.fixture(scope="module")
def problem():
    return helpers.random_problem(np.random.default_rng(3), sizes=(6,) * 30, contacts=120)


@pytest.mark.parametrize("history", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_child_solves_with_a_solver_in_use(problem, history, threads):
    solver = SapSolver(SapSettings(record_history=history), threads=threads)
    expected = solver.solve(problem)
    codes = forks.fork_beside(
        lambda: solver.solve(problem),
        lambda: [solver.solve(problem) == expected for _ in range(2)] == [True, True],
        N_CHILDREN,
    )
    assert codes == [0] * N_CHILDREN


def test_a_child_evaluates_with_a_solver_in_use(problem):
    solver = SapSolver()
    v, dv = problem.v_star, np.ones_like(problem.v_star)
    expected = solver.evaluate(problem, v), solver.along_line(problem, v, dv, 0.5)
    codes = forks.fork_beside(
        lambda: solver.solve(problem),
        lambda: (solver.evaluate(problem, v), solver.along_line(problem, v, dv, 0.5)) == expected,
        N_CHILDREN,
    )
    assert codes == [0] * N_CHILDREN


def test_a_child_drops_a_solver_in_use(problem):
    """Nothing that was left in the middle of a change goes to another solver."""
    solvers = [SapSolver()]
    expected = solvers[0].solve(problem)

    def child():
        solvers.clear()
        return all(sapwood.solve(problem) == expected for _ in range(3))

    solver = solvers[0]
    codes = forks.fork_beside(lambda: solver.solve(problem), child, N_CHILDREN)
    assert codes == [0] * N_CHILDREN


def test_a_child_of_a_child_solves_with_a_solver_in_use(problem):
    solver = SapSolver()
    expected = solver.solve(problem)

    def child():
        here = solver.solve(problem) == expected
        codes = forks.fork_beside(
            lambda: solver.solve(problem), lambda: solver.solve(problem) == expected, 3
        )
        return here and codes == [0, 0, 0]

    codes = forks.fork_beside(lambda: solver.solve(problem), child, 8)
    assert codes == [0] * 8


def test_a_child_solves_batches_beside_those_of_its_parent(problem):
    expected = sapwood.solve_batch([problem] * 4, threads=2)
    codes = forks.fork_beside(
        lambda: sapwood.solve_batch([problem] * 4, threads=2),
        lambda: sapwood.solve_batch([problem] * 4, threads=2) == expected,
        N_CHILDREN,
    )
    assert codes == [0] * N_CHILDREN

"""The work that a solve could not do without: counts that formulas and other counts agree with."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest

import helpers
import sapwood
from benchmarks.native import Native
from benchmarks.work import PHASES, Work, count_work
from sapwood import Region, SapSettings

pytestmark = pytest.mark.slow

RECORDED = SapSettings(record_history=True)


@functools.cache
def native() -> Native:
    """The compiled part, built once."""
    return Native()


def solved(problem, **settings):
    solution = sapwood.solve(problem, settings=dataclasses.replace(RECORDED, **settings))
    return solution, count_work(native(), problem, solution)


def phase(work: Work, name: str, quantity: str = "flops") -> float:
    return float(getattr(work, quantity)[:, PHASES.index(name)].sum())


def graph_problem(rng, n_trees, edges, size=6, **overrides):
    """Trees of equal size, one contact for each pair of `edges`; -1 is the world."""
    a, b = np.array(edges).T
    sides = 1 + (b >= 0)
    return helpers.random_problem(
        rng,
        sizes=(size,) * n_trees,
        contacts=len(a),
        tree_a=a.astype(np.int32),
        tree_b=b.astype(np.int32),
        J=rng.standard_normal(int(3 * size * sides.sum())),
        **overrides,
    )


# ---- events ------------------------------------------------------------------------------------


@helpers.small_files
def test_events_are_those_of_the_solution(path):
    problem = sapwood.load_problem(path)
    solution, work = solved(problem)
    assert work.evaluations.shape == (solution.n_islands,)
    assert work.evaluations.sum() == len(solution.history)
    assert work.directions.sum() == solution.total_iterations
    assert work.directions.max() == solution.iterations
    assert work.trials.sum() == solution.line_search_trials
    assert np.isfinite(work.bytes).all()
    # nothing is done in no time: what is computed is read and written
    for name in PHASES:
        assert (phase(work, name, "flops") > 0) == (phase(work, name, "bytes") > 0)


# ---- factorization and solves ------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 6, 30])
def test_one_tree_is_a_dense_matrix(rng, n):
    """N^3/3 + N^2/2 - 5 N/6 flops, N roots and N divisions; two triangular solves of N^2."""
    problem = graph_problem(rng, 1, [(0, -1)] * 4, size=n)
    solution, work = solved(problem)
    directions = solution.total_iterations
    assert phase(work, "factorization") == directions * n * (n - 1) * (2 * n + 5) / 6
    assert phase(work, "factorization", "roots") == directions * 2 * n
    assert phase(work, "solves") == directions * 2 * n * n


# ---- contacts ----------------------------------------------------------------------------------


@helpers.seeds
def test_counts_contact_by_contact(seed):
    """Assembly, products, law and line search from their definitions."""
    problem, _ = helpers.seeded_problem(seed, v_hat_t=None)
    solution, work = solved(problem, islands=False)
    (evaluations,), (directions,), (trials,) = work.evaluations, work.directions, work.trials
    assembly = gradient = along = 0.0
    for i in range(problem.n_contacts):
        n = sum(J.shape[1] for _, J in helpers.contact_jacobian(problem, i))
        along += 6 * n + 6
        if solution.regions[i] != Region.none:
            # all of J^T G J between the trees is one symmetric matrix (n, n)
            stick = solution.regions[i] == Region.stiction
            assembly += (3 if stick else 8) * n + (3 if stick else 2) * n * (n + 1)
            gradient += 6 * n
    sizes = problem.tree_nv[helpers.touched_trees(problem)].astype(float)
    m = problem.n_contacts
    assert phase(work, "assembly") == directions * assembly
    assert phase(work, "law") == evaluations * 34 * m
    assert phase(work, "law", "roots") == evaluations * 2 * m
    assert phase(work, "line_search") == trials * 31 * m
    assert phase(work, "products") == evaluations * (gradient + 13 * sizes.sum()) + directions * (
        along + 10 * sizes.sum() + 2 * (sizes**2).sum()
    )

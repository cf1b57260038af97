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


def columns(size, rows):
    """Flops and roots of block columns of `size` with `rows` scalars below each block."""
    below = np.concatenate([np.arange(size) + r for r in rows]).astype(float)
    return float((below * (below + 2)).sum()), 2.0 * len(below)


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


@pytest.mark.parametrize("n_trees", [2, 5, 12])
def test_chain_has_no_fill(rng, n_trees):
    """Whatever the order of elimination from the ends: six rows below every block but the last."""
    edges = [(0, -1)] + [(i, i + 1) for i in range(n_trees - 1)]
    solution, work = solved(graph_problem(rng, n_trees, edges))
    flops, roots = columns(6, [6] * (n_trees - 1) + [0])
    assert phase(work, "factorization") == solution.total_iterations * flops
    assert phase(work, "factorization", "roots") == solution.total_iterations * roots


@pytest.mark.parametrize("n_trees", [3, 4, 9])
def test_ring_fills_in_as_minimum_degree_must(rng, n_trees):
    """Each eliminated tree of a ring leaves a smaller ring: two neighbours until three are left."""
    edges = [(i, (i + 1) % n_trees) for i in range(n_trees)]
    solution, work = solved(graph_problem(rng, n_trees, edges))
    flops, _ = columns(6, [12] * (n_trees - 2) + [6, 0])
    assert phase(work, "factorization") == solution.total_iterations * flops


def test_merged_supernodes_do_not_count(rng):
    """A star of narrow trees is stored with explicit zeros, which are no work."""
    edges = [(0, i) for i in range(1, 8)]
    solution, work = solved(graph_problem(rng, 8, edges, size=2))
    flops, _ = columns(2, [2] * 7 + [0])
    assert phase(work, "factorization") == solution.total_iterations * flops


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


@helpers.small_files
def test_twice_the_contacts_are_twice_the_assembly(path):
    pytest.importorskip("mujoco")
    from benchmarks.scaling import copies_of

    problem = sapwood.load_problem(path)
    twice = copies_of(problem, 2)
    one, work = solved(problem)
    two = sapwood.solve(twice)
    np.testing.assert_allclose(two.v, one.v, rtol=1e-4, atol=1e-4 * np.abs(one.v).max())
    # the same solve, each copy in the region of its contact: where that lies on a border, another
    # solve might put it into the other region
    doubled = count_work(
        native(), twice, dataclasses.replace(one, regions=np.repeat(one.regions, 2))
    )
    for name in ("assembly", "law", "line_search"):
        k = PHASES.index(name)
        np.testing.assert_array_equal(doubled.flops[:, k], 2 * work.flops[:, k])
    # parts without contacts stay
    k = PHASES.index("factorization")
    np.testing.assert_array_equal(doubled.flops[:, k], work.flops[:, k])


def test_islands_add_up_to_the_whole(rng):
    """Two islands of the same trees and contacts cost, per event, twice what one costs."""
    edges = [(0, -1), (0, 1), (1, 2)]
    one = graph_problem(rng, 3, edges)
    index = {"tree_nv", "tree_a", "tree_b"}
    names = "tree_nv A v_star tree_a tree_b J mu R_t R_n v_hat_n".split()
    twice = {name: np.concatenate([getattr(one, name)] * 2) for name in names}
    for name in index - {"tree_nv"}:
        second = getattr(one, name)
        twice[name][len(second) :] = np.where(second < 0, -1, second + 3)
    # each of two islands stops at 1/sqrt(2) of the tolerance
    _, single = solved(one, relative_tolerance=RECORDED.relative_tolerance / np.sqrt(2.0))
    solution, both = solved(sapwood.ContactProblem(**twice, dt=one.dt))
    assert solution.n_islands == 2
    for quantity in ("flops", "roots", "bytes"):
        np.testing.assert_array_equal(
            getattr(both, quantity), np.repeat(getattr(single, quantity), 2, axis=0)
        )
    np.testing.assert_array_equal(both.resident, np.repeat(single.resident, 2))

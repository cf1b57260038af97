"""The code that solves an island is the same whatever is asked for, and the same in the mirror."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import helpers
import sapwood
from helpers import seeded_problem, small_files
from row_groups import cable_problem, mixed_problem
from sapwood import IslandAlgorithm, SapSettings, Status, reference

FRICTIONS = ("convex", "lagged", "coulomb")
DENSE = IslandAlgorithm("delassus", "dense")
COULOMB = SapSettings(friction="coulomb")
DATA = Path(__file__).parents[1] / "data"
SEEDS = range(6)


def problems():
    """Rows alone, contacts and both, in components of several trees."""
    for make in (mixed_problem, cable_problem):
        for seed in SEEDS:
            for contacts in (0, 1, 3, 10):
                yield f"{make.__name__}-{seed}-{contacts}", make(seed, contacts=contacts)[0]


PROBLEMS = dict(problems())
every = pytest.mark.parametrize("name", PROBLEMS)


def same_bits(one, other):
    """Whether two solutions are equal but for the history."""
    return dataclasses.replace(one, history=None) == dataclasses.replace(other, history=None)


# ---- what is asked for changes nothing -----------------------------------------------------------


@every
@pytest.mark.parametrize("friction", FRICTIONS)
def test_no_bit_depends_on_what_else_is_asked_for(name, friction):
    problem = PROBLEMS[name]
    plain = sapwood.solve(problem, friction=friction)
    settings = SapSettings(friction=friction, record_history=True)
    recorded = sapwood.solve(problem, settings=settings)
    assert same_bits(plain, recorded)
    if friction != "lagged":  # derivatives need its bounds
        assert same_bits(plain, sapwood.solve(problem, friction=friction, sensitivity=True))
    (batched,) = sapwood.solve_batch([problem], settings=settings)
    assert batched == recorded
    assert sapwood.SapSolver(settings).solve(problem) == recorded


@every
@pytest.mark.parametrize("friction", FRICTIONS)
def test_the_history_leads_to_the_solution(name, friction):
    solution = sapwood.solve(
        PROBLEMS[name], settings=SapSettings(friction=friction, record_history=True)
    )
    history = solution.history
    ends = np.flatnonzero(np.diff(history["island"], append=solution.n_islands))
    assert len(ends) == len(solution.algorithm) == solution.n_islands
    assert np.array_equal(history["island"][ends], np.arange(solution.n_islands))
    assert history["iteration"][ends].max() == solution.iterations
    assert history["iteration"][ends].sum() == solution.total_iterations
    if solution.status == Status.converged:
        assert history["cost"][ends].sum() == pytest.approx(solution.cost, rel=1e-9)
    if DENSE in solution.algorithm and not PROBLEMS[name].n_contacts:
        steps = history["iteration"] > 0
        change = -np.diff(history["cost"], prepend=0.0)[steps]
        assert history["decrease"][steps] == pytest.approx(change, rel=1e-9, abs=1e-12)


# ---- the mirror ----------------------------------------------------------------------------------


@every
@pytest.mark.parametrize("friction", ["convex", "coulomb"])
def test_the_mirror_takes_the_same_algorithm(name, friction):
    problem, settings = PROBLEMS[name], SapSettings(friction=friction)
    core, mirror = (
        sapwood.solve(problem, settings=settings),
        reference.solve(problem, None, settings),
    )
    assert mirror.algorithm == core.algorithm
    if DENSE in core.algorithm:
        assert mirror.iterations == core.iterations
        assert mirror.total_iterations == core.total_iterations
        np.testing.assert_allclose(mirror.v, core.v, rtol=1e-6, atol=1e-6)


def test_problems_in_dense_storage_are_many():
    found = [sapwood.solve(problem, settings=COULOMB) for problem in PROBLEMS.values()]
    dense = [solution for solution in found if DENSE in solution.algorithm]
    assert len(dense) > 20
    assert sum(len(solution.gamma) > 0 for solution in dense) > 8
    # condensed rows may take several steps
    assert any(solution.iterations > 1 for solution in dense)


def test_components_have_a_storage_each():
    problem = sapwood.load_problem(DATA / "mujoco_clutter_10_settled.npz")
    settings = dataclasses.replace(COULOMB, record_history=True)
    solution, mirror = (
        sapwood.solve(problem, settings=settings),
        reference.solve(problem, None, settings),
    )
    assert {island.storage for island in solution.algorithm} == {"dense", "supernodal"}
    assert mirror.algorithm == solution.algorithm
    for name in ("island", "iteration"):
        assert np.array_equal(mirror.history[name], solution.history[name])
    assert solution.history["iteration"].max() == solution.iterations
    np.testing.assert_allclose(mirror.v, solution.v, rtol=1e-6, atol=1e-6)


NEWTON = IslandAlgorithm("newton", "supernodal")


@small_files
def test_the_convex_law_is_solved_by_newtons_method(path):
    assert set(sapwood.solve(sapwood.load_problem(path)).algorithm) == {NEWTON}


@pytest.mark.parametrize("solver", [sapwood, reference], ids=["C", "mirror"])
def test_the_convex_law_of_few_impulses_is_solved_by_them(solver, rng):
    """Newton's method, which the other start asks for, finds the same minimiser."""
    for slope in (0.0, 0.1, 10.0):  # all stick, and all slide
        A, J = np.cov(rng.normal(size=(18, 40))), rng.normal(size=(12, 18))
        v_star = -np.linalg.lstsq(J, np.tile([slope, 0.0, 1.0], 4), rcond=None)[0]
        problem = sapwood.ContactProblem.from_dense(
            A, v_star, J, mu=0.5, R_t=1e-3, R_n=1e-3, v_hat_n=0.0, dt=0.01
        )
        found = solver.solve(problem, None, SapSettings(record_history=True))
        assert found.algorithm == (DENSE,)
        assert found.iterations == 1
        exact = SapSettings(start="newton", relative_tolerance=1e-12)
        by_velocities = solver.solve(problem, None, exact)
        assert by_velocities.algorithm == (NEWTON,)
        error = found.v - by_velocities.v
        assert np.sqrt(error @ A @ error) <= found.velocity_error_bound + 1e-9
        np.testing.assert_allclose(found.v, by_velocities.v, atol=1e-9)
        np.testing.assert_allclose(found.gamma, by_velocities.gamma, atol=1e-7)
        change = found.history["cost"][0] - found.history["cost"][1]
        assert found.history["decrease"][1] == pytest.approx(change, rel=1e-12)


@pytest.mark.parametrize("solver", [sapwood, reference], ids=["C", "mirror"])
def test_convex_steps_over_velocities_serve_branches_and_more_impulses(solver, rng):
    A, J = np.cov(rng.normal(size=(18, 40))), rng.normal(size=(15, 18))
    branched = A.copy()
    branched[10, 17] = branched[17, 10] = 0.0
    for mass, contacts, algorithm in ((A, 4, DENSE), (branched, 4, NEWTON), (A, 5, NEWTON)):
        problem = sapwood.ContactProblem.from_dense(
            mass, rng.normal(size=18), J[: 3 * contacts], mu=0.5, R_t=1e-3, R_n=1e-3,
            v_hat_n=0.0, dt=0.01,
        )  # fmt: skip
        assert solver.solve(problem, None, SapSettings()).algorithm == (algorithm,)


# ---- fallbacks -----------------------------------------------------------------------------------


def fallbacks(solution):
    """The fallbacks of all islands."""
    return {name for island in solution.algorithm for name in island.fallbacks}


@pytest.mark.parametrize("solver", [sapwood, reference], ids=["C", "mirror"])
def test_what_dense_storage_cannot_end_is_solved_in_the_other(solver):
    problem = PROBLEMS["mixed_problem-0-3"]
    settings = dataclasses.replace(COULOMB, max_iterations=0)
    assert fallbacks(solver.solve(problem, settings=settings)) == {"supernodal"}


def with_much_friction(seed, mu):
    """A random problem with the same mu, far above 1, of all contacts."""
    problem, _ = seeded_problem(seed)
    return helpers.rebuild(problem, mu=np.full(problem.n_contacts, mu))


@pytest.mark.parametrize("solver", [sapwood, reference], ids=["C", "mirror"])
def test_bounds_are_held_where_coulombs_iterations_bring_too_little(solver):
    solution = solver.solve(with_much_friction(113, 4.0), settings=COULOMB)
    assert "bounds_held" in fallbacks(solution)
    assert solution.algorithm[0][:2] == ("coulomb", "supernodal")


@pytest.mark.parametrize("solver", [sapwood, reference], ids=["C", "mirror"])
def test_rounds_of_contacts_in_dispute_go_on_where_the_step_would_be_refused(solver):
    """More evaluations than the full step, four rounds and the return to the best one take."""
    settings = dataclasses.replace(COULOMB, record_history=True)
    history = solver.solve(with_much_friction(317, 4.0), settings=settings).history
    assert history["trials"][history["step"] == 1.0].max() > 6


@pytest.mark.parametrize("solver", [sapwood, reference], ids=["C", "mirror"])
@pytest.mark.parametrize("seed", [75, 143])
def test_steps_are_taken_where_the_residual_rises(solver, seed):
    settings = dataclasses.replace(COULOMB, record_history=True)
    solution = solver.solve(with_much_friction(seed, 4.0), settings=settings)
    assert solution.status == sapwood.Status.converged
    assert not fallbacks(solution)
    assert np.all(solution.history["step"][1:] == 1.0)
    assert np.any(np.diff(solution.history["momentum_error"]) > 0.0)


@pytest.mark.parametrize("solver", [sapwood, reference], ids=["C", "mirror"])
def test_bounds_are_held_as_soon_as_the_search_alternates(solver):
    settings = dataclasses.replace(COULOMB, record_history=True)
    history = solver.solve(with_much_friction(1419, 10.0), settings=settings).history
    last = np.flatnonzero(history["step"][1:] == 0.0)[0]  # the iterate before the convex solve
    assert last < 8
    error = history["momentum_error"]
    assert error[last] == pytest.approx(error[last - 2], rel=1e-3)


@pytest.mark.parametrize("solver", [sapwood, reference], ids=["C", "mirror"])
def test_fixed_point_steps_follow_each_other(solver):
    """Round-off decides how many of them these problems need."""
    settings = dataclasses.replace(COULOMB, record_history=True)
    for each in [(3175, 4.0), (5620, 4.0), (2905, 10.0)]:
        solution = solver.solve(with_much_friction(*each), settings=settings)
        assert solution.status == Status.converged
        assert "bounds_held" in fallbacks(solution)
        # each has a record before it and one behind it
        assert np.count_nonzero(solution.history["step"][1:] == 0.0) > 6


def test_fixed_point_steps_lead_away_from_where_a_solution_is_only_just_missing(rng):
    """Round-off decides whether the search comes near such a point."""
    problem = sapwood.load_problem(DATA / "piles" / "boxes_40.npz")
    settings = dataclasses.replace(COULOMB, max_iterations=100)
    guesses = problem.v_guess * (1 + 1e-13 * rng.standard_normal((12, problem.nv)))
    found = [sapwood.SapSolver(settings).solve(problem, guess) for guess in guesses]
    assert all(solution.status == Status.converged for solution in found)
    assert any("bounds_held" in fallbacks(solution) for solution in found)

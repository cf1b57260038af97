"""Lagged friction, bounds of friction held: one convex problem, of the C core and of its mirror."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import friction
import helpers
import sapwood
from friction import bounded_problem
from helpers import WIDE, assert_same_solution, implementations, seeded_problem, seeds
from sapwood import Region, SapSettings, Status

LAGGED = SapSettings(friction="lagged")
TIGHT = SapSettings(friction="lagged", relative_tolerance=1e-12)
# ---- derivatives -------------------------------------------------------------------------------


@implementations
@seeds
def test_cost_and_gradient_in_extended_precision(solver, seed):
    problem, rng = bounded_problem(seed)
    v = rng.standard_normal(problem.nv)
    at = solver.SapSolver(LAGGED).evaluate(problem, v)
    gamma = friction.balance(problem, v, problem.friction_bound).gamma
    A, J = (x.astype(WIDE) for x in problem.to_dense())
    momentum = A @ (v - problem.v_star.astype(WIDE))
    gradient = momentum - J.T @ gamma.ravel()
    # l = R gamma.(y - gamma/2), within bounds and beyond them
    R = np.stack([problem.R_t, problem.R_t, problem.R_n], axis=1).astype(WIDE)
    y = (helpers.bias(problem) - (J @ v).reshape(-1, 3)) / R
    cost = (v - problem.v_star) @ momentum / 2 + np.sum(R * gamma * (y - gamma / 2))
    np.testing.assert_allclose(at.cost, float(cost), rtol=1e-13)
    scale = float(np.abs(gradient).max())
    np.testing.assert_allclose(at.gradient, gradient.astype(float), atol=1e-12 * scale)


@implementations
@seeds
def test_coulomb_friction_is_evaluated_with_the_bounds_at_the_velocity(solver, seed):
    """The gradient is r(v); along a line the bounds are held at those of its origin."""
    problem, rng = seeded_problem(seed)
    v, dv = rng.standard_normal((2, problem.nv))
    coulomb = solver.SapSolver(SapSettings(friction="coulomb"))
    gamma = friction.balance(problem, v).gamma.astype(float)
    held = helpers.rebuild(problem, friction_bound=problem.mu * gamma[:, 2])
    lagged = solver.SapSolver(LAGGED)
    for one, two in zip(coulomb.evaluate(problem, v), lagged.evaluate(held, v), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-10, atol=1e-11 * np.abs(two).max())
    alpha = np.linspace(-0.5, 1.5, 7)
    lines = (s.along_line(p, v, dv, alpha) for s, p in ((coulomb, problem), (lagged, held)))
    for one, two in zip(*lines, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-11, atol=1e-12 * np.abs(two).max())


# ---- solutions ---------------------------------------------------------------------------------


@implementations
@seeds
def test_impulses_obey_the_bounds_and_momentum_balances(solver, seed):
    problem, _ = bounded_problem(seed)
    solution = solver.solve(problem, settings=TIGHT)
    assert solution.status == Status.converged
    found = friction.balance(problem, solution.v, problem.friction_bound)
    assert found.error <= 1e-12 * (1.0 + 1e-6)
    size = np.abs(solution.gamma).max()
    np.testing.assert_allclose(solution.gamma, found.gamma.astype(float), atol=1e-12 * size)
    assert set(solution.regions) >= {Region.stiction, Region.sliding}
    length = np.hypot(*solution.gamma[:, :2].T)
    sliding = solution.regions == Region.sliding
    np.testing.assert_allclose(length[sliding], problem.friction_bound[sliding], rtol=1e-14)


@implementations
@pytest.mark.parametrize("bound", [0.0, 0.1, 0.2, 1.0])
def test_point_mass(solver, bound):
    """gamma_t is that of stiction, or b along it; gamma_n knows nothing of it."""
    m, R_t, R_n, v_hat_n = 2.0, 1e-2, 1e-3, 0.1
    v_star = np.array([0.3, -0.4, -1.0])
    problem = sapwood.ContactProblem(
        [3], (m * np.eye(3)).ravel(), v_star, [0], [-1], np.eye(3).ravel(), [0.5], dt=0.01,
        R_t=[R_t], R_n=[R_n], v_hat_n=[v_hat_n], friction_bound=[bound],
    )  # fmt: skip
    solution = solver.solve(problem, settings=TIGHT)
    sticking = -m * v_star[:2] / (1.0 + m * R_t)
    gamma_t = sticking * min(1.0, bound / np.hypot(*sticking))
    gamma_n = m * (v_hat_n - v_star[2]) / (1.0 + m * R_n)
    np.testing.assert_allclose(solution.gamma[0], [*gamma_t, gamma_n], rtol=1e-10, atol=1e-15)


@implementations
@seeds
def test_bounds_of_coulombs_solution_reproduce_it(solver, seed):
    problem, _ = seeded_problem(seed)
    coulomb = solver.solve(problem, settings=dataclasses.replace(TIGHT, friction="coulomb"))
    assert coulomb.status == Status.converged
    held = helpers.rebuild(problem, friction_bound=problem.mu * coulomb.gamma[:, 2])
    lagged = solver.solve(held, settings=TIGHT)
    assert_same_solution(held, coulomb, lagged)
    # b of one is that of the other to their errors
    assert lagged.coulomb_error <= 1e-9
    np.testing.assert_array_equal(lagged.regions, coulomb.regions)


@implementations
@seeds
@pytest.mark.parametrize("known", ["none", "some"])
def test_bounds_that_are_not_known(solver, seed, known):
    """They are mu gamma_n of a solution with Coulomb's friction to e_c <= 0.01."""
    problem, rng = bounded_problem(seed)
    settings = SapSettings(relative_tolerance=1e-2, friction="coulomb")
    rough = solver.solve(problem, settings=settings)
    bound = problem.mu * rough.gamma[:, 2]
    given = np.full(problem.n_contacts, np.nan)
    if known == "some":
        which = rng.random(problem.n_contacts) < 0.5
        given[which] = bound[which] = problem.friction_bound[which]
    unknown = helpers.rebuild(problem, friction_bound=given)
    complete = helpers.rebuild(problem, friction_bound=bound)
    one, two = (solver.solve(p, settings=TIGHT) for p in (unknown, complete))
    assert one.iterations >= rough.iterations
    assert_same_solution(problem, one, two)
    np.testing.assert_array_equal(np.isnan(unknown.friction_bound), np.isnan(given))
    if known == "none":
        nothing = solver.solve(helpers.rebuild(problem, friction_bound=None), settings=TIGHT)
        np.testing.assert_array_equal(nothing.v, one.v)


@implementations
@seeds
def test_coefficients_do_not_matter_where_bounds_are_known(solver, seed):
    problem, rng = bounded_problem(seed)
    other = helpers.rebuild(
        problem, mu=rng.permutation(problem.mu), friction_bound=problem.friction_bound
    )
    one, two = (solver.solve(p, settings=LAGGED) for p in (problem, other))
    np.testing.assert_array_equal(one.v, two.v)
    np.testing.assert_array_equal(one.gamma, two.gamma)
    assert one.coulomb_error != two.coulomb_error


@implementations
@seeds
def test_coulomb_error(solver, seed):
    """Distance of v from Coulomb's law, over the scale of the impulses that act."""
    problem, _ = bounded_problem(seed)
    solution = solver.solve(problem, settings=LAGGED)
    held = friction.balance(problem, solution.v, problem.friction_bound)
    coulomb = friction.balance(problem, solution.v)
    scale = held.residual / held.error
    np.testing.assert_allclose(solution.momentum_error, held.error, rtol=1e-5)
    np.testing.assert_allclose(solution.coulomb_error, coulomb.residual / scale, rtol=1e-5)
    assert solution.coulomb_error > 1e-2


@implementations
def test_the_limit_of_iterations_is_one_of_both_solves(solver):
    problem, _ = seeded_problem(1)
    whole = solver.solve(problem, settings=TIGHT)
    for most in range(whole.iterations):
        settings = dataclasses.replace(TIGHT, max_iterations=most)
        solution = solver.solve(problem, settings=settings)
        assert solution.iterations <= most
        if solution.status != Status.converged:  # rougher bounds may take fewer iterations
            assert solution.status == Status.iteration_limit
            assert solution.iterations == most

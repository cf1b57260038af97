"""The reference problems: accuracy, proofs of accuracy, and solvers of another kind.

Runs on the files beside the tests and, where SAPWOOD_DATA names a folder with sap_problems/*.npz,
on all of those. Everything is measured by helpers.py, in extended precision, without the package.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

import helpers
import sapwood
from helpers import implementations, small_files
from independent_solvers import conic_solution, quasi_newton_solution
from sapwood import SapSettings, Status, reference

files = pytest.mark.parametrize("path", helpers.all_files())
core_on_all = pytest.mark.parametrize(
    ("solver", "path"),
    [
        *(
            pytest.param(sapwood, *file.values, id=f"core-{file.id}", marks=file.marks)
            for file in helpers.all_files()
        ),
        *(pytest.param(reference, p, id=f"reference-{p.stem}") for p in helpers.small_paths()),
    ],
)


@functools.lru_cache(maxsize=4)
def load(path):
    return sapwood.load_problem(path)


@functools.lru_cache(maxsize=4)
def bound_of_reference(path) -> float:
    """Proved error of the stored v_ref itself, by the mirror."""
    problem = load(path)
    at_reference = reference.solve(problem, problem.v_ref, SapSettings(max_iterations=0))
    return at_reference.velocity_error_bound


@functools.lru_cache(maxsize=4)
def cost_of_reference(path) -> np.longdouble:
    """l_p(v_ref) in extended precision."""
    problem = load(path)
    return helpers.evaluate_wide(problem, problem.v_ref)[0]


# ---- accuracy ----------------------------------------------------------------------------------


@implementations
@files
def test_default_settings(solver, path):
    """e_m <= 1e-6, as claimed and as measured; impulses obey the law and balance the momentum."""
    problem = load(path)
    solution = solver.solve(problem)
    assert solution.status == Status.converged
    measured = helpers.momentum_error(problem, solution.v)
    assert measured <= 1e-6 * (1.0 + 1e-6)
    np.testing.assert_allclose(solution.momentum_error, measured, rtol=1e-3, atol=1e-11)

    cost, _, _, _, gamma = helpers.evaluate_wide(problem, solution.v)
    np.testing.assert_allclose(solution.cost, float(cost), rtol=1e-12, atol=1e-300)
    # the impulse of this v: the projection amplifies round-off of v_c by R^-1, in the norm of R
    R = np.stack([problem.R_t, problem.R_t, problem.R_n], axis=1)
    rounding = 100.0 * helpers.EPS * helpers.contact_speed_scale(problem, solution.v)
    distance = np.sqrt(np.sum(R * (solution.gamma - gamma.astype(float)) ** 2, axis=1))
    assert np.all(distance <= np.sqrt(np.sum(rounding**2 / R, axis=1)))
    assert solution.complementarity_error <= 1e-12


@implementations
@files
def test_tight_settings(solver, path):
    """|v - v_ref|_A <= 1e-8 |v_ref|_A, or stalled at round-off with a bound that holds."""
    problem = load(path)
    solution = solver.solve(problem, settings=SapSettings(relative_tolerance=1e-13))
    distance = helpers.norm_A(problem, solution.v - problem.v_ref)
    assert distance <= solution.velocity_error_bound + bound_of_reference(path)
    if solution.status == Status.stalled:
        np.testing.assert_allclose(
            solution.momentum_error, helpers.momentum_error(problem, solution.v), atol=1e-11
        )
    else:
        assert solution.status == Status.converged
    assert distance <= 1e-8 * helpers.norm_A(problem, problem.v_ref)
    gap = np.abs(solution.gamma - problem.gamma_ref)
    assert np.all(gap <= 1e-6 * np.abs(problem.gamma_ref).max(initial=0.0))


# ---- proofs ------------------------------------------------------------------------------------


@core_on_all
def test_certificates_are_bounds(solver, path):
    """|v - v_ref|_A and l(v) - l(v_ref) stay below what was proved, at every accuracy.

    v_ref is itself only near the minimiser: its own proved error is added, which is far smaller.
    """
    problem = load(path)
    slack = bound_of_reference(path)
    for tolerance in (1e-1, 1e-2, 1e-4, 1e-6, 1e-9):
        solution = solver.solve(problem, settings=SapSettings(relative_tolerance=tolerance))
        distance = helpers.norm_A(problem, solution.v - problem.v_ref)
        assert distance <= solution.velocity_error_bound + slack, f"tolerance {tolerance}"
        cost = helpers.evaluate_wide(problem, solution.v)[0]
        gap = cost - cost_of_reference(path)
        rounding = 100 * np.finfo(helpers.WIDE).eps * (cost + cost_of_reference(path))
        assert gap <= solution.cost_gap_bound + rounding, f"tolerance {tolerance}"
        assert gap >= -(slack**2) / 2.0 - rounding, f"tolerance {tolerance}"
        np.testing.assert_allclose(
            solution.cost_gap_bound, solution.velocity_error_bound**2 / 2.0, rtol=1e-14
        )


@implementations
@files
def test_certificate_away_from_the_solution(solver, path):
    """At the guess and at v* the bound holds too, and is no larger than the gradient warrants."""
    problem = load(path)
    at = helpers.sections(problem)
    for guess in (problem.v_guess, problem.v_star):
        solution = solver.solve(problem, guess, SapSettings(max_iterations=0))
        distance = helpers.norm_A(problem, solution.v - problem.v_ref)
        assert distance <= solution.velocity_error_bound + bound_of_reference(path)
        _, gradient, _, _, _ = helpers.evaluate_wide(problem, solution.v)
        gradient = gradient.astype(float)
        squares = [
            gradient[here] @ np.linalg.solve(problem.A_block(t), gradient[here])
            for t, here in enumerate(at)
        ]
        exact = np.sqrt(sum(squares))
        assert solution.velocity_error_bound >= exact * (1.0 - 1e-9)
        size = helpers.norm_A(problem, solution.v) + helpers.norm_A(problem, problem.v_star)
        assert solution.velocity_error_bound <= exact * (1.0 + 1e-6) + 1e-5 * size


@implementations
@files
def test_round_off_bound_of_the_gradient(solver, path):
    """The mirror's bound on the rounding errors of grad covers the errors it makes.

    The C core uses other summation orders: its gradient is held to twice the bound.
    """
    problem = load(path)
    _, exact, _, _, _ = helpers.evaluate_wide(problem, problem.v_ref)
    objective = reference.Objective(problem)
    bound = reference.gradient_round_off(objective, objective.point(problem.v_ref))
    gradient = solver.SapSolver().evaluate(problem, problem.v_ref).gradient
    error = np.abs(gradient - exact).astype(float)
    assert np.all(error <= (1.0 if solver is reference else 2.0) * bound)


# ---- parameters --------------------------------------------------------------------------------


@implementations
@files
def test_regularization_is_reproduced(solver, path):
    """R_t, R_n and v_hat_n of the file from phi0, k, tau_d, dt, sigma and beta, (21) and (22)."""
    problem = load(path)
    physical = {
        "phi0": problem.phi0,
        "k": problem.k,
        "tau_d": problem.tau_d,
        "dt": problem.dt,
        "sigma": problem.sigma,
        "beta": problem.beta,
        "delassus": helpers.delassus_of(path),
    }
    if solver is reference:
        R_t, R_n, v_hat_n = reference.regularize(problem, **physical)
    else:
        names = "tree_nv A v_star tree_a tree_b J mu".split()
        made = sapwood.ContactProblem(**{n: getattr(problem, n) for n in names}, **physical)
        R_t, R_n, v_hat_n = made.R_t, made.R_n, made.v_hat_n
    np.testing.assert_allclose(R_t, problem.R_t, rtol=1e-9)
    np.testing.assert_allclose(R_n, problem.R_n, rtol=1e-9)
    np.testing.assert_allclose(v_hat_n, problem.v_hat_n, rtol=1e-12, atol=1e-15)


def test_both_regularization_regimes_occur():
    """Near-rigid (by beta) and compliant (by k) contacts are both among the small files."""
    near_rigid = compliant = 0
    for path in helpers.small_paths():
        problem = load(path)
        w = reference.effective_inverse_mass(problem, helpers.delassus_of(path))
        rigid = np.isclose(problem.R_n, problem.beta**2 / (4.0 * np.pi**2) * w, rtol=1e-9)
        near_rigid += np.sum(rigid)
        compliant += np.sum(~rigid)
    assert near_rigid > 0
    assert compliant > 0


# ---- solvers of another kind -------------------------------------------------------------------


@small_files
def test_conic_solver_agrees(path):
    problem = load(path)
    v, gamma = conic_solution(problem)
    solution = sapwood.solve(problem, settings=SapSettings(relative_tolerance=1e-12))
    assert helpers.norm_A(problem, solution.v - v) <= 1e-5 * helpers.norm_A(problem, v)
    np.testing.assert_allclose(solution.gamma, gamma, atol=1e-5 * np.abs(gamma).max())


@small_files
def test_quasi_newton_agrees(path):
    problem = load(path)
    v, cost = quasi_newton_solution(problem)
    solution = sapwood.solve(problem, settings=SapSettings(relative_tolerance=1e-12))
    assert solution.cost <= cost * (1.0 + 1e-12)
    assert helpers.norm_A(problem, solution.v - v) <= 1e-4 * helpers.norm_A(problem, v)


# ---- both implementations ----------------------------------------------------------------------


@files
def test_core_takes_the_iterations_of_its_mirror(path):
    problem = load(path)
    guess = helpers.settled(problem, problem.v_star if problem.v_guess is None else problem.v_guess)
    settings = SapSettings(mixed_precision=False)  # which rounds differently, and ends elsewhere
    core, mirror = (solver.solve(problem, guess, settings) for solver in (sapwood, reference))
    assert core.n_islands == mirror.n_islands
    assert abs(core.iterations - mirror.iterations) <= 1
    assert abs(core.total_iterations - mirror.total_iterations) <= core.n_islands

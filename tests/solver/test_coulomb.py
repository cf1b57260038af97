"""Coulomb's friction, of the C core and of its NumPy mirror: the law is obeyed, whatever the start.

What results must obey is checked by formulas in extended precision that share no code with the
package (`support/friction.py`).
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import helpers
import sapwood
from friction import assert_coulomb, balance
from helpers import all_files, implementations, seeded_problem, seeds, small_files
from rewritten import (
    side_by_side,
)
from sapwood import Region, SapSettings, Status, reference

COULOMB = SapSettings(friction="coulomb")
TIGHT = SapSettings(friction="coulomb", relative_tolerance=1e-12)


def moderate_problem(seed, **options):
    """A random problem with mu <= 0.2: with much friction there are several solutions at times."""
    problem, rng = seeded_problem(seed, **options)
    return helpers.rebuild(problem, mu=np.minimum(problem.mu, 0.2)), rng


def point_mass(u, v_n, mu, *, R_t=1e-2, R_n=1e-3, v_hat_n=0.1, v_hat_t=(0.0, 0.0), mass=2.0):
    """A point mass on the ground with the velocity (u, v_n) if there were none."""
    return sapwood.ContactProblem(
        [3], (mass * np.eye(3)).ravel(), [*u, v_n], [0], [-1], np.eye(3).ravel(), [mu], dt=0.01,
        R_t=[R_t], R_n=[R_n], v_hat_n=[v_hat_n], v_hat_t=[v_hat_t],
    )  # fmt: skip


def point_mass_impulse(problem):
    """The impulse of Coulomb's law on it, in closed form: m (v - v*) = gamma."""
    m, mu = problem.A[0], problem.mu[0]
    v_hat = np.array([*problem.v_hat_t[0], problem.v_hat_n[0]])
    R = np.array([problem.R_t[0], problem.R_t[0], problem.R_n[0]])
    sticking = m * (v_hat - problem.v_star) / (1.0 + m * R)  # R gamma = v_hat - v
    gamma_n = max(sticking[2], 0.0)
    size = np.hypot(sticking[0], sticking[1])
    # a slip keeps its direction: that of v_hat_t - v_t is that of v_hat_t - v*_t
    share = min(1.0, mu * gamma_n / size) if size > 0.0 else 0.0
    return np.array([*(share * sticking[:2]), gamma_n])


# ---- the law is obeyed -------------------------------------------------------------------------


@implementations
@seeds
def test_random_problems(solver, seed):
    problem, _ = seeded_problem(seed)
    solution = solver.solve(problem, settings=COULOMB)
    assert solution.status == Status.converged
    assert solution.coulomb_error == solution.momentum_error <= 1e-6
    assert set(solution.regions) == set(Region)
    assert_coulomb(problem, solution, 1e-6)


@pytest.mark.parametrize("path", all_files())
def test_problem_files(path):
    """From cold, at two tolerances."""
    problem = sapwood.load_problem(path)
    if problem.core is not None:
        pytest.skip("rigid cores have convex friction")
    for tolerance in (1e-3, 1e-6):
        settings = dataclasses.replace(COULOMB, relative_tolerance=tolerance)
        solution = sapwood.solve(problem, problem.v_star, settings)
        assert solution.status == Status.converged
        assert_coulomb(problem, solution, tolerance)


@small_files
def test_the_mirror_takes_the_same_way(path):
    """The mirror takes the core's iterations and evaluations, without eliminated velocities.

    To 1e-5: at 1e-6 the round-off of contacts in dispute may decide about one more round.
    """
    problem = sapwood.load_problem(path)
    settings = dataclasses.replace(COULOMB, mixed_precision=False, relative_tolerance=1e-5)
    core = sapwood.solve(problem, settings=settings)
    mirror = reference.solve(problem, settings=settings)
    assert_coulomb(problem, mirror, 1e-5)
    moved = np.concatenate(helpers.moved_columns(problem))
    touched = np.repeat(helpers.touched_trees(problem), problem.tree_nv)
    if np.all(moved[touched]):
        assert mirror.iterations == core.iterations
        assert mirror.total_iterations == core.total_iterations
    distance = helpers.norm_A(problem, core.v - mirror.v)
    assert distance <= 1e-4 * helpers.norm_A(problem, core.v)


@pytest.mark.parametrize("seed", [12, 16, 17, 18, 20])
def test_the_mirror_lets_reversed_contacts_stick_as_the_core_does(seed):
    """Without stiction after a reversal these take one iteration or two more, or fewer."""
    problem = helpers.random_problem(np.random.default_rng(seed), contacts=30)
    problem = helpers.rebuild(problem, mu=np.ones(problem.n_contacts))
    settings = dataclasses.replace(COULOMB, mixed_precision=False, relative_tolerance=1e-5)
    core = sapwood.solve(problem, settings=settings)
    mirror = reference.solve(problem, settings=settings)
    assert mirror.iterations == core.iterations
    distance = helpers.norm_A(problem, core.v - mirror.v)
    assert distance <= 1e-6 * helpers.norm_A(problem, core.v)


@implementations
@pytest.mark.parametrize("seed", [770, 1132, 1555, 2140, 2474])
def test_strong_friction_ends_soon(solver, seed):
    """With mu >= 2 the step of the least |D r| goes back and forth here for 48 to 90 iterations."""
    problem, _ = seeded_problem(seed)
    problem = helpers.rebuild(problem, mu=np.maximum(3.0 * problem.mu, 2.0))
    solution = solver.solve(problem, settings=COULOMB)
    assert solution.status == Status.converged
    assert solution.iterations <= 30
    assert_coulomb(problem, solution, 1e-6)


@implementations
@pytest.mark.parametrize("soft_norm", [1e-4, 0.05])
def test_soft_norm(solver, soft_norm):
    """gamma_t = b y_t/y_r, y_r = sqrt(|y_t|^2 + eps_s^2), beyond the disk; momentum balances."""
    problem, _ = seeded_problem(4)
    settings = dataclasses.replace(TIGHT, soft_norm=soft_norm)
    solution = solver.solve(problem, settings=settings)
    assert solution.status == Status.converged
    y = (helpers.bias(problem) - solution.v_c)[:, :2] / problem.R_t[:, None]
    y_r = np.sqrt(np.sum(y**2, axis=1) + soft_norm**2)
    friction = y * np.minimum(1.0, problem.mu * solution.gamma[:, 2] / y_r)[:, None]
    np.testing.assert_allclose(solution.gamma[:, :2], friction, atol=1e-12 * np.abs(y).max())
    A, J = problem.to_dense()
    r = A @ (solution.v - problem.v_star) - J.T @ solution.gamma.ravel()
    assert np.abs(r).max() <= 1e-10 * np.abs(A @ solution.v).max()


# ---- closed forms ------------------------------------------------------------------------------

SLIDES, STICKS = {"u": (1.0, -2.0), "v_n": -1.0, "mu": 0.5}, {"u": (0.2, 0.1), "v_n": -1.0, "mu": 1}
CASES = [
    SLIDES,
    STICKS,
    {**SLIDES, "mu": 0.0},
    {**SLIDES, "mu": 40.0},
    {**SLIDES, "v_hat_t": (3.0, 0.5)},
    {**SLIDES, "R_t": 1e-5, "R_n": 1e-5},
    {**SLIDES, "v_n": 1.0},
    {**STICKS, "u": (0.0, 0.0)},
]


@implementations
@pytest.mark.parametrize("case", CASES)
def test_point_mass(solver, case):
    problem = point_mass(**case)
    solution = solver.solve(problem, settings=TIGHT)
    gamma = point_mass_impulse(problem)
    assert solution.status == Status.converged
    np.testing.assert_allclose(solution.gamma[0], gamma, atol=1e-10 * np.abs(gamma).max())
    np.testing.assert_allclose(solution.v, problem.v_star + gamma / problem.A[0], atol=1e-11)


@implementations
def test_a_sliding_body_does_not_glide(solver):
    """v_n is that of a contact without friction; the convex law lifts the body by mu |v_t|."""
    problem = point_mass(**SLIDES)
    exact = solver.solve(problem, settings=COULOMB)
    convex = solver.solve(problem)
    frictionless = solver.solve(point_mass(**{**SLIDES, "mu": 0.0}))
    assert exact.regions[0] == convex.regions[0] == Region.sliding
    np.testing.assert_allclose(exact.v_c[0, 2], frictionless.v_c[0, 2], rtol=1e-6)
    slip = np.hypot(*convex.v_c[0, :2])
    assert convex.v_c[0, 2] > frictionless.v_c[0, 2] + 0.4 * slip


@implementations
@pytest.mark.parametrize("u", [0.3, 0.005])
def test_a_block_slides_or_stops_as_it_should(solver, u):
    """Four corners: v = u - mu g dt, or as good as at rest, and the weight on the contacts.

    Where it sticks cone and disk are one law.
    """
    mass, half, height, mu, dt, g = 2.0, 0.05, 0.01, 0.5, 2e-3, 9.81
    R_t, R_n = 1e-5, 1e-2
    J = []
    for x, y in ((x, y) for x in (-half, half) for y in (-half, half)):
        # v + w x r in rows (t1, t2, n), r = (x, y, -height)
        J.append([[1, 0, 0, 0, -height, -y], [0, 1, 0, height, 0, x], [0, 0, 1, y, -x, 0]])
    problem = sapwood.ContactProblem(
        [6], np.diag([mass] * 3 + [0.006] * 3).ravel(), [u, 0, -g * dt, 0, 0, 0],
        [0] * 4, [-1] * 4, np.array(J, float).ravel(), [mu] * 4, dt=dt,
        R_t=[R_t] * 4, R_n=[R_n] * 4, v_hat_n=[R_n * mass * g * dt / 4] * 4,
    )  # fmt: skip
    solution = solver.solve(problem, settings=TIGHT)
    assert_coulomb(problem, solution, 1e-12)
    slides = u > mu * g * dt
    assert np.all(solution.regions == (Region.sliding if slides else Region.stiction))
    np.testing.assert_allclose(solution.gamma[:, 2].sum(), mass * g * dt, rtol=1e-9)
    np.testing.assert_allclose(solution.v[2], 0.0, atol=1e-10)
    if slides:
        np.testing.assert_allclose(solution.v[0], u - mu * g * dt, rtol=1e-9)
    else:
        # the slip of the regularization, at the corners: R_t m u/4 beside u
        assert abs(solution.v[0]) <= 1e-2 * u
        helpers.assert_same_solution(
            problem, solution, solver.solve(problem, settings=helpers.TIGHT)
        )


# ---- what the result must not depend on --------------------------------------------------------


@implementations
@seeds
def test_start(solver, seed):
    """The same solution from v*, from far away, and from itself."""
    problem, rng = moderate_problem(seed)
    one = solver.solve(problem, settings=TIGHT)
    guesses = [np.zeros(problem.nv), problem.v_star + 3.0 * rng.standard_normal(problem.nv), one.v]
    for guess in guesses:
        two = solver.solve(problem, guess, TIGHT)
        assert two.status == Status.converged, f"seed {seed}"
        distance = helpers.norm_A(problem, one.v - two.v)
        assert distance <= 1e-9 * helpers.norm_A(problem, one.v), f"seed {seed}"
    assert two.iterations == 0


@implementations
@seeds
def test_a_fair_guess_is_where_the_search_starts(solver, seed):
    """Up to e_c = 0.3 no threshold brings the stick start, and from a poor guess a low one does."""
    problem, rng = moderate_problem(seed)
    exact = solver.solve(problem, settings=TIGHT).v
    away = np.linalg.norm(exact) * rng.standard_normal(problem.nv)
    sizes = np.logspace(-4, 1, 60)
    errors = np.array([balance(problem, exact + size * away).error for size in sizes])
    fair, poor = sizes[(errors > 0.05) & (errors < 0.3)][-1], sizes[errors > 0.6][-1]
    for size, same in ((fair, True), (poor, False)):
        low, high = (
            solver.solve(
                problem,
                exact + size * away,
                dataclasses.replace(TIGHT, islands=False, start_threshold=threshold),
            )
            for threshold in (0.0, 1e9)
        )
        assert np.array_equal(low.v, high.v) == same, f"seed {seed}"


@implementations
@seeds
def test_without_friction_it_is_the_convex_law(solver, seed):
    """mu = 0: one minimisation, and bounds that hold for it."""
    problem, _ = seeded_problem(seed)
    problem = helpers.rebuild(problem, mu=np.zeros(problem.n_contacts))
    one = solver.solve(problem, settings=helpers.TIGHT)
    two = solver.solve(problem, settings=TIGHT)
    assert two.status == Status.converged
    helpers.assert_same_solution(problem, one, two)
    np.testing.assert_array_equal(two.gamma[:, :2], 0.0)


@implementations
@seeds
def test_islands(solver, seed):
    """Two problems side by side have the solutions that they have alone, and meet (20) together."""
    problems = [moderate_problem(seed + k, sizes=(6, 3, 1), contacts=8)[0] for k in (0, 10)]
    other = side_by_side(problems)
    parts = [solver.solve(p, settings=TIGHT) for p in problems]
    apart, whole = (
        solver.solve(other, settings=dataclasses.replace(TIGHT, islands=islands))
        for islands in (True, False)
    )
    v = np.concatenate([part.v for part in parts])
    for solution in (apart, whole):
        assert solution.status == Status.converged
        distance = helpers.norm_A(other, solution.v - v)
        assert distance <= 1e-9 * helpers.norm_A(other, v), f"seed {seed}"


# ---- what is reported --------------------------------------------------------------------------


@implementations
@seeds
def test_error_of_every_law(solver, seed):
    """e_c is NaN for convex friction, e_m with Coulomb's impulses for the others."""
    problem, _ = seeded_problem(seed)
    assert np.isnan(solver.solve(problem).coulomb_error)
    solution = solver.solve(problem, settings=SapSettings(friction="coulomb", max_iterations=1))
    error = balance(problem, solution.v).error
    np.testing.assert_allclose(solution.coulomb_error, error, rtol=1e-9, atol=1e-13)
    assert solution.coulomb_error == solution.momentum_error


@implementations
@seeds
def test_the_best_iterate_is_kept(solver, seed):
    """Out of iterations: a status of its own, and more of them never leave a larger e_c.

    From a guess that is close enough for no convex solve to come first.
    """
    problem, rng = moderate_problem(seed)
    exact = solver.solve(problem, settings=TIGHT).v
    away = rng.standard_normal(problem.nv)
    size = next(h for h in 0.5 ** np.arange(30) if balance(problem, exact + h * away).error < 0.04)
    guess = exact + size * away
    whole = solver.solve(problem, guess, TIGHT)
    smallest = balance(problem, guess).error
    for most in range(whole.iterations):
        settings = dataclasses.replace(TIGHT, max_iterations=most)
        solution = solver.solve(problem, guess, settings)
        assert solution.status == Status.friction_limit, f"seed {seed}"
        assert solution.iterations == most
        found = balance(problem, solution.v)
        np.testing.assert_allclose(solution.coulomb_error, found.error, rtol=1e-6, atol=1e-13)
        assert found.error <= smallest * (1.0 + 1e-9), f"seed {seed}"
        smallest = found.error
        if most == 0:
            np.testing.assert_array_equal(solution.v, guess)
    assert whole.status == Status.converged
    assert whole.iterations >= 1


@implementations
@pytest.mark.parametrize("R", [1e-6, 1e-8])
def test_the_end_of_double_precision_is_found(solver, R):
    """Contacts are as good as rigid: proximal solves find impulses with more digits."""
    problem = point_mass(**SLIDES, R_t=R, R_n=R)
    solution = solver.solve(problem, settings=TIGHT)
    assert solution.status == Status.converged
    assert solution.natural_residual <= 1e-9
    assert solution.iterations < 40
    np.testing.assert_allclose(solution.gamma[0], point_mass_impulse(problem), rtol=1e-8)


@implementations
@pytest.mark.parametrize("share", [0.3, 0.8, 1.0])
def test_the_limit_of_iterations_counts_all_solves(solver, share):
    """With much friction, where bounds are held on the way; what the history says of it."""
    problem, _ = seeded_problem(1419)
    problem = helpers.rebuild(problem, mu=np.full(problem.n_contacts, 10.0))
    needed = solver.solve(problem, settings=COULOMB).iterations
    most = int(share * needed)
    settings = dataclasses.replace(COULOMB, max_iterations=most, record_history=True)
    solution = solver.solve(problem, settings=settings)
    assert solution.n_islands == 1
    assert solution.status == (Status.converged if share == 1.0 else Status.friction_limit)
    assert solution.iterations == most
    history = solution.history
    advance = np.diff(history["iteration"])
    assert set(advance) <= {0, 1}
    assert history["iteration"][[0, -1]].tolist() == [0, solution.iterations]
    # the guess, and what the solve before ended with, by another law
    again = np.append(True, advance == 0)
    assert np.count_nonzero(again) >= 1 + (share == 1.0)
    assert np.all(history["step"][again] == 0.0)
    assert np.all(history["trials"][again] == 0)
    assert history["trials"].sum() == solution.line_search_trials


@implementations
@seeds
def test_bound_of_the_error_is_the_norm_of_the_residual(solver, seed):
    """|r|_{A^-1}."""
    problem, _ = seeded_problem(seed)
    solution = solver.solve(problem, settings=dataclasses.replace(COULOMB, max_iterations=0))
    A, J = problem.to_dense()
    r = A @ (solution.v - problem.v_star) - J.T @ balance(problem, solution.v).gamma.ravel()
    norm = float(np.sqrt(r @ np.linalg.solve(A, r.astype(float))))
    np.testing.assert_allclose(solution.velocity_error_bound, norm, rtol=1e-2)


@implementations
def test_cores_have_convex_friction(solver):
    problem, _ = seeded_problem(1)
    with_core = helpers.rebuild(problem, core="log", kappa=np.ones(problem.n_contacts))
    for friction in ("lagged", "coulomb"):
        with pytest.raises(ValueError, match=r"core\[0\] = 1: needs convex friction"):
            solver.solve(with_core, settings=SapSettings(friction=friction))

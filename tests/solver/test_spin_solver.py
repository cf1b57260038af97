"""Torsional and rolling friction in every law of friction, of the C core and of its mirror."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest

import helpers
import sapwood
from helpers import implementations, seeds
from sapwood import DryFrictions, Region, SapSettings, Status, reference
from spins import (
    FRICTIONS,
    balance,
    spinning_problem,
)

TIGHT = SapSettings(relative_tolerance=1e-12)
frictions = pytest.mark.parametrize("friction", FRICTIONS)
# scales of velocities: many contacts stick at the first, hardly any at the second
sizes = pytest.mark.parametrize("size", [3e-3, 1.0], ids=["slow", "fast"])
shares = pytest.mark.parametrize("share", [0.6, 1.0], ids=["some", "all"])


def settings_of(friction, **changes):
    return dataclasses.replace(TIGHT, friction=friction, **changes)


# ---- derivatives -------------------------------------------------------------------------------


@implementations
@seeds
@shares
@sizes
@frictions
def test_cost_and_gradient_in_extended_precision(solver, seed, share, size, friction):
    problem, rng = spinning_problem(seed, share=share)
    v = size * rng.standard_normal(problem.nv)
    at = solver.SapSolver(SapSettings(friction=friction)).evaluate(problem, v)
    expected = balance(problem, v, friction)
    np.testing.assert_allclose(at.cost, float(expected.cost), rtol=1e-13)
    largest = float(np.abs(expected.gradient).max())
    np.testing.assert_allclose(at.gradient, expected.gradient.astype(float), atol=1e-12 * largest)


# ---- solutions ---------------------------------------------------------------------------------


@implementations
@seeds
@shares
@frictions
def test_momentum_balances_with_the_impulses_of_the_law(solver, seed, share, friction):
    problem, _ = spinning_problem(seed, share=share, mu=0.3)
    solution = solver.solve(problem, settings=settings_of(friction))
    assert solution.status == Status.converged
    expected = balance(problem, solution.v, friction)
    assert expected.error <= 1e-12 * (1.0 + 1e-6)
    size = np.abs(solution.gamma).max()
    np.testing.assert_allclose(solution.gamma, expected.gamma.astype(float), atol=1e-11 * size)
    np.testing.assert_allclose(
        solution.spin_gamma, expected.spin_gamma.astype(float), atol=1e-11 * size
    )
    np.testing.assert_allclose(
        solution.spin_v_c.ravel(), problem.spin_jacobian() @ solution.v, atol=1e-12
    )
    np.testing.assert_array_equal(solution.spin_gamma[problem.spin_mu == 0.0], 0.0)
    assert Region.sliding in solution.regions[problem.spin_contact]


@seeds
@shares
def test_a_robot_is_solved_in_the_space_of_impulses(seed, share):
    """Few contacts on many velocities: one step, in the mirror too, where others take several."""
    problem, _ = spinning_problem(seed, share=share, sizes=(10, 9), contacts=4, mu=0.3)
    settings = SapSettings(friction="coulomb")
    solution = sapwood.solve(problem, settings=settings)
    assert balance(problem, solution.v, "coulomb").error <= 1e-6
    mirror = reference.solve(problem, settings=settings)
    assert mirror.iterations == solution.iterations <= 2
    np.testing.assert_allclose(mirror.v, solution.v, atol=1e-8 * np.abs(solution.v).max())
    elsewhere = sapwood.solve(problem, settings=dataclasses.replace(settings, start="newton"))
    assert elsewhere.iterations > 2


def cone_of(problem, solution):
    """sqrt(|gamma_t|^2/mu^2 + sum_k gamma_k^2/mu_k^2) and gamma_n of contacts that resist."""
    contact = problem.spin_contact
    gamma = solution.gamma[contact]
    lengths = np.where(problem.spin_mu > 0.0, problem.spin_mu, np.inf)
    square = np.sum(gamma[:, :2] ** 2, axis=1) / problem.mu[contact] ** 2
    return np.sqrt(square + np.sum((solution.spin_gamma / lengths) ** 2, axis=1)), gamma[:, 2]


@implementations
@seeds
@pytest.mark.parametrize("friction", ["convex", "coulomb"])
def test_impulses_lie_in_the_cone_and_on_it_where_it_slides(solver, seed, friction):
    problem, _ = spinning_problem(seed, mu=0.3)
    solution = solver.solve(problem, settings=settings_of(friction))
    used, gamma_n = cone_of(problem, solution)
    assert np.all(used <= gamma_n * (1.0 + 1e-9))
    slides = solution.regions[problem.spin_contact] == Region.sliding
    np.testing.assert_allclose(used[slides], gamma_n[slides], rtol=1e-9)


@implementations
@seeds
@frictions
def test_lengths_of_zero_are_contacts_of_three_rows(solver, seed, friction):
    problem, _ = spinning_problem(seed, mu=0.3)
    none = helpers.rebuild(problem, spin_mu=np.zeros_like(problem.spin_mu))
    plain = helpers.rebuild(problem, spin_contact=None, spin_J=None, spin_mu=None)
    one, two = (solver.solve(p, settings=settings_of(friction)) for p in (none, plain))
    np.testing.assert_allclose(one.v, two.v, atol=1e-9 * np.abs(two.v).max())
    np.testing.assert_array_equal(one.regions, two.regions)
    np.testing.assert_array_equal(one.spin_gamma, 0.0)
    assert np.abs(one.spin_v_c).max() > 0.0
    # to see that it matters elsewhere
    resisting = solver.solve(problem, settings=settings_of(friction))
    assert np.abs(resisting.v - two.v).max() > 1e-3


@implementations
@frictions
@pytest.mark.parametrize("spin", [0.0, 0.05, 1.0, -30.0])
@pytest.mark.parametrize("slip", [0.0, 0.004, 0.7])
def test_a_disk_that_slides_and_spins(solver, friction, slip, spin):
    """One contact below the centre: impulses in closed form.

    m (v - v*) = gamma and inertia (omega - omega*) = gamma_k, inertia = m (mu_k/mu)^2: the five
    components are alike, and friction is along -(slip, spin mu_k/mu).
    """
    m, mu, length, R_t, R_n, v_hat_n = 2.0, 0.5, 0.2, 1e-3, 1e-2, 0.1
    inertia = m * (length / mu) ** 2
    J = np.hstack([np.eye(3), np.zeros((3, 1))])
    v_n, bound = -0.4, 0.13
    problem = sapwood.ContactProblem(
        [4], np.diag([m, m, m, inertia]).ravel(), [slip, 0.0, v_n, spin], [0], [-1], J.ravel(),
        [mu], dt=0.01, R_t=[R_t], R_n=[R_n], v_hat_n=[v_hat_n], spin_contact=[0],
        spin_J=[*np.zeros(3), 1.0, *np.zeros(8)], spin_mu=[[length, 0.0, 0.0]],
        friction_bound=[bound],
    )  # fmt: skip
    solution = solver.solve(problem, settings=settings_of(friction))
    velocity = np.array([slip, spin * length / mu])
    speed = np.hypot(*velocity)
    sticking = m * speed / (1.0 + m * R_t)
    gamma_n = m * (v_hat_n - v_n) / (1.0 + m * R_n)
    if friction == "lagged":
        size = min(sticking, bound)
    elif sticking <= mu * gamma_n:
        size = sticking
    elif friction == "coulomb":
        size = mu * gamma_n
    else:
        # the minimum of the dual, |gamma - y|^2 in the norm of R + 1/m, along (mu, 1)
        weights = np.array([R_t + 1.0 / m, R_n + 1.0 / m])
        ray = np.array([mu, 1.0])
        free = np.array([speed, v_hat_n - v_n])
        gamma_n = ray @ free / (ray**2 @ weights)
        size = mu * gamma_n
    force = -size * velocity / (speed if speed > 0.0 else 1.0)
    np.testing.assert_allclose(solution.gamma[0], [force[0], 0.0, gamma_n], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        solution.spin_gamma[0], [force[1] * length / mu, 0.0, 0.0], rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(solution.spin_v_c[0], [solution.v[3], 0.0, 0.0], atol=1e-15)


# ---- beside other constraints ------------------------------------------------------------------


@implementations
@seeds
@pytest.mark.parametrize("core", ["log", "exp"])
def test_beside_contacts_with_cores_and_rows(solver, seed, core):
    """Contacts that do not resist turning have cores, so shallow that they matter; joints rub."""
    problem, rng = spinning_problem(seed, share=0.5)
    kinds = np.full(problem.n_contacts, core, dtype=object)
    kinds[problem.spin_contact] = "none"
    first_tree = np.arange(problem.nv) < problem.tree_nv[0]
    rows = DryFrictions(rng.standard_normal((4, problem.nv)) * first_tree, f=5.0)
    problem = helpers.rebuild(
        problem, core=kinds, kappa=np.full(problem.n_contacts, 0.5), constraints=[rows]
    )
    solution = solver.solve(problem, settings=SapSettings(relative_tolerance=1e-10))
    assert solution.status == Status.converged
    # momentum of the whole problem balances, and contacts that resist obey their law
    A, J = problem.to_dense()
    impulses = (
        J.T @ solution.gamma.ravel() + problem.spin_jacobian().T @ solution.spin_gamma.ravel()
    )
    impulses += problem.constraint_jacobian(0).T @ solution.constraints[0].gamma
    r = A @ (solution.v - problem.v_star) - impulses
    assert np.abs(r).max() <= 1e-8 * np.abs(impulses).max()
    expected = balance(helpers.rebuild(problem, core="none", kappa=None), solution.v)
    contact, size = problem.spin_contact, np.abs(solution.gamma).max()
    np.testing.assert_allclose(
        solution.gamma[contact], expected.gamma[contact].astype(float), atol=1e-10 * size
    )
    np.testing.assert_allclose(
        solution.spin_gamma, expected.spin_gamma.astype(float), atol=1e-10 * size
    )
    np.testing.assert_array_equal(solution.core_scale[contact], 1.0)
    # cores are felt: without them the impulses are others
    others = np.setdiff1d(np.arange(problem.n_contacts), contact)
    assert np.abs(solution.gamma - expected.gamma.astype(float))[others].max() > 1e-3 * size


# ---- the core against its mirror ---------------------------------------------------------------


@seeds
@shares
@frictions
@pytest.mark.parametrize("islands", [True, False])
def test_the_mirror_takes_the_same_way(seed, share, friction, islands):
    problem, _ = spinning_problem(seed, share=share, mu=0.3)
    settings = settings_of(
        friction,
        relative_tolerance=1e-6,
        islands=islands,
        record_history=True,
    )
    core, mirror = (solver.solve(problem, settings=settings) for solver in (sapwood, reference))
    assert core.status == mirror.status == Status.converged
    assert core.iterations == mirror.iterations
    assert core.total_iterations == mirror.total_iterations
    for name in ("v", "gamma", "v_c", "spin_gamma", "spin_v_c"):
        one, two = getattr(core, name), getattr(mirror, name)
        np.testing.assert_allclose(one, two, atol=1e-7 * np.abs(two).max(), err_msg=name)
    np.testing.assert_array_equal(core.regions, mirror.regions)
    np.testing.assert_allclose(core.cost, mirror.cost, rtol=1e-10)
    # iterate by iterate, until round-off shows
    one, two = core.history["momentum_error"], mirror.history["momentum_error"]
    np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-8)


@seeds
def test_one_solver_serves_problems_with_and_without(seed):
    """The graph of the problem before does not change a result."""
    rng = np.random.default_rng(seed)
    problem = helpers.random_spinning_problem(rng)
    plain = helpers.rebuild(problem, spin_contact=None, spin_J=None, spin_mu=None)
    fewer = helpers.rebuild(
        problem, spin_contact=problem.spin_contact[:0], spin_J=[], spin_mu=np.zeros((0, 3))
    )
    stiffer = helpers.rebuild(problem, spin_mu=2.0 * problem.spin_mu)
    solver = sapwood.SapSolver()
    for each in (problem, plain, problem, stiffer, fewer, problem, problem):
        assert solver.solve(each) == sapwood.solve(each)


# ---- what is refused ---------------------------------------------------------------------------


def test_a_contact_with_spin_has_friction_and_no_core():
    problem, _ = spinning_problem(1)
    i = int(problem.spin_contact[1])
    mu = np.array(problem.mu)
    mu[i] = 0.0
    with pytest.raises(ValueError, match=rf"^mu\[{i}\] = 0: must be > 0 where a contact has"):
        helpers.rebuild(problem, mu=mu)
    core = np.full(problem.n_contacts, "none", dtype=object)
    core[i] = "log"
    with pytest.raises(ValueError, match=rf"^core\[{i}\] = 1: must be none where a contact has"):
        helpers.rebuild(problem, core=core, kappa=np.ones(problem.n_contacts))


def test_a_length_whose_square_overflows_is_named():
    problem, _ = spinning_problem(1)
    lengths = np.array(problem.spin_mu)
    lengths[2, 1] = 1e300
    with pytest.raises(ValueError, match=r"^spin_mu\[7\] = 1e\+300: \(spin_mu/mu\)\^2/R_t must be"):
        helpers.rebuild(problem, spin_mu=lengths)


def test_arrays_are_checked_again_by_a_solve():
    problem, _ = spinning_problem(1)
    J, lengths = np.array(problem.spin_J), np.array(problem.spin_mu)
    problem = helpers.rebuild(problem, spin_J=J, spin_mu=lengths)
    J[4] = np.nan
    with pytest.raises(ValueError, match=r"^spin_J\[4\]"):
        sapwood.solve(problem)
    J[4], lengths[0, 0] = 0.0, -1.0
    with pytest.raises(ValueError, match=r"^spin_mu\[0\] = -1: must be finite and >= 0"):
        sapwood.solve(problem)


def test_solutions_are_pickled_and_compared_with_it():
    problem, _ = spinning_problem(1)
    solution = sapwood.solve(problem)
    again = pickle.loads(pickle.dumps(solution))
    assert again == solution
    again.spin_gamma[0, 0] += 1.0
    assert again != solution


@seeds
@frictions
def test_velocities_that_only_turn_a_contact_are_moved_by_it(seed, friction):
    """A tree of which J moves few velocities, spin_J others and the rest is eliminated."""
    rng = np.random.default_rng(seed)
    problem = helpers.random_spinning_problem(
        rng, sizes=(20, 6, 14), contacts=9, mu=np.full(9, 0.5)
    )
    contact = problem.spin_contact
    moved, turned = np.zeros(40, bool), np.zeros(40, bool)
    moved[[0, 1, 2, 3, *range(20, 26), 30, 31, 32]] = True
    turned[[4, 9, 22, 33]] = True
    A, J = problem.to_dense()
    problem = sapwood.ContactProblem.from_dense(
        A, problem.v_star, J * moved, mu=problem.mu, dt=0.01, trees=problem.tree_nv,
        R_t=problem.R_t, R_n=problem.R_n, v_hat_n=problem.v_hat_n, spin_contact=contact,
        spin_J=problem.spin_jacobian() * turned, spin_mu=problem.spin_mu,
        friction_bound=np.full(9, 0.5),
    )  # fmt: skip
    whole, reduced = (
        sapwood.solve(problem, settings=settings_of(friction, islands=islands))
        for islands in (False, True)
    )
    mirror = reference.solve(problem, settings=settings_of(friction))
    assert np.abs(reduced.v - problem.v_star)[turned].min() > 0.0
    for other in (whole, mirror):
        for name in ("v", "gamma", "spin_gamma", "spin_v_c"):
            one, two = getattr(reduced, name), getattr(other, name)
            np.testing.assert_allclose(one, two, atol=1e-8 * np.abs(two).max(), err_msg=name)

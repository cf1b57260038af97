"""Properties of every law of contact, of the C core and of its NumPy mirror.

Two solutions of one problem are compared through their proved error bounds, so that no tolerance
has to be guessed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

import helpers
import sapwood
from derivatives import assert_derivatives, assert_line, assert_small_differences
from friction import bounded_problem
from helpers import assert_same_solution, implementations, rebuild, seeded_problem, seeds
from rewritten import in_other_units, reordered, side_by_side
from row_groups import mixed_problem
from sapwood import SapSettings, Status, reference
from spins import spinning_problem


def moderate(seed):
    """Friction of 0.2 at most: with much friction there are several solutions at times."""
    problem, rng = seeded_problem(seed)
    return rebuild(problem, mu=np.minimum(problem.mu, 0.2)), rng


#: b'' of tabulated cores: smooth enough for differences, and not monotonous
TABLE = [[0.0, 0.1, 0.3, 1.0], [0.8, 1.5, 1.1, 9.0]]


def with_cores(kind):
    """Cores whose layer takes 10 m/s of stabilization velocity."""

    def make(seed):
        problem, rng = seeded_problem(seed)
        core = {"core": kind, "kappa": 100.0 / problem.R_n, "core_lambda": 5.0}
        return rebuild(problem, **core, core_table=TABLE), rng

    return make


def spinning(seed):
    """Contacts that resist turning and rolling, with bounds for all and moderate friction."""
    return spinning_problem(seed, mu=0.3)


@dataclasses.dataclass(frozen=True)
class Law:
    """Problems of one law, and how far digits of its derivatives go."""

    make: Callable
    friction: str = "convex"
    gradient_digits: float = 1e-9
    hessian_digits: float = 1e-6
    line_digits: float = 1e-11

    def settings(self, **changes):
        return SapSettings(friction=self.friction, **{"relative_tolerance": 1e-12, **changes})


SPINS = {"gradient_digits": 1e-8, "line_digits": 1e-10}
CORES = {"gradient_digits": 1e-8, "hessian_digits": 1e-5}
LAWS = {
    "convex": Law(seeded_problem),
    "lagged": Law(bounded_problem, "lagged"),
    "coulomb": Law(moderate, "coulomb"),
    "rows": Law(mixed_problem),
    "convex with spins": Law(spinning, **SPINS),
    "lagged with spins": Law(spinning, "lagged", **SPINS),
    "coulomb with spins": Law(spinning, "coulomb", **SPINS),
    "log": Law(with_cores("log"), **CORES),
    "exp": Law(with_cores("exp"), **CORES),
    "table": Law(with_cores("table"), **CORES),
}


def laws(*without):
    """Parameters: all laws but some."""
    chosen = [law for name, law in LAWS.items() if name not in without]
    names = [name for name in LAWS if name not in without]
    return pytest.mark.parametrize("law", chosen, ids=names)


COULOMB = ("coulomb", "coulomb with spins")


def at_once(problem, v, settings):
    """The law at v, without an iteration."""
    still = dataclasses.replace(settings, max_iterations=0)
    return sapwood.solve(problem, v, still)


def held(problem, v, settings):
    """Problem and settings with the bounds of friction at v, which derivatives take as constant."""
    if settings.friction != "coulomb":
        return problem, settings
    bound = problem.mu * at_once(problem, v, settings).gamma[:, 2]
    return rebuild(problem, friction_bound=bound), dataclasses.replace(settings, friction="lagged")


def smooth_velocity(problem, rng, settings, h):
    """A velocity whose contacts and rows keep their regions within steps of 2 h."""

    def regions(v):
        at = at_once(problem, v, settings)
        return [at.regions, *(rows.active for rows in at.constraints)]

    for _ in range(500):
        v = 0.3 * rng.standard_normal(problem.nv)
        here = regions(v)
        steps = np.vstack([np.eye(problem.nv), -np.eye(problem.nv)]) * 2.0 * h
        if len(set(here[0])) > 1 and all(
            all(map(np.array_equal, regions(v + step), here)) for step in steps
        ):
            return v
    raise AssertionError("no smooth point with several regions found")


# ---- derivatives -------------------------------------------------------------------------------


soft_norms = pytest.mark.parametrize(("seed", "soft_norm"), [(1, 0.0), (2, 0.05)])


@implementations
@soft_norms
@laws()
def test_gradient_and_hessian_are_central_differences(solver, seed, law, soft_norm):
    """grad l_p and H (VIII-A)."""
    problem, rng = law.make(seed)
    settings, h = law.settings(soft_norm=soft_norm), 1e-6
    v = smooth_velocity(problem, rng, settings, h)
    at = solver.SapSolver(settings).evaluate(problem, v)
    problem, settings = held(problem, v, settings)
    assert_derivatives(
        solver.SapSolver(settings), problem, v, at, h,
        gradient_digits=law.gradient_digits, hessian_digits=law.hessian_digits,
    )  # fmt: skip


@implementations
@soft_norms
@laws("log", "exp")
def test_along_a_line(solver, seed, law, soft_norm):
    """Difference, slope and curvature (VIII-C) against cost, gradient and Hessian off the line."""
    problem, rng = law.make(seed)
    settings = law.settings(soft_norm=soft_norm)
    v, dv = rng.standard_normal((2, problem.nv))
    alpha = np.array([0.0, 1e-3, 0.3, 1.0, 1.5, -0.7])
    line = solver.SapSolver(settings).along_line(problem, v, dv, alpha)
    problem, settings = held(problem, v, settings)
    sap = solver.SapSolver(settings)
    assert_line(line, alpha, sap, problem, v, dv, rtol=law.line_digits)


@implementations
@seeds
@laws("rows", "log", "exp", *COULOMB)
def test_differences_keep_their_digits(solver, seed, law):
    problem, rng = law.make(seed)
    assert_small_differences(solver.SapSolver(law.settings()), problem, rng)


@seeds
@laws()
def test_core_evaluates_like_its_mirror(seed, law):
    problem, rng = law.make(seed)
    v, dv = 0.3 * rng.standard_normal((2, problem.nv))
    core, mirror = (solver.SapSolver(law.settings()) for solver in (sapwood, reference))
    for one, two in zip(core.evaluate(problem, v), mirror.evaluate(problem, v), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-10 * np.abs(two).max())
    alpha = np.linspace(-0.5, 1.5, 7)
    lines = (s.along_line(problem, v, dv, alpha) for s in (core, mirror))
    for one, two in zip(*lines, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-10, atol=1e-11 * np.abs(two).max())


# ---- symmetries --------------------------------------------------------------------------------


@implementations
@seeds
@laws("rows", "log", "exp", "table", "convex with spins", "lagged with spins", "coulomb with spins")
def test_change_of_units(solver, seed, law):
    """Other units of mass and of every velocity leave the iterates the same, to the bit."""
    problem, rng = law.make(seed)
    settings = law.settings(relative_tolerance=1e-9, absolute_tolerance=0.0)
    other, mass, S = in_other_units(problem, rng)
    one, two = (solver.solve(p, settings=settings) for p in (problem, other))
    assert one.status == two.status == Status.converged
    assert (one.iterations, one.line_search_trials) == (two.iterations, two.line_search_trials)
    np.testing.assert_array_equal(two.v, S * one.v)
    np.testing.assert_array_equal(two.gamma, mass * one.gamma)
    assert two.cost == mass * one.cost
    np.testing.assert_array_equal(
        [two.momentum_error, two.coulomb_error], [one.momentum_error, one.coulomb_error]
    )


@implementations
@seeds
@pytest.mark.parametrize("law", [LAWS["convex"], LAWS["coulomb"]], ids=["convex", "coulomb"])
def test_order_of_trees_and_contacts_does_not_matter(solver, seed, law):
    problem, rng = law.make(seed)
    other, columns, contacts = reordered(problem, rng)
    one, two = (solver.solve(p, settings=law.settings()) for p in (problem, other))
    back = np.empty(problem.nv)
    back[columns] = two.v
    distance = helpers.norm_A(problem, one.v - back)
    assert distance <= 1e-9 * helpers.norm_A(problem, one.v), f"seed {seed}"
    size = np.abs(one.gamma).max()
    np.testing.assert_allclose(one.gamma, two.gamma[np.argsort(contacts)], atol=1e-8 * size)


# ---- solutions ---------------------------------------------------------------------------------


@implementations
@seeds
@laws("log", "exp", *COULOMB)
def test_one_minimiser_from_every_start(solver, seed, law):
    """The problem is convex: proved bounds hold between all results."""
    problem, rng = law.make(seed)
    one = solver.solve(problem, settings=law.settings())
    for guess in (np.zeros(problem.nv), problem.v_star + 3.0 * rng.standard_normal(problem.nv)):
        assert_same_solution(problem, one, solver.solve(problem, guess, law.settings()))


@implementations
@seeds
@laws()
def test_certificate(solver, seed, law):
    """A rough result is as near to the exact one as it says; for Coulomb at the bounds it has."""
    problem, _ = law.make(seed)
    rough = solver.solve(problem, settings=law.settings(relative_tolerance=1e-3))
    settings = law.settings()
    if settings.friction == "coulomb":
        problem = rebuild(problem, friction_bound=problem.mu * rough.gamma[:, 2])
        settings = dataclasses.replace(settings, friction="lagged")
    exact = solver.solve(problem, settings=settings)
    distance = helpers.norm_A(problem, rough.v - exact.v)
    assert distance <= rough.velocity_error_bound + exact.velocity_error_bound
    if rough.momentum_error > 1e-6:
        assert exact.velocity_error_bound <= 1e-3 * rough.velocity_error_bound


@seeds
@laws()
def test_equal_bits(seed, law):
    """Repeated solves, kept solvers and batches on threads give the same to the bit."""
    problems = [law.make(seed + k)[0] for k in range(3)]
    settings = law.settings(relative_tolerance=1e-6)
    first = [sapwood.solve(problem, settings=settings) for problem in problems]
    kept = sapwood.SapSolver(settings)
    for _ in range(2):
        assert [kept.solve(problem) for problem in problems] == first
    for threads in (1, 2):
        assert sapwood.solve_batch(problems, settings=settings, threads=threads) == first


@seeds
@laws("rows", "log", "exp")
def test_threads_change_no_bit(seed, law):
    problem = side_by_side([law.make(seed + k)[0] for k in range(4)])
    settings = law.settings(relative_tolerance=1e-6)
    alone = sapwood.SapSolver(settings).solve(problem)
    assert alone.n_islands >= 4
    for threads in (2, 3):
        assert sapwood.SapSolver(settings, threads=threads).solve(problem) == alone

"""Barriers of the user's own: their tables, of the C core and of its NumPy mirror."""

from __future__ import annotations

import numpy as np
import pytest

import sapwood
from helpers import TIGHT, implementations, norm_A, rebuild, seeded_problem, seeds
from sapwood import Status, reference, tabulate_barrier
from sapwood.reference.constraints import rigid_core as mirror

SEED = 20261129
LOG = (
    lambda s: -s * np.log1p(-s) / 2.0,
    lambda s: (s / (1.0 - s) - np.log1p(-s)) / 2.0,
    lambda s: 1.0 / (1.0 - s) + s / (2.0 * (1.0 - s) ** 2),
)
SOFT = np.array([[0.0, 0.1, 0.3, 0.35, 2.0], [0.2, 1.0, 40.0, 3.0, 3.0]])
"""A stiff layer between softer ones: b'' rises and falls, and phi is below 1 at first."""

laws = pytest.mark.parametrize(
    "law", [pytest.param(sapwood, id="core"), pytest.param(reference, id="reference")]
)


def contacts(n=4000, most=0.99):
    """y (n, 3) of touching contacts, mu, R_t, R_n, and kappa that gives s up to `most`."""
    rng = np.random.default_rng(SEED)
    y = rng.standard_normal((n, 3))
    y[:, 2] = np.abs(y[:, 2])
    law = (rng.uniform(0.0, 1.5, n), 10.0 ** rng.uniform(-3, 1, n), 10.0 ** rng.uniform(-3, 1, n))
    s = np.where(rng.random(n) < 0.5, rng.uniform(0.0, most, n), 10.0 ** rng.uniform(-6, -1, n))
    return y, law, 2.0 * sapwood.contact_cost(y, *law) / s**2, s


def ratio(gamma, of):
    """Size of gamma over that of the other, which has its direction."""
    return np.linalg.norm(gamma, axis=1) / np.linalg.norm(of, axis=1)


# ---- what a table is ---------------------------------------------------------------------------


@laws
def test_impulse_and_cost_are_those_of_the_barrier(law):
    """gamma = b'(s)/s gamma_0 and l = kappa b(s), with b'' = 1 + s^2."""
    table = tabulate_barrier(
        lambda s: s**2 / 2 + s**4 / 12, lambda s: s + s**3 / 3, lambda s: 1 + s**2, 3.0, 1e-7
    )
    y, parameters, kappa, s = contacts(most=3.0)
    options = {"core": "table", "kappa": kappa, "core_table": table}
    phi = ratio(law.project(y, *parameters, **options)[0], law.project(y, *parameters)[0])
    np.testing.assert_allclose(phi, 1.0 + s**2 / 3.0, rtol=1e-7, err_msg=f"seed {SEED}")
    cost = law.contact_cost(y, *parameters, **options)
    np.testing.assert_allclose(cost, kappa * (s**2 / 2.0 + s**4 / 12.0), rtol=1e-7)


@laws
def test_error_of_a_sampled_logarithm_falls_with_the_square_of_the_interval(law):
    y, parameters, kappa, _ = contacts(most=0.9)
    exact = law.project(y, *parameters, core="log", kappa=kappa)
    errors = []
    for n in (51, 101, 201, 401):
        s = np.linspace(0.0, 0.9, n)
        options = {"core": "table", "kappa": kappa, "core_table": np.stack([s, LOG[2](s)])}
        gamma, G, _ = law.project(y, *parameters, **options)
        size = np.linalg.norm(exact[1], axis=(1, 2))
        errors.append(
            [
                np.max(np.abs(ratio(gamma, exact[0]) - 1.0)),
                np.max(np.linalg.norm(G - exact[1], axis=(1, 2)) / size),
            ]
        )
    order = np.log2(np.array(errors)[:-1] / np.array(errors)[1:])
    assert np.all((order > 1.8) & (order < 2.1)), order


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-6])
def test_table_keeps_its_tolerance(tolerance):
    """So do phi and beta, which are means of the curvature."""
    table = tabulate_barrier(*LOG, most=0.999, tolerance=tolerance)
    s = np.random.default_rng(SEED).uniform(0.0, 0.999, 20000)
    curvature = np.interp(s, *table)
    np.testing.assert_allclose(curvature, LOG[2](s), rtol=1.02 * tolerance)
    of = mirror.barrier("table", 1.0, 1.0, s.shape, table)
    f = mirror.factors(s, of)
    np.testing.assert_allclose(f.phi, LOG[1](s) / s, rtol=1.02 * tolerance)
    np.testing.assert_allclose(f.beta, 2.0 * LOG[0](s) / s**2, rtol=1.02 * tolerance)
    np.testing.assert_allclose(f.phi + f.rise, curvature, rtol=1e-12)


@laws
def test_curvature_of_one_is_the_compliant_law(law):
    y, parameters, kappa, _ = contacts(most=5.0)
    options = {"core": "table", "kappa": kappa, "core_table": [[0.0, 0.3], [1.0, 1.0]]}
    for found, plain in zip(
        law.project(y, *parameters, **options), law.project(y, *parameters), strict=True
    ):
        np.testing.assert_allclose(found, plain, rtol=1e-14, atol=1e-14 * np.max(np.abs(plain)))


def test_core_equals_its_mirror():
    y, parameters, kappa, _ = contacts(20000, most=4.0)
    options = {"core": "table", "kappa": kappa, "core_table": SOFT}
    for one, two in zip(
        sapwood.project(y, *parameters, **options),
        reference.project(y, *parameters, **options),
        strict=True,
    ):
        size = np.max(np.abs(one), axis=tuple(range(1, one.ndim)), keepdims=True)
        assert np.max(np.abs(one - two) / size) <= 1e-12, f"seed {SEED}"
    cost = (law.contact_cost(y, *parameters, **options) for law in (sapwood, reference))
    np.testing.assert_allclose(*cost, rtol=1e-13)


def test_cost_difference_keeps_its_digits_across_nodes():
    """l(b) - l(a) of the mirror lies between phi dl_0 at both ends, as b is convex."""
    rng = np.random.default_rng(SEED)
    s = np.concatenate([rng.uniform(0.0, 3.0, 4000), SOFT[0, 1:] - 1e-9])
    of = mirror.barrier("table", 10.0 ** rng.uniform(-6, 6, s.shape), 1.0, s.shape, SOFT)
    cost = of.kappa / 2.0 * s**2
    for size in (1e-1, 1e-4, 1e-8, 1e-13):
        change = size * cost * rng.uniform(-1.0, 1.0, s.shape)
        found = mirror.cost_difference(cost, change, of)
        mean = (np.sqrt(cost) + np.sqrt(cost + change)) / 2.0  # the mean of sqrt(l_0)
        ends = [
            mirror.factors(mirror.distance(x, of), of).phi * np.sqrt(x) / mean * change
            for x in (cost, cost + change)
        ]
        slack = 1e-11 * np.abs(found)
        assert np.all(found >= np.minimum(*ends) - slack), f"seed {SEED}"
        assert np.all(found <= np.maximum(*ends) + slack), f"seed {SEED}"


# ---- solutions ---------------------------------------------------------------------------------


@implementations
@seeds
def test_sampled_logarithm_solves_like_the_logarithm(solver, seed):
    """The momentum of the solution differs by the tolerance of the table."""
    problem, _ = seeded_problem(seed)
    core = {"kappa": 1.0 / problem.R_n}
    exact = rebuild(problem, core="log", **core)
    errors = []
    for tolerance in (1e-2, 1e-4):
        table = tabulate_barrier(*LOG, most=0.9999, tolerance=tolerance)
        own = rebuild(problem, core="table", core_table=table, **core)
        one, two = (solver.solve(p, settings=TIGHT) for p in (exact, own))
        assert one.status == two.status == Status.converged
        errors.append(norm_A(problem, one.v - two.v) / norm_A(problem, one.v))
        assert errors[-1] <= tolerance
    assert errors[1] <= 0.1 * errors[0] + 1e-9


@implementations
@seeds
def test_any_convex_table_is_solved(solver, seed):
    """Also where the curvature falls; both solvers prove the accuracy of what they find."""
    problem, _ = seeded_problem(seed)
    own = rebuild(problem, core="table", core_table=SOFT, kappa=0.01 / problem.R_n)
    solution = solver.solve(own, settings=TIGHT)
    assert solution.status == Status.converged
    other = reference.solve(own, settings=TIGHT)
    distance = norm_A(own, solution.v - other.v)
    assert distance <= solution.velocity_error_bound + other.velocity_error_bound
    assert solution.deepened.size == 0
    assert own.deep_contacts.size == 0


def test_a_problem_keeps_its_table(tmp_path):
    problem, _ = seeded_problem(1)
    given = SOFT.copy()
    own = rebuild(problem, core="table", core_table=given, kappa=0.01 / problem.R_n)
    given[1] = -1.0
    np.testing.assert_array_equal(own.core_table, SOFT)
    assert not own.core_table.flags.writeable
    sapwood.save_problem(tmp_path / "own.npz", own)
    assert sapwood.load_problem(tmp_path / "own.npz") == own
    other = rebuild(own, core_table=1.5 * SOFT)
    assert other != own


@pytest.mark.parametrize("value", [-1.0, 0.0, np.nan])
def test_an_exponent_that_turns_wrong_is_no_table(value):
    problem, _ = seeded_problem(1)
    exponent = np.full(problem.n_contacts, 5.0)
    own = rebuild(problem, core="exp", core_lambda=exponent, kappa=1.0 / problem.R_n)
    exponent[2] = value
    with pytest.raises(ValueError, match=r"core_lambda\[2\]"):
        sapwood.solve(own)


# ---- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ([[0.0, 1.0], [1.0, -1.0]], r"core_table\[1\]\[1\] = -1: must be finite and > 0"),
        ([[0.0, 1.0], [0.0, 1.0]], r"core_table\[1\]\[0\] = 0: .* must be convex"),
        ([[0.0, 1.0], [1.0, np.nan]], r"core_table\[1\]\[1\]: must be finite"),
        ([[0.0, 1.0, 1.0], [1.0, 1.0, 2.0]], r"core_table\[0\]\[2\] = 1: .* above the last"),
        ([[0.1, 1.0], [1.0, 1.0]], r"core_table\[0\]\[0\] = 0.1: must be 0"),
        ([[0.0, np.inf], [1.0, 1.0]], r"core_table\[0\]\[1\] = inf"),
        ([[0.0], [1.0]], "must have two nodes"),
        ([0.0, 1.0], r"core_table has shape \(2,\)"),
        (np.zeros((2, 0)), "must have two nodes"),
        (None, "core_table"),
    ],
)
def test_wrong_tables_are_refused(table, text):
    problem, _ = seeded_problem(1)
    with pytest.raises((ValueError, TypeError), match=text):
        sapwood.project([0, 0, 1.0], 0.5, 1.0, 1.0, core="table", kappa=1.0, core_table=table)
    with pytest.raises((ValueError, TypeError), match=text):
        rebuild(problem, core="table", kappa=1.0 / problem.R_n, core_table=table)


@pytest.mark.parametrize(
    ("functions", "text"),
    [
        ((LOG[0], LOG[1], lambda s: LOG[2](s) - 2.0), r"curvature\(0\) = -1: .* must be convex"),
        (
            (LOG[0], lambda s: 1.01 * LOG[1](s), LOG[2]),
            r"slope\(.*\) = .*: must be .*, the integral",
        ),
        ((lambda s: 1.0 + LOG[0](s), LOG[1], LOG[2]), r"value\(0\) = 1: must be 0, the integral"),
        (
            (LOG[0], LOG[1], lambda s: np.where(s < 0.5, 1.0, 2.0)),
            r"curvature\(0\.5\): .* continuous",
        ),
        ((LOG[0], LOG[1], lambda s: np.where(s < 0.5, 1.0, np.nan)), r"curvature\(.*nan"),
        ((LOG[0], LOG[1], lambda s: s[:1]), "curvature has shape"),
    ],
)
def test_functions_that_are_no_barrier_are_refused(functions, text):
    with pytest.raises(ValueError, match=text):
        tabulate_barrier(*functions, most=0.9)


@pytest.mark.parametrize("options", [{"most": 0.0}, {"most": 1.0, "tolerance": 1.0}])
def test_numbers_of_a_table_are_checked(options):
    with pytest.raises(ValueError, match=r"most|tolerance"):
        tabulate_barrier(*LOG, **options)

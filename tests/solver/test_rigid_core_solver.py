"""Contact problems with rigid cores: C solver and NumPy mirror.

Solutions are compared with scalar equations solved by bisection, with optimality conditions in
extended precision, and with each other through their proved error bounds.
"""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import helpers
import sapwood
from helpers import TIGHT, WIDE, implementations, rebuild, seeded_problem, seeds, small_files
from point_masses import points
from sapwood import CoreKind, SapSettings, Status, reference

kinds = pytest.mark.parametrize("kind", ["log", "exp"])
LAMBDA = 5.0
DELTA, DT, TAU = 1e-3, 0.01, 0.01


# ---- formulas of their own ---------------------------------------------------------------------


def stiffening(kind, s):
    """phi = b'(s)/s from the definitions of b."""
    if kind == "log":
        return -np.log1p(-s) / (2 * s) + 1 / (2 * (1 - s))
    return np.exp(LAMBDA * s) * (1 + LAMBDA * s / 2)


def momentum_error(problem, v, scale=None):
    """e_m (24) with cores, in extended precision, contact by contact; all trees."""
    v = np.asarray(v, dtype=WIDE)
    at, v_hat = helpers.sections(problem), helpers.bias(problem).astype(WIDE)
    A_v, momentum, j_c = np.zeros_like(v), np.zeros_like(v), np.zeros_like(v)
    D = np.zeros_like(v)
    for t, here in enumerate(at):
        A = problem.A_block(t).astype(WIDE)
        A_v[here], momentum[here] = A @ v[here], A @ (v - problem.v_star)[here]
        D[here] = 1 / np.sqrt(np.diag(A))
    for i in range(problem.n_contacts):
        R = np.array([problem.R_t[i], problem.R_t[i], problem.R_n[i]], dtype=WIDE)
        blocks = helpers.contact_jacobian(problem, i)
        v_c = sum(J.astype(WIDE) @ v[at[t]] for t, J in blocks)
        gamma = helpers.impulse((v_hat[i] - v_c) / R, problem.mu[i], R[0], R[2])
        kappa = problem.kappa[i] * (1.0 if scale is None else scale[i] ** 2)
        s = np.sqrt(np.sum(R * gamma**2) / kappa)
        if problem.core[i] and s > 0:
            gamma = stiffening(CoreKind(problem.core[i]).name, s) * gamma
        for t, J in blocks:
            j_c[at[t]] += J.T.astype(WIDE) @ gamma
    touched = np.repeat(helpers.touched_trees(problem), problem.tree_nv)
    D = D * touched
    size = max(np.linalg.norm((D * A_v).astype(float)), np.linalg.norm((D * j_c).astype(float)))
    return float(np.linalg.norm((D * (momentum - j_c)).astype(float)) / size)


def with_core(problem, kind, speed=0.5, **changes):
    """A problem with cores whose layer takes `speed` (m/s) of stabilization velocity."""
    return rebuild(problem, core=kind, kappa=speed**2 / problem.R_n, core_lambda=LAMBDA, **changes)


def mass_on_layer(kind, load, phi0=0.0, k=1e4, v=0.0, mass=1.0, **options):
    """A point mass at phi0 over a layer of depth DELTA, pressed by `load` newtons."""
    core = {"core": kind, "delta": DELTA, "core_lambda": LAMBDA} if kind else {}
    return sapwood.ContactProblem(
        [3], mass * np.eye(3).ravel(), [0.0, 0.0, v - DT * load / mass], [0], [-1],
        np.eye(3).ravel(), [0.5], dt=DT, phi0=[phi0], k=[k], tau_d=[TAU], beta=0.0,
        v_guess=[0.0, 0.0, v], **{**core, **options},
    )  # fmt: skip


def expected_speed(problem, kind):
    """v_n of a point mass from its one equation m (v - v*) = gamma(v), by bisection on s."""
    mass, v_star = float(problem.A[8]), float(problem.v_star[2])
    R, v_hat = float(problem.R_n[0]), float(problem.v_hat_n[0])
    unit = np.sqrt(float(problem.kappa[0]) * R)  # v_hat - v_n at s = 1

    def excess(s):
        return mass * (v_hat - s * unit - v_star) - stiffening(kind, s) * s * unit / R

    low, high = 1e-300, 1.0 if kind == "log" else 10.0
    for _ in range(2000):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return v_hat - low * unit


def assert_same(problem, one, two):
    """Both are within their proved bounds of the minimiser; stiff barriers make the bounds wide."""
    distance = helpers.norm_A(problem, one.v - two.v)
    bound = one.velocity_error_bound + two.velocity_error_bound
    assert distance <= bound <= 1e-4 * helpers.norm_A(problem, one.v)


# ---- one contact -------------------------------------------------------------------------------


@implementations
@kinds
@pytest.mark.parametrize("load", [0.1, 10.0, 1e3, 1e5])
def test_pressed_mass(solver, kind, load):
    """The speed of the one contact there is, from no load to 10^4 times the load at delta."""
    problem = mass_on_layer(kind, load, phi0=-0.2 * DELTA)
    solution = solver.solve(problem, settings=TIGHT)
    assert solution.status == Status.converged
    v = expected_speed(problem, kind)
    unit = DELTA / (DT + TAU)
    assert abs(solution.v[2] - v) <= 1e-9 * unit
    assert solution.deepened.size == 0


@pytest.mark.slow
@pytest.mark.claim
@implementations
@pytest.mark.parametrize("ratio", [0.1, 10.0, 1e5])
def test_resting_depth_is_where_the_barrier_balances_the_load(solver, ratio):
    """At rest k delta s phi(s) = load with s = depth/delta, and depth < delta."""
    load = ratio * 1e4 * DELTA
    phi0 = 0.0
    v = 0.0
    for _ in range(400):
        solution = solver.solve(mass_on_layer("log", load, phi0, v=v))
        v = float(solution.v[2])
        phi0 += DT * v
        assert phi0 > -DELTA
    s = -phi0 / DELTA
    np.testing.assert_allclose(s * stiffening("log", s) / ratio, 1.0, rtol=1e-3)


@implementations
def test_fast_sphere_stops_short_of_delta(solver):
    """50 m/s towards a wall with a layer of 1 mm: one step, from a guess far outside."""
    problem = mass_on_layer("log", 0.0, phi0=0.05, v=-50.0, k=1e4)
    solution = solver.solve(problem)
    assert solution.status == Status.converged
    assert 0.05 + DT * solution.v[2] > -DELTA
    compliant = solver.solve(mass_on_layer(None, 0.0, phi0=0.05, v=-50.0, k=1e4))
    assert 0.05 + DT * compliant.v[2] < -2 * DELTA


# ---- optimality --------------------------------------------------------------------------------


@implementations
@kinds
@seeds
def test_solution_is_optimal(solver, kind, seed):
    """e_m by formulas that share no code with the solver is what the solution says it is."""
    problem = with_core(seeded_problem(seed)[0], kind)
    solution = solver.solve(problem)
    assert solution.status == Status.converged
    error = momentum_error(problem, solution.v, solution.core_scale)
    assert error <= 1.01e-6
    assert abs(error - solution.momentum_error) <= 1e-9
    # the impulse is a multiple of the projection, which is orthogonal to what it leaves
    assert solution.complementarity_error <= 1e-11


@kinds
@seeds
def test_core_and_mirror_take_the_same_way(kind, seed):
    problem = with_core(seeded_problem(seed)[0], kind)
    ours, theirs = sapwood.solve(problem), reference.solve(problem)
    assert ours.status == theirs.status == Status.converged
    assert abs(ours.iterations - theirs.iterations) <= 1
    np.testing.assert_array_equal(ours.deepened, theirs.deepened)
    np.testing.assert_allclose(ours.core_scale, theirs.core_scale, rtol=1e-14)
    assert_same(problem, ours, theirs)
    size = np.abs(ours.gamma).max()
    np.testing.assert_allclose(ours.gamma, theirs.gamma, atol=1e-5 * size)
    np.testing.assert_array_equal(ours.regions, theirs.regions)


@implementations
@kinds
@seeds
def test_error_bound_holds(solver, kind, seed):
    """The minimiser, found to round-off, is within the proved bound of loose solutions."""
    problem = with_core(seeded_problem(seed)[0], kind, speed=2.0)
    best = solver.solve(problem, settings=SapSettings(relative_tolerance=1e-13))
    round_off = 1e-14 + 1e-15 * abs(best.cost)
    for tolerance in (1e-1, 1e-3, 1e-6):
        loose = solver.solve(problem, settings=SapSettings(relative_tolerance=tolerance))
        distance = helpers.norm_A(problem, loose.v - best.v)
        assert distance <= loose.velocity_error_bound + best.velocity_error_bound
        assert loose.cost - best.cost <= loose.cost_gap_bound + best.cost_gap_bound + round_off
    assert best.velocity_error_bound <= 1e-9 * helpers.norm_A(problem, best.v)


@implementations
@kinds
@seeds
def test_along_a_line_into_the_wall(solver, kind, seed):
    """Differences, slopes and curvatures belong together, and are infinite beyond the wall."""
    problem = with_core(seeded_problem(seed)[0], kind, speed=4.0)
    rng = np.random.default_rng(seed)
    v, dv = 0.1 * rng.standard_normal(problem.nv), rng.standard_normal(problem.nv)
    sap = solver.SapSolver()
    alpha = np.concatenate([np.linspace(0.01, 20.0, 400), [1e3]])
    line = sap.along_line(problem, v, dv, alpha)
    inside = np.isfinite(line.difference)
    assert inside[0]
    assert not inside[-1]
    np.testing.assert_array_equal(inside, np.isfinite(line.slope))
    assert np.all(np.diff(inside.astype(int)) <= 0)
    assert np.all(line.slope[~inside] == np.inf)
    here, h = alpha[inside][: np.count_nonzero(inside) // 2], 1e-6
    ends = [sap.along_line(problem, v, dv, here + side * h) for side in (-1, 1)]
    slope = (ends[1].difference - ends[0].difference) / (2 * h)
    curvature = (ends[1].slope - ends[0].slope) / (2 * h)
    middle = sap.along_line(problem, v, dv, here)
    np.testing.assert_allclose(slope, middle.slope, rtol=1e-6, atol=1e-6 * np.abs(slope).max())
    # the curvature jumps where a contact changes its region
    close = np.isclose(curvature, middle.curvature, rtol=1e-4)
    assert np.count_nonzero(~close) <= problem.n_contacts


# ---- start -------------------------------------------------------------------------------------


@implementations
@seeds
def test_any_guess_will_do(solver, seed):
    """Guesses far outside of the domain lead to the same solution, and the cost never rises."""
    problem = with_core(seeded_problem(seed)[0], "log")
    rng = np.random.default_rng(seed)
    settings = SapSettings(record_history=True)
    first = solver.solve(problem, np.zeros(problem.nv), settings)
    for size in (0.1, 10.0, 1e4):
        other = solver.solve(problem, size * rng.standard_normal(problem.nv), settings)
        assert other.status == Status.converged
        assert_same(problem, first, other)
        assert np.all(np.isfinite(other.history["cost"]))
        assert np.all(np.diff(other.history["cost"]) <= 1e-12 * np.abs(other.history["cost"][1:]))


@implementations
def test_deep_contacts_are_reported(solver):
    """Three contacts, two too deep: those get a larger delta, and problem and solution say so."""
    depth = np.array([0.5, 2.0, 1.0001]) * DELTA
    mass = np.concatenate([np.eye(3).ravel()] * 3)
    problem = sapwood.ContactProblem(
        [3, 3, 3], mass, [0.0, 0.0, -0.1] * 3, [0, 1, 2], [-1] * 3, mass, [0.5] * 3, dt=DT,
        phi0=-depth, k=[1e5] * 3, tau_d=[TAU] * 3, core="log", delta=DELTA,
    )  # fmt: skip
    np.testing.assert_array_equal(problem.deep_contacts, [1, 2])
    solution = solver.solve(problem)
    assert solution.status == Status.converged
    np.testing.assert_array_equal(solution.deepened, [1, 2])
    assert solution.core_scale[0] == 1.0
    # the depth, and a tenth of its excess over delta but at most 1 %
    np.testing.assert_allclose(solution.core_scale[1:], [2.0 * 1.01, 1.0001 * 1.00001], rtol=1e-7)
    assert "2 contacts deeper than their core: delta up to 2.02 times as large" in str(solution)
    # they come out
    assert np.all(solution.v.reshape(3, 3)[1:, 2] > 0.0)


@implementations
@pytest.mark.parametrize("seed", [2, 9, 12])
def test_round_off_deepens_no_core(solver, seed):
    """Where a tolerance is out of reach, what was reached is kept, with the problem's own delta."""
    problem = with_core(seeded_problem(seed)[0], "log")
    near = solver.solve(problem, settings=SapSettings(relative_tolerance=1e-10))
    best = solver.solve(problem, settings=SapSettings(relative_tolerance=1e-17))
    assert best.status == Status.stalled
    assert best.momentum_error < 1e-11
    np.testing.assert_array_equal(best.core_scale, near.core_scale)
    assert best.iterations < near.iterations + 20


@implementations
@kinds
def test_moving_surface(solver, kind):
    """A belt at 20 m/s: rest is outside of the domain, the solution inside, kappa the problem's."""
    problem = mass_on_layer(kind, 9.81, phi0=-0.5 * DELTA, v_hat_t=[[20.0, 0.0]])
    start = solver.SapSolver().evaluate(problem, np.zeros(3))
    assert np.isinf(start.cost)
    solution = solver.solve(problem, np.zeros(3))
    assert solution.status == Status.converged
    assert solution.deepened.size == 0
    assert momentum_error(problem, solution.v) <= 1e-6
    assert solution.v[0] > 0.0


@implementations
@kinds
def test_history_counts_on_where_cores_change(solver, kind):
    """Surfaces that move apart raise kappa: each part begins with what the one before found."""
    problem, rng = seeded_problem(0)
    problem = with_core(problem, kind, v_hat_t=5.0 * rng.standard_normal((problem.n_contacts, 2)))
    solution = solver.solve(problem, np.zeros(problem.nv), SapSettings(record_history=True))
    assert solution.status == Status.converged
    history = solution.history
    taken = np.diff(history["iteration"], prepend=0)
    assert set(taken) == {0, 1}
    assert history["iteration"][-1] == solution.iterations
    begins = history[taken == 0]
    assert len(begins) > 1
    for name in ("step", "trials", "decrease"):
        assert not begins[name].any()
    assert taken.sum() == solution.total_iterations
    assert np.all(history["step"][taken == 1] > 0.0)


@implementations
@pytest.mark.parametrize(
    "settings",
    [
        {"line_search": "backtracking"},
        {"islands": False, "start": "newton", "turning": False, "line_search_tolerance": 1e-8},
    ],
    ids=["backtracking", "algorithm-1"],
)
@seeds
def test_settings_lead_to_the_same_solution(solver, settings, seed):
    problem = with_core(seeded_problem(seed)[0], "log", speed=2.0)
    one = solver.solve(problem)
    other = solver.solve(problem, settings=SapSettings(**settings))
    assert other.status == Status.converged
    assert_same(problem, one, other)


# ---- next to other contacts --------------------------------------------------------------------


@seeds
def test_core_of_some_contacts(seed):
    """Contacts of all three kinds in one island, in both implementations."""
    problem, rng = seeded_problem(seed)
    core = rng.integers(0, 3, problem.n_contacts).astype(np.int8)
    mixed = with_core(problem, core, speed=1.0)
    ours, theirs = sapwood.solve(mixed), reference.solve(mixed)
    assert ours.status == theirs.status == Status.converged
    assert momentum_error(mixed, ours.v, ours.core_scale) <= 1e-6
    assert_same(mixed, ours, theirs)
    assert np.all(ours.core_scale[core == 0] == 1.0)


@implementations
@seeds
def test_no_core_changes_nothing(solver, seed):
    problem, _ = seeded_problem(seed)
    same = with_core(problem, "none")
    assert same == problem
    assert solver.solve(same) == solver.solve(problem)
    # an unreachable core: the compliant solution to within the error bounds
    far = solver.solve(with_core(problem, "log", speed=1e15), settings=TIGHT)
    assert_same(problem, far, solver.solve(problem, settings=TIGHT))


@small_files
def test_files_with_a_core(path):
    """The problem files, with a layer of 10 cm: hardly an iteration more than without."""
    problem = sapwood.load_problem(path)
    if not problem.n_contacts:
        pytest.skip("no contacts")
    kappa = (0.1 / (problem.dt + problem.tau_d)) ** 2 / problem.R_n
    stiff = rebuild(problem, core="log", kappa=kappa)
    plain, solution = sapwood.solve(problem), sapwood.solve(stiff)
    assert solution.status == Status.converged
    assert momentum_error(stiff, solution.v, solution.core_scale) <= 1.01e-6
    assert solution.iterations <= plain.iterations + 3
    mirror = reference.solve(stiff)
    assert abs(mirror.iterations - solution.iterations) <= 1


# ---- as a value --------------------------------------------------------------------------------


def test_problem_keeps_its_cores(tmp_path):
    problem = points(core=["log", "exp"], delta=[1e-3, 2e-3], core_lambda=[1.0, 3.0])
    np.testing.assert_array_equal(problem.core, [CoreKind.log, CoreKind.exp])
    time = problem.dt + problem.tau_d
    np.testing.assert_allclose(problem.kappa, (problem.delta / time) ** 2 / problem.R_n)
    sapwood.save_problem(tmp_path / "problem.npz", problem)
    loaded = sapwood.load_problem(tmp_path / "problem.npz")
    assert loaded == problem == pickle.loads(pickle.dumps(problem))
    assert loaded != points(core=["log", "exp"], delta=[1e-3, 2e-3])
    assert sapwood.solve(loaded) == sapwood.solve(problem)
    A, J = problem.to_dense()
    dense = sapwood.ContactProblem.from_dense(
        A, problem.v_star, J, problem.phi0, problem.k, problem.tau_d, problem.mu, problem.dt,
        trees=[3, 3], core=problem.core, delta=problem.delta, core_lambda=problem.core_lambda,
    )  # fmt: skip
    np.testing.assert_allclose(dense.kappa, problem.kappa, rtol=1e-14)


@pytest.mark.parametrize(
    ("changes", "error", "text"),
    [
        ({"core": "log"}, TypeError, "needs delta"),
        ({"core": "log", "delta": 0.0}, ValueError, r"delta\[0\] = 0: must be finite and > 0"),
        ({"core": "log", "delta": [1e-3, np.nan]}, ValueError, r"delta\[1\]"),
        ({"core": "log", "delta": [1e-3] * 3}, ValueError, "delta has shape"),
        ({"core": "log", "kappa": -1.0}, ValueError, r"kappa\[0\] = -1: must be finite and > 0"),
        ({"core": "exp", "delta": 1e-3, "core_lambda": 0.0}, ValueError, r"core_lambda\[0\] = 0"),
        ({"core": ["log"] * 3, "delta": 1e-3}, ValueError, "core has shape"),
        ({"core": ["log", "hard"], "delta": 1e-3}, ValueError, r"core\[1\] = 'hard'"),
    ],
)
def test_errors_name_the_argument(changes, error, text):
    with pytest.raises(error, match=text):
        points(**changes)


def test_values_changed_under_the_problem_are_found():
    kappa = np.ones(2)
    problem = points(core="log", kappa=kappa)
    kappa[1] = -1.0
    with pytest.raises(ValueError, match=r"kappa\[1\] = -1: must be finite and > 0"):
        sapwood.solve(problem)

"""Derivatives of solutions: reverse against forward mode, and both against differences."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import differentials
import helpers
import sapwood
from differentials import CASES, NAMES, ROWS
from sapwood import Differential, Status

cases = pytest.mark.parametrize("name", CASES)


def parts(x, rows=ROWS):
    """All numbers of a differential, one after the other: what is None is left out."""
    arrays = [getattr(x, name) for name in NAMES]
    for group in x.constraints:
        arrays += [getattr(group, name) for name in rows]
        arrays += [group.parameters[name] for name in sorted(group.parameters)]
    return arrays


def product(one, other):
    """Sum of products of what both have, and of their absolute values."""
    pairs = zip(parts(one), parts(other), strict=True)
    terms = [np.ravel(a) * np.ravel(b) for a, b in pairs if a is not None and b is not None]
    terms = np.concatenate([np.zeros(1), *terms])
    return terms.sum(), np.abs(terms).sum()


def random_bars(rng, problem):
    """dL/d of all that a solution has."""
    spins = problem.spin_contact is not None
    return {
        "v_bar": rng.standard_normal(problem.nv),
        "gamma_bar": rng.standard_normal((problem.n_contacts, 3)),
        "constraint_gamma_bars": [rng.standard_normal(g.n_rows) for g in problem.constraints],
        "spin_gamma_bar": rng.standard_normal((problem.n_spins, 3)) if spins else None,
    }


def loss(bars, change):
    """L of a solution, or of its change, and the size of its terms."""
    rows = change.constraints
    gammas = [row.gamma if hasattr(row, "gamma") else row for row in rows]
    pairs = [
        (bars["v_bar"], change.v),
        (bars["gamma_bar"], change.gamma),
        *zip(bars["constraint_gamma_bars"], gammas, strict=True),
    ]
    if bars["spin_gamma_bar"] is not None:
        pairs.append((bars["spin_gamma_bar"], change.spin_gamma))
    terms = np.concatenate([np.ravel(a * b) for a, b in pairs])
    return terms.sum(), np.abs(terms).sum()


def like(rng, gradient):
    """A random change of every number that a gradient has."""

    def some(x):
        return None if x is None else rng.standard_normal(np.shape(x))

    groups = tuple(
        sapwood.GroupDifferential(
            **{name: some(getattr(group, name)) for name in ROWS},
            parameters={name: some(x) for name, x in group.parameters.items()},
        )
        for group in gradient.constraints
    )
    return Differential(**{n: some(getattr(gradient, n)) for n in NAMES}, constraints=groups)


# ---- one against the other ----------------------------------------------------------------------


@cases
@pytest.mark.parametrize("frozen", [False, True])
def test_reverse_is_the_transpose_of_forward(name, frozen, rng):
    case = CASES[name](rng)
    solution = case.solve(sensitivity=True)
    bars = random_bars(rng, case.problem())
    gradient = solution.vjp(**bars, frozen_regularization=frozen)
    change = like(rng, gradient)
    left, left_size = loss(bars, solution.jvp(change, frozen_regularization=frozen))
    right, right_size = product(gradient, change)
    assert np.isfinite(left)
    assert abs(left - right) <= 1e-9 * (left_size + right_size)


# ---- against differences ------------------------------------------------------------------------


def far_from_boundaries(case):
    """The solution with derivatives, where no contact or row is close to another region."""
    solution = case.solve(sensitivity=True)
    nearest = min(
        [*solution.sensitivity.distance, *solution.sensitivity.row_distance], default=np.inf
    )
    return solution if solution.status in (0, 1) and nearest > 1e-4 else None


def same_regions(one, other):
    return np.array_equal(one.regions, other.regions) and all(
        np.array_equal(a.active, b.active)
        for a, b in zip(one.constraints, other.constraints, strict=True)
    )


def quotient(case, change, solution, h):
    """(f(h) - f(-h))/(2 h) of all of a solution, or None where a region changes."""
    ahead, behind = case.solve(change, h), case.solve(change, -h)
    if not (same_regions(ahead, solution) and same_regions(behind, solution)):
        return None

    def slope(name):
        return (np.ravel(getattr(ahead, name)) - np.ravel(getattr(behind, name))) / (2 * h)

    rows = [
        (a.gamma - b.gamma) / (2 * h)
        for a, b in zip(ahead.constraints, behind.constraints, strict=True)
    ]
    spins = [] if ahead.spin_gamma is None else [slope("spin_gamma")]
    return slope("v"), np.concatenate([slope("gamma"), *spins, *rows])


def extrapolated(case, change, solution):
    """The derivative by two central differences (Richardson), and how far they are apart."""
    h = 1e-3
    while h > 1e-5:
        far, near = (quotient(case, change, solution, step) for step in (h, h / 2))
        if far is not None and near is not None:
            error = [np.abs(a - b).max(initial=0.0) for a, b in zip(near, far, strict=True)]
            size = [np.abs(x).max(initial=0.0) for x in near]
            if all(e <= 1e-4 * max(s, 1e-3) for e, s in zip(error, size, strict=True)):
                return [(4 * a - b) / 3 for a, b in zip(near, far, strict=True)], h
        h /= 4
    return None, h


def check_differences(name, rng, choose):
    """jvp and differences of a case, changed in what `choose` says, agree."""
    for _ in range(60):
        case = CASES[name](rng)
        solution = far_from_boundaries(case)
        if solution is None:
            continue
        change = choose(case)
        expected, h = extrapolated(case, change, solution)
        if expected is None:
            continue
        found = solution.jvp(change)
        rows = [] if found.spin_gamma is None else [found.spin_gamma.ravel()]
        gamma = np.concatenate([found.gamma.ravel(), *rows, *found.constraints])
        for got, want, values in (
            (found.v, expected[0], solution.v),
            (gamma, expected[1], np.concatenate([np.ravel(solution.gamma), np.zeros(1)])),
        ):
            size = max(np.abs(want).max(initial=0.0), np.abs(got).max(initial=0.0))
            noise = 1e-12 * max(np.abs(values).max(), 1.0) / h
            assert np.abs(got - want).max(initial=0.0) <= 1e-6 * size + noise
        return
    pytest.fail("no problem that is far from boundaries")


@cases
def test_forward_mode_is_the_limit_of_differences(name, rng):
    check_differences(name, rng, lambda case: case.change(rng))


@pytest.mark.parametrize("number", ["A", "v_star", "J", "mu", "R_t", "R_n", "v_hat_n", "v_hat_t"])
@pytest.mark.parametrize("name", ["contacts", "coulomb"])
def test_each_number_of_a_contact(name, number, rng):
    check_differences(name, rng, lambda case: case.change(rng, [number]))


@pytest.mark.parametrize("number", ["A", "J", "phi0", "k", "tau_d", "dt", "sigma", "delta"])
def test_each_physical_parameter(number, rng):
    check_differences("cores", rng, lambda case: case.change(rng, [number]))


@pytest.mark.parametrize("number", ["kappa", "core_lambda"])
def test_numbers_of_a_core(number, rng):
    check_differences("energies", rng, lambda case: case.change(rng, [number]))


@pytest.mark.parametrize("number", ["spin_J", "spin_mu", "mu", "R_t", "R_n"])
@pytest.mark.parametrize("name", ["spins", "spins, coulomb"])
def test_numbers_of_a_contact_that_resists_turning(name, number, rng):
    check_differences(name, rng, lambda case: case.change(rng, [number]))


def test_frozen_regularization_leaves_out_the_effective_mass(rng):
    """With R as numbers of their own, the derivative by A is the frozen one."""
    case = differentials.physical_case(rng)
    problem = case.problem()
    bars = random_bars(rng, problem)
    frozen = case.solve(sensitivity=True).vjp(**bars, frozen_regularization=True)
    given = {n: np.array(getattr(problem, n)) for n in ("R_t", "R_n", "v_hat_n")}
    arguments = {n: x for n, x in case.arguments.items() if n not in ("phi0", "k", "tau_d")}
    other = differentials.Case({**arguments, **given}).solve(sensitivity=True).vjp(**bars)
    np.testing.assert_array_equal(frozen.A, other.A)
    np.testing.assert_array_equal(frozen.J, other.J)
    assert other.phi0 is None
    assert not np.array_equal(case.solve(sensitivity=True).vjp(**bars).J, other.J)


@cases
def test_matrices_are_formed_when_they_are_read(name, rng):
    """With the same bits as at once, whatever became of the arrays that were given."""
    case = CASES[name](rng)
    linear, bars = case.solve(sensitivity=True).sensitivity, random_bars(rng, case.problem())
    at_once = linear.vjp(**bars, matrices=True)
    later, packed = linear.vjp(**bars), pickle.loads(pickle.dumps(linear.vjp(**bars)))
    bars["v_bar"][:] = np.nan
    for gradient in (later, packed):
        for number in NAMES:
            one, other = getattr(at_once, number), getattr(gradient, number)
            assert (one is None) == (other is None)
            assert one is None or np.array_equal(one, other)
        assert gradient.J is gradient.J


# ---- what comes with a gradient -----------------------------------------------------------------


@cases
def test_contacts_without_impulse_have_no_gradient(name, rng):
    case = CASES[name](rng)
    solution, problem = case.solve(sensitivity=True), case.problem()
    gradient = solution.vjp(**random_bars(rng, problem))
    idle = np.flatnonzero(solution.regions == sapwood.Region.none)
    for number in ("mu", "R_t", "R_n", "v_hat_n", "kappa", "phi0", "k", "tau_d", "delta"):
        x = getattr(gradient, number)
        assert x is None or not np.any(x[idle])
    offsets = np.cumsum([0, *(sum(J.size for J in problem.J_blocks(i) if J is not None)
                              for i in range(problem.n_contacts))])  # fmt: skip
    for i in idle:
        assert not np.any(gradient.J[offsets[i] : offsets[i + 1]])
    np.testing.assert_array_equal(gradient.regions, solution.regions)
    assert np.all(gradient.distance >= 0.0)


@pytest.mark.parametrize(
    "name", ["contacts", "coulomb", "lagged", "spins", "cores", "limit, given"]
)
def test_regions_stay_within_the_distance(name, rng):
    """A change of v_hat by less than the distance, with v held, changes no region; more may."""
    case = CASES[name](rng)
    solution = case.solve(sensitivity=True)
    distance = solution.sensitivity.distance
    v_hat_t = case.arguments.get("v_hat_t", np.zeros((len(distance), 2)))
    turn = rng.uniform(0.0, 2 * np.pi, len(distance))
    tilt = rng.uniform(-1.0, 1.0, len(distance))
    across = np.sqrt(1 - tilt**2)[:, None] * np.stack([np.cos(turn), np.sin(turn)], axis=-1)
    # J v stays where every velocity is given: of a problem with the same v and another v_hat
    near = 0.999 * distance
    moved = dict(case.arguments)
    moved["v_hat_t"] = v_hat_t + near[:, None] * across
    moved["v_hat_n"] = np.array(case.problem().v_hat_n) + near * tilt
    for number in ("phi0", "k", "tau_d", "delta"):
        moved.pop(number, None)
    problem = case.problem()
    moved |= {n: np.array(getattr(problem, n)) for n in ("R_t", "R_n")}
    if problem.kappa is not None:
        moved["kappa"] = np.array(problem.kappa)
    other = differentials.Case(moved, case.groups, case.friction).problem()
    settings = differentials.settings_of(case.friction)
    linear = sapwood.Sensitivity(other, solution, settings)
    np.testing.assert_array_equal(linear.regions, solution.regions)


def test_trees_without_constraints_follow_their_free_motion(rng):
    case = differentials.given_case(rng)
    solution, problem = case.solve(sensitivity=True), case.problem()
    v_bar = rng.standard_normal(problem.nv)
    np.testing.assert_array_equal(solution.vjp(v_bar).v_star[-2:], v_bar[-2:])
    dot = Differential(v_star=v_bar)
    np.testing.assert_array_equal(solution.jvp(dot).v[-2:], v_bar[-2:])


# ---- the interface ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["contacts", "spins, coulomb", "bilateral"])
def test_batches_are_what_their_elements_are(name, rng):
    case = CASES[name](rng)
    solution, problem = case.solve(sensitivity=True), case.problem()
    bars = [random_bars(rng, problem) for _ in range(6)]
    v_bar = np.array([bar["v_bar"] for bar in bars]).reshape(2, 3, -1)
    gamma_bar = bars[0]["gamma_bar"]
    gradient = solution.vjp(v_bar, gamma_bar)
    assert np.shape(gradient.dt) == (2, 3)
    for i in range(2):
        for j in range(3):
            one = solution.vjp(v_bar[i, j], gamma_bar)
            for a, b in zip(parts(gradient), parts(one), strict=True):
                assert (a is None) == (b is None)
                if a is not None:
                    np.testing.assert_array_equal(a[i, j], b)
    dots = rng.standard_normal((4, problem.nv))
    found = solution.jvp(Differential(v_star=dots))
    for k in range(4):
        one = solution.jvp(Differential(v_star=dots[k]))
        np.testing.assert_array_equal(found.v[k], one.v)
        np.testing.assert_array_equal(found.gamma[k], one.gamma)


def test_solutions_are_the_same_with_and_without(rng):
    case = differentials.given_case(rng)
    problem = case.problem()
    plain, asked = sapwood.solve(problem), sapwood.solve(problem, sensitivity=True)
    assert plain == asked
    assert plain.sensitivity is None
    with pytest.raises(ValueError, match="solve with sensitivity=True"):
        plain.vjp(np.zeros(problem.nv))
    with pytest.raises(ValueError, match="solve with sensitivity=True"):
        plain.jvp(Differential())
    batch = sapwood.solve_batch([problem, problem], sensitivity=True)
    v_bar = rng.standard_normal(problem.nv)
    for one in (*batch, sapwood.SapSolver().solve(problem, sensitivity=True)):
        assert one == plain
        np.testing.assert_array_equal(one.vjp(v_bar).J, asked.vjp(v_bar).J)


def test_pickles_leave_it_out(rng):
    solution = differentials.given_case(rng).solve(sensitivity=True)
    loaded = pickle.loads(pickle.dumps(solution))
    assert loaded == solution
    assert loaded.sensitivity is None
    assert copy.deepcopy(solution).sensitivity is solution.sensitivity


def test_wrong_arguments_are_named(rng):
    case = differentials.rows_case(rng, sapwood.Bilaterals)
    solution, problem = case.solve(sensitivity=True), case.problem()
    nv = problem.nv
    for arguments, text in (
        ({"v_bar": np.zeros(nv + 1)}, rf"v_bar has shape \({nv + 1},\), expected \(..., {nv}\)"),
        ({"v_bar": np.full(nv, np.nan)}, r"v_bar\[0\] = nan: must be finite"),
        ({"gamma_bar": np.zeros((2, 3))}, r"gamma_bar has shape \(2, 3\), expected \(..., 3, 3\)"),
        ({"spin_gamma_bar": np.zeros((1, 3))}, r"spin_gamma_bar has shape \(1, 3\)"),
        ({"constraint_gamma_bars": []}, "constraint_gamma_bars has 0 elements for 1 groups"),
    ):
        with pytest.raises(ValueError, match=text):
            solution.vjp(**arguments)
    with pytest.raises(TypeError, match="problem_dot must be a Differential, not dict"):
        solution.jvp({})
    for change, text in (
        (Differential(mu=np.zeros(4)), r"mu has shape \(1, 4\), expected \(1, 3\)"),
        (Differential(phi0=np.zeros(3)), "numbers that the problem has"),
        (Differential(constraints=(sapwood.GroupDifferential(),) * 2), "2 elements for 1 groups"),
        (
            Differential(constraints=(sapwood.GroupDifferential(parameters={"nil": [0.0]}),)),
            "numbers that the problem has",
        ),
    ):
        with pytest.raises(ValueError, match=text):
            solution.jvp(change)
    with pytest.raises(TypeError, match="problem must be a ContactProblem, not int"):
        sapwood.Sensitivity(3, solution)


def test_lagged_friction_needs_its_bounds(rng):
    case = differentials.given_case(rng, friction="lagged")
    with pytest.raises(ValueError, match=r"friction_bound\[0\]: must be known"):
        case.solve(sensitivity=True)


# ---- where there is none ------------------------------------------------------------------------


def test_singular_systems_are_named():
    """R_n = 2^-60: H = I + 2^60 [1 1; 1 1] has no factor in double precision."""
    problem = sapwood.ContactProblem(
        [2], np.eye(2).ravel(), [-1.0, -1.0], [0], [-1], [0.0, 0.0, 0.0, 0.0, 1.0, 1.0], [0.5],
        dt=0.01, R_t=[1.0], R_n=[2.0**-60], v_hat_n=[0.0],
    )  # fmt: skip
    solution = sapwood.solve(problem, v_guess=[-1.0, -1.0], sensitivity=True)
    assert solution.status == Status.converged  # by proximal solves
    with pytest.raises(np.linalg.LinAlgError, match="singular to round-off at tree 0"):
        solution.vjp([1.0, 0.0])
    with pytest.raises(np.linalg.LinAlgError, match="singular to round-off at tree 0"):
        solution.jvp(Differential(v_star=[1.0, 0.0]))


def test_solves_that_did_not_converge_are_flagged(rng):
    problem = helpers.random_problem(rng, v_star=10.0 * rng.standard_normal(31))
    settings = sapwood.SapSettings(max_iterations=0)
    solution = sapwood.solve(problem, settings=settings, sensitivity=True)
    gradient = solution.vjp(rng.standard_normal(problem.nv))
    assert not gradient.converged
    np.testing.assert_allclose(gradient.momentum_error, solution.momentum_error, rtol=1e-6)
    exact = sapwood.solve(problem, sensitivity=True).vjp(np.ones(problem.nv))
    assert exact.converged
    assert exact.momentum_error <= 1e-5

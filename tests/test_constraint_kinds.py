"""Every kind of constraint in the solver, C core and NumPy mirror: derivatives, symmetries, solutions.

The first part runs over every kind, each alone in a problem (`row_groups.CASES`); the second over
problems with all of them at once.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import helpers
import sapwood
from helpers import TIGHT, assert_same_solution, implementations, seeds
from row_groups import CASES, CHAIN, KINDS, free, mixed_problem, random_group
from sapwood import Bilaterals, ContactProblem, DryFrictions, SapSettings, Status, reference

cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def regions(problem, v):
    """Region of every contact and of every row at v: below, within or above its bounds."""
    parts = reference.Objective(problem).point(v).parts
    found = [parts[0].state.regions]
    for group, part in zip(problem.constraints, parts[1:], strict=True):
        y = part.y[:, 0]
        found.append(np.where(y < group.lower, -1, np.where(y > group.upper, 1, 0)))
    return np.concatenate(found)


def smooth_velocity(problem, rng, h):
    """A velocity at which no constraint changes its region within steps of h."""
    steps = np.vstack([np.eye(problem.nv), -np.eye(problem.nv)]) * 2 * h
    for _ in range(200):
        v = rng.standard_normal(problem.nv)
        here = regions(problem, v)
        if all(np.array_equal(regions(problem, v + step), here) for step in steps):
            return v, here
    raise AssertionError("no smooth point found")


# ---- every kind --------------------------------------------------------------------------------


@implementations
@cases
@seeds
def test_gradient_and_hessian(solver, case, seed):
    """gamma = -dl/dv_c and G = -dgamma/dv_c, seen through grad l_p and H, by central differences."""
    rng = np.random.default_rng(seed)
    problem, h = case(rng), 1e-6
    v, _ = smooth_velocity(problem, rng, h)
    sap = solver.SapSolver()
    at = sap.evaluate(problem, v)
    gradient, hessian = np.empty(problem.nv), np.empty((problem.nv, problem.nv))
    for j, step in enumerate(h * np.eye(problem.nv)):
        plus, minus = sap.evaluate(problem, v + step), sap.evaluate(problem, v - step)
        gradient[j] = (plus.cost - minus.cost) / (2 * h)
        hessian[:, j] = (plus.gradient - minus.gradient) / (2 * h)
    rounding = 10 * helpers.EPS * abs(at.cost) / h
    scale = np.abs(at.gradient).max()
    np.testing.assert_allclose(gradient, at.gradient, atol=1e-8 * scale + rounding)
    rounding = 10 * helpers.EPS * scale / h
    np.testing.assert_allclose(hessian, at.hessian, atol=1e-6 * np.abs(hessian).max() + rounding)


def test_cases_reach_every_region():
    """So that the test above means something."""
    for name, case in CASES.items():
        found = set()
        for seed in range(1, 4):
            rng = np.random.default_rng(seed)
            problem = case(rng)
            found |= set(smooth_velocity(problem, rng, 1e-6)[1].tolist())
        expected = {"contact": {1, 2, 3}, "limit": {-1, 0}}.get(name, {-1, 0, 1})
        assert found == expected, name


@implementations
@cases
@seeds
def test_cost_is_strongly_convex(solver, case, seed):
    """Midpoint inequality of l_p with the modulus of A, and H - A positive semidefinite."""
    rng = np.random.default_rng(seed)
    problem = case(rng)
    sap, (A, _) = solver.SapSolver(), problem.to_dense()
    for scale in (1e-3, 1.0, 100.0):
        a, b = scale * rng.standard_normal((2, problem.nv))
        at_a, at_b = sap.evaluate(problem, a), sap.evaluate(problem, b)
        middle = sap.evaluate(problem, (a + b) / 2)
        modulus = (a - b) @ A @ (a - b) / 8
        rounding = 1e-13 * (abs(at_a.cost) + abs(at_b.cost))
        assert middle.cost <= (at_a.cost + at_b.cost) / 2 - modulus + rounding
        D = 1 / np.sqrt(np.diag(at_a.hessian))
        G = D[:, None] * (at_a.hessian - A) * D
        assert np.linalg.eigvalsh(G).min() >= -1e-13
        assert (at_a.gradient - at_b.gradient) @ (a - b) >= 0.0


@implementations
@cases
@seeds
def test_along_a_line(solver, case, seed):
    """Difference, slope and curvature are those of cost, gradient and Hessian."""
    rng = np.random.default_rng(seed)
    problem = case(rng)
    sap = solver.SapSolver()
    v, dv = rng.standard_normal((2, problem.nv))
    alpha = np.array([0.0, 1e-9, 0.3, 1.0, 1.5])
    line = sap.along_line(problem, v, dv, alpha)
    start = sap.evaluate(problem, v)
    for i, a in enumerate(alpha):
        at = sap.evaluate(problem, v + a * dv)
        rounding = 1e-13 * (abs(at.cost) + abs(start.cost))
        assert abs(line.difference[i] - (at.cost - start.cost)) <= rounding
        np.testing.assert_allclose(line.slope[i], at.gradient @ dv, rtol=1e-9)
        np.testing.assert_allclose(line.curvature[i], dv @ at.hessian @ dv, rtol=1e-9)
    # near 0 the difference keeps its digits: it is slope times step
    np.testing.assert_allclose(line.difference[1], alpha[1] * line.slope[1], rtol=1e-6)


@implementations
@cases
@seeds
def test_change_of_units(solver, case, seed):
    """Mass and speed in other units (powers of two): the same solution to the bit."""
    problem = case(np.random.default_rng(seed))
    mass, speed = 4.0, 0.125
    impulse = mass * speed
    groups = [
        type(group)(
            group.J, group.tree_a, group.tree_b, R=group.R / mass, v_hat=speed * group.v_hat,
            lower=impulse * group.lower, upper=impulse * group.upper,
            **({"size": group.size} if isinstance(group, Bilaterals) else {}),
        )
        for group in problem.constraints
    ]  # fmt: skip
    other = helpers.rebuild(
        problem, A=mass * problem.A, v_star=speed * problem.v_star, R_t=problem.R_t / mass,
        R_n=problem.R_n / mass, v_hat_n=speed * problem.v_hat_n, constraints=groups,
    )  # fmt: skip
    settings = SapSettings(absolute_tolerance=0.0)
    one, two = solver.solve(problem, settings=settings), solver.solve(other, settings=settings)
    np.testing.assert_array_equal(two.v, speed * one.v)
    np.testing.assert_array_equal(two.gamma, impulse * one.gamma)
    for a, b in zip(one.constraints, two.constraints, strict=True):
        np.testing.assert_array_equal(b.gamma, impulse * a.gamma)
    assert two.iterations == one.iterations


@cases
@seeds
def test_solution_is_stationary_in_extended_precision(case, seed):
    """e_m, cost and impulses by formulas that share no code with the package."""
    problem = case(np.random.default_rng(seed))
    for solver in (sapwood, reference):
        solution = solver.solve(problem)
        assert solution.status == Status.converged
        check_solution(problem, solution)


def check_solution(problem, solution):
    """What a solution says of itself is so."""
    measured = helpers.momentum_error(problem, solution.v)
    assert measured <= 1e-6 * (1 + 1e-6)
    np.testing.assert_allclose(solution.momentum_error, measured, rtol=1e-3, atol=1e-11)
    cost = float(helpers.evaluate_wide(problem, solution.v)[0])
    # the terms of the cost have either sign
    size = abs(cost) + sum(
        np.sum(np.abs(rows.gamma) * (np.abs(group.v_hat) + np.abs(rows.v_c)))
        for group, rows in zip(problem.constraints, solution.constraints, strict=True)
    )
    np.testing.assert_allclose(solution.cost, cost, atol=1e-12 * size)
    assert solution.complementarity_error <= 1e-12 * size / abs(cost)
    for k, (group, rows) in enumerate(zip(problem.constraints, solution.constraints, strict=True)):
        expected, _, _ = helpers.rows_wide(problem, k, solution.v)
        v_c = problem.constraint_jacobian(k) @ solution.v
        speed = np.abs(problem.constraint_jacobian(k)) @ np.abs(solution.v) + np.abs(group.v_hat)
        np.testing.assert_allclose(rows.v_c, v_c, atol=1e-13 * speed.max(initial=0.0))
        error = np.abs(rows.gamma - expected.astype(float))
        assert np.all(error <= 100 * helpers.EPS * speed / group.R)
        assert np.all(group.lower <= rows.gamma)
        assert np.all(rows.gamma <= group.upper)
        inside = (group.lower < rows.gamma) & (rows.gamma < group.upper)
        np.testing.assert_array_equal(rows.active, inside)


# ---- regularization ----------------------------------------------------------------------------


@pytest.mark.parametrize("delassus", ["block", "diagonal"])
@seeds
def test_regularization_agrees_with_the_mirror(seed, delassus):
    """R, v_hat and bounds of every kind, in the near-rigid and in the compliant regime."""
    problem, rng = mixed_problem(seed, n=12)
    groups = [random_group(rng, kind, CHAIN, 12) for kind in KINDS]
    problem = helpers.rebuild(problem, constraints=groups, delassus=delassus, sigma=2e-3)
    for k, group in enumerate(problem.constraints):
        expected = reference.regularize_group(
            problem, k, dt=problem.dt, sigma=2e-3, delassus=delassus
        )
        given = (group.R, group.v_hat, group.lower, group.upper)
        for a, b in zip(given, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11)
        w = reference.constraint_inverse_mass(problem, k, delassus)
        near_rigid = np.isclose(group.R, group.beta**2 / (4 * np.pi**2) * w, rtol=1e-9)
        if group.kind != "dry_friction":
            assert 0 < np.sum(near_rigid) < len(w), group.kind


def test_effective_mass_of_a_weld():
    """Translations and rotations by themselves: w = |W|_F/3 of each."""
    problem = free_body([2.0] * 3 + [0.1] * 3, [Bilaterals(np.eye(6), size=6, g=0.0)])
    R = problem.constraints[0].R
    near_rigid = 0.1**2 / (4 * np.pi**2) / np.sqrt(3)
    np.testing.assert_allclose(R, near_rigid / np.array([2.0] * 3 + [0.1] * 3), rtol=1e-12)


def free_body(inertia, constraints, v_star=None, dt=0.01):
    """One tree with a diagonal mass matrix and no contacts."""
    n = len(inertia)
    return ContactProblem(
        [n], np.diag(inertia).ravel(), np.zeros(n) if v_star is None else v_star, [], [], [], [],
        dt=dt, phi0=[], k=[], tau_d=[], constraints=constraints,
    )  # fmt: skip


# ---- all kinds at once -------------------------------------------------------------------------


@seeds
@pytest.mark.parametrize("contacts", [0, 10])
def test_mixed_problem(seed, contacts):
    """Contacts and rows of all kinds on a chain of trees: both implementations, and the proofs."""
    problem, rng = mixed_problem(seed, contacts=contacts)
    core, mirror = sapwood.solve(problem), reference.solve(problem)
    check_solution(problem, core)
    check_solution(problem, mirror)
    assert abs(core.iterations - mirror.iterations) <= 1
    sharp = sapwood.solve(problem, settings=TIGHT), reference.solve(problem, settings=TIGHT)
    assert_same_solution(problem, *sharp)
    for guess in (problem.v_star, 10 * rng.standard_normal(problem.nv)):
        loose = sapwood.solve(problem, guess, SapSettings(max_iterations=0))
        distance = helpers.norm_A(problem, loose.v - sharp[0].v)
        assert distance <= loose.velocity_error_bound + sharp[0].velocity_error_bound
        gap = (
            helpers.evaluate_wide(problem, loose.v)[0]
            - helpers.evaluate_wide(problem, sharp[0].v)[0]
        )
        assert gap <= loose.cost_gap_bound * (1 + 1e-12) + sharp[0].cost_gap_bound


@seeds
def test_round_off_bound_of_the_gradient(seed):
    """The mirror's bound covers its own rounding errors, twice the bound those of the core."""
    problem, _ = mixed_problem(seed)
    v = sapwood.solve(problem, settings=TIGHT).v
    exact = helpers.evaluate_wide(problem, v)[1]
    objective = reference.Objective(problem)
    bound = reference.gradient_round_off(objective, objective.point(v))
    for solver, factor in ((reference, 1.0), (sapwood, 2.0)):
        error = np.abs(solver.SapSolver().evaluate(problem, v).gradient - exact).astype(float)
        assert np.all(error <= factor * bound)


@pytest.mark.parametrize("contacts", [0, 8])
@seeds
def test_conic_solver_agrees(seed, contacts):
    """The constrained form, by Clarabel: a quadratic program without contacts, a cone each with.

    A row costs min over w+, w- >= 0 of R gamma^2/2 + upper w+ - lower w- with
    R gamma = v_hat - J v - w+ + w-, without the slack of an infinite bound; contacts are those of
    (15). Unknowns are scaled by the Cholesky factor of A and by sqrt(R).
    """
    clarabel = pytest.importorskip("clarabel")
    sparse = pytest.importorskip("scipy.sparse")
    problem, _ = mixed_problem(seed, contacts=contacts)
    A, J_c = problem.to_dense()
    L = np.linalg.cholesky(A)
    groups = range(len(problem.constraints))
    J_r = np.concatenate([problem.constraint_jacobian(k) for k in groups])
    R_r, v_hat_r, lower, upper = (
        np.concatenate([getattr(group, name) for group in problem.constraints])
        for name in ("R", "v_hat", "lower", "upper")
    )
    R_c = np.stack([problem.R_t, problem.R_t, problem.R_n], axis=1).ravel()
    n, m, r = problem.nv, 3 * problem.n_contacts, len(R_r)
    over, under = np.flatnonzero(np.isfinite(upper)), np.flatnonzero(np.isfinite(lower))

    # x = (L^T v, sqrt(R) sigma, sqrt(R) gamma, w+, w-)
    slacks = len(over) + len(under)
    weight = np.concatenate([np.ones(n + m + r), np.zeros(slacks)])
    P = sparse.diags(weight, format="csc")
    q = np.concatenate([-(L.T @ problem.v_star), np.zeros(m + r), upper[over], -lower[under]])
    # rows: J v + R gamma + w+ - w- = v_hat
    scale = 1 / np.sqrt(np.diag(J_r @ np.linalg.solve(A, J_r.T)))
    equal = np.hstack([
        np.linalg.solve(L, J_r.T).T, np.zeros((r, m)), np.diag(np.sqrt(R_r)),
        np.eye(r)[:, over], -np.eye(r)[:, under],
    ])  # fmt: skip
    positive = np.hstack([np.zeros((slacks, n + m + r)), np.eye(slacks)])
    # contacts: (g_n, mu g_t) in the second-order cone, g = J v - v_hat + R sigma
    g = np.hstack([np.linalg.solve(L, J_c.T).T, np.diag(np.sqrt(R_c)), np.zeros((m, r + slacks))])
    mu = np.stack([np.ones_like(problem.mu), problem.mu, problem.mu], axis=1)
    cone = (mu[:, :, None] * g.reshape(-1, 3, len(q))[:, [2, 0, 1]]).reshape(m, len(q))
    offset = (mu * helpers.bias(problem)[:, [2, 0, 1]]).ravel()

    constraints = sparse.csc_matrix(np.vstack([scale[:, None] * equal, -positive, -cone]))
    right = np.concatenate([scale * v_hat_r, np.zeros(slacks), -offset])
    cones = [clarabel.ZeroConeT(r), clarabel.NonnegativeConeT(slacks)]
    cones += [clarabel.SecondOrderConeT(3)] * problem.n_contacts
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    for name in ("tol_gap_abs", "tol_gap_rel", "tol_feas"):
        setattr(settings, name, 1e-12)
    answer = clarabel.DefaultSolver(P, q, constraints, right, cones, settings).solve()
    assert "Solved" in str(answer.status)
    v = np.linalg.solve(L.T, np.array(answer.x)[:n])
    solution = sapwood.solve(problem, settings=TIGHT)
    assert helpers.norm_A(problem, solution.v - v) <= 1e-5 * helpers.norm_A(problem, v)


@seeds
def test_quasi_newton_agrees(seed):
    """The unconstrained form, by SciPy's BFGS from v*, which sees cost and gradient only."""
    optimize = pytest.importorskip("scipy.optimize")
    problem, _ = mixed_problem(seed)
    sap = sapwood.SapSolver()
    L = np.linalg.cholesky(sap.evaluate(problem, problem.v_star).hessian)

    def cost_and_gradient(x):
        at = sap.evaluate(problem, problem.v_star + np.linalg.solve(L.T, x))
        return at.cost, np.linalg.solve(L, at.gradient)

    options = {"gtol": 1e-10, "maxiter": 4000}
    found = optimize.minimize(
        cost_and_gradient, np.zeros(problem.nv), jac=True, method="BFGS", options=options
    )
    v = problem.v_star + np.linalg.solve(L.T, found.x)
    solution = sapwood.solve(problem, settings=TIGHT)
    assert solution.cost <= found.fun + 1e-12 * abs(found.fun)
    assert helpers.norm_A(problem, solution.v - v) <= 1e-4 * helpers.norm_A(problem, v)


def dense_copy(problem, velocities=None, trees=None, groups=None, orders=None):
    """The problem from dense matrices, with velocities, groups and constraints in another order."""
    velocities = np.arange(problem.nv) if velocities is None else velocities
    groups = range(len(problem.constraints)) if groups is None else groups
    A, J = problem.to_dense()
    made = []
    for k in groups:
        group = problem.constraints[k]
        order = np.arange(len(group)) if orders is None else orders[k]
        of_constraint = np.split(np.arange(group.n_rows), np.cumsum(group.size)[:-1])
        rows = np.concatenate([np.zeros(0, int), *(of_constraint[i] for i in order)])
        arrays = {name: getattr(group, name)[rows] for name in ("R", "v_hat", "lower", "upper")}
        if isinstance(group, Bilaterals):
            arrays["size"] = group.size[order]
        made.append(type(group)(problem.constraint_jacobian(k)[rows][:, velocities], **arrays))
    return ContactProblem.from_dense(
        A[np.ix_(velocities, velocities)], problem.v_star[velocities], J[:, velocities],
        mu=problem.mu, dt=problem.dt, R_t=problem.R_t, R_n=problem.R_n, v_hat_n=problem.v_hat_n,
        trees=problem.tree_nv if trees is None else trees, constraints=made,
    )  # fmt: skip


@implementations
@seeds
def test_order_does_not_matter(solver, seed):
    """Of groups, of the constraints in a group, and of trees; nor whether trees are told apart."""
    problem, rng = mixed_problem(seed)
    solution = solver.solve(problem, settings=TIGHT)
    groups = rng.permutation(len(problem.constraints))
    orders = [rng.permutation(len(group)) for group in problem.constraints]
    shuffled = dense_copy(problem, groups=groups, orders=orders)
    other = solver.solve(shuffled, settings=TIGHT)
    assert_same_solution(problem, solution, other)
    for k, rows in zip(groups, other.constraints, strict=True):
        group, mine = problem.constraints[k], solution.constraints[k]
        of_constraint = np.split(mine.gamma, np.cumsum(group.size)[:-1])
        expected = np.concatenate([np.zeros(0), *(of_constraint[i] for i in orders[k])])
        scale = np.abs(mine.gamma).max(initial=0.0)
        np.testing.assert_allclose(rows.gamma, expected, atol=1e-6 * scale)

    order = rng.permutation(problem.n_trees)
    velocities = np.concatenate(
        [np.arange(problem.nv)[helpers.sections(problem)[t]] for t in order]
    )
    moved = dense_copy(problem, velocities=velocities, trees=problem.tree_nv[order])
    back = np.empty(problem.nv)
    other = solver.solve(moved, settings=TIGHT)
    back[velocities] = other.v
    assert_same_solution(problem, solution, other, back)

    whole = dense_copy(problem, trees=[problem.nv])
    assert_same_solution(problem, solution, solver.solve(whole, settings=TIGHT))


@implementations
@seeds
def test_rows_apart_or_together(solver, seed):
    """One group or one per constraint, one constraint of several rows or one per row."""
    problem, _ = mixed_problem(seed)
    apart = []
    for k, group in enumerate(problem.constraints):
        J = problem.constraint_jacobian(k)
        for row in range(group.n_rows):
            arrays = {
                name: getattr(group, name)[[row]] for name in ("R", "v_hat", "lower", "upper")
            }
            apart.append(Bilaterals(J[[row]], **arrays))
    single = helpers.rebuild(problem, constraints=apart)
    one, two = (solver.solve(p, settings=TIGHT) for p in (problem, single))
    assert_same_solution(problem, one, two)
    gamma = np.concatenate([rows.gamma for rows in one.constraints])
    apart_gamma = np.concatenate([rows.gamma for rows in two.constraints])
    np.testing.assert_allclose(apart_gamma, gamma, atol=1e-6 * np.abs(gamma).max())


@implementations
@seeds
def test_rows_without_effect(solver, seed):
    """Rows whose bounds are both 0, and groups of nothing, change nothing."""
    problem, rng = mixed_problem(seed)
    group = random_group(rng, Bilaterals, CHAIN, 6)
    dead = Bilaterals(
        group.J, group.tree_a, group.tree_b, size=group.size, g=group.g, force_lower=0.0,
        force_upper=0.0,
    )  # fmt: skip
    groups = [dead, *problem.constraints, DryFrictions(np.zeros((0, problem.nv)), f=[])]
    more = helpers.rebuild(problem, constraints=groups)
    one, two = (solver.solve(p, settings=TIGHT) for p in (problem, more))
    assert_same_solution(problem, one, two)
    np.testing.assert_array_equal(two.constraints[0].gamma, 0.0)
    assert not two.constraints[0].active.any()
    assert two.constraints[-1].gamma.shape == two.constraints[-1].active.shape == (0,)


@seeds
def test_equal_bits(seed):
    """Repeated solves, kept solvers and batches on 1 and 2 threads give the same to the bit."""
    problems = [mixed_problem(seed + k, contacts=k)[0] for k in range(6)]
    first = [sapwood.solve(problem) for problem in problems]
    kept = sapwood.SapSolver()
    for _ in range(2):
        assert [kept.solve(problem) for problem in problems] == first
    for threads in (1, 2):
        assert sapwood.solve_batch(problems, threads=threads) == first


@implementations
def test_rows_join_islands(solver):
    """A row between two trees makes one island of them, whatever its kind."""
    rng = np.random.default_rng(4)
    sizes = (3, 3, 3, 3)
    for kind in KINDS:
        alone = random_group(rng, kind, (3,), 4)
        arguments = alone._arguments()
        arguments.update(tree_a=np.arange(4), tree_b=[-1] * 4)
        if kind is Bilaterals:
            arguments.update(size=np.ones(4, int), **random_bounds(alone))
        arguments["J"] = rng.standard_normal(12)
        apart = helpers.random_problem(rng, sizes, 0, constraints=[kind(**arguments)])
        assert solver.solve(apart).n_islands == 4
        arguments.update(tree_a=[0, 1, 2, 3], tree_b=[2, -1, -1, -1])
        arguments["J"] = rng.standard_normal(15)
        joined = helpers.random_problem(rng, sizes, 0, constraints=[kind(**arguments)])
        solution = solver.solve(joined)
        assert solution.n_islands == 3
        together = solver.solve(joined, settings=SapSettings(islands=False))
        assert together.n_islands == 1
        distance = helpers.norm_A(joined, solution.v - together.v)
        assert distance <= solution.velocity_error_bound + together.velocity_error_bound


def random_bounds(group):
    """The first four entries of every parameter of a group."""
    return {name: value[:4] for name, value in group.parameters.items()}


@implementations
def test_untouched_trees_keep_their_velocity(solver):
    problem = free([1.0, 2.0, 3.0], [1.0, -2.0, 3.0], [DryFrictions([[0.0, 1.0, 0.0]], f=10.0)])
    solution = solver.solve(problem)
    assert solution.n_islands == 1
    np.testing.assert_array_equal(solution.v[[0, 2]], [1.0, 3.0])


@implementations
@pytest.mark.parametrize("start", ["newton", "sticking"])
@pytest.mark.parametrize("line_search", ["exact", "backtracking"])
@seeds
def test_cost_never_increases(solver, seed, start, line_search):
    """Whatever the rules, from a bad guess, with costs of either sign."""
    problem, rng = mixed_problem(seed)
    settings = SapSettings(start=start, line_search=line_search, record_history=True, islands=False)
    solution = solver.solve(problem, 10 * rng.standard_normal(problem.nv), settings)
    assert solution.status == Status.converged
    assert np.all(solution.history["decrease"][1:] > 0.0)
    cold = solver.solve(problem, settings=dataclasses.replace(settings, turning=False))
    distance = helpers.norm_A(problem, solution.v - cold.v)
    assert distance <= solution.velocity_error_bound + cold.velocity_error_bound


@implementations
def test_exact_guess_takes_no_iteration(solver):
    problem, _ = mixed_problem(2)
    v = solver.solve(problem, settings=TIGHT).v
    solution = solver.solve(problem, v, SapSettings(max_iterations=0))
    assert solution.status == Status.converged
    np.testing.assert_allclose(solution.v, v, atol=1e-9)


@implementations
def test_overflow_is_reported(solver):
    problem = free([1.0, 1.0], [1e200, 1e200], [Bilaterals([[1.0, 1.0]], g=0.0)])
    assert solver.solve(problem).status == Status.non_finite

"""Problems with contacts and constraints of all kinds at once, C core and NumPy mirror."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import helpers
import sapwood
from helpers import TIGHT, assert_same_solution, implementations, seeds
from independent_solvers import conic_solution, quasi_newton_solution
from row_groups import (
    CHAIN,
    KINDS,
    ROW_FILES,
    cable_problem,
    check_solution,
    free,
    mixed_problem,
    random_group,
    random_rows,
)
from sapwood import (
    Bilaterals,
    ContactProblem,
    Controllers,
    DryFrictions,
    JointLimits,
    SapSettings,
    Status,
    reference,
)

# ---- all kinds at once -------------------------------------------------------------------------

problems = pytest.mark.parametrize("make", [mixed_problem, cable_problem])


@problems
@seeds
@pytest.mark.parametrize("contacts", [0, 10])
def test_mixed_problem(make, seed, contacts):
    """Contacts and rows of all kinds on a chain of trees: both implementations, and the proofs."""
    problem, rng = make(seed, contacts=contacts)
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
def test_costs_have_either_sign(seed):
    """Costs of rows in a mixed problem, and l_p with cables, are positive and negative."""
    problem, _ = mixed_problem(seed)
    solution = sapwood.solve(problem)
    costs = np.concatenate([
        sapwood.clamp((g.v_hat - rows.v_c) / g.R, g.R, g.lower, g.upper).cost
        for g, rows in zip(problem.constraints, solution.constraints, strict=True)
    ])  # fmt: skip
    assert np.sum(costs < 0.0) >= 3
    assert np.sum(costs > 0.0) >= 3
    problem, _ = cable_problem(seed)
    solution = sapwood.solve(problem)
    assert solution.cost < -10.0
    cables, rows = problem.constraints[0], solution.constraints[0]
    assert np.any(rows.active)
    for bound in (cables.lower, cables.upper):
        assert np.any((rows.gamma == bound) & (cables.lower < cables.upper))


@implementations
@pytest.mark.parametrize("path", ROW_FILES, ids=lambda path: path.stem)
def test_robot_with_drives(solver, path):
    """Limits, joints, controllers that saturate, friction that holds and slides, and contact."""
    problem = sapwood.load_problem(path)
    check_solution(problem, solver.solve(problem))
    solution = solver.solve(problem, settings=SapSettings(relative_tolerance=1e-13))
    active = {
        (group.kind, bool(a))
        for group, rows in zip(problem.constraints, solution.constraints, strict=True)
        for a in rows.active
    }
    assert active == {(kind.kind, a) for kind in KINDS for a in (False, True)}
    assert {1, 2} <= set(solution.regions)
    distance = helpers.norm_A(problem, solution.v - problem.v_ref)
    assert distance <= 1e-8 * helpers.norm_A(problem, problem.v_ref)
    gap = np.abs(solution.gamma - problem.gamma_ref)
    assert gap.max() <= 1e-6 * np.abs(problem.gamma_ref).max()


@problems
@seeds
def test_round_off_bound_of_the_gradient(make, seed):
    """The mirror's bound covers its own rounding errors, twice the bound those of the core."""
    problem, _ = make(seed)
    v = sapwood.solve(problem, settings=TIGHT).v
    exact = helpers.evaluate_wide(problem, v)[1]
    objective = reference.Objective(problem)
    bound = reference.gradient_round_off(objective, objective.point(v))
    for solver, factor in ((reference, 1.0), (sapwood, 2.0)):
        error = np.abs(solver.SapSolver().evaluate(problem, v).gradient - exact).astype(float)
        assert np.all(error <= factor * bound)


@pytest.mark.parametrize("R", [1e-1, 1e-3])
@seeds
def test_rows_off_their_bounds_leave_the_proof_as_it_is(seed, R):
    """Idle limits, saturated controllers and slipping joints: gamma is exact.

    The bound of the core is looser: of a contact between narrow trees it takes the largest entries
    of J in the patch, both tangents together. It does not grow with 1/R.
    """
    rng = np.random.default_rng(seed)
    shape, n = random_rows(rng, JointLimits, CHAIN, 8)
    speed = 100.0
    groups = [
        JointLimits(**shape, R=np.full(n, R), v_hat=np.full(n, -speed)),
        Controllers(**shape, R=np.full(n, R), v_hat=np.full(n, speed), lower=-0.3, upper=0.2),
        Bilaterals(**shape, R=np.full(n, R), v_hat=np.full(n, -speed), lower=0.1, upper=0.4),
    ]
    problem = helpers.random_problem(rng, CHAIN, 10, constraints=groups)
    v = sapwood.solve(problem, settings=TIGHT).v
    settings = SapSettings(max_iterations=0, islands=False)
    core, mirror = (solver.solve(problem, v, settings) for solver in (sapwood, reference))
    for group, rows, gamma in zip(
        problem.constraints, core.constraints, (0.0, 0.2, 0.1), strict=True
    ):
        np.testing.assert_array_equal(rows.gamma, gamma, err_msg=group.kind)
    assert_same_solution(problem, core, mirror)
    assert core.velocity_error_bound <= 3 * mirror.velocity_error_bound
    assert mirror.velocity_error_bound <= 2 * core.velocity_error_bound
    assert core.velocity_error_bound <= 4e-10 * helpers.norm_A(problem, v)


@problems
@pytest.mark.parametrize("contacts", [0, 8])
@seeds
def test_conic_solver_agrees(make, seed, contacts):
    """A quadratic program without contacts, a cone each with."""
    problem, _ = make(seed, contacts=contacts)
    v, _ = conic_solution(problem)
    solution = sapwood.solve(problem, settings=TIGHT)
    assert helpers.norm_A(problem, solution.v - v) <= 1e-5 * helpers.norm_A(problem, v)


@problems
@seeds
def test_quasi_newton_agrees(make, seed):
    problem, _ = make(seed)
    v, cost = quasi_newton_solution(problem)
    solution = sapwood.solve(problem, settings=TIGHT)
    assert solution.cost <= cost + 1e-12 * abs(cost)
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
    """The order of groups, constraints and trees does not matter, nor how trees are cut."""
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
    every, at = np.arange(problem.nv), helpers.sections(problem)
    velocities = np.concatenate([every[at[t]] for t in order])
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
            names = ("R", "v_hat", "lower", "upper")
            arrays = {name: getattr(group, name)[[row]] for name in names}
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
    """Rows whose bounds are both 0, and groups of nothing, change nothing, nor iterations."""
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
    # at y = 0 = lower = upper too, they add nothing to H
    first = SapSettings(max_iterations=1, islands=False)
    rest = helpers.rebuild(more, constraints=[dead.with_fields(g=0 * dead.g), *groups[1:]])
    v = [solver.solve(p, np.zeros(p.nv), first).v for p in (problem, rest)]
    np.testing.assert_allclose(v[1], v[0], rtol=1e-12)
    np.testing.assert_array_equal(two.constraints[0].gamma, 0.0)
    assert not two.constraints[0].active.any()
    assert two.constraints[-1].gamma.shape == two.constraints[-1].active.shape == (0,)


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
@seeds
def test_rows_that_reach_their_velocity_take_one_step(solver, seed):
    """More rows than a step can free, all at a bound at the guess, and none at the solution."""
    rng = np.random.default_rng(seed)
    n = 30
    A, R, v_hat = np.eye(n) + 1e-3, np.full(n, 1e-3), rng.uniform(0.5, 1.0, n)
    rows = Bilaterals(np.eye(n), R=R, v_hat=v_hat, lower=-5.0, upper=5.0)
    problem = ContactProblem([n], A.ravel(), np.zeros(n), dt=0.01, constraints=[rows])
    solution = solver.solve(problem, np.zeros(n))
    assert solution.iterations == 1
    np.testing.assert_allclose(solution.v, np.linalg.solve(A + np.diag(1.0 / R), v_hat / R))


@implementations
def test_untouched_trees_keep_their_velocity(solver):
    problem = free([1.0, 2.0, 3.0], [1.0, -2.0, 3.0], [DryFrictions([[0.0, 1.0, 0.0]], f=10.0)])
    solution = solver.solve(problem)
    assert solution.n_islands == 1
    np.testing.assert_array_equal(solution.v[[0, 2]], [1.0, 3.0])


@implementations
@pytest.mark.parametrize("start", ["newton", "sticking"])
@pytest.mark.parametrize("line_search", ["exact", "backtracking"])
@problems
@seeds
def test_cost_never_increases(solver, make, seed, start, line_search):
    """Whatever the rules, from a bad guess, with costs of either sign."""
    problem, rng = make(seed)
    settings = SapSettings(start=start, line_search=line_search, record_history=True, islands=False)
    solution = solver.solve(problem, 10 * rng.standard_normal(problem.nv), settings)
    assert solution.status == Status.converged
    assert np.all(solution.history["decrease"][1:] > 0.0)
    cold = solver.solve(problem, settings=dataclasses.replace(settings, turning=False))
    distance = helpers.norm_A(problem, solution.v - cold.v)
    assert distance <= solution.velocity_error_bound + cold.velocity_error_bound

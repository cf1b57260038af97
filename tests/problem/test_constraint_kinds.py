"""Every kind of constraint in the solver, C core and mirror: derivatives, symmetries, solutions.

Each kind is alone in a problem, see `row_groups.CASES`; test_constraint_mixed.py has all at once.
"""

from __future__ import annotations

import inspect
from typing import get_args

import numpy as np
import pytest

import helpers
import sapwood
from helpers import implementations, seeds
from row_groups import (
    CASES,
    CHAIN,
    KINDS,
    ROW_FILES,
    check_solution,
    mixed_problem,
    random_group,
)
from sapwood import Bilaterals, ContactProblem, SapSettings, Status, _core, reference
from sapwood.constraints import kinds
from sapwood.constraints.group import Kind

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


def test_every_kind_of_the_core_has_a_class_and_a_case():
    """The same kinds in the same order; a class has the parameters of its kind as arguments."""
    core = _core.constraint_kinds()
    for kind in kinds.KINDS:
        arguments = inspect.signature(kind).parameters
        assert [name for name in arguments if name in core[kind.kind]] == list(core[kind.kind])
    assert [kind.kind for kind in kinds.KINDS] == list(core)
    assert list(get_args(Kind)) == list(core)
    assert set(CASES) == {"contact", *core}


# ---- every kind --------------------------------------------------------------------------------


@implementations
@cases
@seeds
def test_gradient_and_hessian(solver, case, seed):
    """gamma = -dl/dv_c and G = -dgamma/dv_c, in grad l_p and H, by central differences."""
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


# ---- regularization ----------------------------------------------------------------------------


@pytest.mark.parametrize("delassus", ["block", "diagonal"])
@seeds
def test_regularization_agrees_with_the_mirror(seed, delassus):
    """R, v_hat and bounds of every kind, in the near-rigid and in the compliant regime."""
    problem, rng = mixed_problem(seed, n=12)
    groups = [random_group(rng, kind, CHAIN, 30) for kind in KINDS]
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
    v_star = np.zeros(n) if v_star is None else v_star
    return ContactProblem([n], np.diag(inertia).ravel(), v_star, dt=dt, constraints=constraints)


@pytest.mark.parametrize("path", ROW_FILES, ids=lambda path: path.stem)
def test_regularization_of_a_file_is_reproduced(path):
    """R, v_hat and bounds of a file follow from the physical parameters of its groups."""
    problem = sapwood.load_problem(path)
    for group in problem.constraints:
        again = helpers.rebuild(problem, constraints=[group.physical()]).constraints[0]
        for name in ("R", "v_hat", "lower", "upper"):
            np.testing.assert_allclose(getattr(again, name), getattr(group, name), rtol=1e-9)

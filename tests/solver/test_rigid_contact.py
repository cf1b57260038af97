"""Rigid contact: R too small for double precision, or 0, by proximal solves."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import sapwood
from helpers import rebuild
from sapwood import Bilaterals, ContactProblem, JointLimits, SapSettings, Status, reference
from towers import moments, tower

SOLVERS = pytest.mark.parametrize("solver", [sapwood, reference], ids=["C", "mirror"])
LAWS = pytest.mark.parametrize("friction", ["convex", "coulomb"])
SHARES = (1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-12, 0.0)
G_DT = 9.81e-2


def effective_masses(problem):
    """W and w = |W_ii|_F/3 of contacts."""
    A, J = problem.to_dense()
    W = J @ np.linalg.solve(A, J.T)
    blocks = [W[k : k + 3, k : k + 3] for k in range(0, len(W), 3)]
    return W, np.array([np.linalg.norm(block) / 3.0 for block in blocks])


def rigid(problem, share, **changes):
    """The same problem with R = share w."""
    R = share * effective_masses(problem)[1]
    return rebuild(problem, R_t=R, R_n=R, **changes)


def natural_residual(problem, gamma, friction):
    """|F| over |gamma| in the norm of s = w + R, from impulses alone."""
    W, w = effective_masses(problem)
    _, J = problem.to_dense()
    R = np.column_stack([problem.R_t, problem.R_t, problem.R_n])
    v_hat = np.zeros((len(w), 3))
    v_hat[:, 2] = problem.v_hat_n
    if problem.v_hat_t is not None:
        v_hat[:, :2] = problem.v_hat_t
    u = (W @ gamma.ravel() + J @ problem.v_star).reshape(-1, 3) - v_hat + R * gamma
    s = (w + R.max(axis=1))[:, None]
    z = gamma - u / s
    F = [
        p - g
        for p, g in zip(
            (nearest(x, mu, friction) for x, mu in zip(z, problem.mu, strict=True)),
            gamma,
            strict=True,
        )
    ]
    return math.sqrt(np.sum(s * np.square(F)) / np.sum(s * gamma**2))


def nearest(z, mu, friction):
    """The allowed impulses of one contact that are nearest to z, or of its disk."""
    radial = math.hypot(z[0], z[1])
    if friction == "convex":
        if radial <= mu * z[2]:
            return z
        n = max(mu * radial + z[2], 0.0) / (mu * mu + 1.0)
    else:
        n = max(z[2], 0.0)
        if radial <= mu * n:
            return np.array([z[0], z[1], n])
    t = mu * n / radial if radial > 0.0 else 0.0
    return np.array([t * z[0], t * z[1], n])


def stack(masses, per_body=4, v_x=0.0, mu=0.6):
    """Boxes on each other that fall for a step."""
    n = len(masses)
    A = [m * np.diag([1.0, 1.0, 1.0, 0.007, 0.007, 0.007]) for m in masses]
    blocks = []
    for b in range(n):
        for angle in 0.1 + 2.0 * np.pi * np.arange(per_body) / per_body:
            x, y = 0.1 * np.cos(angle), 0.1 * np.sin(angle)
            sides = [moments([x, y, -0.1])] + [-moments([x, y, 0.1])] * int(b > 0)
            blocks += [J.ravel() for J in sides]
    tree_a = np.repeat(np.arange(n, dtype=np.int32), per_body)
    v = np.tile([v_x, 0.0, -G_DT, 0.0, 0.0, 0.0], n)
    ones = np.ones(len(tree_a))
    return ContactProblem(
        [6] * n, np.ravel(A), v, tree_a, tree_a - 1, np.concatenate(blocks), mu * ones,
        R_t=ones, R_n=ones, v_hat_n=0.0 * ones, dt=0.01,
    )  # fmt: skip


@SOLVERS
@LAWS
@pytest.mark.parametrize("share", SHARES)
def test_redundant_contacts_are_solved_whatever_R_is(solver, friction, share):
    problem = rigid(tower(2, 8, 3), share)
    solution = solver.solve(problem, settings=SapSettings(friction=friction))
    assert solution.status is Status.converged
    assert solution.natural_residual <= 1e-9
    assert solution.proximal_solves > 1
    assert all("proximal" in island.fallbacks for island in solution.algorithm)
    outside = natural_residual(problem, solution.gamma, friction)
    assert outside == pytest.approx(solution.natural_residual, rel=0.2, abs=1e-12)


@LAWS
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize(
    "problem",
    [
        stack(np.geomspace(1.0, 100.0, 8), v_x=0.3),
        stack(np.geomspace(100.0, 1.0, 8)),
        tower(1, 24, 1),
        tower(5, 8, 2),
    ],
    ids=["tower", "turned", "box", "sliders"],
)
def test_towers_and_boxes_on_many_contacts(problem, friction, share):
    rigid_problem = rigid(problem, share)
    solution = sapwood.solve(rigid_problem, settings=SapSettings(friction=friction))
    assert solution.status is Status.converged
    assert natural_residual(rigid_problem, solution.gamma, friction) <= 1.05e-9


@SOLVERS
@LAWS
def test_a_rigid_stack_carries_the_weight_above(solver, friction):
    """R = 0 stops bodies exactly: the impulses of each layer are m g dt of what lies above."""
    masses = np.geomspace(1.0, 100.0, 5)
    solution = solver.solve(rigid(stack(masses), 0.0), settings=SapSettings(friction=friction))
    carried = solution.gamma[:, 2].reshape(5, 4).sum(axis=1)
    above = np.cumsum(masses[::-1])[::-1]
    np.testing.assert_allclose(carried, above * G_DT, rtol=1e-7)
    np.testing.assert_allclose(solution.v, 0.0, atol=1e-7 * G_DT)


@SOLVERS
def test_a_rigid_block_slides_by_coulombs_law(solver):
    """v = v_x - mu g dt, exactly, for one body and R = 0."""
    problem = rigid(stack([2.0], v_x=0.7, mu=0.4), 0.0)
    # the moment of friction must not lift a side
    flat = rebuild(problem, J=np.ravel([np.pad(np.eye(3), ((0, 0), (0, 3)))] * 4))
    solution = solver.solve(rigid(flat, 0.0), settings=SapSettings(friction="coulomb"))
    np.testing.assert_allclose(solution.v, [0.7 - 0.4 * G_DT, 0, 0, 0, 0, 0], atol=1e-9)
    assert np.all(solution.regions == sapwood.Region.sliding)


@LAWS
def test_the_solution_for_a_small_R_is_continuous_in_R(friction):
    settings = SapSettings(friction=friction, relative_tolerance=1e-10)
    problem = stack(np.geomspace(1.0, 10.0, 4), v_x=0.2)
    v = [sapwood.solve(rigid(problem, share), settings=settings).v for share in (2e-5, 5e-6, 0.0)]
    # the first R is solved as it is, the others by proximal solves
    assert np.linalg.norm(v[1] - v[2]) < np.linalg.norm(v[0] - v[2]) < 1e-3


@SOLVERS
@pytest.mark.parametrize("share", [1e-5, 1e-7, 1e-9])
def test_the_bound_on_the_velocity_holds(solver, share):
    problem = rigid(stack(np.geomspace(1.0, 10.0, 3), v_x=0.2), 0.999 * share)
    close = sapwood.solve(problem, settings=SapSettings(natural_tolerance=1e-12))
    for tolerance in (1e-3, 1e-6, 1e-9):
        settings = SapSettings(natural_tolerance=tolerance)
        solution = solver.solve(problem, settings=settings)
        A, _ = problem.to_dense()
        difference = solution.v - close.v
        error = math.sqrt(difference @ A @ difference)
        assert error <= solution.velocity_error_bound + close.velocity_error_bound
        assert solution.velocity_error_bound < math.inf
        assert solution.cost_gap_bound == math.inf


@SOLVERS
def test_without_R_nothing_bounds_the_velocity(solver):
    assert solver.solve(rigid(stack([1.0]), 0.0)).velocity_error_bound == math.inf


@SOLVERS
def test_R_that_suffices_is_used_as_it_is(solver):
    solution = solver.solve(rigid(stack([1.0, 2.0]), 1e-3))
    assert math.isnan(solution.natural_residual)
    assert solution.proximal_solves == 0
    assert not any("proximal" in island.fallbacks for island in solution.algorithm)


@SOLVERS
def test_rigid_limits_and_welds(solver):
    limit = JointLimits([[1.0]], R=[0.0], v_hat=[0.1], lower=[0.0], upper=[math.inf])
    problem = ContactProblem.from_dense([[2.0]], [-0.3], dt=0.01, constraints=[limit])
    (rows,) = solver.solve(problem).constraints
    np.testing.assert_allclose(rows.v_c, 0.1, rtol=1e-8)
    np.testing.assert_allclose(rows.gamma, 0.8, rtol=1e-8)
    # a weld that can give no more than 0.5 N s
    weld = Bilaterals([[1.0]], R=[0.0], v_hat=[0.1], lower=[-0.5], upper=[0.5])
    problem = ContactProblem.from_dense([[2.0]], [-0.3], dt=0.01, constraints=[weld])
    (rows,) = solver.solve(problem).constraints
    np.testing.assert_allclose([rows.gamma[0], rows.v_c[0]], [0.5, -0.05], rtol=1e-8)


@SOLVERS
def test_a_redundant_weld_is_solved(solver):
    """Two equal rows: W is singular, the impulses are not unique, and the velocity is."""
    weld = Bilaterals([[1.0, 0.0], [1.0, 0.0]], R=[0.0, 0.0], v_hat=[0.2, 0.2])
    problem = ContactProblem.from_dense(np.eye(2), [0.0, 1.0], dt=0.01, constraints=[weld])
    solution = solver.solve(problem)
    assert solution.status is Status.converged
    np.testing.assert_allclose(solution.v, [0.2, 1.0], rtol=1e-8)


@SOLVERS
def test_constraints_that_contradict_each_other_have_a_status(solver):
    weld = Bilaterals([[1.0], [1.0]], R=[0.0, 0.0], v_hat=[0.2, -0.2])
    problem = ContactProblem.from_dense([[1.0]], [0.0], dt=0.01, constraints=[weld])
    solution = solver.solve(problem)
    assert solution.status is Status.proximal_limit
    assert solution.natural_residual > 1e-9
    assert "proximal_limit" in str(solution)


@SOLVERS
def test_the_limit_of_iterations_counts_all_solves(solver):
    problem = rigid(tower(5, 8, 2), 0.0)
    full = solver.solve(problem)
    settings = SapSettings(max_iterations=full.iterations // 2)
    solution = solver.solve(problem, settings=settings)
    assert solution.status is Status.iteration_limit
    assert solution.iterations == settings.max_iterations
    assert solution.natural_residual > full.natural_residual


@SOLVERS
def test_lagged_friction_with_known_bounds(solver):
    problem = rigid(stack([1.0, 5.0], v_x=0.5), 0.0)
    bound = np.full(problem.n_contacts, 1e-3)
    settings = SapSettings(friction="lagged")
    solution = solver.solve(rebuild(problem, friction_bound=bound), settings=settings)
    assert solution.status is Status.converged
    friction = np.hypot(*solution.gamma[:, :2].T)
    assert np.all(friction <= 1e-3 * (1.0 + 1e-9))
    # the lower body slides on the floor
    np.testing.assert_allclose(friction[:4], 1e-3, rtol=1e-6)


@pytest.mark.parametrize(
    ("settings", "changes"),
    [
        ({"soft_norm": 1e-3}, {}),
        ({"friction": "lagged"}, {}),
        ({}, {"core": "log", "kappa": 1.0}),
        ({}, {"spin_contact": [0], "spin_J": np.zeros(18), "spin_mu": [[0.1, 0.0, 0.0]]}),
    ],
    ids=["soft_norm", "unknown bound", "core", "torsional"],
)
def test_R_of_0_is_refused_where_the_law_is_not_known_to_proximal_solves(settings, changes):
    problem = stack([1.0])
    zero = np.zeros(problem.n_contacts)
    problem = ContactProblem(
        **{
            **{
                name: getattr(problem, name)
                for name in "tree_nv A v_star tree_a tree_b J mu dt v_hat_n".split()
            },
            "R_t": zero + 1e-3,
            "R_n": zero,
            **changes,
        }
    )
    with pytest.raises(ValueError, match=r"R_n\[0\] = 0: must be > 0, except in solves"):
        sapwood.solve(problem, settings=SapSettings(**settings))


def test_calls_that_divide_by_R_refuse_0():
    problem = rigid(stack([1.0]), 0.0)
    solver = sapwood.SapSolver()
    for call in (
        lambda: solver.evaluate(problem, problem.v_star),
        lambda: solver.along_line(problem, problem.v_star, problem.v_star, 0.5),
        lambda: solver.solve(problem, sensitivity=True),
    ):
        with pytest.raises(ValueError, match=r"R_t\[0\] = 0: must be > 0"):
            call()
    assert solver.solve(problem).status is Status.converged


def test_a_row_that_moves_nothing_is_refused():
    problem = stack([1.0])
    J = np.array(problem.J)
    J[:18] = 0.0
    with pytest.raises(ValueError, match="contact 0 must give an effective mass"):
        sapwood.solve(rigid(rebuild(problem, J=J), 0.0))


def test_derivatives_pass_through_small_R():
    rng = np.random.default_rng(4)
    problem = rigid(stack(np.geomspace(1.0, 10.0, 3), v_x=0.3), 1e-6)
    settings = SapSettings(natural_tolerance=1e-11)
    direction, v_bar = rng.standard_normal((2, problem.nv))
    solution = sapwood.SapSolver(settings).solve(problem, sensitivity=True)
    exact = solution.vjp(v_bar).v_star @ direction
    h = 1e-5
    ends = [
        sapwood.solve(rebuild(problem, v_star=problem.v_star + t * direction), settings=settings).v
        for t in (-h, h)
    ]
    assert v_bar @ (ends[1] - ends[0]) / (2.0 * h) == pytest.approx(exact, rel=1e-4)


def test_the_same_bits_for_any_threads_history_and_batch():
    problem = rigid(tower(5, 8, 2), 0.0)
    one = sapwood.solve(problem)
    recorded = SapSettings(record_history=True)
    again = sapwood.SapSolver(recorded, threads=2).solve(problem)
    assert len(again.history) > 0
    assert np.array_equal(again.gamma, one.gamma)
    assert dataclasses.replace(again, history=None, algorithm=one.algorithm) == one
    assert all(each == one for each in sapwood.solve_batch([problem] * 3, threads=2))


def test_a_solver_goes_from_rigid_to_compliant_and_back():
    solver = sapwood.SapSolver()
    compliant, hard = rigid(tower(2, 8, 3), 1e-3), rigid(tower(2, 8, 3), 0.0)
    first = [solver.solve(compliant), solver.solve(hard)]
    assert [solver.solve(compliant), solver.solve(hard)] == first
    assert [sapwood.solve(compliant), sapwood.solve(hard)] == first


def test_a_cost_beyond_the_range_of_doubles_is_non_finite():
    problem = ContactProblem.from_dense(
        np.eye(3),
        1e153 * np.array([0.1, 0.0, -1.0]),
        np.eye(3),
        mu=[0.5],
        dt=0.01,
        R_t=[0.0],
        R_n=[0.0],
        v_hat_n=[0.0],
    )
    assert sapwood.solve(problem).status == Status.non_finite

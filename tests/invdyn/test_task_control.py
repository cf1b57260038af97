"""Task control of plain arrays: optimality by another method, exact limits, bad input."""

import clarabel
import numpy as np
import pytest
import scipy.sparse

from sapwood import _core, reference

FORCE, ACCELERATION = 1e-2, 1e-2


def core(*arrays, actuated, edges=4, active=None):
    solver = _core.TaskSolver(actuated, edges, FORCE, ACCELERATION)
    outcome, a, tau, forces, active, _, residual = solver.solve(*arrays, active)
    assert outcome == 0
    assert residual <= 1e-7
    return a, tau, forces


def solve_reference(*arrays, actuated, edges=4):
    return reference.solve_tasks(
        *arrays, actuated=actuated, edges=edges, force_weight=FORCE,
        acceleration_weight=ACCELERATION,
    )  # fmt: skip


implementations = pytest.mark.parametrize(
    "solve", [pytest.param(core, id="core"), pytest.param(solve_reference, id="reference")]
)


def robot(rng, m=9, n_b=6, n=4, tasks=8, limit=20.0):
    """A robot of random numbers on contacts, some without friction."""
    G = rng.normal(size=(m, m))
    M = G @ G.T + np.eye(m)
    h = 10.0 * rng.normal(size=m)
    T, t, w = rng.normal(size=(tasks, m)), 3.0 * rng.normal(size=tasks), rng.random(tasks)
    J = rng.normal(size=(n, 3, m))
    mu = np.where(rng.random(n) < 0.3, 0.0, rng.random(n))
    upper = limit * rng.random(m - n_b)
    lower = np.where(rng.random(m - n_b) < 0.2, -np.inf, -limit * rng.random(m - n_b))
    return (M, h, T, t, w, J, mu, lower, upper), np.arange(n_b, m)


def by_program(arrays, actuated, edges):
    """The whole program in a, f over the largest mass, and tau; None where the peer gives up."""
    M, h, T, t, w, J, mu, lower, upper = arrays
    m, n, n_q = len(h), len(mu), len(actuated)
    mass = np.diag(M).max()
    H = np.zeros((m + 3 * n + n_q,) * 2)
    H[:m, :m] = T.T @ (w[:, None] * T) + ACCELERATION * np.eye(m)
    H[m : m + 3 * n, m : m + 3 * n] = FORCE * np.eye(3 * n)
    g = np.concatenate([-T.T @ (w * t), np.zeros(3 * n + n_q)])
    S = np.eye(m)[actuated]
    A = np.hstack([M, -mass * J.reshape(3 * n, m).T, -S.T])
    rows, free = [], []
    angles = 2 * np.pi * (np.arange(edges) + 0.5) / edges
    for i in range(n):
        for angle in angles:
            row = np.zeros(len(g))
            row[m + 3 * i : m + 3 * i + 3] = (
                -np.cos(angle), -np.sin(angle), mu[i] * np.cos(np.pi / edges)
            )  # fmt: skip
            rows.append(row)
        free.append(m + 3 * i + 2)
    unit = np.eye(len(g))
    bounded = np.isfinite(lower)
    C = np.vstack([rows, unit[free], unit[m + 3 * n :][bounded], -unit[m + 3 * n :]])
    d = np.concatenate([np.zeros(len(rows) + len(free)), lower[bounded], -upper])
    x = by_clarabel(H, g, A, -h, C, d)
    if x is None:
        return None
    return x[:m], x[m + 3 * n :], mass * x[m : m + 3 * n].reshape(n, 3)


def by_clarabel(H, g, A, b, C, d):
    """The minimiser of another interior point solver, which gives up in 1 of 1,000 programs."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    rows = scipy.sparse.csc_matrix(np.vstack([A, -C]))
    cones = [clarabel.ZeroConeT(len(b)), clarabel.NonnegativeConeT(len(d))]
    H = scipy.sparse.csc_matrix(np.triu(H))
    solver = clarabel.DefaultSolver(H, g, rows, np.concatenate([b, -d]), cones, settings)
    solution = solver.solve()
    return np.array(solution.x) if solution.status == clarabel.SolverStatus.Solved else None


@implementations
@pytest.mark.parametrize("edges", [4, 8])
def test_the_optimum_is_that_of_the_whole_program(rng, solve, edges):
    compared = 0
    for _ in range(20):
        arrays, actuated = robot(rng)
        a, tau, forces = solve(*arrays, actuated=actuated, edges=edges)
        expected = by_program(arrays, actuated, edges)
        if expected is None:
            continue
        compared += 1
        np.testing.assert_allclose(a, expected[0], atol=1e-5 * (1 + np.abs(a).max()))
        np.testing.assert_allclose(tau, expected[1], atol=1e-5 * (1 + np.abs(tau).max()))
        np.testing.assert_allclose(forces, expected[2], atol=1e-5 * (1 + np.abs(forces).max()))
    assert compared >= 15


@implementations
def test_limits_hold_exactly_and_the_motion_is_that_of_the_forces(rng, solve):
    for _ in range(20):
        arrays, actuated = robot(rng, m=12, n=6, tasks=15)
        M, h, _, _, _, J, mu, lower, upper = arrays
        a, tau, forces = solve(*arrays, actuated=actuated)
        assert (tau >= lower).all()
        assert (tau <= upper).all()
        assert (forces[:, 2] >= -1e-8).all()
        assert (np.abs(forces[:, :2]).sum(axis=1) <= mu * forces[:, 2] + 1e-8).all()
        load = np.einsum("nk,nkj->j", forces, J)
        load[actuated] += tau
        np.testing.assert_allclose(M @ a + h, load, atol=1e-7)


@implementations
def test_a_contact_that_can_only_hinder_carries_nothing(solve):
    """The task would have the mass slower, the contact can only push it: a = -h / M, f = 0.

    There all eight sides of the cone meet, of which three are independent.
    """
    arrays = ([[1.0]], [-20.0], [[-2.0]], [1.0], [1e4], [[[1.0], [0.5], [0.5]]], [0.1], [], [])
    a, _, forces = solve(*arrays, actuated=[], edges=8)
    np.testing.assert_allclose(a, 20.0, rtol=1e-12)
    np.testing.assert_allclose(forces, 0.0, atol=1e-9)


@pytest.mark.parametrize("edges", [4, 32])
def test_expected_rows_change_the_work_alone(rng, edges):
    for _ in range(20):
        arrays, actuated = robot(rng)
        solver = _core.TaskSolver(actuated, edges, FORCE, ACCELERATION)
        _, a, tau, _, active, changes, _ = solver.solve(*arrays, None)
        again = solver.solve(*arrays, active)
        assert again[5] <= min(changes, 1)
        np.testing.assert_allclose(again[1], a, atol=1e-8 * (1 + np.abs(a).max()))
        wrong = solver.solve(*arrays, np.ones_like(active))
        np.testing.assert_allclose(wrong[2], tau, atol=1e-7 * (1 + np.abs(tau).max()))


@implementations
def test_a_weight_that_its_motor_cannot_lift_falls(solve):
    """The motor gives 15 N of 20 N: a = (15 - 20) / 2 at the limit, whatever the task wants."""
    arrays = ([[2.0]], [20.0], [[1.0]], [3.0], [1.0], np.zeros((0, 3, 1)), [], [-15.0], [15.0])
    a, tau, _ = solve(*arrays, actuated=[0])
    np.testing.assert_allclose(a, -2.5)
    assert tau[0] == 15.0


@pytest.mark.parametrize(
    ("place", "value", "text"),
    [
        (0, [[0.0]], r"M\[0\] = 0: must have a positive diagonal"),
        (1, [np.nan], r"h\[0\].*: must be finite"),
        (2, [[1.0, 0.0]], r"T has shape \(1, 2\), expected \(1, 1\)"),
        (4, [-1.0], r"w\[0\] = -1: must be >= 0"),
        (6, [-1.0], r"mu\[0\] = -1: must be >= 0"),
        (7, [np.inf], r"lower\[0\] = inf: must be finite or -inf"),
        (8, [-20.0], r"upper\[0\] = -20: must be >= lower, and not -inf"),
    ],
)
def test_wrong_arrays(place, value, text):
    arrays = [[[2.0]], [20.0], [[1.0]], [3.0], [1.0], np.zeros((1, 3, 1)), [0.5], [-15.0], [15.0]]
    arrays[place] = value
    with pytest.raises(ValueError, match=text):
        _core.TaskSolver([0], 4, FORCE, ACCELERATION).solve(*arrays, None)


def test_wrong_settings():
    with pytest.raises(ValueError, match="edges = 5: must be even, from 4 to 1024"):
        _core.TaskSolver([0], 5, FORCE, ACCELERATION)
    with pytest.raises(ValueError, match="force_weight = 0: must be finite and > 0"):
        _core.TaskSolver([0], 4, 0.0, ACCELERATION)
    with pytest.raises(ValueError, match=r"actuated\[1\] = 0: must name a velocity once"):
        _core.TaskSolver([0, 0], 4, FORCE, ACCELERATION).solve(
            np.eye(2), np.zeros(2), np.zeros((0, 2)), [], [], np.zeros((0, 3, 2)), [], None, None,
            None,
        )  # fmt: skip

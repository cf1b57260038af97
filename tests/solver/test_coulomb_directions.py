"""Directions of Coulomb's friction in the NumPy mirror: derivatives of r, contacts in dispute."""

from __future__ import annotations

import numpy as np
import pytest

import helpers
import sapwood
from helpers import seeded_problem, seeds
from sapwood import reference
from sapwood.reference.solver.coulomb import coupling
from sapwood.reference.solver.disputes import Disputes, Effort, unsymmetric_matrix
from sapwood.reference.solver.reversals import stick_reversed
from sapwood.reference.solver.small_problem import solve_small


def objective_of(problem, friction="coulomb", soft_norm=0.0):
    return reference.Objective(problem, soft_norm=soft_norm, friction=friction)


# ---- derivatives -------------------------------------------------------------------------------


@seeds
@pytest.mark.parametrize("soft_norm", [0.0, 0.05])
def test_coupling_is_what_the_bounds_add_to_the_derivative(seed, soft_norm):
    """dr/dv = A + J^T (G + U) J by central differences: U alone is not symmetric."""
    problem, rng = seeded_problem(seed)
    objective = objective_of(problem, soft_norm=soft_norm)
    pool, h = objective.pools[0], 1e-7
    A, J = problem.to_dense()
    for _ in range(100):
        v = 0.3 * rng.standard_normal(problem.nv)
        at = objective.point(v)
        steps = np.vstack([np.eye(problem.nv), -np.eye(problem.nv)]) * 2.0 * h
        regions = [objective.point(v + step).parts[0].state.regions for step in steps]
        here = at.parts[0].state.regions
        if len(set(here)) == 3 and all(np.array_equal(other, here) for other in regions):
            break
    else:
        raise AssertionError(f"no smooth point found, seed {seed}")
    columns = [
        (objective.point(v + h * e).gradient - objective.point(v - h * e).gradient) / (2.0 * h)
        for e in np.eye(problem.nv)
    ]
    U = pool.coupling(at.parts[0].y)
    assert np.count_nonzero(U) >= 4
    B = at.G[0] + U
    dr = A.copy()
    for i in range(problem.n_contacts):
        J_i = J[3 * i : 3 * i + 3]
        dr += J_i.T @ B[i] @ J_i
    np.testing.assert_allclose(np.array(columns).T, dr, atol=1e-6 * np.abs(dr).max())


@seeds
@pytest.mark.parametrize("friction", ["lagged", "coulomb"])
def test_turning_blends_the_curvature_of_friction(seed, friction):
    """G of a blend is symmetric, from 0 to R^-1, and that of the law where both estimates agree."""
    problem, rng = seeded_problem(seed)
    bound = rng.uniform(0.0, 2.0, problem.n_contacts)
    problem = helpers.rebuild(problem, friction_bound=bound)
    objective = objective_of(problem, friction)
    pool = objective.pools[0]
    point = objective.point(rng.standard_normal(problem.nv))
    y, state = point.parts[0].y, point.parts[0].state
    U = pool.coupling(y) if friction == "coulomb" else np.zeros_like(state.G)

    still = pool.predict(state.gamma, state.G + U, np.zeros_like(y))
    np.testing.assert_allclose(pool.blend(y, state, still), state.G, atol=1e-12 / problem.R_t.min())

    moved = pool.predict(state.gamma, state.G + U, rng.standard_normal(y.shape))
    assert np.all(np.hypot(*moved.w.T) <= 1.0 + 1e-15)
    assert np.all(moved.gamma_n >= 0.0)
    G = pool.blend(y, state, moved)
    assert not np.allclose(G, state.G)
    root = np.sqrt(pool.R)
    eigenvalues = np.linalg.eigvalsh(root[:, :, None] * G * root[:, None, :])
    assert eigenvalues.min() >= -1e-14, f"seed {seed}"
    assert eigenvalues.max() <= 1.0 + 1e-14, f"seed {seed}"
    np.testing.assert_array_equal(pool.blend(y, state, None), state.G)


# ---- contacts in dispute -----------------------------------------------------------------------


def violation(M, q, mu, gamma):
    """The largest violation of Coulomb's law by gamma, in m/s and N s."""
    u, g = (q + M @ gamma).reshape(-1, 3), gamma.reshape(-1, 3)
    bound, slip = mu * g[:, 2], np.hypot(u[:, 0], u[:, 1])
    rules = (-g[:, 2], -u[:, 2], np.abs(g[:, 2] * u[:, 2]), np.hypot(g[:, 0], g[:, 1]) - bound,
             np.abs(np.sum(g[:, :2] * u[:, :2], axis=1) + bound * slip))  # fmt: skip
    return max(float(np.max(rule)) for rule in rules)


@pytest.mark.parametrize("seed", range(20))
def test_small_problems_obey_the_law(seed):
    rng = np.random.default_rng(seed)
    n = 1 + seed % 8
    J = rng.uniform(-1.0, 1.0, (3 * n, 12))
    skew = 0.05 * rng.standard_normal((3 * n, 3 * n))
    M = J @ J.T + 0.05 * np.eye(3 * n) + skew - skew.T
    q, mu = rng.uniform(-1.0, 0.3, 3 * n), rng.uniform(0.0, 1.0, n)
    gamma = solve_small(M, q, mu, np.zeros(3 * n))
    assert violation(M, q, mu, gamma) < 1e-4, f"seed {seed}"


def test_a_jammed_contact_sticks():
    """M_nn + mu M_n t is negative along the slip (Painleve): no sliding impulse joins this one."""
    M = np.array([[2.0, 0.0, -1.5], [0.0, 2.0, 0.0], [-1.5, 0.0, 1.2]])
    q, mu = np.array([-0.1, 0.0, -0.1]), np.ones(1)
    gamma = solve_small(M, q, mu, np.zeros(3))
    assert violation(M, q, mu, gamma) < 1e-4
    assert np.hypot(*gamma[:2]) < gamma[2]


@seeds
def test_contacts_in_dispute_obey_both_laws(seed):
    """After a round D obeys Coulomb's law, all others the linear one, and momentum balances."""
    problem, rng = seeded_problem(seed)
    objective = objective_of(problem)
    point = objective.point(rng.standard_normal(problem.nv))
    K = [G + U for G, U in zip(point.G, coupling(objective, point), strict=True)]
    H = unsymmetric_matrix(objective, K)
    disputes = Disputes(objective, point, K, point.gamma, lambda b: np.linalg.solve(H, b))
    u = objective.point(point.v - np.linalg.solve(H, point.gradient))
    after = disputes.round(u, Effort(4, 1, 0.0), np.zeros(0))
    if after is None:
        return
    u, gamma = after
    expected = disputes.linear(u)
    expected[disputes.members] = gamma.reshape(-1, 3)
    law = u.parts[0].state.gamma[disputes.members]
    size = np.abs(expected).max()
    np.testing.assert_allclose(gamma.reshape(-1, 3), law, atol=1e-3 * size, err_msg=f"seed {seed}")
    impulses = [expected, *u.gamma[1:]]
    left = objective.times_A(u.v - objective.v_star) - objective.times_J_transposed(impulses)
    if len(u.gamma) == 1:
        assert np.abs(left).max() <= 1e-6 * np.abs(objective.times_A(u.v)).max(), f"seed {seed}"


# ---- reversals ---------------------------------------------------------------------------------


def test_a_reversed_contact_has_the_law_of_stiction():
    """A mass at -0.3 m/s; it came from 0.5 m/s, or from another direction."""
    problem = sapwood.ContactProblem(
        [3], (2.0 * np.eye(3)).ravel(), [-0.3, 0.0, -0.1], [0], [-1], np.eye(3).ravel(), [0.1],
        dt=0.01, R_t=[1e-2], R_n=[1e-3], v_hat_n=[0.1], v_hat_t=[(0.0, 0.0)],
    )  # fmt: skip
    objective = objective_of(problem)
    point = objective.point(np.array([-0.3, 0.0, -0.1]))
    U = coupling(objective, point)
    assert np.any(U[0] != 0.0)

    start = objective.point(np.array([0.5, 0.1, -0.1]))
    (G, *_), (U_stick, *_), (gamma, *_) = stick_reversed(objective, start, point, point.G, U)
    np.testing.assert_allclose(G[0], np.diag([100.0, 100.0, 1000.0]))
    np.testing.assert_array_equal(U_stick, 0.0)
    np.testing.assert_allclose(gamma[0], [30.0, 0.0, 200.0])

    for velocity in ([-0.5, 0.1], [0.3, 0.4], [0.0, 0.5]):  # cosines of 1, -0.6 and 0
        start = objective.point(np.array([*velocity, -0.1]))
        same = stick_reversed(objective, start, point, point.G, U)
        np.testing.assert_array_equal(same[0][0], point.G[0])
        np.testing.assert_array_equal(same[1][0], U[0])
        np.testing.assert_array_equal(same[2][0], point.gamma[0])

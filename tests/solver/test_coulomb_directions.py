"""Directions of Coulomb's friction in the NumPy mirror: derivatives of r, and GMRES."""

from __future__ import annotations

import numpy as np
import pytest

import helpers
from helpers import seeded_problem, seeds
from sapwood import reference
from sapwood.reference.krylov import gmres


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


# ---- GMRES -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_gmres_reduces_the_residual_as_far_as_asked(seed):
    rng = np.random.default_rng(seed)
    n = 30
    K = np.eye(n) + 0.3 * rng.standard_normal((n, n)) / np.sqrt(n)
    b, weight = rng.standard_normal(n), 10.0 ** rng.uniform(-2, 2, n)
    products = []

    def times(x):
        products.append(x)
        return K @ x

    def norm(x):
        return np.sqrt(np.sum(weight * x**2))

    before = 0
    for tolerance in (1e-1, 1e-4, 1e-10):
        products.clear()
        x = gmres(times, b, weight, tolerance, n)
        assert norm(b - K @ x) <= tolerance * norm(b) * (1.0 + 1e-6), f"seed {seed}"
        assert before < len(products) < n, f"seed {seed}"
        before = len(products)


@pytest.mark.parametrize("rank", [0, 1, 4])
def test_gmres_takes_one_product_more_than_the_rank(rank):
    """I + a matrix of rank k has a minimal polynomial of degree k + 1."""
    rng = np.random.default_rng(rank)
    K = np.eye(20) + rng.standard_normal((20, rank)) @ rng.standard_normal((rank, 20))
    b = rng.standard_normal(20)
    x = gmres(lambda x: K @ x, b, np.ones(20), 1e-9, rank + 1)
    np.testing.assert_allclose(K @ x, b, atol=1e-8)


def test_gmres_is_best_in_its_space():
    """Out of products: no point of the Krylov space is nearer, in the norm that is asked for."""
    rng = np.random.default_rng(7)
    n, most = 12, 3
    K = np.eye(n) + rng.standard_normal((n, n)) / 2.0
    b, weight = rng.standard_normal(n), rng.uniform(0.1, 10.0, n)
    x = gmres(lambda x: K @ x, b, weight, 1e-12, most)
    space = np.column_stack([b, K @ b, K @ K @ b])
    root = np.sqrt(weight)
    y, *_ = np.linalg.lstsq(root[:, None] * (K @ space), root * b, rcond=None)
    np.testing.assert_allclose(x, space @ y, rtol=1e-9)


def test_gmres_without_anything_to_solve():
    """Zero, and what overflows, come back as they are."""
    with np.errstate(over="ignore"):
        for b in (np.zeros(4), np.full(4, 1e200)):
            np.testing.assert_array_equal(gmres(lambda x: x, b, np.ones(4), 0.1, 4), b)

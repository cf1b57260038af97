"""Theorem 1: the convex program in the impulses, Eq. (5), is the dual of the one in the velocities.

The dual is solved by itself here, by accelerated projected gradients in NumPy, without any code of
the solver but the projection.
"""

from __future__ import annotations

import numpy as np
import pytest

import sapwood

MU, R_T, R_N = 0.7, 0.3, 0.5


def dual_solution(W, R, q, mu):
    """Minimise 1/2 g^T (W + R) g + q^T g over friction cones by FISTA in the norm of R."""
    scaled = W / np.sqrt(np.outer(R, R))
    step = 1.0 / (1.0 + np.linalg.eigvalsh(scaled)[-1])
    gamma = moved = np.zeros(R.size)
    weight = 1.0
    for _ in range(20000):
        gradient = W @ moved + R * moved + q
        y = (moved - step * gradient / R).reshape(-1, 3)
        found = sapwood.project(y, mu, R_T, R_N)[0].ravel()
        # restarts keep the rate of strongly convex problems
        if (moved - found) @ (R * (found - gamma)) > 0.0:
            weight = 1.0
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * weight * weight))
        moved = found + (weight - 1.0) / following * (found - gamma)
        change, gamma, weight = np.abs(found - gamma).max(), found, following
        if change < 1e-15:
            break
    return gamma


@pytest.mark.parametrize("contacts", [1, 3, 6])
def test_the_dual_has_the_impulses_and_the_value_of_the_primal(rng, contacts):
    nv = contacts + 3
    root = rng.normal(size=(nv, nv))
    A = root @ root.T + np.eye(nv)
    J = rng.normal(size=(3 * contacts, nv))
    v_star, v_hat_n = rng.normal(size=nv), rng.normal(size=contacts)
    problem = sapwood.ContactProblem.from_dense(
        A, v_star, J, mu=MU, R_t=R_T, R_n=R_N, v_hat_n=v_hat_n, dt=0.01
    )
    settings = sapwood.SapSettings(relative_tolerance=1e-13)
    solution = sapwood.solve(problem, settings=settings)

    W = J @ np.linalg.solve(A, J.T)
    R = np.tile([R_T, R_T, R_N], contacts)
    v_hat = np.column_stack([np.zeros((contacts, 2)), v_hat_n]).ravel()
    q = J @ v_star - v_hat
    gamma = dual_solution(W, R, q, MU)
    assert np.allclose(gamma, solution.gamma.ravel(), atol=1e-9)
    # sigma = gamma, v from gamma, and no gap between the values
    v = v_star + np.linalg.solve(A, J.T @ gamma)
    assert np.allclose(v, solution.v, atol=1e-9)
    dual = -(0.5 * gamma @ (W @ gamma + R * gamma) + q @ gamma)
    assert np.isclose(dual, solution.cost, rtol=1e-9, atol=1e-12)

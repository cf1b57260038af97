"""Theorem 1: the convex program in the impulses, Eq. (5), is the dual of the one in the velocities.

The dual is solved by itself here: by accelerated projected gradients in NumPy, without any code of
the solver but the projection, and by Clarabel, without any. Clarabel solves (3) too, which is (5)
without regularization, and its primal.
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


def random_problem(rng, contacts, nv):
    """A, v*, J and v_hat of a problem with so many velocities."""
    root = rng.normal(size=(nv, nv))
    v_hat = np.column_stack([np.zeros((contacts, 2)), rng.normal(size=contacts)]).ravel()
    A, J = root @ root.T + np.eye(nv), rng.normal(size=(3 * contacts, nv))
    return A, rng.normal(size=nv), J, v_hat


def solved(A, v_star, J, v_hat, R):
    """The solution of the primal by sapwood, R (3 n) alike for all contacts."""
    problem = sapwood.ContactProblem.from_dense(
        A, v_star, J, mu=MU, R_t=R[0], R_n=R[2], v_hat_n=v_hat[2::3], dt=0.01
    )
    return sapwood.solve(problem, settings=sapwood.SapSettings(relative_tolerance=1e-13))


def dual_value(W, R, r, gamma):
    """The objective of the dual, to be maximised."""
    return -(0.5 * gamma @ (W @ gamma + R * gamma) + r @ gamma)


@pytest.mark.parametrize("contacts", [1, 3, 6])
def test_the_dual_has_the_impulses_and_the_value_of_the_primal(rng, contacts):
    A, v_star, J, v_hat = random_problem(rng, contacts, contacts + 3)
    R = np.tile([R_T, R_T, R_N], contacts)
    solution = solved(A, v_star, J, v_hat, R)

    W, r = J @ np.linalg.solve(A, J.T), J @ v_star - v_hat
    gamma = dual_solution(W, R, r, MU)
    assert np.allclose(gamma, solution.gamma.ravel(), atol=1e-9)
    # sigma = gamma, v from gamma, and no gap between the values
    v = v_star + np.linalg.solve(A, J.T @ gamma)
    assert np.allclose(v, solution.v, atol=1e-9)
    assert np.isclose(dual_value(W, R, r, gamma), solution.cost, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("contacts", [1, 3, 6])
def test_a_conic_solver_finds_the_value_of_the_primal_from_the_dual(rng, contacts):
    pytest.importorskip("clarabel")
    from sapwood.studies.peers.cone_program import best_impulses

    A, v_star, J, v_hat = random_problem(rng, contacts, contacts + 3)
    R = np.tile([R_T, R_T, R_N], contacts)
    solution = solved(A, v_star, J, v_hat, R)
    W, r = J @ np.linalg.solve(A, J.T), J @ v_star - v_hat
    gamma = best_impulses(W, R, r, MU, 1e-9)
    assert np.allclose(gamma, solution.gamma.ravel(), atol=1e-3)
    assert np.isclose(dual_value(W, R, r, gamma), solution.cost, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("contacts", [1, 3])
def test_without_regularization_primal_and_dual_have_one_value(rng, contacts):
    """Program (3): contacts are rigid, (4) holds with mu, and small R leads there."""
    pytest.importorskip("clarabel")
    from sapwood.studies.peers.cone_program import best_impulses, best_velocity

    A, v_star, J, v_hat = random_problem(rng, contacts, 3 * contacts + 3)
    W, r, R = J @ np.linalg.solve(A, J.T), J @ v_star - v_hat, np.zeros(3 * contacts)
    v = best_velocity(A, v_star, J, v_hat, MU, 1e-9)
    gamma = best_impulses(W, R, r, MU, 1e-9)
    assert np.allclose(v, v_star + np.linalg.solve(A, J.T @ gamma), atol=1e-3)
    value = 0.5 * (v - v_star) @ A @ (v - v_star)
    assert np.isclose(dual_value(W, R, r, gamma), value, rtol=1e-6, atol=1e-7)
    slip = (J @ v - v_hat).reshape(-1, 3)
    gap = slip[:, 2] - MU * np.linalg.norm(slip[:, :2], axis=1)
    assert np.all(gap > -1e-4)
    assert np.all(gamma[2::3] > -1e-4)
    assert np.all(np.abs(gap * gamma[2::3]) < 1e-3)
    nearly = solved(A, v_star, J, v_hat, np.tile([1e-8, 1e-8, 1e-8], contacts))
    assert np.isclose(nearly.cost, value, rtol=1e-5, atol=1e-7)

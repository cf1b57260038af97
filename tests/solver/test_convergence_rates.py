"""The rates of appendix F, on random problems by the printed algorithm."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sapwood

ALGORITHM_1 = {
    "islands": False,
    "start": "newton",
    "turning": False,
    "mixed_precision": False,
    "line_search_tolerance": 1e-8,
    "relative_tolerance": 0.0,
}


def random_problem(rng, contacts, nv=8):
    """Return a problem with its A, J and R."""
    root = rng.normal(size=(nv, nv))
    A = root @ root.T + np.eye(nv)
    J = rng.normal(size=(3 * contacts, nv))
    R_t, R_n = 0.05, 0.2
    problem = sapwood.ContactProblem.from_dense(
        A, rng.normal(size=nv), J, mu=0.6, R_t=R_t, R_n=R_n,
        v_hat_n=rng.normal(size=contacts), dt=0.01,
    )  # fmt: skip
    return problem, A, J, np.tile([R_t, R_t, R_n], contacts)


@pytest.mark.parametrize("contacts", [2, 5, 9, 14])
def test_the_cost_falls_at_the_rate_of_lemma_3(rng, contacts):
    """f_m - f* <= (1 - mu/(sigma^2 L))^m (f_0 - f*), with bounds of the Hessian for sigma."""
    problem, A, J, R = random_problem(rng, contacts)
    settings = sapwood.SapSettings(record_history=True, **ALGORITHM_1)
    solution = sapwood.solve(problem, v_guess=10.0 * rng.normal(size=A.shape[0]), settings=settings)
    # A <= H <= A + J^T R^-1 J at every velocity
    convexity = np.linalg.eigvalsh(A)[0]
    lipschitz = np.linalg.eigvalsh(A + J.T @ (J / R[:, None]))[-1]
    rate = 1.0 - convexity / ((lipschitz / convexity) ** 2 * lipschitz)
    cost = solution.history["cost"] - solution.cost
    iteration = solution.history["iteration"]
    assert cost[0] > 1.0
    assert iteration[-1] >= 3
    assert np.all(cost <= rate**iteration * cost[0] + 1e-12 * abs(solution.cost))
    assert np.all(np.diff(cost) <= 1e-12 * cost[0])


@pytest.mark.parametrize("contacts", [2, 5, 9, 14])
def test_the_end_is_quadratic_as_theorem_3_says(rng, contacts):
    """Errors of iterates in the norm of A: |e_m+1| <= zeta |e_m|^2 near the minimum."""
    problem, A, _, _ = random_problem(rng, contacts)
    guess = 10.0 * rng.normal(size=A.shape[0])
    exact = sapwood.solve(problem, settings=sapwood.SapSettings(**ALGORITHM_1)).v
    size = np.sqrt(exact @ A @ exact)
    errors = []
    for iterations in range(1, 30):
        settings = sapwood.SapSettings(max_iterations=iterations, **ALGORITHM_1)
        error = sapwood.solve(problem, v_guess=guess, settings=settings).v - exact
        errors.append(np.sqrt(error @ A @ error) / size)
        if errors[-1] < 1e-13:
            break
    assert errors[-1] < 1e-12
    near = [(a, b) for a, b in itertools.pairwise(errors) if 1e-8 < a < 1e-2]
    assert near
    for error, following in near[1:]:
        assert following <= 100.0 * error**2 + 1e-14

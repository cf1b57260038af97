"""The rates of appendix F, on random problems by the printed algorithm."""

from __future__ import annotations

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


def errors_after_a_step(problem, A, direction):
    """Starts ever nearer to the minimum, and errors after one iteration, relative in A's norm.

    The cones have one region each in a neighbourhood 1000 times as large as the first start is far.
    """
    exact = sapwood.solve(problem, settings=sapwood.SapSettings(**ALGORITHM_1))
    size = np.sqrt(exact.v @ A @ exact.v)
    direction = direction * (size / np.sqrt(direction @ A @ direction))

    def moved(distance, iterations):
        settings = sapwood.SapSettings(max_iterations=iterations, **ALGORITHM_1)
        start = exact.v + distance * direction
        return sapwood.solve(problem, v_guess=start, settings=settings)

    def error(distance):
        left = moved(distance, 1).v - exact.v
        return np.sqrt(left @ A @ left) / size

    radius = 0.1
    while any((moved(s * radius, 0).regions != exact.regions).any() for s in (-1.0, 1.0)):
        radius *= 0.5
    starts = radius / 1000.0 * 0.5 ** np.arange(5)
    return starts, np.array([error(start) for start in starts])


@pytest.mark.parametrize("contacts", [2, 5, 9, 14])
def test_the_end_is_quadratic_as_theorem_3_says(rng, contacts):
    """Errors in the norm of A: |e_m+1| <= zeta |e_m|^2 near the minimum, with one zeta for all.

    The first start gives zeta, to a fifth: none of 20,000 problems needs more.
    """
    curved = 0
    for _ in range(20):
        problem, A, _, _ = random_problem(rng, contacts)
        starts, errors = errors_after_a_step(problem, A, rng.normal(size=A.shape[0]))
        zeta = errors[0] / starts[0] ** 2
        assert np.all(errors <= 1.2 * zeta * starts**2 + 2e-14)
        curved += errors[-2] > 1e-12
    # others have the same quadratic cost all around the minimum, which one step reaches
    assert curved > 0

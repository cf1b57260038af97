"""Coulomb's law by formulas that share no code with the package, in extended precision."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import helpers
from helpers import EPS, WIDE


class Balance(NamedTuple):
    """Impulses of contacts and rows at a velocity, and the residual of momentum."""

    gamma: np.ndarray  # (n_contacts, 3)
    v_c: np.ndarray  # (n_contacts, 3)
    residual: float  # |D r| of the touched trees
    error: float  # the same over the scale of (24)


def contact_velocities(problem, v):
    """J v (n_contacts, 3)."""
    v, at = np.asarray(v, dtype=WIDE), helpers.sections(problem)
    v_c = np.zeros((problem.n_contacts, 3), dtype=WIDE)
    for i in range(problem.n_contacts):
        for t, J in helpers.contact_jacobian(problem, i):
            v_c[i] += J.astype(WIDE) @ v[at[t]]
    return v_c


def balance(problem, v, bound=None) -> Balance:
    """With friction of size `bound` (n_contacts), or where that is None, of mu gamma_n."""
    v, at = np.asarray(v, dtype=WIDE), helpers.sections(problem)
    v_c = contact_velocities(problem, v)
    R = np.stack([problem.R_t, problem.R_t, problem.R_n], axis=1).astype(WIDE)
    gamma = (helpers.bias(problem).astype(WIDE) - v_c) / R
    gamma[:, 2] = np.maximum(gamma[:, 2], 0)
    bound = problem.mu * gamma[:, 2] if bound is None else np.asarray(bound, dtype=WIDE)
    length = np.sqrt(np.sum(gamma[:, :2] ** 2, axis=1))
    gamma[:, :2] *= np.minimum(1, bound / np.where(length > 0, length, 1))[:, None]

    j_c = np.zeros_like(v)
    for i in range(problem.n_contacts):
        for t, J in helpers.contact_jacobian(problem, i):
            j_c[at[t]] += J.astype(WIDE).T @ gamma[i]
    for k in range(len(problem.constraints)):
        j_c += helpers.rows_wide(problem, k, v)[2]
    residual, scale = momentum(problem, v, j_c)
    return Balance(gamma, v_c, residual, residual / scale if scale > 0 else residual)


def momentum(problem, v, j_c) -> tuple[float, float]:
    """|D (A (v - v*) - J^T gamma)|, and what (24) divides it by."""
    r, A_v = np.zeros_like(v), np.zeros_like(v)
    D = np.zeros(problem.nv)
    touched = helpers.touched_trees(problem)
    for t, here in enumerate(helpers.sections(problem)):
        A = problem.A_block(t).astype(WIDE)
        r[here], A_v[here] = A @ (v - problem.v_star)[here] - j_c[here], A @ v[here]
        D[here] = touched[t] / np.sqrt(np.diag(problem.A_block(t)))

    def norm(x):
        return float(np.linalg.norm((D * x).astype(float)))

    return norm(r), max(norm(A_v), norm(j_c))


def assert_coulomb(problem, solution, tolerance):
    """The impulses obey Coulomb's law, contact by contact, and momentum balances.

    The law is that of compliant contact with the slip of the regularization: with g = v_c - v_hat +
    R gamma, 0 <= gamma_n perp g_n >= 0, |gamma_t| <= mu gamma_n, and the slip g_t is zero within
    the cone, against friction on it.
    """
    gamma, R = solution.gamma, np.stack([problem.R_t, problem.R_t, problem.R_n], axis=1)
    v_c = contact_velocities(problem, solution.v)
    # v_c is what steps from the guess have summed up
    speed = np.abs(solution.v) + np.abs(problem.v_star)
    precision = 64 * EPS * (helpers.contact_speed_scale(problem, speed) + R * np.abs(gamma))
    g = (v_c - helpers.bias(problem) + R * gamma).astype(float)

    assert np.all(gamma[:, 2] >= 0.0)
    assert np.all(g[:, 2] >= -precision[:, 2])
    assert np.all((gamma[:, 2] == 0.0) | (np.abs(g[:, 2]) <= precision[:, 2]))

    friction, limit = np.hypot(gamma[:, 0], gamma[:, 1]), problem.mu * gamma[:, 2]
    assert np.all(friction <= limit * (1.0 + 4 * EPS))
    slip = np.hypot(g[:, 0], g[:, 1])
    within = friction < limit * (1.0 - 4 * EPS)
    slack = precision[:, 0] + precision[:, 1]
    assert np.all(slip[within] <= slack[within])
    # slip and friction are opposite: their product is as negative as it can be
    product = np.sum(g[:, :2] * gamma[:, :2], axis=1)
    assert np.all(product + slip * friction <= 4 * slack * friction)

    assert balance(problem, solution.v).error <= tolerance * (1.0 + 1e-6)


def bounded_problem(seed, **options):
    """A random problem with bounds of several sizes, 0 among them, for every contact."""
    problem, rng = helpers.seeded_problem(seed, **options)
    n = problem.n_contacts
    bound = rng.choice([0.0, 0.1, 1.0, 5.0], n) * rng.uniform(0.5, 2.0, n)
    return helpers.rebuild(problem, friction_bound=bound), rng

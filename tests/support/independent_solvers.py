"""The minimiser of a problem by solvers that share no code with the package."""

from __future__ import annotations

import numpy as np
import pytest

import helpers
import sapwood


def conic_solution(problem):
    """v (nv) and the contacts' impulses (n_contacts, 3) by Clarabel's interior-point method.

    The constrained form (15): min 1/2 |v - v*|_A^2 + 1/2 |sigma|_R^2 with g = J v - v_hat + R sigma
    in F*, that is mu |g_t| <= g_n; at the optimum sigma = gamma (theorem 2). A row costs min over
    w+, w- >= 0 of R gamma^2/2 + upper w+ - lower w- with R gamma = v_hat - J v - w+ + w-, without
    the slack of an infinite bound, and with one slack of either sign where both bounds are equal.
    Unknowns are scaled by the Cholesky factor of A and by sqrt(R).
    """
    clarabel = pytest.importorskip("clarabel")
    sparse = pytest.importorskip("scipy.sparse")
    A, J_c = problem.to_dense()
    L = np.linalg.cholesky(A)
    groups = range(len(problem.constraints))
    J_r = np.concatenate(
        [np.zeros((0, problem.nv)), *(problem.constraint_jacobian(k) for k in groups)]
    )
    R_r, v_hat_r, lower, upper = (
        np.concatenate([np.zeros(0), *(getattr(group, name) for group in problem.constraints)])
        for name in ("R", "v_hat", "lower", "upper")
    )
    R_c = np.stack([problem.R_t, problem.R_t, problem.R_n], axis=1).ravel()
    n, m, r = problem.nv, 3 * problem.n_contacts, len(R_r)
    over = np.flatnonzero(np.isfinite(upper))
    under = np.flatnonzero(np.isfinite(lower) & (lower < upper))

    # x = (L^T v, sqrt(R) sigma, sqrt(R) gamma, w+, w-)
    slacks = len(over) + len(under)
    weight = np.concatenate([np.ones(n + m + r), np.zeros(slacks)])
    P = sparse.diags(weight, format="csc")
    q = np.concatenate([-(L.T @ problem.v_star), np.zeros(m + r), upper[over], -lower[under]])
    # rows: J v + R gamma + w+ - w- = v_hat
    scale = 1 / np.sqrt(np.diag(J_r @ np.linalg.solve(A, J_r.T)))
    equal = np.hstack([
        np.linalg.solve(L, J_r.T).T, np.zeros((r, m)), np.diag(np.sqrt(R_r)),
        np.eye(r)[:, over], -np.eye(r)[:, under],
    ])  # fmt: skip
    one_sided = np.concatenate([lower[over] < upper[over], np.ones(len(under), bool)])
    positive = np.hstack([np.zeros((slacks, n + m + r)), np.eye(slacks)])[one_sided]
    # contacts: (g_n, mu g_t) in the second-order cone
    g = np.hstack([np.linalg.solve(L, J_c.T).T, np.diag(np.sqrt(R_c)), np.zeros((m, r + slacks))])
    mu = np.stack([np.ones_like(problem.mu), problem.mu, problem.mu], axis=1)
    cone = (mu[:, :, None] * g.reshape(-1, 3, len(q))[:, [2, 0, 1]]).reshape(m, len(q))
    offset = (mu * helpers.bias(problem)[:, [2, 0, 1]]).ravel()

    constraints = sparse.csc_matrix(np.vstack([scale[:, None] * equal, -positive, -cone]))
    right = np.concatenate([scale * v_hat_r, np.zeros(len(positive)), -offset])
    cones = [clarabel.ZeroConeT(r), clarabel.NonnegativeConeT(len(positive))]
    cones += [clarabel.SecondOrderConeT(3)] * problem.n_contacts
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    for name in ("tol_gap_abs", "tol_gap_rel", "tol_feas"):
        setattr(settings, name, 1e-12)
    answer = clarabel.DefaultSolver(P, q, constraints, right, cones, settings).solve()
    assert "Solved" in str(answer.status)
    x = np.array(answer.x)
    return np.linalg.solve(L.T, x[:n]), (x[n : n + m] / np.sqrt(R_c)).reshape(-1, 3)


def quasi_newton_solution(problem):
    """v (nv) and its cost by SciPy's BFGS from v*, which sees cost and gradient only.

    The unconstrained form (17). Unknowns are scaled by the Cholesky factor of H at the start.
    """
    optimize = pytest.importorskip("scipy.optimize")
    sap = sapwood.SapSolver()
    L = np.linalg.cholesky(sap.evaluate(problem, problem.v_star).hessian)

    def cost_and_gradient(x):
        at = sap.evaluate(problem, problem.v_star + np.linalg.solve(L.T, x))
        return at.cost, np.linalg.solve(L, at.gradient)

    options = {"gtol": 1e-10, "maxiter": 4000}
    found = optimize.minimize(
        cost_and_gradient, np.zeros(problem.nv), jac=True, method="BFGS", options=options
    )
    return problem.v_star + np.linalg.solve(L.T, found.x), found.fun

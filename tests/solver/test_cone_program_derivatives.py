"""Gradients beside those of diffcp, which differentiates cone programs: the conic form (15).

diffcp (Agrawal et al., 2019) solves by Clarabel and differentiates the homogeneous embedding at
its answer: no line of it is ours, and no formula is shared.
"""

from __future__ import annotations

import numpy as np
import pytest

diffcp = pytest.importorskip("diffcp", reason="needs diffcp: pip install '.[cones]'")
sparse = pytest.importorskip("scipy.sparse")

from differentials import given_case
from sapwood import Region
from sapwood.studies.peers.conic_form import ConicForm

TIGHT = {"tol_gap_abs": 1e-13, "tol_gap_rel": 1e-13, "tol_feas": 1e-13}


def conic_gradient(form, v_bar):
    """dL/d of v*, v_hat, mu, R (contacts, 3) and J (3 contacts, nv), and v, by diffcp."""
    s, n, m = form.problem, len(form.problem.v_star), len(form.b)
    # the quadratic cost as a cone, |(L^T x, t - 1/2)| <= t + 1/2 with P = L L^T: t is its value
    P = (form.P + sparse.triu(form.P, 1).T).toarray()
    size = n + m
    quadratic = np.zeros((size + 2, size + 1))
    quadratic[1:-1, :size] = -np.linalg.cholesky(P).T
    quadratic[[0, -1], size] = -1.0
    C = sparse.csc_matrix(np.vstack([np.pad(form.C.toarray(), ((0, 0), (0, 1))), quadratic]))
    b = np.concatenate([form.b, [0.5], np.zeros(size), [-0.5]])
    cones = {diffcp.POS: form.n_lines, diffcp.SOC: [3] * form.n_cones + [size + 2]}
    x, _, _, _, pull = diffcp.solve_and_derivative(
        C, b, np.append(form.q, 1.0), cones, mode="dense", solve_method="Clarabel", **TIGHT
    )
    dx = np.concatenate([v_bar, np.zeros(m + 1)])
    dC, db, dq = pull(dx, np.zeros_like(b), np.zeros_like(b))
    dC, db = dC.toarray()[:m, :size], db[:m]

    # rows of the program are -weight (g_n) or -weight (g_n, g_t1, g_t2), weight = (mu, mu, 1)
    rows = np.arange(s.R.size).reshape(-1, 3)[:, [2, 0, 1]]
    order = np.concatenate([rows[s.mu == 0.0, 0], rows[s.mu > 0.0].ravel()])
    weight = np.ones_like(s.R)
    weight[:, :2] = s.mu[:, None]
    weight, root = weight.ravel()[order, None], np.sqrt(s.R).ravel()
    scaled = np.zeros((s.R.size, len(form.rows)))
    scaled[form.rows, np.arange(len(form.rows))] = root[form.rows]
    g = np.hstack([s.J.toarray(), scaled])[order]
    v_hat, by_weight = np.zeros(s.R.size), np.zeros(s.R.size)
    J, root_bar = np.zeros((s.R.size, n)), np.zeros(s.R.size)
    v_hat[order] = -weight[:, 0] * db
    by_weight[order] = -(g * dC).sum(axis=1) - s.v_hat.ravel()[order] * db
    J[order] = -weight * dC[:, :n]
    root_bar[form.rows] = -np.diag((weight * dC[:, n:])[np.argsort(order)])
    R = (root_bar / (2.0 * root)).reshape(-1, 3)
    mu = by_weight.reshape(-1, 3)[:, :2].sum(axis=1)
    return {
        "v_star": -(s.A @ dq[:n]), "v_hat": v_hat.reshape(-1, 3), "mu": mu, "R": R, "J": J,
    }, x[:n]  # fmt: skip


def far_from_boundaries(rng):
    """A problem of one tree on the ground, of which some contact slides."""
    for _ in range(200):
        case = given_case(rng, sizes=(6,), contacts=4)
        solution = case.solve(sensitivity=True)
        sliding = np.any(solution.regions == Region.sliding)
        if sliding and min(solution.sensitivity.distance) > 1e-3:
            return case.problem(), solution
    return pytest.fail("no problem that is far from boundaries")


def test_gradients_are_those_of_the_cone_program(rng):
    problem, solution = far_from_boundaries(rng)
    form = ConicForm.from_problem(problem)
    v_bar = rng.standard_normal(6)
    found = solution.vjp(np.concatenate([v_bar, np.zeros(problem.nv - 6)]))
    expected, v = conic_gradient(form, v_bar)
    # a cost as a cone is exact to the root of what the gap is
    np.testing.assert_allclose(solution.v[:6], v, atol=1e-4 * np.abs(v).max())
    pairs = {
        "v_star": found.v_star[:6],
        "v_hat": np.column_stack([found.v_hat_t, found.v_hat_n]),
        "mu": found.mu,
        "R": np.column_stack([0.5 * found.R_t, 0.5 * found.R_t, found.R_n]),
        "J": found.J.reshape(-1, 6),
    }
    # R_t is one number for two rows
    expected["R"][:, :2] = 0.5 * expected["R"][:, :2].sum(axis=1, keepdims=True)
    for name, ours in pairs.items():
        theirs = expected[name]
        np.testing.assert_allclose(ours, theirs, atol=1e-3 * np.abs(theirs).max(), err_msg=name)

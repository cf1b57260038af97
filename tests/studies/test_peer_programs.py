"""The programs that other solvers are given, and the geodesic interior-point method."""

from __future__ import annotations

import numpy as np
import pytest

import helpers
import sapwood
from peer_cases import FRICTIONLESS, load_peer, posed
from sapwood.studies.peers.accuracy import Accuracy

# ---- geodesic interior-point method --------------------------------------------------------------


def test_geodesic_stops_by_complementarity():
    """Its e_mu is right, impulses lie near their cones, and a warm start saves steps."""
    peer = load_peer("geodesic")
    saved = []
    for path in helpers.small_paths()[::3]:
        problem = sapwood.load_problem(path)
        accuracy = Accuracy(problem)
        counts = []
        for variant in peer.variants(problem):
            for tolerance in (1e-4, 1e-8):
                answer = posed(variant, problem, tolerance)
                assert answer.status == "converged"
                assert accuracy.errors(answer.v, answer.gamma).complementarity <= 2.0 * tolerance
                assert accuracy.errors(answer.v, answer.gamma).momentum <= 1e-9
            counts.append(answer.iterations)
        saved.append(counts[0] - counts[1])
    assert max(counts) <= 30
    assert sum(saved) > 0


# ---- conic forms -------------------------------------------------------------------------------


def slack_in_cones(slack, n_lines, sizes):
    """Least distance to the boundary, negative outside."""
    least = list(slack[:n_lines])
    begin = n_lines
    for size in sizes:
        cone = slack[begin : begin + size]
        least.append(cone[0] - np.linalg.norm(cone[1:]))
        begin += size
    assert begin == len(slack)
    return min(least, default=0.0)


@pytest.mark.parametrize("path", [FRICTIONLESS, *helpers.small_paths()[::5]], ids=lambda p: p.stem)
def test_conic_cost_is_that_of_the_problem(path, rng):
    """At any v, the impulses of the law are feasible and cost l_p(v), and nothing costs less."""
    pytest.importorskip("scipy")
    from sapwood.studies.peers.conic_form import ConicForm

    problem = sapwood.load_problem(path)
    form = ConicForm.from_problem(problem)
    here = form.problem.velocities
    for _ in range(5):
        v = form.problem.whole(problem.v_star[here] + 0.3 * rng.standard_normal(len(here)))
        cost, _, _, _, gamma = helpers.evaluate_wide(problem, v)
        x, s = conic_point(problem, here, v, np.asarray(gamma, dtype=float))
        P = form.P + form.P.T
        P.setdiag(form.P.diagonal())
        v_star = problem.v_star[here]
        constant = 0.5 * v_star @ (form.problem.A @ v_star)
        value = 0.5 * x @ (P @ x) + form.q @ x + constant
        np.testing.assert_allclose(value, float(cost), rtol=1e-8, atol=1e-9 * constant)

        scale = 1.0 + np.abs(form.C @ x).max()
        inside = slack_in_cones(form.b - form.C @ x, form.n_lines, [3] * form.n_cones)
        assert inside >= -1e-9 * scale
        # less of the impulses leaves the cones, where there are any
        if np.any(s):
            shorter = x.copy()
            shorter[len(here) :] *= 0.99
            slack = form.b - form.C @ shorter
            assert slack_in_cones(slack, form.n_lines, [3] * form.n_cones) < -1e-9 * scale


def conic_point(problem, here, v, gamma):
    """(v, R^(1/2) gamma) without the tangential impulses of frictionless contacts."""
    root = np.sqrt(np.stack([problem.R_t, problem.R_t, problem.R_n], axis=1))
    kept = np.stack([problem.mu > 0.0, problem.mu > 0.0, np.ones(problem.n_contacts, bool)], axis=1)
    s = (root * gamma)[kept]
    return np.concatenate([v[here], s]), s

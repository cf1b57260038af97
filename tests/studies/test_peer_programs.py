"""The programs that other solvers are given, and the geodesic interior-point method."""

from __future__ import annotations

import numpy as np
import pytest

import helpers
import sapwood
from peer_cases import FRICTIONLESS, load_peer, posed
from sapwood.studies.peers.accuracy import Accuracy

# ---- geodesic interior-point method --------------------------------------------------------------


def test_algebra_of_the_cones(rng):
    """Q(x) e = x^2, Q(x) x^-1 = x, Q of a root squared, and Q(w) y^-1 = x for w = x # y."""
    from sapwood.studies.peers import second_order_cones as cones

    x, y = rng.standard_normal((2, 50, 3))
    for element in (x, y):
        element[:, 0] = np.hypot(element[:, 1], element[:, 2]) + rng.uniform(0.1, 2.0, 50)
    x[0], y[0] = (1.5, 0.0, 0.0), (0.2, 0.0, 0.0)
    e = np.tile([1.0, 0.0, 0.0], (50, 1))
    product = np.stack([np.sum(x * x, axis=1), *(2.0 * x[:, :1] * x[:, 1:]).T], axis=1)
    inverse = cones.spectral(np.reciprocal, x)
    root = cones.quadratic(cones.spectral(np.sqrt, x))
    w = cones.geometric_mean(x, y)
    for left, right in (
        (cones.apply(cones.quadratic(x), e), product),
        (cones.apply(cones.quadratic(x), inverse), x),
        (root @ root, cones.quadratic(x)),
        (cones.apply(cones.quadratic(w), cones.spectral(np.reciprocal, y)), x),
        (cones.geometric_mean(y, x), w),
        (
            cones.eigenvalues(w).prod(axis=1) ** 2,
            (cones.eigenvalues(x) * cones.eigenvalues(y)).prod(axis=1),
        ),
    ):
        np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-12)


def test_the_largest_step_towards_the_central_path(rng):
    """|k a + b| is the bound at k and more beyond; without such a k, one is still positive."""
    pytest.importorskip("scipy")
    from sapwood.studies.peers.geodesic import largest_within
    from sapwood.studies.peers.second_order_cones import eigenvalues

    def size(k, a, b):
        return np.abs(eigenvalues(k * a + b)).max()

    for _ in range(100):
        a, b = rng.standard_normal((2, 8, 3))
        least = min(size(k, a, b) for k in np.geomspace(1e-6, 1e3, 400))
        reachable = least * rng.uniform(1.01, 3.0)
        k = largest_within(a, b, reachable)
        np.testing.assert_allclose(size(k, a, b), reachable, rtol=0.05)
        assert all(size(c * k, a, b) > reachable for c in (1.1, 2.0, 10.0))
        assert largest_within(a, b, 0.9 * least) > 0.0


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


def test_ecos_cost_is_that_of_the_problem(rng):
    """With t = |z|^2/2 its slacks lie on the cones, and c^T x is l_p(v)."""
    peer = load_peer("ecos")
    for path in (FRICTIONLESS, helpers.DATA / "mujoco_b_humanoid_1_settled.npz"):
        problem = sapwood.load_problem(path)
        for variant in peer.variants(problem):
            form = variant.form(problem)
            here = form.conic.problem.velocities
            v = form.conic.problem.whole(rng.standard_normal(len(here)))
            cost, _, _, _, gamma = helpers.evaluate_wide(problem, v)
            x, _ = conic_point(problem, here, v, np.asarray(gamma, dtype=float))
            n_t = len(form.c) - len(x)
            epigraphs = form.dims["q"][-n_t:]
            slack = form.h - form.G @ np.concatenate([x, np.zeros(n_t)])
            z = np.split(slack[-sum(epigraphs) :], np.cumsum(epigraphs)[:-1])
            t = np.array([np.sum(group[2:] ** 2) / 4.0 for group in z])
            full = np.concatenate([x, t])
            np.testing.assert_allclose(form.c @ full, float(cost), rtol=1e-9)
            slack = form.h - form.G @ full
            inside = slack_in_cones(slack, form.dims["l"], form.dims["q"])
            assert abs(inside) <= 1e-8 * np.abs(slack).max()

"""The contact law, of the C core and of its NumPy mirror: derivatives, optimality, symmetries.

Every property is checked on both implementations. Quantities are compared in the natural norm of
the law, that of R, so that one tolerance serves impulses of every size.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import helpers
import sapwood
from law_checks import (
    assert_broadcasts,
    assert_change_of_units,
    assert_mirrored,
    assert_rotation,
    diagonal,
    norm_R,
)
from sapwood import Region, reference

SEED = 20240607
SOFT_NORMS = [0.0, 0.3]

implementations = pytest.mark.parametrize(
    "law", [pytest.param(sapwood, id="core"), pytest.param(reference, id="reference")]
)
soft_norms = pytest.mark.parametrize("soft_norm", SOFT_NORMS)


def random_contacts(n=4000, seed=SEED):
    """y (n, 3), mu, R_t, R_n (n): all regions, several orders of magnitude, both signs of y_n."""
    rng = np.random.default_rng(seed)
    mu = rng.choice([0.0, 0.1, 0.5, 1.0, 2.0], n)
    R_t, R_n = 10.0 ** rng.uniform(-3, 1, n), 10.0 ** rng.uniform(-3, 1, n)
    y = rng.standard_normal((n, 3)) * 10.0 ** rng.uniform(-1, 1, (n, 1))
    # a third shallow enough for stiction, a third of the rest deep in the polar cone
    y[::3, :2] *= 0.1
    y[1::3, 2] = -np.abs(y[1::3, 2]) * 3.0
    return y, mu, R_t, R_n


def smooth_neighbourhood(law, y, mu, R_t, R_n, soft_norm, h):
    """True where y keeps its region under steps of +-2 h in every component."""
    _, _, regions = law.project(y, mu, R_t, R_n, soft_norm)
    same = np.ones(len(y), dtype=bool)
    for j in range(3):
        for sign in (-2.0, 2.0):
            moved = y.copy()
            moved[:, j] += sign * h
            same &= law.project(moved, mu, R_t, R_n, soft_norm)[2] == regions
    for region in Region:
        assert np.sum(same & (regions == region)) > 100, f"too few samples in region {region}"
    return same


# ---- derivatives -------------------------------------------------------------------------------


@implementations
@soft_norms
def test_impulse_is_the_gradient_of_the_cost(law, soft_norm):
    """dl/dy = R gamma (30), by central differences."""
    y, mu, R_t, R_n = random_contacts()
    h = 1e-5 * np.linalg.norm(y, axis=1)
    same = smooth_neighbourhood(law, y, mu, R_t, R_n, soft_norm, h)
    gamma, _, _ = law.project(y, mu, R_t, R_n, soft_norm)
    for j in range(3):
        step = np.zeros_like(y)
        step[:, j] = h
        plus = law.contact_cost(y + step, mu, R_t, R_n, soft_norm)
        minus = law.contact_cost(y - step, mu, R_t, R_n, soft_norm)
        slope = (plus - minus) / (2.0 * h)
        R_j = diagonal(R_t, R_n)[:, j]
        scale = np.sqrt(R_j) * (norm_R(y, R_t, R_n) + np.sqrt(R_t) * soft_norm)
        error = np.abs(slope - R_j * gamma[:, j]) / scale
        assert np.max(error[same]) < 1e-8, f"component {j}, seed {SEED}"


@implementations
@soft_norms
def test_hessian_block_is_the_derivative_of_the_impulse(law, soft_norm):
    """G = -dgamma/dv_c = dgamma/dy R^-1 (appendix E), by central differences."""
    y, mu, R_t, R_n = random_contacts()
    h = 1e-5 * np.linalg.norm(y, axis=1)
    same = smooth_neighbourhood(law, y, mu, R_t, R_n, soft_norm, h)
    _, G, _ = law.project(y, mu, R_t, R_n, soft_norm)
    root = np.sqrt(diagonal(R_t, R_n))
    for j in range(3):
        step = np.zeros_like(y)
        step[:, j] = h
        plus, _, _ = law.project(y + step, mu, R_t, R_n, soft_norm)
        minus, _, _ = law.project(y - step, mu, R_t, R_n, soft_norm)
        column = (plus - minus) / (2.0 * h[:, None]) / root[:, j : j + 1] ** 2
        # R^1/2 G R^1/2 has eigenvalues in [0, 1]
        error = np.abs(column - G[:, :, j]) * root * root[:, j : j + 1]
        assert np.max(error[same]) < 1e-6, f"column {j}, seed {SEED}"


@implementations
def test_soft_norm_is_smooth_where_the_tangent_is_not_defined(law):
    """At y_t = 0 the soft law has G_tt = mu gamma_n / (R_t eps_s) and no tangential impulse."""
    mu, R_t, R_n, eps = 0.5, 0.25, 2.0, 1e-3
    y = np.array([0.0, 0.0, 1e-3])
    gamma, G, region = law.project(y, mu, R_t, R_n, eps)
    assert region == Region.sliding
    mu_hat = mu * R_t / R_n
    gamma_n = (y[2] + mu_hat * eps) / (1.0 + mu * mu_hat)
    np.testing.assert_allclose(gamma, [0.0, 0.0, gamma_n], rtol=1e-14)
    np.testing.assert_allclose(G[0, 0], mu * gamma_n / (R_t * eps), rtol=1e-14)
    h = 1e-9
    moved, _, _ = law.project(y + [h, 0.0, 0.0], mu, R_t, R_n, eps)
    np.testing.assert_allclose(moved[0] / h / R_t, G[0, 0], rtol=1e-6)


@implementations
def test_soft_law_tends_to_the_exact_law(law):
    """The impulse differs from the exact one by no more than about eps_s in the norm of R_t."""
    y, mu, R_t, R_n = random_contacts()
    exact, _, _ = law.project(y, mu, R_t, R_n)
    for eps in (1e-3, 1e-6, 1e-9):
        soft, _, _ = law.project(y, mu, R_t, R_n, eps)
        distance = norm_R(soft - exact, R_t, R_n)
        floor = 1e-14 * norm_R(y, R_t, R_n)
        assert np.all(distance <= 2.0 * np.sqrt(R_t) * (1.0 + mu) * eps + floor), f"seed {SEED}"


# ---- region conventions ------------------------------------------------------------------------


@implementations
def test_the_cone_belongs_to_region_one(law):
    """On y_r = mu y_n, exact in floating point, gamma = y and G = R^-1."""
    y = np.array([[1.0, 0.0, 2.0], [-1.5, 2.0, 5.0], [0.0, -0.25, 0.5]])
    R_t, R_n = 0.25, 2.0
    gamma, G, regions = law.project(y, 0.5, R_t, R_n)
    assert np.all(regions == Region.stiction)
    np.testing.assert_array_equal(gamma, y)
    np.testing.assert_array_equal(G, np.broadcast_to(np.diag([4.0, 4.0, 0.5]), (3, 3, 3)))
    outside = y * [1.0, 1.0, 1.0 - 1e-15]
    assert np.all(law.project(outside, 0.5, R_t, R_n)[2] == Region.sliding)


@implementations
def test_the_polar_cone_boundary_belongs_to_region_two(law):
    """On s = 0, exact in floating point, gamma = 0 and G is region II's; inside it is 0."""
    mu, R_t, R_n = 0.5, 0.25, 2.0  # mu^ = 1/16, mu~^2 = 1/32
    y = np.array([3.0, 4.0, -5.0 / 16.0])
    gamma, G, region = law.project(y, mu, R_t, R_n)
    assert region == Region.sliding
    np.testing.assert_array_equal(gamma, 0.0)
    t = np.array([0.6, 0.8])
    G_nn = 1.0 / ((1.0 + 1.0 / 32.0) * R_n)
    np.testing.assert_allclose(G[2], [mu * G_nn * t[0], mu * G_nn * t[1], G_nn], rtol=1e-15)
    np.testing.assert_allclose(G[:2, :2], mu**2 * G_nn * np.outer(t, t), rtol=1e-14, atol=1e-17)

    gamma, G, region = law.project(y * [1.0, 1.0, 1.0 + 1e-15], mu, R_t, R_n)
    assert region == Region.none
    np.testing.assert_array_equal(gamma, 0.0)
    np.testing.assert_array_equal(G, 0.0)


@implementations
@pytest.mark.parametrize("mu", [0.0, 0.5])
def test_no_tangential_impulse_at_all(law, mu):
    """y_t = 0: no division by zero, and no pulling impulse even for mu = 0."""
    y = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, -1.0]])
    gamma, G, regions = law.project(y, mu, 0.25, 2.0)
    assert regions.tolist() == [Region.stiction, Region.stiction, Region.none]
    np.testing.assert_array_equal(gamma, [[0, 0, 0], [0, 0, 1], [0, 0, 0]])
    np.testing.assert_array_equal(G[1], np.diag([4.0, 4.0, 0.5]))
    np.testing.assert_array_equal(G[2], 0.0)
    np.testing.assert_array_equal(law.contact_cost(y, mu, 0.25, 2.0), [0.0, 1.0, 0.0])


@implementations
def test_without_friction_only_the_normal_impulse_is_left(law):
    """mu = 0: gamma = (0, 0, max(y_n, 0)), G = diag(0, 0, 1/R_n)."""
    y = np.array([[0.3, -0.4, 2.0], [0.3, -0.4, -2.0]])
    gamma, G, regions = law.project(y, 0.0, 0.25, 2.0)
    assert regions.tolist() == [Region.sliding, Region.none]
    np.testing.assert_array_equal(gamma, [[0, 0, 2], [0, 0, 0]])
    np.testing.assert_array_equal(G[0], np.diag([0.0, 0.0, 0.5]))


# ---- it is the projection ----------------------------------------------------------------------


@implementations
def test_projection_solves_its_optimisation_problem(law):
    """(16): gamma is in the cone, R (gamma - y) is in the dual cone, and they are orthogonal.

    Together these are necessary and sufficient for the R-norm projection (Moreau).
    """
    y, mu, R_t, R_n = random_contacts()
    gamma, _, _ = law.project(y, mu, R_t, R_n)
    size = norm_R(y, R_t, R_n)
    tangential = np.linalg.norm(gamma[:, :2], axis=1)
    assert np.all(tangential <= mu * gamma[:, 2] * (1.0 + 1e-14)), f"seed {SEED}"

    g = diagonal(R_t, R_n) * (gamma - y)
    slack = g[:, 2] - mu * np.linalg.norm(g[:, :2], axis=1)
    unit = (np.sqrt(R_n) + mu * np.sqrt(R_t)) * size
    assert np.all(slack >= -1e-14 * unit), f"seed {SEED}"

    product = np.sum(gamma * g, axis=1)
    assert np.all(np.abs(product) <= 1e-14 * size**2), f"seed {SEED}"


@implementations
def test_projection_agrees_with_plane_geometry(law):
    """The same point by Euclidean geometry in the scaled plane, in extended precision."""
    y, mu, R_t, R_n = random_contacts(600)
    gamma, _, _ = law.project(y, mu, R_t, R_n)
    arguments = zip(y.astype(helpers.WIDE), mu, R_t, R_n, strict=True)
    expected = np.array([helpers.impulse(*a) for a in arguments]).astype(float)
    distance = norm_R(gamma - expected, R_t, R_n)
    assert np.all(distance <= 8.0 * helpers.EPS * norm_R(y, R_t, R_n)), f"seed {SEED}"


@implementations
def test_projection_is_nonexpansive_and_idempotent(law):
    y, mu, R_t, R_n = random_contacts()
    other = y + np.random.default_rng(SEED).standard_normal(y.shape)
    gamma, _, _ = law.project(y, mu, R_t, R_n)
    gamma_other, _, _ = law.project(other, mu, R_t, R_n)
    moved = norm_R(gamma - gamma_other, R_t, R_n)
    assert np.all(moved <= norm_R(y - other, R_t, R_n) * (1.0 + 1e-12)), f"seed {SEED}"

    again, _, _ = law.project(gamma, mu, R_t, R_n)
    drift = norm_R(again - gamma, R_t, R_n)
    assert np.all(drift <= 1e-14 * norm_R(y, R_t, R_n)), f"seed {SEED}"


@implementations
def test_cost_is_half_the_squared_impulse(law):
    """(29) is |gamma|_R^2 / 2 for the exact law."""
    y, mu, R_t, R_n = random_contacts()
    gamma, _, _ = law.project(y, mu, R_t, R_n)
    cost = law.contact_cost(y, mu, R_t, R_n)
    size = norm_R(y, R_t, R_n) ** 2
    np.testing.assert_array_less(np.abs(cost - norm_R(gamma, R_t, R_n) ** 2 / 2), 1e-14 * size)


@implementations
@soft_norms
def test_hessian_block_is_symmetric_and_between_zero_and_the_inverse_regularization(law, soft_norm):
    """0 <= G <= R^-1: the law is monotone and, scaled by R, nonexpansive."""
    y, mu, R_t, R_n = random_contacts()
    _, G, _ = law.project(y, mu, R_t, R_n, soft_norm)
    np.testing.assert_array_equal(G, np.swapaxes(G, 1, 2))
    root = np.sqrt(diagonal(R_t, R_n))
    eigenvalues = np.linalg.eigvalsh(root[:, :, None] * G * root[:, None, :])
    assert eigenvalues.min() >= -1e-14, f"seed {SEED}"
    assert eigenvalues.max() <= 1.0 + 1e-14, f"seed {SEED}"


@implementations
@soft_norms
def test_cost_is_convex(law, soft_norm):
    """l(b) >= l(a) + R gamma(a).(b - a), for the exact and for the smoothed law."""
    a, mu, R_t, R_n = random_contacts()
    b = np.roll(a, 1, axis=0)
    gamma, _, _ = law.project(a, mu, R_t, R_n, soft_norm)
    cost_a = law.contact_cost(a, mu, R_t, R_n, soft_norm)
    cost_b = law.contact_cost(b, mu, R_t, R_n, soft_norm)
    tangent = cost_a + np.sum(diagonal(R_t, R_n) * gamma * (b - a), axis=1)
    size = norm_R(a, R_t, R_n) ** 2 + norm_R(b, R_t, R_n) ** 2 + R_t * soft_norm**2
    assert np.all(cost_b - tangent >= -1e-13 * size), f"seed {SEED}"


# ---- symmetries --------------------------------------------------------------------------------


@implementations
@soft_norms
def test_change_of_units(law, soft_norm):
    contacts = random_contacts()
    assert_change_of_units(law.project, law.contact_cost, contacts, soft_norm)


@implementations
@soft_norms
def test_rotation_about_the_normal(law, soft_norm):
    assert_rotation(law.project, random_contacts(), soft_norm)


# ---- interface ---------------------------------------------------------------------------------


@implementations
def test_leading_axes_broadcast(law):
    assert_broadcasts(law.project, law.contact_cost, np.random.default_rng(SEED))


# ---- both implementations ----------------------------------------------------------------------

impulses = st.floats(-1e3, 1e3).map(lambda x: 0.0 if abs(x) < 1e-9 else x)
positive = st.floats(1e-4, 1e4)


@settings(deadline=None, print_blob=True, max_examples=400)
@given(
    y=st.tuples(impulses, impulses, impulses),
    mu=st.one_of(st.just(0.0), st.floats(1e-3, 10.0)),
    R_t=positive,
    R_n=positive,
    soft_norm=st.one_of(st.just(0.0), st.floats(1e-6, 1.0)),
)
def test_core_equals_its_mirror(y, mu, R_t, R_n, soft_norm):
    core, mirror = ((law.project, law.contact_cost) for law in (sapwood, reference))
    contact = (np.array(y), mu, R_t, R_n)
    assert_mirrored(core, mirror, contact, soft_norm, 32 * helpers.EPS)


@settings(deadline=None, print_blob=True, max_examples=200)
@given(
    y=st.tuples(impulses, impulses, impulses),
    delta=st.tuples(impulses, impulses, impulses),
    mu=st.floats(0.0, 3.0),
    size=st.sampled_from([1.0, 1e-4, 1e-8, 1e-12]),
    soft_norm=st.sampled_from(SOFT_NORMS),
)
def test_cost_difference_keeps_its_digits(y, delta, mu, size, soft_norm):
    """The mirror's l(y + d) - l(y) against the mean value theorem, however small d is.

    l is convex with slope R gamma, so the difference lies between the slopes at both ends.
    """
    y, delta = np.array(y), size * np.array(delta)
    R = np.array([0.2, 0.2, 1.5])
    arguments = (mu, R[0], R[2], soft_norm)
    difference = reference.contact_cost_difference(y, delta, *arguments)
    gamma, _, region = reference.project(y, *arguments)
    gamma_end, _, region_end = reference.project(y + delta, *arguments)
    low, high = np.sum(R * gamma * delta), np.sum(R * gamma_end * delta)
    total = norm_R(y, R[0], R[2]) + norm_R(delta, R[0], R[2]) + soft_norm
    rounding = 64 * helpers.EPS * total * norm_R(delta, R[0], R[2])
    if region != region_end:
        rounding += 64 * helpers.EPS * total**2
    assert low - rounding <= difference <= high + rounding

"""The contact law, of the C core and of its NumPy mirror: regions, and what it projects on.

Every property is checked on both implementations. Quantities are compared in the natural norm of
the law, that of R, so that one tolerance serves impulses of every size.
"""

from __future__ import annotations

import numpy as np
import pytest

import helpers
import sapwood
from law_checks import (
    diagonal,
    norm_R,
    random_contacts,
)
from sapwood import Region, reference

SEED = 20240607

implementations = pytest.mark.parametrize(
    "law", [pytest.param(sapwood, id="core"), pytest.param(reference, id="reference")]
)


# ---- derivatives -------------------------------------------------------------------------------


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
    y, mu, R_t, R_n = random_contacts(SEED)
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
    y, mu, R_t, R_n = random_contacts(SEED)
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
    y, mu, R_t, R_n = random_contacts(SEED, 600)
    gamma, _, _ = law.project(y, mu, R_t, R_n)
    arguments = zip(y.astype(helpers.WIDE), mu, R_t, R_n, strict=True)
    expected = np.array([helpers.impulse(*a) for a in arguments]).astype(float)
    distance = norm_R(gamma - expected, R_t, R_n)
    assert np.all(distance <= 8.0 * helpers.EPS * norm_R(y, R_t, R_n)), f"seed {SEED}"


@implementations
def test_cost_is_half_the_squared_impulse(law):
    """(29) is |gamma|_R^2 / 2 for the exact law."""
    y, mu, R_t, R_n = random_contacts(SEED)
    gamma, _, _ = law.project(y, mu, R_t, R_n)
    cost = law.contact_cost(y, mu, R_t, R_n)
    size = norm_R(y, R_t, R_n) ** 2
    np.testing.assert_array_less(np.abs(cost - norm_R(gamma, R_t, R_n) ** 2 / 2), 1e-14 * size)

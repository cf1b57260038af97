"""The disk law, of the C core and of its NumPy mirror: derivatives, optimality, symmetries.

Quantities are compared in the norm of R, as those of the contact law.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
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

SEED = 20261122
SOFT_NORMS = [0.0, 0.3]

implementations = pytest.mark.parametrize(
    "law", [pytest.param(sapwood, id="core"), pytest.param(reference, id="reference")]
)
soft_norms = pytest.mark.parametrize("soft_norm", SOFT_NORMS)


def random_contacts(n=4000, seed=SEED):
    """y (n, 3), bound, R_t, R_n (n): within and beyond the disk, with and without bound."""
    rng = np.random.default_rng(seed)
    bound = rng.choice([0.0, 0.1, 1.0, 10.0], n) * rng.uniform(0.5, 2.0, n)
    R_t, R_n = 10.0 ** rng.uniform(-3, 1, n), 10.0 ** rng.uniform(-3, 1, n)
    y = rng.standard_normal((n, 3)) * 10.0 ** rng.uniform(-1, 1, (n, 1))
    return y, bound, R_t, R_n


def smooth_neighbourhood(y, bound, soft_norm, h):
    """True where y stays within or beyond the disk, and on one side of y_n = 0, by steps of 2 h."""
    y_r = np.sqrt(y[:, 0] ** 2 + y[:, 1] ** 2 + soft_norm**2)
    smooth = (np.abs(y_r - bound) > 3.0 * h) & (np.abs(y[:, 2]) > 3.0 * h)
    for within in (True, False):
        for pushes in (True, False):
            here = ((y_r <= bound) == within) & ((y[:, 2] > 0.0) == pushes)
            assert np.sum(smooth & here) > 100, f"too few samples, seed {SEED}"
    return smooth


# ---- derivatives -------------------------------------------------------------------------------


@implementations
@soft_norms
def test_impulse_is_the_gradient_of_the_cost(law, soft_norm):
    """dl/dy = R gamma, by central differences."""
    y, bound, R_t, R_n = random_contacts()
    h = 1e-5 * np.linalg.norm(y, axis=1)
    smooth = smooth_neighbourhood(y, bound, soft_norm, h)
    gamma, _, _ = law.project_disk(y, bound, R_t, R_n, soft_norm)
    for j in range(3):
        step = np.zeros_like(y)
        step[:, j] = h
        plus = law.disk_cost(y + step, bound, R_t, R_n, soft_norm)
        minus = law.disk_cost(y - step, bound, R_t, R_n, soft_norm)
        R_j = diagonal(R_t, R_n)[:, j]
        scale = np.sqrt(R_j) * (norm_R(y, R_t, R_n) + np.sqrt(R_t) * soft_norm)
        error = np.abs((plus - minus) / (2.0 * h) - R_j * gamma[:, j]) / scale
        assert np.max(error[smooth]) < 1e-8, f"component {j}, seed {SEED}"


@implementations
@soft_norms
def test_hessian_block_is_the_derivative_of_the_impulse(law, soft_norm):
    """G = -dgamma/dv_c = dgamma/dy R^-1 with the bound held, by central differences."""
    y, bound, R_t, R_n = random_contacts()
    h = 1e-5 * np.linalg.norm(y, axis=1)
    smooth = smooth_neighbourhood(y, bound, soft_norm, h)
    _, G, _ = law.project_disk(y, bound, R_t, R_n, soft_norm)
    root = np.sqrt(diagonal(R_t, R_n))
    for j in range(3):
        step = np.zeros_like(y)
        step[:, j] = h
        plus, _, _ = law.project_disk(y + step, bound, R_t, R_n, soft_norm)
        minus, _, _ = law.project_disk(y - step, bound, R_t, R_n, soft_norm)
        column = (plus - minus) / (2.0 * h[:, None]) / root[:, j : j + 1] ** 2
        error = np.abs(column - G[:, :, j]) * root * root[:, j : j + 1]
        assert np.max(error[smooth]) < 1e-6, f"column {j}, seed {SEED}"


@implementations
def test_soft_norm_is_smooth_where_the_tangent_is_not_defined(law):
    """At y_t = 0, eps_s above the bound: no friction, and G_tt = b/(R_t eps_s)."""
    b, R_t, eps = 1e-4, 0.25, 1e-3
    gamma, G, region = law.project_disk([0.0, 0.0, 2.0], b, R_t, 2.0, eps)
    assert region == Region.sliding
    np.testing.assert_array_equal(gamma, [0.0, 0.0, 2.0])
    np.testing.assert_allclose(G[:2, :2], np.eye(2) * b / (R_t * eps), rtol=1e-14)
    h = 1e-9
    moved, _, _ = law.project_disk([h, 0.0, 2.0], b, R_t, 2.0, eps)
    np.testing.assert_allclose(moved[0] / h / R_t, G[0, 0], rtol=1e-6)


# ---- region conventions ------------------------------------------------------------------------


@implementations
def test_the_circle_belongs_to_the_disk(law):
    """On |y_t| = b, exact in floating point, gamma = y and G = R^-1."""
    y = np.array([[1.5, -2.0, 0.25], [-2.5, 0.0, 1e3]])
    gamma, G, regions = law.project_disk(y, 2.5, 0.25, 2.0)
    assert regions.tolist() == [Region.stiction] * 2
    np.testing.assert_array_equal(gamma, y)
    np.testing.assert_array_equal(G, np.broadcast_to(np.diag([4.0, 4.0, 0.5]), (2, 3, 3)))
    _, _, outside = law.project_disk(y, np.nextafter(2.5, 0.0), 0.25, 2.0)
    assert outside.tolist() == [Region.sliding] * 2


@implementations
def test_a_bound_outlives_the_normal_impulse(law):
    """Friction does not know of gamma_n: with b > 0 it acts on a contact that has let go."""
    y = np.array([[0.3, 0.4, -1.0], [3.0, 4.0, -1.0], [3.0, 4.0, 0.0]])
    gamma, G, regions = law.project_disk(y, 1.0, 0.25, 2.0)
    assert regions.tolist() == [Region.stiction, Region.sliding, Region.sliding]
    np.testing.assert_allclose(gamma, [[0.3, 0.4, 0.0], [0.6, 0.8, 0.0], [0.6, 0.8, 0.0]])
    np.testing.assert_array_equal(G[:, 2], 0.0)
    np.testing.assert_array_equal(G[0, :2, :2], np.diag([4.0, 4.0]))


@implementations
def test_without_a_bound_only_the_normal_impulse_is_left(law):
    """b = 0: gamma = (0, 0, max(y_n, 0)); no contact where y_n <= 0, whatever y_t."""
    y = np.array(
        [[0.3, -0.4, 2.0], [0.3, -0.4, -2.0], [0.3, 0.4, 0.0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]]
    )
    gamma, G, regions = law.project_disk(y, 0.0, 0.25, 2.0)
    slides, sticks, none = Region.sliding, Region.stiction, Region.none
    assert regions.tolist() == [slides, none, none, sticks, none]
    np.testing.assert_array_equal(gamma, [[0, 0, y_n] for y_n in (2.0, 0.0, 0.0, 2.0, 0.0)])
    np.testing.assert_array_equal(G[0], np.diag([0.0, 0.0, 0.5]))
    np.testing.assert_array_equal(G[[1, 2, 4]], 0.0)
    np.testing.assert_array_equal(G[3], np.diag([4.0, 4.0, 0.5]))
    np.testing.assert_array_equal(law.disk_cost(y, 0.0, 0.25, 2.0), [4.0, 0.0, 0.0, 4.0, 0.0])


# ---- it is the projection ----------------------------------------------------------------------


@implementations
def test_projection_is_the_nearest_point_of_the_cylinder(law):
    """Disk and half line by themselves: R is a multiple of the identity on each."""
    y, bound, R_t, R_n = random_contacts()
    gamma, _, _ = law.project_disk(y, bound, R_t, R_n)
    assert np.all(gamma[:, 2] == np.maximum(y[:, 2], 0.0))
    wide = y[:, :2].astype(helpers.WIDE)
    length = np.sqrt(np.sum(wide**2, axis=1))
    nearest = (wide * np.minimum(1.0, bound / length)[:, None]).astype(float)
    distance = np.linalg.norm(gamma[:, :2] - nearest, axis=1)
    assert np.all(distance <= 4.0 * helpers.EPS * np.linalg.norm(y[:, :2], axis=1)), f"seed {SEED}"


@implementations
def test_projection_is_nonexpansive_and_idempotent(law):
    y, bound, R_t, R_n = random_contacts()
    other = y + np.random.default_rng(SEED).standard_normal(y.shape)
    gamma, _, _ = law.project_disk(y, bound, R_t, R_n)
    gamma_other, _, _ = law.project_disk(other, bound, R_t, R_n)
    moved = norm_R(gamma - gamma_other, R_t, R_n)
    assert np.all(moved <= norm_R(y - other, R_t, R_n) * (1.0 + 1e-12)), f"seed {SEED}"

    again, _, _ = law.project_disk(gamma, bound, R_t, R_n)
    assert np.all(norm_R(again - gamma, R_t, R_n) <= 1e-15 * norm_R(y, R_t, R_n)), f"seed {SEED}"


@implementations
@soft_norms
def test_hessian_block_is_symmetric_and_between_zero_and_the_inverse_regularization(law, soft_norm):
    """0 <= G <= R^-1: the law is monotone and, scaled by R, nonexpansive."""
    y, bound, R_t, R_n = random_contacts()
    _, G, _ = law.project_disk(y, bound, R_t, R_n, soft_norm)
    np.testing.assert_array_equal(G, np.swapaxes(G, 1, 2))
    root = np.sqrt(diagonal(R_t, R_n))
    eigenvalues = np.linalg.eigvalsh(root[:, :, None] * G * root[:, None, :])
    assert eigenvalues.min() >= -1e-14, f"seed {SEED}"
    assert eigenvalues.max() <= 1.0 + 1e-14, f"seed {SEED}"


@implementations
@soft_norms
def test_cost_is_convex_and_the_impulse_monotone(law, soft_norm):
    """l(b) >= l(a) + R gamma(a).(b - a), and (gamma(b) - gamma(a)).R (b - a) >= 0."""
    a, bound, R_t, R_n = random_contacts()
    b = np.roll(a, 1, axis=0)
    R = diagonal(R_t, R_n)
    gamma_a, _, _ = law.project_disk(a, bound, R_t, R_n, soft_norm)
    gamma_b, _, _ = law.project_disk(b, bound, R_t, R_n, soft_norm)
    cost_a = law.disk_cost(a, bound, R_t, R_n, soft_norm)
    cost_b = law.disk_cost(b, bound, R_t, R_n, soft_norm)
    size = norm_R(a, R_t, R_n) ** 2 + norm_R(b, R_t, R_n) ** 2 + R_t * soft_norm**2
    tangent = cost_a + np.sum(R * gamma_a * (b - a), axis=1)
    assert np.all(cost_b - tangent >= -1e-13 * size), f"seed {SEED}"
    product = np.sum(R * (gamma_b - gamma_a) * (b - a), axis=1)
    assert np.all(product >= -1e-13 * size), f"seed {SEED}"


@implementations
def test_in_stiction_the_disk_and_the_cone_are_one_law(law):
    """Within the friction cone, b = mu y_n: the same impulse, cost and G as the contact law."""
    y, _, R_t, R_n = random_contacts()
    mu = 0.7
    within = np.hypot(y[:, 0], y[:, 1]) < mu * y[:, 2]
    y, R_t, R_n = y[within], R_t[within], R_n[within]
    assert len(y) > 300, f"seed {SEED}"
    disk, cone = law.project_disk(y, mu * y[:, 2], R_t, R_n), law.project(y, mu, R_t, R_n)
    for one, two in zip(disk, cone, strict=True):
        np.testing.assert_array_equal(one, two)
    cost = law.disk_cost(y, mu * y[:, 2], R_t, R_n)
    np.testing.assert_allclose(cost, law.contact_cost(y, mu, R_t, R_n), rtol=1e-14)


# ---- symmetries --------------------------------------------------------------------------------


@implementations
@soft_norms
def test_change_of_units(law, soft_norm):
    contacts = random_contacts()
    assert_change_of_units(law.project_disk, law.disk_cost, contacts, soft_norm, is_impulse=True)


@implementations
@soft_norms
def test_rotation_about_the_normal(law, soft_norm):
    assert_rotation(law.project_disk, random_contacts(), soft_norm)


# ---- interface ---------------------------------------------------------------------------------


@implementations
def test_leading_axes_broadcast(law):
    assert_broadcasts(law.project_disk, law.disk_cost, np.random.default_rng(SEED))


@pytest.mark.parametrize("function", [sapwood.project_disk, sapwood.disk_cost])
@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"y": [0.0, 1.0]}, r"y has shape \(2,\), expected \(\.\.\., 3\)"),
        ({"y": [0.0, np.nan, 1.0]}, r"y\[1\] = nan: must be finite"),
        ({"bound": -0.5}, r"bound = -0\.5: must be finite and >= 0"),
        ({"bound": [1.0, np.nan]}, r"bound\[1\] = nan"),
        ({"bound": [1.0, np.inf]}, r"bound\[1\] = inf"),
        ({"R_t": 0.0}, r"R_t = 0: must be finite and > 0"),
        ({"R_n": [1.0, -1.0]}, r"R_n\[1\] = -1: must be finite and > 0"),
        ({"bound": np.ones(2), "R_n": np.ones(3)}, r"R_n has shape \(3,\), which does not broad"),
        ({"soft_norm": -1.0}, r"soft_norm = -1: must be finite and >= 0"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_wrong_arguments_are_named(function, changes, text):
    arguments = {"y": np.ones(3), "bound": 0.5, "R_t": 1.0, "R_n": 1.0, **changes}
    with pytest.raises(ValueError, match=text):
        function(**arguments)


# ---- both implementations ----------------------------------------------------------------------

impulses = st.floats(-1e3, 1e3).map(lambda x: 0.0 if abs(x) < 1e-9 else x)
positive = st.floats(1e-4, 1e4)
bounds = st.one_of(st.just(0.0), st.floats(1e-6, 1e3))


@given(
    y=st.tuples(impulses, impulses, impulses),
    bound=bounds,
    R_t=positive,
    R_n=positive,
    soft_norm=st.one_of(st.just(0.0), st.floats(1e-6, 1.0)),
)
def test_core_equals_its_mirror(y, bound, R_t, R_n, soft_norm):
    core, mirror = ((law.project_disk, law.disk_cost) for law in (sapwood, reference))
    contact = (np.array(y), bound, R_t, R_n)
    assert_mirrored(core, mirror, contact, soft_norm, 8 * helpers.EPS)


@given(
    y=st.tuples(impulses, impulses, impulses),
    delta=st.tuples(impulses, impulses, impulses),
    bound=bounds,
    size=st.sampled_from([1.0, 1e-4, 1e-8, 1e-12]),
    soft_norm=st.sampled_from(SOFT_NORMS),
)
def test_cost_difference_keeps_its_digits(y, delta, bound, size, soft_norm):
    """The mirror's l(y + d) - l(y) against the mean value theorem, however small d is.

    l is convex with slope R gamma, so the difference lies between the slopes at both ends. Across
    the circle it counts from there, to the round-off of y_r.
    """
    y, delta = np.array(y), size * np.array(delta)
    R = np.array([0.2, 0.2, 1.5])
    arguments = (bound, R[0], R[2], soft_norm)
    difference = reference.disk_cost_difference(y, delta, *arguments)
    gamma, _, _ = reference.project_disk(y, *arguments)
    gamma_end, _, _ = reference.project_disk(y + delta, *arguments)
    low, high = np.sum(R * gamma * delta), np.sum(R * gamma_end * delta)
    total = norm_R(y, R[0], R[2]) + norm_R(delta, R[0], R[2]) + soft_norm
    # of y + delta, and so of how far it is
    rounding = 64 * helpers.EPS * total * (norm_R(delta, R[0], R[2]) + helpers.EPS * total)
    y_r, y_r_end = (np.hypot(np.hypot(*x[:2]), soft_norm) for x in (y, y + delta))
    if (y_r <= bound) != (y_r_end <= bound):
        rounding += 64 * helpers.EPS * total**2
    assert low - rounding <= difference <= high + rounding

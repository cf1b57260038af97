"""The disk law, of the C core and of its NumPy mirror: regions, and what it projects on.

Quantities are compared in the norm of R, as those of the contact law.
"""

from __future__ import annotations

import numpy as np
import pytest

import helpers
import sapwood
from law_checks import (
    random_disks,
)
from sapwood import Region, reference

SEED = 20261122

implementations = pytest.mark.parametrize(
    "law", [pytest.param(sapwood, id="core"), pytest.param(reference, id="reference")]
)


# ---- derivatives -------------------------------------------------------------------------------


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
    y, bound, R_t, R_n = random_disks(SEED)
    gamma, _, _ = law.project_disk(y, bound, R_t, R_n)
    assert np.all(gamma[:, 2] == np.maximum(y[:, 2], 0.0))
    wide = y[:, :2].astype(helpers.WIDE)
    length = np.sqrt(np.sum(wide**2, axis=1))
    nearest = (wide * np.minimum(1.0, bound / length)[:, None]).astype(float)
    distance = np.linalg.norm(gamma[:, :2] - nearest, axis=1)
    assert np.all(distance <= 4.0 * helpers.EPS * np.linalg.norm(y[:, :2], axis=1)), f"seed {SEED}"


@implementations
def test_in_stiction_the_disk_and_the_cone_are_one_law(law):
    """Within the friction cone, b = mu y_n: the same impulse, cost and G as the contact law."""
    y, _, R_t, R_n = random_disks(SEED)
    mu = 0.7
    within = np.hypot(y[:, 0], y[:, 1]) < mu * y[:, 2]
    y, R_t, R_n = y[within], R_t[within], R_n[within]
    assert len(y) > 300, f"seed {SEED}"
    disk, cone = law.project_disk(y, mu * y[:, 2], R_t, R_n), law.project(y, mu, R_t, R_n)
    for one, two in zip(disk, cone, strict=True):
        np.testing.assert_array_equal(one, two)
    cost = law.disk_cost(y, mu * y[:, 2], R_t, R_n)
    np.testing.assert_allclose(cost, law.contact_cost(y, mu, R_t, R_n), rtol=1e-14)


# ---- interface ---------------------------------------------------------------------------------


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

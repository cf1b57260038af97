"""Properties of both laws of a contact, in the C core and in its NumPy mirror.

Derivatives, convexity, symmetries, shapes. Quantities are compared in the natural norm of a law,
that of R, so that one tolerance serves impulses of every size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import helpers
import sapwood
from law_checks import diagonal, norm_R, random_contacts, random_disks
from sapwood import Region, reference

SEED = 20240607
SOFT_NORMS = [0.0, 0.3]


class Law(NamedTuple):
    """A law by one implementation. Its friction is a coefficient, or an impulse."""

    project: Callable
    cost: Callable
    contacts: Callable
    is_impulse: bool


CONE = [Law(m.project, m.contact_cost, random_contacts, False) for m in (sapwood, reference)]
DISK = [Law(m.project_disk, m.disk_cost, random_disks, True) for m in (sapwood, reference)]

laws = pytest.mark.parametrize(
    "law", [*CONE, *DISK], ids=["contact-core", "contact-reference", "disk-core", "disk-reference"]
)
soft_norms = pytest.mark.parametrize("soft_norm", SOFT_NORMS)


def smooth_neighbourhood(law, contacts, soft_norm, h):
    """True where y keeps its region, and the side of y_n = 0, under steps of +-2 h."""
    y, *rest = contacts
    regions = law.project(*contacts, soft_norm)[2]
    smooth = np.abs(y[:, 2]) > 3.0 * h
    for j in range(3):
        for sign in (-2.0, 2.0):
            moved = y.copy()
            moved[:, j] += sign * h
            smooth &= law.project(moved, *rest, soft_norm)[2] == regions
    for region in Region:
        assert np.sum(smooth & (regions == region)) > 100, f"too few samples in region {region}"
    return smooth


# ---- derivatives -------------------------------------------------------------------------------


@laws
@soft_norms
def test_impulse_is_the_gradient_of_the_cost_and_G_its_derivative(law, soft_norm):
    """dl/dy = R gamma (30) and G = dgamma/dy R^-1 (appendix E), by central differences."""
    contacts = law.contacts(SEED)
    y, *rest = contacts
    _, R_t, R_n = rest
    h = 1e-5 * np.linalg.norm(y, axis=1)
    smooth = smooth_neighbourhood(law, contacts, soft_norm, h)
    gamma, G, _ = law.project(*contacts, soft_norm)
    R = diagonal(R_t, R_n)
    root = np.sqrt(R)
    for j in range(3):
        step = np.zeros_like(y)
        step[:, j] = h
        plus, minus = ((y + sign * step, *rest, soft_norm) for sign in (1.0, -1.0))
        slope = (law.cost(*plus) - law.cost(*minus)) / (2.0 * h)
        scale = root[:, j] * (norm_R(y, R_t, R_n) + np.sqrt(R_t) * soft_norm)
        error = np.abs(slope - R[:, j] * gamma[:, j]) / scale
        assert np.max(error[smooth]) < 1e-8, f"component {j}"
        column = (law.project(*plus)[0] - law.project(*minus)[0]) / (2.0 * h[:, None])
        # R^1/2 G R^1/2 has eigenvalues in [0, 1]
        error = np.abs(column / R[:, j : j + 1] - G[:, :, j]) * root * root[:, j : j + 1]
        assert np.max(error[smooth]) < 1e-6, f"column {j}"


@laws
@soft_norms
def test_G_is_symmetric_and_between_zero_and_the_inverse_regularization(law, soft_norm):
    """0 <= G <= R^-1: the law is monotone and, scaled by R, nonexpansive."""
    y, friction, R_t, R_n = law.contacts(SEED)
    _, G, _ = law.project(y, friction, R_t, R_n, soft_norm)
    np.testing.assert_array_equal(G, np.swapaxes(G, 1, 2))
    root = np.sqrt(diagonal(R_t, R_n))
    eigenvalues = np.linalg.eigvalsh(root[:, :, None] * G * root[:, None, :])
    assert eigenvalues.min() >= -1e-14
    assert eigenvalues.max() <= 1.0 + 1e-14


@laws
@soft_norms
def test_cost_is_convex_and_the_impulse_monotone(law, soft_norm):
    """l(b) >= l(a) + R gamma(a).(b - a), and (gamma(b) - gamma(a)).R (b - a) >= 0."""
    a, *rest = law.contacts(SEED)
    _, R_t, R_n = rest
    b = np.roll(a, 1, axis=0)
    R = diagonal(R_t, R_n)
    gamma_a, gamma_b = (law.project(y, *rest, soft_norm)[0] for y in (a, b))
    cost_a, cost_b = (law.cost(y, *rest, soft_norm) for y in (a, b))
    size = norm_R(a, R_t, R_n) ** 2 + norm_R(b, R_t, R_n) ** 2 + R_t * soft_norm**2
    tangent = cost_a + np.sum(R * gamma_a * (b - a), axis=1)
    assert np.all(cost_b - tangent >= -1e-13 * size)
    product = np.sum(R * (gamma_b - gamma_a) * (b - a), axis=1)
    assert np.all(product >= -1e-13 * size)


@laws
def test_projection_is_nonexpansive_and_idempotent(law):
    y, *rest = law.contacts(SEED)
    _, R_t, R_n = rest
    other = y + np.random.default_rng(SEED).standard_normal(y.shape)
    gamma, gamma_other = (law.project(x, *rest)[0] for x in (y, other))
    moved = norm_R(gamma - gamma_other, R_t, R_n)
    assert np.all(moved <= norm_R(y - other, R_t, R_n) * (1.0 + 1e-12))
    again = law.project(gamma, *rest)[0]
    assert np.all(norm_R(again - gamma, R_t, R_n) <= 1e-14 * norm_R(y, R_t, R_n))


# ---- symmetries --------------------------------------------------------------------------------


@laws
@soft_norms
def test_change_of_units(law, soft_norm):
    """Mass and speed in other units: powers of two, so that the results are equal to the bit."""
    contacts = law.contacts(SEED)
    y, friction, R_t, R_n = contacts
    mass, speed = 4.0, 0.125
    impulse = mass * speed
    gamma, G, regions = law.project(*contacts, soft_norm)
    friction = impulse * friction if law.is_impulse else friction
    scaled = (impulse * y, friction, R_t / mass, R_n / mass, impulse * soft_norm)
    gamma_2, G_2, regions_2 = law.project(*scaled)
    np.testing.assert_array_equal(gamma_2, impulse * gamma)
    np.testing.assert_array_equal(G_2, mass * G)
    np.testing.assert_array_equal(regions_2, regions)
    cost = mass * speed**2 * law.cost(*contacts, soft_norm)
    np.testing.assert_array_equal(law.cost(*scaled), cost)


@laws
@soft_norms
def test_rotation_about_the_normal(law, soft_norm):
    """A turn about the normal turns the impulse and G."""
    y, *rest = law.contacts(SEED)
    _, R_t, R_n = rest
    angle = 0.7
    Q = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    gamma, G, _ = law.project(y, *rest, soft_norm)
    gamma_Q, G_Q, _ = law.project(y @ Q.T, *rest, soft_norm)
    size = norm_R(y, R_t, R_n) + np.sqrt(R_t) * soft_norm
    assert np.all(norm_R(gamma_Q - gamma @ Q.T, R_t, R_n) <= 1e-14 * size)
    root = np.sqrt(diagonal(R_t, R_n))
    scaled = root[:, :, None] * (G_Q - Q @ G @ Q.T) * root[:, None, :]
    assert np.max(np.abs(scaled)) < 1e-12


# ---- interface ---------------------------------------------------------------------------------


@laws
def test_leading_axes_broadcast(law):
    """Each contact is what it is alone; none give empty arrays."""
    rng = np.random.default_rng(SEED)
    y = rng.standard_normal((4, 5, 3))
    friction, R_t = rng.uniform(0.1, 1.0, (4, 1)), rng.uniform(0.1, 1.0, 5)
    gamma, G, regions = law.project(y, friction, R_t, 0.5)
    costs = law.cost(y, friction, R_t, 0.5)
    assert (gamma.shape, G.shape) == ((4, 5, 3), (4, 5, 3, 3))
    assert regions.shape == costs.shape == (4, 5)
    for i, j in np.ndindex(4, 5):
        one = (y[i, j], friction[i, 0], R_t[j], 0.5)
        for all_of_them, alone in zip((gamma, G, regions), law.project(*one), strict=True):
            np.testing.assert_array_equal(all_of_them[i, j], alone)
        assert costs[i, j] == law.cost(*one)
    empty = np.zeros(0)
    gamma, G, regions = law.project(np.zeros((0, 3)), empty, empty, empty)
    assert (gamma.shape, G.shape, regions.shape) == ((0, 3), (0, 3, 3), (0,))
    assert law.cost(np.zeros((0, 3)), empty, empty, empty).shape == (0,)


# ---- both implementations ----------------------------------------------------------------------

impulses = st.floats(-1e3, 1e3).map(lambda x: 0.0 if abs(x) < 1e-9 else x)
positive = st.floats(1e-4, 1e4)
both_laws = pytest.mark.parametrize("of_law", [CONE, DISK], ids=["contact", "disk"])


@both_laws
@settings(deadline=None, print_blob=True, max_examples=400)
@given(
    y=st.tuples(impulses, impulses, impulses),
    friction=st.one_of(st.just(0.0), st.floats(1e-3, 10.0), st.floats(1e-6, 1e3)),
    R_t=positive,
    R_n=positive,
    soft_norm=st.one_of(st.just(0.0), st.floats(1e-6, 1.0)),
)
def test_core_equals_its_mirror(of_law, y, friction, R_t, R_n, soft_norm):
    """Same impulse, cost and Hessian, to round-off.

    Where y lies within round-off of a boundary the two may choose different regions; the impulse
    and the cost are continuous there, G is not.
    """
    rounding = (8 if of_law is DISK else 32) * helpers.EPS
    y = np.array(y)
    if of_law is CONE:
        friction = min(friction, 10.0)
    contact = (y, friction, R_t, R_n, soft_norm)
    (gamma, G, region), (gamma_2, G_2, region_2) = (law.project(*contact) for law in of_law)
    size = norm_R(y, R_t, R_n) + np.sqrt(R_t) * soft_norm
    assert norm_R(gamma - gamma_2, R_t, R_n) <= rounding * size
    costs = [law.cost(*contact) for law in of_law]
    assert abs(costs[0] - costs[1]) <= rounding * size**2
    if region == region_2:
        root = np.sqrt(diagonal(R_t, R_n))
        assert np.max(np.abs(root[:, None] * (G - G_2) * root)) <= 2 * rounding


@pytest.mark.parametrize(
    ("project", "cost_difference"),
    [
        (reference.project, reference.contact_cost_difference),
        (reference.project_disk, reference.disk_cost_difference),
    ],
    ids=["contact", "disk"],
)
@settings(deadline=None, print_blob=True, max_examples=200)
@given(
    y=st.tuples(impulses, impulses, impulses),
    delta=st.tuples(impulses, impulses, impulses),
    friction=st.one_of(st.floats(0.0, 3.0), st.floats(1e-6, 1e3)),
    size=st.sampled_from([1.0, 1e-4, 1e-8, 1e-12]),
    soft_norm=st.sampled_from(SOFT_NORMS),
)
def test_cost_difference_keeps_its_digits(
    project, cost_difference, y, delta, friction, size, soft_norm
):
    """The mirror's l(y + d) - l(y) against the mean value theorem, however small d is.

    l is convex with slope R gamma, so the difference lies between the slopes at both ends. Across
    a boundary it counts from there, to the round-off of y.
    """
    if project is reference.project:
        friction = min(friction, 3.0)
    y, delta = np.array(y), size * np.array(delta)
    R = np.array([0.2, 0.2, 1.5])
    arguments = (friction, R[0], R[2], soft_norm)
    difference = cost_difference(y, delta, *arguments)
    gamma, _, region = project(y, *arguments)
    gamma_end, _, region_end = project(y + delta, *arguments)
    low, high = np.sum(R * gamma * delta), np.sum(R * gamma_end * delta)
    total = norm_R(y, R[0], R[2]) + norm_R(delta, R[0], R[2]) + soft_norm
    rounding = 64 * helpers.EPS * total * (norm_R(delta, R[0], R[2]) + helpers.EPS * total)
    if region != region_end:
        rounding += 64 * helpers.EPS * total**2
    assert low - rounding <= difference <= high + rounding

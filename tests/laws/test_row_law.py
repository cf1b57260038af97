"""The law of a clamped row, of the C core and of its NumPy mirror."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import helpers
import sapwood
from sapwood import reference

SEED = 20251121
implementations = pytest.mark.parametrize(
    "law", [pytest.param(sapwood, id="core"), pytest.param(reference, id="reference")]
)


# with 0 inside, at an end, and outside; the last three leave no room
BOUNDS = np.array(
    [(-np.inf, np.inf), (-0.5, 2.0), (-0.5, np.inf), (0.0, 2.0), (-np.inf, 0.0),
     (0.3, 2.0), (0.3, np.inf), (-np.inf, -0.5), (-2.0, -0.5),
     (0.0, 0.0), (0.5, 0.5), (-2.0, -2.0)]
)  # fmt: skip


def random_rows(n=6000):
    """y, R, lower, upper (n): within and beyond both bounds, with 0 on either side of them."""
    rng = np.random.default_rng(SEED)
    y = rng.standard_normal(n) * 10.0 ** rng.uniform(-1, 1, n)
    R = 10.0 ** rng.uniform(-3, 1, n)
    lower, upper = rng.choice(BOUNDS, n).T
    return y, R, lower, upper


@implementations
def test_impulse_is_the_gradient_of_the_cost(law):
    """gamma = dl/dy / R and G = dgamma/dy / R, by central differences in each region."""
    y, R, lower, upper = random_rows()
    h = 1e-5
    gamma, G, _ = law.clamp(y, R, lower, upper)
    plus, minus = law.clamp(y + h, R, lower, upper), law.clamp(y - h, R, lower, upper)
    smooth = (np.abs(y - lower) > h) & (np.abs(y - upper) > h)
    for region in (y < lower, y > upper, (lower < y) & (y < upper)):
        assert np.sum(smooth & region) > 100, f"seed {SEED}"
    slope = (plus[2] - minus[2]) / (2 * h)
    np.testing.assert_allclose(slope, R * gamma, atol=1e-9 * np.max(R * (np.abs(y) + 2.0)))
    rate = (plus[0] - minus[0]) / (2 * h)
    np.testing.assert_allclose(rate[smooth], (R * G)[smooth], atol=1e-9)


@implementations
def test_cost_is_convex_and_impulse_nonexpansive(law):
    y, R, lower, upper = random_rows()
    z = np.roll(y, 1)
    at_y, at_z = law.clamp(y, R, lower, upper), law.clamp(z, R, lower, upper)
    middle = law.clamp((y + z) / 2, R, lower, upper)
    size = R * (y**2 + z**2 + at_y[0] ** 2)
    assert np.all(middle[2] <= (at_y[2] + at_z[2]) / 2 + 1e-14 * size), f"seed {SEED}"
    assert np.all(np.abs(at_y[0] - at_z[0]) <= np.abs(y - z) * (1 + 1e-15)), f"seed {SEED}"
    assert np.all((at_y[1] == 0) | (at_y[1] == 1 / R)), f"seed {SEED}"


@implementations
def test_bounds_belong_to_the_inside(law):
    """On a bound gamma = y and G = 1/R."""
    y = np.array([-1.0, 2.0, np.nextafter(2.0, 3.0), np.nextafter(-1.0, -2.0)])
    gamma, G, cost = law.clamp(y, 4.0, -1.0, 2.0)
    np.testing.assert_array_equal(gamma, [-1.0, 2.0, 2.0, -1.0])
    np.testing.assert_array_equal(G, [0.25, 0.25, 0.0, 0.0])
    np.testing.assert_array_equal(cost[:2], 2.0 * y[:2] ** 2)


@implementations
@pytest.mark.parametrize("b", [0.0, 1.5, -0.25])
def test_a_row_without_room_has_no_stiffness(law, b):
    """lower = upper = b: gamma = b and G = 0 at every y, y = b too; the cost is linear in v_c."""
    y = np.array([b, np.nextafter(b, 9.0), np.nextafter(b, -9.0), -3.0, 7.0])
    gamma, G, cost = law.clamp(y, 0.5, b, b)
    np.testing.assert_array_equal(gamma, b)
    np.testing.assert_array_equal(G, 0.0)
    np.testing.assert_allclose(cost, 0.5 * (b * y - b**2 / 2), rtol=1e-15)


@implementations
def test_the_cost_of_a_bound_may_be_negative(law):
    """Never within the bounds, nor with 0 between them; else beyond a bound, to any depth."""
    y, R, lower, upper = random_rows()
    gamma, _, cost = law.clamp(y, R, lower, upper)
    pulls = (lower > 0.0) | (upper < 0.0)
    assert np.all(cost[~pulls | (gamma == y)] >= 0.0)
    # b (v_hat - v_c) - R b^2/2 is negative where y is below b/2, b > 0
    negative = pulls & (np.sign(gamma) * y < np.abs(gamma) / 2.0)
    assert np.sum(negative) > 100
    assert np.all((cost < 0.0) == negative), f"seed {SEED}"
    gamma, _, cost = law.clamp([-1e300, 0.1], 2.0, 0.5, 3.0)
    np.testing.assert_array_equal(gamma, 0.5)
    np.testing.assert_allclose(cost, [-1e300, 2.0 * 0.5 * (0.1 - 0.25)])


@implementations
def test_change_of_units(law):
    """Mass and speed in other units, powers of two: equal to the bit."""
    y, R, lower, upper = random_rows()
    mass, speed = 4.0, 0.125
    impulse = mass * speed
    one = law.clamp(y, R, lower, upper)
    two = law.clamp(impulse * y, R / mass, impulse * lower, impulse * upper)
    scales = (impulse, mass, mass * speed**2)
    for a, b, scale in zip(one, two, scales, strict=True):
        np.testing.assert_array_equal(b, scale * a)


@implementations
def test_axes_broadcast(law):
    y, lower = np.linspace(-2, 2, 20).reshape(4, 5), np.array([[-1.0], [0.0], [-np.inf], [-0.5]])
    gamma, G, cost = law.clamp(y, 0.5, lower, [1.0, 0.0, np.inf, 0.5, 1.5])
    assert gamma.shape == G.shape == cost.shape == (4, 5)
    assert gamma[0, 0] == -1.0
    assert gamma[2, 2] == y[2, 2]
    assert law.clamp(np.zeros(0), 1.0, 0.0, 1.0)[0].shape == (0,)


numbers = st.floats(-1e3, 1e3)
ends = st.one_of(st.just(0.0), st.floats(-1e3, 1e3))
bounds = st.one_of(
    st.tuples(ends, ends).map(sorted),
    st.tuples(st.just(-np.inf), ends),
    st.tuples(ends, st.just(np.inf)),
    ends.map(lambda b: (b, b)),
)


@given(y=numbers, R=st.floats(1e-6, 1e6), bounds=bounds)
def test_core_equals_its_mirror(y, R, bounds):
    core, mirror = sapwood.clamp(y, R, *bounds), reference.clamp(y, R, *bounds)
    assert core.gamma == mirror[0]
    assert mirror[1] == core.G
    np.testing.assert_allclose(core.cost, mirror[2], rtol=1e-15)


@given(
    y=numbers,
    delta=numbers,
    size=st.sampled_from([1.0, 1e-4, 1e-8, 1e-12]),
    bounds=bounds,
)
def test_cost_difference_keeps_its_digits(y, delta, size, bounds):
    """l(y + d) - l(y) lies between the slopes R gamma d at both ends, however small d is."""
    delta, R = size * delta, 0.2
    difference = reference.clamp_cost_difference(y, delta, R, *bounds)
    begin, _, _ = reference.clamp(y, R, *bounds)
    end, _, _ = reference.clamp(y + delta, R, *bounds)
    low, high = R * begin * delta, R * end * delta
    largest = abs(y) + abs(delta) + abs(begin) + abs(end)
    rounding = 8 * helpers.EPS * R * largest * abs(delta)
    if (begin == y) != (end == y + delta):
        rounding += 8 * helpers.EPS * R * largest**2
    assert low - rounding <= difference <= high + rounding


ERRORS = [
    (([0.0, np.nan], 1.0, 0.0, 1.0), "y[1] = nan: must be finite"),
    ((0.0, [1.0, 0.0], 0.0, 1.0), "R[1] = 0: must be finite and > 0"),
    ((0.0, 1.0, [0.0, 2.0], 1.0), "lower[1] = 2: must be <= upper"),
    ((0.0, 1.0, 2.0, 1.0), "lower = 2: must be <= upper"),
    ((0.0, 1.0, -1.0, [[1.0, -2.0]]), "lower[0, 1] = -1: must be <= upper"),
    ((0.0, 1.0, np.nan, 1.0), "lower = nan: must be below infinity"),
    ((0.0, 1.0, [0.0, np.inf], np.inf), "lower[1] = inf: must be below infinity"),
    ((0.0, 1.0, 0.0, [[1.0, np.nan]]), "upper[0, 1] = nan: must be above -infinity"),
    ((0.0, 1.0, -np.inf, -np.inf), "upper = -inf: must be above -infinity"),
    ((np.zeros(3), 1.0, 0.0, np.ones(2)), "upper has shape (2,), which does not broadcast"),
]


@pytest.mark.parametrize(("arguments", "text"), ERRORS, ids=[text for _, text in ERRORS])
def test_wrong_rows_are_named(arguments, text):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        sapwood.clamp(*arguments)
    assert str(caught.value).startswith(text)

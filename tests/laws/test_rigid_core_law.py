"""The contact law with a rigid core, of the C core and of its NumPy mirror.

Every property is checked on both implementations, inside of the domain of the barriers: y is scaled
so that s takes all sizes up to close to 1.
"""

from __future__ import annotations

import numpy as np
import pytest

import sapwood
from law_checks import diagonal, norm_R
from sapwood import CoreKind, reference
from sapwood.reference.constraints import contact as compliant
from sapwood.reference.constraints import rigid_core as mirror

SEED = 20251121
KINDS = [CoreKind.log, CoreKind.exp]

implementations = pytest.mark.parametrize(
    "law", [pytest.param(sapwood, id="core"), pytest.param(reference, id="reference")]
)
kinds = pytest.mark.parametrize("kind", KINDS, ids=str)
soft_norms = pytest.mark.parametrize("soft_norm", [0.0, 0.02])


def random_contacts(kind, n=3000, soft_norm=0.0):
    """y (n, 3), the law's positional arguments and the core's, with s from 1e-3 to 0.99."""
    rng = np.random.default_rng(SEED)
    mu = rng.choice([0.0, 0.1, 0.5, 1.0, 2.0], n)
    R_t, R_n = 10.0 ** rng.uniform(-3, 1, n), 10.0 ** rng.uniform(-3, 1, n)
    y = rng.standard_normal((n, 3))
    y[::3, :2] *= 0.1
    y[1::3, 2] = np.abs(y[1::3, 2])
    cost = compliant.contact_cost(y, mu, R_t, R_n, soft_norm)
    s = np.where(rng.random(n) < 0.5, rng.uniform(0.0, 0.99, n), 10.0 ** rng.uniform(-3, -1, n))
    kappa = np.where(cost > 0.0, 2.0 * cost / s**2, 1.0)
    core = {"core": kind, "kappa": kappa, "core_lambda": rng.uniform(0.5, 8.0, n)}
    return y, (mu, R_t, R_n, soft_norm), core


def steps(law, y, arguments):
    """h (n, 3): changes of y_j that change s by no more than 1e-6 of itself."""
    _, R_t, R_n, _ = arguments
    length = norm_R(law.project(y, *arguments)[0], R_t, R_n)
    length = np.where(length > 0.0, length, norm_R(y, R_t, R_n))
    return 1e-6 * length[:, None] / np.sqrt(diagonal(R_t, R_n))


def same_region(law, y, arguments, core, h):
    """True where y keeps its region and stays inside under steps of +-2 h (n, 3) of a component."""
    _, _, regions = law.project(y, *arguments, **core)
    same = np.ones(len(y), dtype=bool)
    for j in range(3):
        for sign in (-2.0, 2.0):
            moved = y.copy()
            moved[:, j] += sign * h[:, j]
            same &= law.project(moved, *arguments)[2] == regions
            same &= np.isfinite(law.contact_cost(moved, *arguments, **core))
    assert np.count_nonzero(same & (regions == 1)) > 100
    assert np.count_nonzero(same & (regions == 2)) > 100
    return same


# ---- derivatives -------------------------------------------------------------------------------


@implementations
@kinds
@soft_norms
def test_impulse_is_the_gradient_of_the_cost(law, kind, soft_norm):
    """dl/dy = R gamma, by central differences."""
    y, arguments, core = random_contacts(kind, soft_norm=soft_norm)
    _, R_t, R_n, _ = arguments
    h = steps(law, y, arguments)
    same = same_region(law, y, arguments, core, h)
    gamma, _, _ = law.project(y, *arguments, **core)
    for j in range(3):
        step = np.zeros_like(y)
        step[:, j] = h[:, j]
        plus = law.contact_cost(y + step, *arguments, **core)
        minus = law.contact_cost(y - step, *arguments, **core)
        R_j = diagonal(R_t, R_n)[:, j]
        error = np.abs((plus - minus) / (2.0 * h[:, j]) - R_j * gamma[:, j])
        scale = np.sqrt(R_j) * (norm_R(gamma, R_t, R_n) + 1e-300)
        assert np.max((error / scale)[same]) < 1e-6, f"component {j}, seed {SEED}"


@implementations
@kinds
@soft_norms
def test_hessian_block_is_the_derivative_of_the_impulse(law, kind, soft_norm):
    """G = -dgamma/dv_c = dgamma/dy R^-1, by central differences."""
    y, arguments, core = random_contacts(kind, soft_norm=soft_norm)
    _, R_t, R_n, _ = arguments
    h = steps(law, y, arguments)
    same = same_region(law, y, arguments, core, h)
    _, G, _ = law.project(y, *arguments, **core)
    root = np.sqrt(diagonal(R_t, R_n))
    size = np.linalg.norm(root[:, :, None] * G * root[:, None, :], axis=(1, 2))
    for j in range(3):
        step = np.zeros_like(y)
        step[:, j] = h[:, j]
        plus = law.project(y + step, *arguments, **core)[0]
        minus = law.project(y - step, *arguments, **core)[0]
        column = (plus - minus) / (2.0 * h[:, j : j + 1]) / root[:, j : j + 1] ** 2
        error = np.max(np.abs(column - G[:, :, j]) * root * root[:, j : j + 1], axis=1)
        assert np.max((error / (1.0 + size))[same]) < 1e-6, f"column {j}, seed {SEED}"


@implementations
@kinds
@soft_norms
def test_cost_is_convex(law, kind, soft_norm):
    """l(b) >= l(a) + R gamma(a).(b - a), also from one region to another."""
    a, arguments, core = random_contacts(kind, soft_norm=soft_norm)
    _, R_t, R_n, _ = arguments
    b = a * np.random.default_rng(SEED + 1).uniform(0.0, 1.2, a.shape)
    gamma, _, _ = law.project(a, *arguments, **core)
    cost_a = law.contact_cost(a, *arguments, **core)
    cost_b = law.contact_cost(b, *arguments, **core)
    tangent = cost_a + np.sum(diagonal(R_t, R_n) * gamma * (b - a), axis=1)
    assert np.all(cost_b - tangent >= -1e-12 * (np.abs(tangent) + cost_a)), f"seed {SEED}"
    assert kind == CoreKind.exp or np.any(np.isinf(cost_b))


@implementations
@kinds
def test_hessian_block_is_between_zero_and_the_slope_of_the_barrier(law, kind):
    """0 <= G <= b''(s) R^-1, and b'' is reached in stiction and in sliding."""
    y, arguments, core = random_contacts(kind)
    mu, R_t, R_n, _ = arguments
    _, G, regions = law.project(y, *arguments, **core)
    np.testing.assert_array_equal(G, np.swapaxes(G, 1, 2))
    root = np.sqrt(diagonal(R_t, R_n))
    eigenvalues = np.linalg.eigvalsh(root[:, :, None] * G * root[:, None, :])
    s = norm_R(compliant.project(y, mu, R_t, R_n)[0], R_t, R_n) / np.sqrt(core["kappa"])
    # b'' of -s log(1-s)/2, and of s^2 e^(lambda s)/2
    x = core["core_lambda"] * s
    bound = {
        CoreKind.log: 1.0 / (1.0 - s) + s / (2.0 * (1.0 - s) ** 2),
        CoreKind.exp: np.exp(x) * (1.0 + 2.0 * x + x**2 / 2.0),
    }[kind]
    assert np.all(eigenvalues[:, 0] >= -1e-14 * bound), f"seed {SEED}"
    touching = regions != 3
    np.testing.assert_allclose(eigenvalues[touching, -1], bound[touching], rtol=1e-11)


# ---- what the barrier is -----------------------------------------------------------------------


@implementations
@kinds
def test_no_core_at_small_s(law, kind):
    """s -> 0: gamma/gamma_0 = 1 + 3s/4 (log) or 1 + 3 lambda s/2 (exp), to second order."""
    y, arguments, core = random_contacts(kind)
    plain, plain_G, _ = law.project(y, *arguments)
    _, R_t, R_n, _ = arguments
    touching = norm_R(plain, R_t, R_n) > 0.0
    for size in (1e-2, 1e-4, 1e-8, 1e-12):
        kappa = (norm_R(plain, R_t, R_n) / size) ** 2
        stiff = {**core, "kappa": np.where(touching, kappa, 1.0)}
        gamma, G, _ = law.project(y, *arguments, **stiff)
        slope = 0.75 if kind == CoreKind.log else 1.5 * core["core_lambda"]
        factor = np.broadcast_to(1.0 + slope * size, touching.shape)[:, None]
        tolerance = 40.0 * (np.max(slope) * size) ** 2 + 1e-15
        error = norm_R(gamma - factor * plain, R_t, R_n) / np.where(
            touching, norm_R(plain, R_t, R_n), 1.0
        )
        assert np.max(error) <= tolerance
        root = np.sqrt(diagonal(R_t, R_n))
        change = np.abs(root[:, :, None] * (G - plain_G) * root[:, None, :])
        assert np.max(change) <= 40.0 * np.max(slope) * size + 1e-14


@implementations
def test_log_barrier_grows_without_bound(law):
    """With R_n = 1 and kappa = 1, s = y_n: gamma -> 1/(2 (1 - s)), and infinite cost at 1."""
    gap = 2.0 ** -np.arange(5, 36)
    y = np.zeros((gap.size, 3))
    y[:, 2] = 1.0 - gap
    gamma, _, _ = law.project(y, 0.5, 1.0, 1.0, core="log", kappa=1.0)
    np.testing.assert_allclose(2.0 * gap * gamma[:, 2], 1.0, atol=2.0 * 2.0**-5 * 5)
    np.testing.assert_allclose(2.0 * gap[-5:] * gamma[-5:, 2], 1.0, rtol=1e-7)
    cost = law.contact_cost([[0.0, 0.0, 1.0], [0.0, 0.0, 7.0]], 0.5, 1.0, 1.0, core=1, kappa=1.0)
    assert np.all(np.isinf(cost))
    outside, G, regions = law.project([0.0, 0.0, 1.0], 0.5, 1.0, 1.0, core="log", kappa=1.0)
    assert np.all(np.isnan(outside))
    assert np.isnan(G[2, 2])
    assert regions == sapwood.Region.stiction


@implementations
@kinds
def test_gamma_keeps_the_direction_of_the_projection(law, kind):
    """The impulse is a multiple >= 1 of the compliant one: it stays in the friction cone."""
    y, arguments, core = random_contacts(kind)
    mu, R_t, R_n, _ = arguments
    plain, _, regions = law.project(y, *arguments)
    gamma, _, regions_core = law.project(y, *arguments, **core)
    np.testing.assert_array_equal(regions, regions_core)
    tangential = np.linalg.norm(gamma[:, :2], axis=1)
    assert np.all(tangential <= mu * gamma[:, 2] * (1.0 + 1e-14))
    factor = norm_R(gamma, R_t, R_n) / np.where(regions == 3, 1.0, norm_R(plain, R_t, R_n))
    assert np.all(factor[regions != 3] >= 1.0)
    difference = norm_R(gamma - factor[:, None] * plain, R_t, R_n)
    assert np.all(difference <= 1e-14 * norm_R(gamma, R_t, R_n))


@implementations
@kinds
@soft_norms
def test_change_of_units(law, kind, soft_norm):
    """Mass and speed in other units (powers of two, so that the results are equal to the bit)."""
    y, (mu, R_t, R_n, eps), core = random_contacts(kind, soft_norm=soft_norm)
    mass, speed = 4.0, 0.125
    gamma, G, _ = law.project(y, mu, R_t, R_n, eps, **core)
    cost = law.contact_cost(y, mu, R_t, R_n, eps, **core)
    impulse, energy = mass * speed, mass * speed**2
    scaled = (impulse * y, mu, R_t / mass, R_n / mass, impulse * eps)
    core = {**core, "kappa": energy * core["kappa"]}
    gamma_2, G_2, _ = law.project(*scaled, **core)
    np.testing.assert_array_equal(gamma_2, impulse * gamma)
    np.testing.assert_array_equal(G_2, mass * G)
    np.testing.assert_array_equal(law.contact_cost(*scaled, **core), energy * cost)


@implementations
def test_kinds_may_differ_from_contact_to_contact(law):
    y = np.array([0.1, 0.2, 0.9])
    core = ["none", "log", "exp"]
    options = {"kappa": [2.0, 2.0, 3.0], "core_lambda": [1.0, 1.0, 2.0]}
    gamma, G, _ = law.project(y, 0.5, 0.2, 1.0, core=core, **options)
    cost = law.contact_cost(y, 0.5, 0.2, 1.0, core=core, **options)
    for i, kind in enumerate(core):
        own = {name: value[i] for name, value in options.items()}
        one = law.project(y, 0.5, 0.2, 1.0, core=kind, **own)
        np.testing.assert_array_equal(gamma[i], one[0])
        np.testing.assert_array_equal(G[i], one[1])
        assert cost[i] == law.contact_cost(y, 0.5, 0.2, 1.0, core=kind, **own)
    np.testing.assert_array_equal(gamma[0], law.project(y, 0.5, 0.2, 1.0)[0])


# ---- both implementations ----------------------------------------------------------------------


@kinds
@soft_norms
def test_core_equals_its_mirror(kind, soft_norm):
    """Impulse, cost and Hessian to the round-off of s, which grows towards the wall."""
    y, arguments, core = random_contacts(kind, n=20000, soft_norm=soft_norm)
    _, R_t, R_n, _ = arguments
    gamma, G, regions = sapwood.project(y, *arguments, **core)
    gamma_2, G_2, regions_2 = reference.project(y, *arguments, **core)
    bound = 1e-13 / (1.0 - 0.99)
    same = regions == regions_2
    assert np.count_nonzero(~same) < 5
    distance = norm_R(gamma - gamma_2, R_t, R_n)
    assert np.all(distance <= bound * norm_R(gamma, R_t, R_n))
    root = np.sqrt(diagonal(R_t, R_n))
    size = np.linalg.norm(root[:, :, None] * G * root[:, None, :], axis=(1, 2)) + 1e-300
    error = np.max(np.abs(root[:, :, None] * (G - G_2) * root[:, None, :]), axis=(1, 2))
    assert np.all((error <= bound * size)[same])
    cost = sapwood.contact_cost(y, *arguments, **core)
    np.testing.assert_allclose(
        cost, reference.contact_cost(y, *arguments, **core), rtol=bound, atol=1e-300
    )


@kinds
def test_cost_difference_keeps_its_digits(kind):
    """l_b(l + d) - l_b(l) of the mirror lies between the slopes phi d at both ends."""
    rng = np.random.default_rng(SEED)
    n = 5000
    kappa = 10.0 ** rng.uniform(-6, 6, n)
    of = mirror.barrier(kind, kappa, rng.uniform(0.5, 8.0, n), (n,))
    cost = kappa / 2.0 * rng.uniform(0.0, 0.9, n) ** 2
    for size in (1e-1, 1e-4, 1e-8, 1e-13):
        difference = size * cost * rng.uniform(-1.0, 1.0, n)
        change = mirror.cost_difference(cost, difference, of)
        ends = [
            mirror.factors(mirror.distance(x, of), of).phi * difference
            for x in (cost, cost + difference)
        ]
        slack = 1e-12 * np.abs(change)
        assert np.all(change >= np.minimum(*ends) - slack), f"seed {SEED}"
        assert np.all(change <= np.maximum(*ends) + slack), f"seed {SEED}"
    outside = mirror.cost_difference(cost, 1e6 * kappa, of)
    assert np.all(np.isinf(outside))


# ---- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"core": "hard", "kappa": 1.0}, ValueError, "core = 'hard': must be"),
        ({"core": ["log", "sqrt"], "kappa": 1.0}, ValueError, r"core\[1\] = 'sqrt'"),
        ({"core": [0, 4], "kappa": 1.0}, ValueError, r"core\[1\] = 4"),
        ({"core": 0.5, "kappa": 1.0}, TypeError, "core must be names or integers"),
        ({"core": "log"}, TypeError, "kappa is required"),
        ({"core": "log", "kappa": 0.0}, ValueError, "kappa = 0: must be finite and > 0"),
        ({"core": "log", "kappa": [1.0, -1.0]}, ValueError, r"kappa\[1\] = -1"),
        ({"core": "exp", "kappa": 1.0, "core_lambda": 0.0}, ValueError, "core_lambda = 0"),
        ({"core": ["log"] * 3, "kappa": [1.0, 2.0]}, ValueError, "kappa has shape"),
    ],
)
def test_errors_name_the_argument(options, error, text):
    with pytest.raises(error, match=text):
        sapwood.project([0.0, 0.0, 1.0], 0.5, 1.0, 1.0, **options)


@pytest.mark.parametrize(
    ("fields", "error", "text"),
    [
        ({"delta": 0.0}, ValueError, "delta = 0: must be finite and > 0"),
        ({"delta": 1e-3, "strength": -1.0}, ValueError, "strength = -1"),
        ({"delta": 1e-3, "kind": "none"}, ValueError, "kind = 'none'"),
    ],
)
def test_rigid_core_checks_its_fields(fields, error, text):
    with pytest.raises(error, match=text):
        sapwood.RigidCore(**fields)

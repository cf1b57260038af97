"""Torsional and rolling friction in the NumPy mirror: the lifted laws, without the C core.

The six rows are the scaled ones of `sapwood.reference.constraints.torsional`, with
R = diag(R_t, R_t, R_n, R_t, R_t, R_t).
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import partial

import numpy as np
import pytest
from scipy.optimize import minimize

from sapwood import Region, reference
from sapwood.reference.constraints.torsional import TANGENTIAL

SEED = 20261123


def random_contacts(n, seed=SEED):
    """y (n, 6), mu, R_t, R_n (n): in every region."""
    rng = np.random.default_rng(seed)
    mu = rng.choice([0.1, 0.5, 1.0, 2.0], n)
    R_t, R_n = 10.0 ** rng.uniform(-3, 1, n), 10.0 ** rng.uniform(-3, 1, n)
    return rng.standard_normal((n, 6)) * 10.0 ** rng.uniform(-1, 1, (n, 1)), mu, R_t, R_n


def cone(mu, R_t, R_n, soft_norm=0.0):
    """The convex law and its cost, of three rows."""
    constants = {"mu": mu, "R_t": R_t, "R_n": R_n, "soft_norm": soft_norm}
    return partial(reference.project, **constants), partial(reference.contact_cost, **constants)


def cylinder(mu, R_t, R_n, soft_norm=0.0):
    """The disk law with bounds around the size of y, and its cost, of three rows."""
    constants = {"bound": mu, "R_t": R_t, "R_n": R_n, "soft_norm": soft_norm}
    return partial(reference.project_disk, **constants), partial(reference.disk_cost, **constants)


def lifted(y, law):
    """gamma (n, 6), G (n, 6, 6) and regions (n) at y, from a law of three rows."""
    at = reference.radial(y)
    gamma, G, regions = law(at.y)
    lifted_gamma = reference.lift_impulse(y, at.e, gamma, regions)
    return lifted_gamma, reference.lift_matrix(at.e, G), regions


laws = pytest.mark.parametrize("law", [cone, cylinder])
soft_norms = pytest.mark.parametrize("soft_norm", [0.0, 0.3])


def weights(R_t, R_n):
    """Diagonal of R, by row."""
    R = np.repeat(R_t[:, None], 6, axis=1)
    R[:, 2] = R_n
    return R


def smooth_places(law, y, h, seed=SEED):
    """Where a step of 2 h in any row leaves the region as it is; of every region there are some."""
    regions = lifted(y, law)[2]
    smooth = np.abs(y[:, 2]) > 3.0 * h
    for row in range(6):
        for sign in (-2.0, 2.0):
            moved = y.copy()
            moved[:, row] += sign * h
            smooth &= lifted(moved, law)[2] == regions
    for region in Region:
        assert np.sum(smooth & (regions == region)) > 50 or region == Region.none, f"seed {seed}"
    return smooth


# ---- derivatives -------------------------------------------------------------------------------


@laws
@soft_norms
def test_impulse_is_the_gradient_of_the_cost_and_G_its_derivative(law, soft_norm):
    """dl/dy = R gamma and dgamma/dy = G R, by central differences."""
    y, mu, R_t, R_n = random_contacts(2000)
    project, cost = law(mu, R_t, R_n, soft_norm)
    h = 1e-5 * np.linalg.norm(y, axis=1)
    smooth = smooth_places(project, y, h)
    R = weights(R_t, R_n)
    gamma, G, _ = lifted(y, project)
    size = np.sqrt(np.sum(R * y**2, axis=1)) + np.sqrt(R_t) * soft_norm
    for row in range(6):
        step = np.zeros_like(y)
        step[:, row] = h
        plus, minus = y + step, y - step
        slope = (cost(reference.radial(plus).y) - cost(reference.radial(minus).y)) / (2.0 * h)
        root = np.sqrt(R[:, row])
        error = np.abs(slope - R[:, row] * gamma[:, row]) / (root * size)
        assert np.max(error[smooth]) < 1e-8, f"row {row}, seed {SEED}"
        moved = [lifted(x, project)[0] for x in (plus, minus)]
        column = (moved[0] - moved[1]) / (2.0 * h[:, None]) / R[:, row, None]
        scaled = np.abs(column - G[:, :, row]) * np.sqrt(R) * root[:, None]
        assert np.max(scaled[smooth]) < 1e-6, f"column {row}, seed {SEED}"


@laws
@soft_norms
def test_G_is_symmetric_positive_semidefinite_and_at_most_that_of_stiction(law, soft_norm):
    y, mu, R_t, R_n = random_contacts(1000)
    _, G, _ = lifted(y, law(mu, R_t, R_n, soft_norm)[0])
    np.testing.assert_array_equal(G, np.swapaxes(G, 1, 2))
    root = np.sqrt(weights(R_t, R_n))
    eigenvalues = np.linalg.eigvalsh(root[:, :, None] * G * root[:, None, :])
    assert eigenvalues.min() > -1e-14
    assert eigenvalues.max() < 1.0 + 1e-14


# ---- against an independent optimiser ----------------------------------------------------------


def nearest_in_the_cone(y, mu, mu_k, R_t, R_n):
    """argmin |gamma - y|_R over the cone in its own units, by SLSQP.

    Rows are N s and N m s here, R_k = R_t (mu/mu_k)^2, y in the same units; nothing is scaled to a
    circular cone.
    """
    lengths = np.array([mu, mu, 1.0, *mu_k])
    R = np.array([R_t, R_t, R_n, *(R_t * (mu / mu_k) ** 2)])
    root, tangential = np.sqrt(R), list(TANGENTIAL)

    def friction(x):
        return np.sqrt(np.sum((x / root / lengths)[tangential] ** 2) + 1e-16)

    def room(x):
        return x[2] / root[2] - friction(x)

    def slope(x):
        gradient = -x / (root * lengths) ** 2 / friction(x)
        gradient[2] = 1.0 / root[2]
        return gradient

    # x = sqrt(R) gamma, from inside
    start = root * y
    start[2] = root[2] * (np.linalg.norm((y / lengths)[tangential]) + 1.0)
    found = minimize(
        lambda x: 0.5 * np.sum((x - root * y) ** 2),
        start,
        jac=lambda x: x - root * y,
        method="SLSQP",
        constraints=[{"type": "ineq", "fun": room, "jac": slope}],
        options={"maxiter": 500, "ftol": 1e-13},
    )
    # it may end at round-off, which it does not call a success
    assert room(found.x) > -1e-7, found.message
    return found.x / root, R


@pytest.mark.parametrize("seed", range(40))
def test_impulse_is_the_projection_that_an_optimiser_finds(seed):
    rng = np.random.default_rng(seed)
    mu, mu_k = rng.uniform(0.2, 1.5), rng.uniform(0.02, 0.5, 3)
    R_t, R_n = rng.uniform(0.2, 2.0, 2)
    scale = np.array([1.0, 1.0, 1.0, *(mu_k / mu)])
    scaled = rng.standard_normal(6) * np.array([1.0, 1.0, 1.5, 1.0, 1.0, 1.0])
    gamma, _, _ = lifted(scaled, cone(mu, R_t, R_n)[0])
    # impulses in their own units are those of scaled rows times mu_k/mu
    nearest, R = nearest_in_the_cone(scale * scaled, mu, mu_k, R_t, R_n)
    difference = scale * gamma - nearest
    assert np.sqrt(np.sum(R * difference**2)) < 2e-5, f"seed {seed}"


@laws
def test_impulse_satisfies_the_conditions_of_the_nearest_point(law):
    """In the set, and R (y - gamma) in its normal cone at gamma: no sample of it is nearer."""
    y, mu, R_t, R_n = random_contacts(500)
    gamma, _, _ = lifted(y, law(mu, R_t, R_n)[0])
    friction = np.linalg.norm(gamma[:, TANGENTIAL], axis=1)
    most = mu * gamma[:, 2] if law is cone else mu
    assert np.all(gamma[:, 2] >= 0.0)
    assert np.all(friction <= most * (1.0 + 1e-14) + 1e-300)
    rng = np.random.default_rng(SEED)
    R = weights(R_t, R_n)
    for _ in range(200):
        other = rng.standard_normal(y.shape)
        other[:, 2] = np.abs(other[:, 2]) * 10.0 ** rng.uniform(-2, 2)
        length = np.linalg.norm(other[:, TANGENTIAL], axis=1)
        inside = rng.random(len(y)) * (mu * other[:, 2] if law is cone else mu) / length
        other[:, TANGENTIAL] *= inside[:, None]
        product = np.sum(R * (y - gamma) * (other - gamma), axis=1)
        size = np.sum(R * y**2, axis=1) + np.sum(R * other**2, axis=1)
        assert np.all(product <= 1e-13 * size), f"seed {SEED}"


# ---- what it reduces to ------------------------------------------------------------------------


@laws
@soft_norms
def test_without_spin_it_is_the_law_of_three_rows(law, soft_norm):
    y, mu, R_t, R_n = random_contacts(2000)
    y[:, 3:] = 0.0
    project, _ = law(mu, R_t, R_n, soft_norm)
    gamma, G, regions = lifted(y, project)
    gamma_3, G_3, regions_3 = project(y[:, :3])
    # the length is rounded: not on the boundary of a region
    assert np.mean(regions == regions_3) == 1.0
    size = np.linalg.norm(y, axis=1)[:, None]
    assert np.max(np.abs(gamma[:, :3] - gamma_3) / size) < 1e-14
    np.testing.assert_array_equal(gamma[:, 3:], 0.0)
    root = np.sqrt(weights(R_t, R_n))
    difference = root[:, :3, None] * (G[:, :3, :3] - G_3) * root[:, None, :3]
    assert np.max(np.abs(difference)) < 1e-14
    np.testing.assert_array_equal(G[:, :3, 3:], 0.0)


@laws
def test_tangential_components_are_alike(law):
    """Exchanged or turned, they give impulses exchanged or turned."""
    rng = np.random.default_rng(SEED)
    y, mu, R_t, R_n = random_contacts(300)
    project, _ = law(mu, R_t, R_n)
    Q, _ = np.linalg.qr(rng.standard_normal((5, 5)))
    turn = np.eye(6)
    turn[np.ix_(TANGENTIAL, TANGENTIAL)] = Q
    gamma, G, _ = lifted(y, project)
    gamma_Q, G_Q, _ = lifted(y @ turn.T, project)
    np.testing.assert_allclose(gamma_Q, gamma @ turn.T, atol=1e-13 * np.abs(y).max())
    size = np.abs(G).max(axis=(1, 2), keepdims=True)
    assert np.max(np.abs(G_Q - turn @ G @ turn.T) / np.where(size > 0, size, 1.0)) < 1e-12


@laws
def test_without_slip_friction_is_zero_and_every_direction_is_as_stiff(law):
    y = np.zeros((2, 6))
    y[:, 2] = 2.0
    one = np.ones(2)
    gamma, G, regions = lifted(y, law(0.5 * one, 0.25 * one, 4.0 * one)[0])
    assert regions.tolist() == [Region.stiction] * 2
    np.testing.assert_array_equal(gamma, y)
    np.testing.assert_array_equal(G[0], np.diag([4.0, 4.0, 0.25, 4.0, 4.0, 4.0]))


def test_a_step_of_the_length_keeps_its_digits():
    """|y + dy| - |y| of a step 1e-12 as large as y, against 40 digits."""
    rng = np.random.default_rng(SEED)
    y, dy = rng.standard_normal((100, 6)), 1e-12 * rng.standard_normal((100, 6))
    digits = np.frompyfunc(Decimal, 1, 1)
    exact, moved = digits(y[:, TANGENTIAL]), digits(dy[:, TANGENTIAL])
    with localcontext(prec=40):
        before, after = (np.sum(x**2, axis=1) for x in (exact, exact + moved))
        longer = [float(b.sqrt() - a.sqrt()) for a, b in zip(before, after, strict=True)]
    step = reference.radial_step(y, dy)
    np.testing.assert_allclose(step[:, 0], longer, atol=1e-18)
    np.testing.assert_array_equal(step[:, 2], dy[:, 2])

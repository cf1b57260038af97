"""What every law of a contact keeps: symmetries, shapes, and the norm it is measured in."""

from __future__ import annotations

import numpy as np


def diagonal(R_t, R_n):
    """R as rows (R_t, R_t, R_n)."""
    return np.stack([R_t, R_t, R_n], axis=-1)


def norm_R(x, R_t, R_n):
    """|x|_R of each row of x (n, 3)."""
    return np.sqrt(R_t * (x[..., 0] ** 2 + x[..., 1] ** 2) + R_n * x[..., 2] ** 2)


def assert_change_of_units(project, cost, contacts, soft_norm, *, is_impulse=False):
    """Mass and speed in other units (powers of two, so that the results are equal to the bit).

    The friction of the contacts is a coefficient, or an impulse.
    """
    y, friction, R_t, R_n = contacts
    mass, speed = 4.0, 0.125
    impulse = mass * speed
    gamma, G, regions = project(*contacts, soft_norm)
    scaled = (impulse * y, impulse * friction if is_impulse else friction, R_t / mass, R_n / mass)
    gamma_2, G_2, regions_2 = project(*scaled, impulse * soft_norm)
    np.testing.assert_array_equal(gamma_2, impulse * gamma)
    np.testing.assert_array_equal(G_2, mass * G)
    np.testing.assert_array_equal(regions_2, regions)
    np.testing.assert_array_equal(
        cost(*scaled, impulse * soft_norm), mass * speed**2 * cost(*contacts, soft_norm)
    )


def assert_rotation(project, contacts, soft_norm):
    """A turn about the normal turns the impulse and G."""
    y, friction, R_t, R_n = contacts
    angle = 0.7
    Q = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    gamma, G, _ = project(*contacts, soft_norm)
    gamma_Q, G_Q, _ = project(y @ Q.T, friction, R_t, R_n, soft_norm)
    distance = norm_R(gamma_Q - gamma @ Q.T, R_t, R_n)
    size = norm_R(y, R_t, R_n) + np.sqrt(R_t) * soft_norm
    assert np.all(distance <= 1e-14 * size)
    root = np.sqrt(diagonal(R_t, R_n))
    scaled = root[:, :, None] * (G_Q - Q @ G @ Q.T) * root[:, None, :]
    assert np.max(np.abs(scaled)) < 1e-12


def assert_broadcasts(project, cost, rng):
    """Leading axes broadcast, and each contact is what it is alone; none give empty arrays."""
    y = rng.standard_normal((4, 5, 3))
    friction, R_t = rng.uniform(0.1, 1.0, (4, 1)), rng.uniform(0.1, 1.0, 5)
    gamma, G, regions = project(y, friction, R_t, 0.5)
    costs = cost(y, friction, R_t, 0.5)
    assert (gamma.shape, G.shape) == ((4, 5, 3), (4, 5, 3, 3))
    assert regions.shape == costs.shape == (4, 5)
    for i, j in np.ndindex(4, 5):
        one = project(y[i, j], friction[i, 0], R_t[j], 0.5)
        np.testing.assert_array_equal(gamma[i, j], one[0])
        np.testing.assert_array_equal(G[i, j], one[1])
        assert regions[i, j] == one[2]
        assert costs[i, j] == cost(y[i, j], friction[i, 0], R_t[j], 0.5)
    empty = np.zeros(0)
    gamma, G, regions = project(np.zeros((0, 3)), empty, empty, empty)
    assert (gamma.shape, G.shape, regions.shape) == ((0, 3), (0, 3, 3), (0,))
    assert cost(np.zeros((0, 3)), empty, empty, empty).shape == (0,)


def assert_mirrored(law, mirror, contact, soft_norm, rounding):
    """Same impulse, cost and Hessian of one contact by two (project, cost), to round-off.

    Where y lies within round-off of a boundary the two may choose different regions; the impulse
    and the cost are continuous there, G is not.
    """
    y, _, R_t, R_n = contact
    (gamma, G, region), (gamma_2, G_2, region_2) = (
        project(*contact, soft_norm) for project, _ in (law, mirror)
    )
    size = norm_R(y, R_t, R_n) + np.sqrt(R_t) * soft_norm
    assert norm_R(gamma - gamma_2, R_t, R_n) <= rounding * size
    costs = [cost(*contact, soft_norm) for _, cost in (law, mirror)]
    assert abs(costs[0] - costs[1]) <= rounding * size**2
    if region == region_2:
        root = np.sqrt(diagonal(R_t, R_n))
        assert np.max(np.abs(root[:, None] * (G - G_2) * root)) <= 2 * rounding

"""Random contacts for the tests of laws, and the norm that they are measured in."""

from __future__ import annotations

import numpy as np


def diagonal(R_t, R_n):
    """R as rows (R_t, R_t, R_n)."""
    return np.stack([R_t, R_t, R_n], axis=-1)


def norm_R(x, R_t, R_n):
    """|x|_R of each row of x (n, 3)."""
    return np.sqrt(R_t * (x[..., 0] ** 2 + x[..., 1] ** 2) + R_n * x[..., 2] ** 2)


def random_contacts(seed, n=4000):
    """y (n, 3), mu, R_t, R_n (n): all regions, several orders of magnitude, both signs of y_n."""
    rng = np.random.default_rng(seed)
    mu = rng.choice([0.0, 0.1, 0.5, 1.0, 2.0], n)
    R_t, R_n = 10.0 ** rng.uniform(-3, 1, n), 10.0 ** rng.uniform(-3, 1, n)
    y = rng.standard_normal((n, 3)) * 10.0 ** rng.uniform(-1, 1, (n, 1))
    # a third shallow enough for stiction, a third of the rest deep in the polar cone
    y[::3, :2] *= 0.1
    y[1::3, 2] = -np.abs(y[1::3, 2]) * 3.0
    return y, mu, R_t, R_n


def random_disks(seed, n=4000):
    """y (n, 3), bound, R_t, R_n (n): within and beyond the disk, with and without bound."""
    rng = np.random.default_rng(seed)
    bound = rng.choice([0.0, 0.1, 1.0, 10.0], n) * rng.uniform(0.5, 2.0, n)
    R_t, R_n = 10.0 ** rng.uniform(-3, 1, n), 10.0 ** rng.uniform(-3, 1, n)
    y = rng.standard_normal((n, 3)) * 10.0 ** rng.uniform(-1, 1, (n, 1))
    return y, bound, R_t, R_n

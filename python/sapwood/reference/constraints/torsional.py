"""Frictional contact with torsional and rolling friction: any law of three rows, lifted to six.

Rows are (t1, t2, n) and then those about (n, t1, t2), whose J is scaled by mu_k/mu: a speed and an
impulse, in m/s and N s. So R_k = R_t (mu/mu_k)^2 has become R_t, and the cone

    sqrt(|gamma_t|^2/mu^2 + sum_k gamma_k^2/mu_k^2) <= gamma_n

is circular in its five tangential components, here y_t; R = diag(R_t, R_t, R_n, R_t, R_t, R_t).
What is isotropic depends on |y_t| alone. With e = y_t/|y_t|, the law of three rows at
(|y_t|, 0, y_n) gives gamma_1, G_11, G_1n along e and G_22 across it, the cost and all of the normal
row:

    gamma_t = gamma_1 e,    G_tt = G_11 e e^T + G_22 (I - e e^T),    G_tn = G_1n e
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sapwood.solution import Region

Array = NDArray[np.float64]

TANGENTIAL = (0, 1, 3, 4, 5)
"""Rows that friction acts on."""

NORMAL = 2
"""Row of the normal."""


class Radial(NamedTuple):
    """Unprojected impulses as a law of three rows sees them."""

    y: Array  # (..., 3) |y_t|, 0, y_n
    e: Array  # (..., 5) y_t/|y_t|, 0 where y_t is


def radial(y: Array) -> Radial:
    """Length and direction of the tangential part of y (..., 6)."""
    y_t = y[..., TANGENTIAL]
    length = np.linalg.norm(y_t, axis=-1)
    e = y_t / np.where(length > 0.0, length, 1.0)[..., None]
    return Radial(np.stack([length, np.zeros_like(length), y[..., NORMAL]], axis=-1), e)


def radial_step(y: Array, dy: Array) -> Array:
    """Change (..., 3) of the length and of y_n from y to y + dy.

    |y'| - |y| = (y' - y).(y' + y)/(|y'| + |y|) loses no digits where dy is small.
    """
    y_t, d_t = y[..., TANGENTIAL], dy[..., TANGENTIAL]
    total = np.linalg.norm(y_t, axis=-1) + np.linalg.norm(y_t + d_t, axis=-1)
    product = np.sum(d_t * (2.0 * y_t + d_t), axis=-1)
    length = product / np.where(total > 0.0, total, 1.0)
    return np.stack([length, np.zeros_like(length), dy[..., NORMAL]], axis=-1)


def lift_impulse(y: Array, e: Array, gamma: Array, regions: NDArray[np.int8]) -> Array:
    """Impulse (..., 6) from that (..., 3) of the law of three rows; y itself where it sticks."""
    lifted = np.empty(y.shape)
    sticks = (regions == Region.stiction)[..., None]
    lifted[..., TANGENTIAL] = np.where(sticks, y[..., TANGENTIAL], gamma[..., :1] * e)
    lifted[..., NORMAL] = gamma[..., 2]
    return lifted


def lift_matrix(e: Array, G: Array) -> Array:
    """G (..., 6, 6) from that (..., 3, 3) of the law of three rows, which need not be symmetric."""
    along = e[..., :, None] * e[..., None, :]
    lifted = np.zeros((*e.shape[:-1], 6, 6))
    rows, columns = np.ix_(TANGENTIAL, TANGENTIAL)
    lifted[..., rows, columns] = G[..., :1, :1] * along + G[..., 1:2, 1:2] * (np.eye(5) - along)
    lifted[..., TANGENTIAL, NORMAL] = G[..., 0, 2, None] * e
    lifted[..., NORMAL, TANGENTIAL] = G[..., 2, 0, None] * e
    lifted[..., NORMAL, NORMAL] = G[..., 2, 2]
    return lifted

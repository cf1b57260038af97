"""The disk law: frictional contact with a given bound b on friction.

Rows are (t1, t2, n), the normal last; y, gamma and b in N s. With y_r = |y_t| and t = y_t/y_r

    normal   gamma_n = max(y_n, 0)                    l_n = R_n gamma_n^2/2
    sticks   y_r <= b    gamma_t = y_t                l_t = R_t y_r^2/2
    slides   y_r >  b    gamma_t = b t                l_t = R_t (b y_r - b^2/2)

    G_nn = 1/R_n where y_n > 0,  G_tn = 0,
    G_tt = I/R_t where it sticks, b/(R_t y_r) (I - t t^T) where it slides

gamma is the projection of y onto a cylinder in the norm of R, so the cost is convex for every b:
there is no gliding, which comes of the coupling in the cone of `contact`. Coulomb's law is
b = mu gamma_n; see `coulomb`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood.solution import Region

Array = NDArray[np.float64]


class Disk(NamedTuple):
    """Quantities every formula of the disk law is written in; arrays of shape (...)."""

    y_t: Array  # (..., 2)
    y_n: Array
    y_r: Array  # radial component, the (soft) norm of y_t
    t: Array  # (..., 2) tangent y_t / y_r, 0 where y_r = 0
    gamma_n: Array
    regions: NDArray[np.int8]


def disk(y: ArrayLike, bound: ArrayLike, soft_norm: float = 0.0) -> Disk:
    """Classify y (..., 3) for the bounds (...).

    The disk is closed. Without normal impulse and bound there is no contact, whatever y_t.
    """
    y, b = np.asarray(y, dtype=float), np.asarray(bound, dtype=float)
    y_t, y_n = y[..., :2], y[..., 2]
    y_r = np.hypot(np.hypot(y_t[..., 0], y_t[..., 1]), soft_norm)
    t = y_t / np.where(y_r > 0.0, y_r, 1.0)[..., None]
    acts = (y_n > 0.0) | (b > 0.0)
    regions = np.where(
        acts & (y_r <= b), Region.stiction, np.where(acts, Region.sliding, Region.none)
    )
    return Disk(y_t, y_n, y_r, t, np.maximum(y_n, 0.0), regions.astype(np.int8))


def project_disk(
    y: ArrayLike, bound: ArrayLike, R_t: ArrayLike, R_n: ArrayLike, soft_norm: float = 0.0
) -> tuple[Array, Array, NDArray[np.int8]]:
    """Project y onto the cylinder |gamma_t| <= b, gamma_n >= 0.

    Parameters
    ----------
    y : (..., 3) array
        Unprojected impulse R^-1 (v_hat - v_c), N s.
    bound : (...) array
        Bound b of the friction, N s, >= 0.
    R_t, R_n : (...) arrays
        Tangential and normal regularization, 1/kg, > 0.
    soft_norm : float
        eps_s in N s: y_r = sqrt(|y_t|^2 + eps_s^2). 0 is the exact law.

    Returns
    -------
    gamma : (..., 3) array
        The impulse, N s.
    G : (..., 3, 3) array
        -dgamma/dv_c, b held; symmetric and PSD, kg.
    regions : (...) int8 array
        Region of y.
    """
    q = disk(y, bound, soft_norm)
    b, R_t, R_n = (
        np.broadcast_to(np.asarray(x, dtype=float), q.regions.shape) for x in (bound, R_t, R_n)
    )
    sticks, slides = q.regions == Region.stiction, q.regions == Region.sliding

    gamma = np.empty((*q.regions.shape, 3))
    sliding = np.where(slides, b, 0.0)[..., None] * q.t
    gamma[..., :2] = np.where(sticks[..., None], q.y_t, sliding)
    gamma[..., 2] = q.gamma_n

    across = np.where(slides, b / np.where(q.y_r > 0.0, q.y_r, 1.0), 0.0) / R_t
    P_perp = np.eye(2) - q.t[..., :, None] * q.t[..., None, :]
    G = np.zeros((*q.regions.shape, 3, 3))
    G[..., :2, :2] = np.where(
        sticks[..., None, None],
        (1.0 / R_t)[..., None, None] * np.eye(2),
        across[..., None, None] * P_perp,
    )
    G[..., 2, 2] = np.where(q.y_n > 0.0, 1.0 / R_n, 0.0)
    return gamma, G, q.regions


def disk_cost(
    y: ArrayLike, bound: ArrayLike, R_t: ArrayLike, R_n: ArrayLike, soft_norm: float = 0.0
) -> Array:
    """Cost l_n + l_t, whose derivative in v_c is -gamma.

    Parameters as in `project_disk`; returns an array of shape (...), J.
    """
    q = disk(y, bound, soft_norm)
    b, R_t, R_n = (np.asarray(x, dtype=float) for x in (bound, R_t, R_n))
    friction = np.where(
        q.regions == Region.stiction, R_t * q.y_r**2 / 2.0, R_t * b * (q.y_r - b / 2.0)
    )
    return np.asarray(R_n * q.gamma_n**2 / 2.0 + friction)


def disk_cost_difference(
    y: ArrayLike,
    delta: ArrayLike,
    bound: ArrayLike,
    R_t: ArrayLike,
    R_n: ArrayLike,
    soft_norm: float = 0.0,
) -> Array:
    """l(y + delta) - l(y) without cancellation, whatever regions the two are in.

    From a^2 - b^2 = (a - b)(a + b), with dy_r = delta_t.(2 y_t + delta_t) / (y_r + y_r'),

        normal         R_n dgamma_n (gamma_n + gamma_n')/2
        sticks, both   R_t delta_t.(y_t + delta_t/2)
        slides, both   R_t b dy_r
        between        the way outside, b (y_r - b), and that inside, (b - y_r)(b + y_r)/2
    """
    y, delta = np.asarray(y, dtype=float), np.asarray(delta, dtype=float)
    b, R_t, R_n = (np.asarray(x, dtype=float) for x in (bound, R_t, R_n))
    q0, q1 = disk(y, b, soft_norm), disk(y + delta, b, soft_norm)
    d_t, d_n = delta[..., :2], delta[..., 2]

    both = (q0.gamma_n > 0.0) & (q1.gamma_n > 0.0)
    dgamma_n = np.where(both, d_n, q1.gamma_n - q0.gamma_n)
    normal = R_n * dgamma_n * (q0.gamma_n + q1.gamma_n) / 2.0

    square = np.sum(d_t * (2.0 * q0.y_t + d_t), axis=-1)  # y_r'^2 - y_r^2
    total = q0.y_r + q1.y_r
    inside, outside = np.minimum(q0.y_r, q1.y_r), np.maximum(q0.y_r, q1.y_r)
    rise = b * (outside - b) + (b - inside) * (b + inside) / 2.0
    friction = np.where(
        outside <= b,
        square / 2.0,
        np.where(
            inside > b,
            b * square / np.where(total > 0.0, total, 1.0),
            np.where(q1.y_r > b, rise, -rise),
        ),
    )
    return np.asarray(normal + R_t * friction)

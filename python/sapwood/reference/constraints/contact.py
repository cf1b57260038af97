"""The contact law: projection onto the friction cone, its cost and its derivative.

Rows are (t1, t2, n), the normal last; impulses are in N s. Equation numbers are those of Castro,
Permenter and Han, "An Unconstrained Convex Formulation of Compliant Contact".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood.solution import Region

Array = NDArray[np.float64]


class Law(NamedTuple):
    """Quantities every formula of the contact law is written in; arrays of shape (...)."""

    y_t: Array  # (..., 2)
    y_n: Array
    y_r: Array  # radial component, the (soft) norm of y_t
    t: Array  # (..., 2) tangent y_t / y_r, 0 where y_r = 0
    s: Array  # y_n + mu_hat y_r, positive outside the polar cone
    mu_hat: Array  # mu R_t / R_n
    mu_tilde2: Array  # mu^2 R_t / R_n
    regions: NDArray[np.int8]


def law(y: ArrayLike, mu: ArrayLike, R_t: ArrayLike, R_n: ArrayLike, soft_norm: float = 0.0) -> Law:
    """Classify y (appendix D) and return the quantities of (18).

    The cone itself belongs to region I, the boundary of the polar cone to region II (appendix E).
    The test y_n >= 0 is not idle: for mu = 0 and y_t = 0 it keeps a pulling y out of region I.
    """
    y = np.asarray(y, dtype=float)
    mu, R_t, R_n = (np.asarray(x, dtype=float) for x in (mu, R_t, R_n))
    y_t, y_n = y[..., :2], y[..., 2]
    y_r = np.hypot(np.hypot(y_t[..., 0], y_t[..., 1]), soft_norm)
    t = y_t / np.where(y_r > 0.0, y_r, 1.0)[..., None]
    mu_hat = mu * R_t / R_n
    s = y_n + mu_hat * y_r

    stiction = (y_n >= 0.0) & (y_r <= mu * y_n)
    sliding = ~stiction & (s >= 0.0)
    regions = np.where(stiction, Region.stiction, np.where(sliding, Region.sliding, Region.none))
    return Law(y_t, y_n, y_r, t, s, mu_hat, mu * mu_hat, regions.astype(np.int8))


def project(
    y: ArrayLike, mu: ArrayLike, R_t: ArrayLike, R_n: ArrayLike, soft_norm: float = 0.0
) -> tuple[Array, Array, NDArray[np.int8]]:
    """Project y onto the friction cone in the norm of R = diag(R_t, R_t, R_n).

    Parameters
    ----------
    y : (..., 3) array
        Unprojected impulse R^-1 (v_hat - v_c), N s.
    mu : (...) array
        Friction coefficient, >= 0.
    R_t, R_n : (...) arrays
        Tangential and normal regularization, 1/kg, > 0.
    soft_norm : float
        eps_s in N s: y_r = sqrt(|y_t|^2 + eps_s^2). 0 is the exact law.

    Returns
    -------
    gamma : (..., 3) array
        The impulse P_F(y), Eq. (18), N s.
    G : (..., 3, 3) array
        -dgamma/dv_c = dgamma/dy R^-1, symmetric and PSD (appendix E), kg.
    regions : (...) int8 array
        Region of y.
    """
    q = law(y, mu, R_t, R_n, soft_norm)
    mu, R_t, R_n = (np.broadcast_to(np.asarray(x, dtype=float), q.s.shape) for x in (mu, R_t, R_n))
    shape = q.s.shape

    # region II: gamma_n = s / (1 + mu~^2), gamma_t = mu gamma_n t            (18)
    gamma_n = q.s / (1.0 + q.mu_tilde2)
    gamma_II = np.concatenate([(mu * gamma_n)[..., None] * q.t, gamma_n[..., None]], axis=-1)

    # region II: G_tt = mu/R_t [mu^/(1 + mu~^2) P + gamma_n/y_r P'],
    #            G_tn = mu t / ((1 + mu~^2) R_n),  G_nn = 1 / ((1 + mu~^2) R_n)    (31)
    P = q.t[..., :, None] * q.t[..., None, :]
    P_perp = np.eye(2) - P
    along = mu / R_t * q.mu_hat / (1.0 + q.mu_tilde2)
    across = mu / R_t * gamma_n / np.where(q.y_r > 0.0, q.y_r, 1.0)
    G_nn = 1.0 / ((1.0 + q.mu_tilde2) * R_n)
    G_II = np.empty((*shape, 3, 3))
    G_II[..., :2, :2] = along[..., None, None] * P + across[..., None, None] * P_perp
    G_II[..., :2, 2] = G_II[..., 2, :2] = (mu * G_nn)[..., None] * q.t
    G_II[..., 2, 2] = G_nn

    # region I: gamma = y, G = R^-1; region III: both zero
    G_I = np.stack([1.0 / R_t, 1.0 / R_t, 1.0 / R_n], axis=-1)[..., None] * np.eye(3)
    stiction = q.regions == Region.stiction
    sliding = q.regions == Region.sliding
    y = np.broadcast_to(np.asarray(y, dtype=float), (*shape, 3))
    gamma = np.where(stiction[..., None], y, np.where(sliding[..., None], gamma_II, 0.0))
    G = np.where(stiction[..., None, None], G_I, np.where(sliding[..., None, None], G_II, 0.0))
    return gamma, G, q.regions


def contact_cost(
    y: ArrayLike, mu: ArrayLike, R_t: ArrayLike, R_n: ArrayLike, soft_norm: float = 0.0
) -> Array:
    """Cost l_i of (29), whose derivative in v_c is -gamma.

    Parameters as in `project`; returns an array of shape (...), J. With soft_norm = 0 it is
    |gamma|_R^2 / 2.
    """
    q = law(y, mu, R_t, R_n, soft_norm)
    R_t, R_n = np.asarray(R_t, dtype=float), np.asarray(R_n, dtype=float)
    stiction = (R_t * q.y_r**2 + R_n * q.y_n**2) / 2.0
    sliding = R_n * q.s**2 / (2.0 * (1.0 + q.mu_tilde2))
    return np.where(
        q.regions == Region.stiction,
        stiction,
        np.where(q.regions == Region.sliding, sliding, 0.0),
    )


def contact_cost_difference(
    y: ArrayLike,
    delta: ArrayLike,
    mu: ArrayLike,
    R_t: ArrayLike,
    R_n: ArrayLike,
    soft_norm: float = 0.0,
) -> Array:
    """l_i(y + delta) - l_i(y) without cancellation while the contact stays in its region.

    With a^2 - b^2 = (a - b)(a + b) every factor is small where the difference is small:

        I    R_t delta_t.(y_t + delta_t/2) + R_n delta_n (y_n + delta_n/2)
        II   R_n ds (s + ds/2) / (1 + mu~^2),
             ds = delta_n + mu^ dy_r,  dy_r = delta_t.(2 y_t + delta_t) / (y_r + y_r')
    """
    y, delta, R_t, R_n = (np.asarray(x, dtype=float) for x in (y, delta, R_t, R_n))
    q0 = law(y, mu, R_t, R_n, soft_norm)
    q1 = law(y + delta, mu, R_t, R_n, soft_norm)
    d_t, d_n = delta[..., :2], delta[..., 2]

    tangential = np.sum(d_t * (q0.y_t + d_t / 2.0), axis=-1)
    stiction = R_t * tangential + R_n * d_n * (q0.y_n + d_n / 2.0)

    radial = q0.y_r + q1.y_r
    ds = d_n + q0.mu_hat * 2.0 * tangential / np.where(radial > 0.0, radial, 1.0)
    sliding = R_n * ds * (q0.s + ds / 2.0) / (1.0 + q0.mu_tilde2)

    crossing = contact_cost(y + delta, mu, R_t, R_n, soft_norm) - contact_cost(
        y, mu, R_t, R_n, soft_norm
    )
    same = q0.regions == q1.regions
    return np.where(
        same & (q0.regions == Region.stiction),
        stiction,
        np.where(same & (q0.regions == Region.sliding), sliding, crossing),
    )

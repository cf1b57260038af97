"""The law of every kind of constraint but frictional contact: an impulse held between two bounds.

Row by row, with y = (v_hat - v_c)/R,

    gamma = clamp(y, lower, upper),   G = -dgamma/dv_c = 1/R within the bounds, 0 beyond

from the convex cost R y^2/2 within and R (b y - b^2/2) beyond a bound b. Kinds differ in what R,
v_hat and the bounds follow from (`regularization`). The cost may be negative, and unbounded below
in a single row: nothing may assume more than that it is convex.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def clamp(
    y: ArrayLike, R: ArrayLike, lower: ArrayLike, upper: ArrayLike
) -> tuple[Array, Array, Array]:
    """Impulse, its derivative and the cost of clamped rows.

    Parameters
    ----------
    y : (...) array
        Unclamped impulse (v_hat - v_c)/R, N s or N m s.
    R : (...) array
        Regularization, 1/kg or 1/(kg m^2), > 0.
    lower, upper : (...) arrays
        Bounds, lower <= 0 <= upper, which may be infinite, in the unit of y.

    Returns
    -------
    gamma : (...) array
        clamp(y, lower, upper).
    G : (...) array
        -dgamma/dv_c: 1/R on the bounds and between them, 0 beyond.
    cost : (...) array
        l = R gamma (y - gamma/2), J, which is both of the formulas above.
    """
    y, R, lower, upper = (np.asarray(x, dtype=float) for x in (y, R, lower, upper))
    gamma = np.clip(y, lower, upper)
    G = np.where((lower <= y) & (y <= upper), 1.0 / R, 0.0)
    return gamma, G, R * gamma * (y - gamma / 2.0)


def clamp_cost_difference(
    y: ArrayLike, delta: ArrayLike, R: ArrayLike, lower: ArrayLike, upper: ArrayLike
) -> Array:
    """l(y + delta) - l(y) without cancellation while the row stays within or beyond a bound.

    R times the integral of clamp from y to y' = y + delta; gamma = clamp(y), gamma' = clamp(y'):

        within both times     delta (y + delta/2)
        beyond the same bound delta gamma
        otherwise             gamma (gamma - y) + (gamma'^2 - gamma^2)/2 + gamma' (y' - gamma')
    """
    y, delta, R, lower, upper = (np.asarray(x, dtype=float) for x in (y, delta, R, lower, upper))
    end = y + delta
    gamma, gamma_end = np.clip(y, lower, upper), np.clip(end, lower, upper)
    within = (gamma == y) & (gamma_end == end)
    crossing = (
        gamma * (gamma - y)
        + (gamma_end - gamma) * (gamma_end + gamma) / 2.0
        + gamma_end * (end - gamma_end)
    )
    return R * np.where(
        within,
        delta * (y + delta / 2.0),
        np.where(gamma == gamma_end, delta * gamma, crossing),
    )

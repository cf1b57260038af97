"""The law of every kind of constraint but frictional contact: an impulse held between two bounds.

Row by row, with y = (v_hat - v_c)/R,

    gamma = clamp(y, lower, upper),   G = -dgamma/dv_c = 1/R within the bounds, 0 beyond

from the convex cost R y^2/2 within and R (b y - b^2/2) beyond a bound b. A row whose bounds are
equal has no inside: G = 0 everywhere. Kinds differ in what R, v_hat and the bounds follow from
(`regularization`). Where 0 lies between the bounds, the cost is not negative; where it does not, as
in a cable that always pulls, the cost takes either sign and is unbounded below: nothing may assume
more than that it is convex.
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
        Bounds, lower <= upper, in the unit of y; lower may be -inf and upper inf.

    Returns
    -------
    gamma : (...) array
        clamp(y, lower, upper).
    G : (...) array
        -dgamma/dv_c: 1/R on the bounds and between them, 0 beyond and where both are equal.
    cost : (...) array
        l = R gamma (y - gamma/2), J, which is both of the formulas above; >= 0 where
        lower <= 0 <= upper.
    """
    y, R, lower, upper = (np.asarray(x, dtype=float) for x in (y, R, lower, upper))
    gamma = np.clip(y, lower, upper)
    G = np.where((gamma == y) & (lower < upper), 1.0 / R, 0.0)
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

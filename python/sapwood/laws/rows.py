"""The law of one clamped row, for arrays of rows: limits, joints, controllers, dry friction."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.equality import compared_by_value
from sapwood.laws.shapes import common_shape

_Float = NDArray[np.float64]


@compared_by_value
class ClampedRows(NamedTuple):
    """Result of :func:`clamp`; the axes are the broadcast axes of the arguments.

    Two results are equal when all their entries are the same, to the last bit.
    """

    gamma: _Float
    """Impulse (...) in N s or N m s."""
    G: _Float
    """-dgamma/dv_c (...) in kg or kg m^2."""
    cost: _Float
    """Cost l (...) in J."""


def clamp(y: ArrayLike, R: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> ClampedRows:
    """Impulse of clamped rows, its derivative and its cost.

    gamma = clamp(y, lower, upper) is -dl/dv_c of the convex cost l = R gamma (y - gamma/2): R y^2/2
    within the bounds, R (b y - b^2/2) beyond a bound b. It is >= 0 where 0 lies between the bounds,
    and takes either sign where it does not.

    Parameters
    ----------
    y : array_like (...)
        Unclamped impulse (v_hat - v_c)/R, N s or N m s.
    R : array_like (...)
        Regularization > 0, 1/kg or 1/(kg m^2).
    lower, upper : array_like (...)
        Bounds, lower <= upper, in the unit of y; lower may be -inf and upper inf.

    Returns
    -------
    ClampedRows
        ``gamma``, ``G`` = 1/R within the bounds and on them, 0 beyond and where they are equal, and
        ``cost`` (...).

    Raises
    ------
    TypeError, ValueError
        For a wrong dtype, shape or value; the text names the argument and the index.

    Examples
    --------
    >>> clamp([-1.0, 0.5, 3.0], R=2.0, lower=0.0, upper=1.0).gamma
    array([0. , 0.5, 1. ])
    """
    arrays = {
        "y": _core.as_float64(y, "y", rule="finite"),
        "R": _core.as_float64(R, "R", rule="positive"),
        "lower": _core.as_float64(lower, "lower"),
        "upper": _core.as_float64(upper, "upper"),
    }
    shape = common_shape(arrays)
    y, R, lower, upper = (np.broadcast_to(x, shape) for x in arrays.values())
    _check_bounds(arrays["lower"], arrays["lower"] < np.inf, "lower", "must be below infinity")
    _check_bounds(arrays["upper"], arrays["upper"] > -np.inf, "upper", "must be above -infinity")
    _check_bounds(lower, lower <= upper, "lower", "must be <= upper")
    result = _core.clamp(*(x.reshape(-1) for x in (y, R, lower, upper)))
    return ClampedRows(*(result[name].reshape(shape) for name in ("gamma", "G", "cost")))


def _check_bounds(array: _Float, fine: NDArray[np.bool_], name: str, rule: str) -> None:
    """Refuse the first entry that is not fine; NaN never is."""
    for index in np.argwhere(~fine):
        where = f"[{', '.join(map(str, index))}]" if len(index) else ""
        raise ValueError(f"{name}{where} = {array[tuple(index)]:g}: {rule}")

"""The law of one clamped row, for arrays of rows: limits, joints, controllers, dry friction."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.equality import equal_arrays

_Float = NDArray[np.float64]


class ClampedRows(NamedTuple):
    """Result of :func:`clamp`; the axes are those of the arguments, broadcast.

    Two results are equal when all their entries are the same, to the last bit.
    """

    gamma: _Float
    """Impulse (...) in N s or N m s."""
    G: _Float
    """-dgamma/dv_c (...) in kg or kg m^2."""
    cost: _Float
    """Cost l (...) in J."""

    def __eq__(self, other: object) -> bool:
        return equal_arrays(self, other)

    def __ne__(self, other: object) -> bool:
        return not equal_arrays(self, other)


def clamp(y: ArrayLike, R: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> ClampedRows:
    """Impulse of clamped rows, its derivative and its cost.

    gamma = clamp(y, lower, upper) is -dl/dv_c of the convex cost l = R gamma (y - gamma/2): R y^2/2
    within the bounds, R (b y - b^2/2) beyond a bound b. It may be negative.

    Parameters
    ----------
    y : array_like (...)
        Unclamped impulse (v_hat - v_c)/R, N s or N m s.
    R : array_like (...)
        Regularization > 0, 1/kg or 1/(kg m^2).
    lower, upper : array_like (...)
        Bounds, lower <= 0 <= upper, which may be infinite, in the unit of y.

    Returns
    -------
    ClampedRows
        ``gamma``, ``G`` = 1/R within the bounds and 0 beyond, and ``cost`` (...).

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
        "lower": _bound(lower, "lower", -1.0),
        "upper": _bound(upper, "upper", 1.0),
    }
    shape: tuple[int, ...] = ()
    for name, array in arrays.items():
        try:
            shape = np.broadcast_shapes(shape, array.shape)
        except ValueError:
            raise ValueError(
                f"{name} has shape {array.shape}, which does not broadcast with {shape}"
            ) from None
    result = _core.clamp(*(np.broadcast_to(x, shape).reshape(-1) for x in arrays.values()))
    return ClampedRows(*(result[name].reshape(shape) for name in ("gamma", "G", "cost")))


def _bound(value: ArrayLike, name: str, sign: float) -> _Float:
    """An array of that sign, or 0, with infinities but no NaN."""
    array = _core.as_float64(value, name)
    for index in np.argwhere(~(sign * array >= 0.0)):
        where = f"[{', '.join(map(str, index))}]" if len(index) else ""
        relation = ">=" if sign > 0.0 else "<="
        raise ValueError(f"{name}{where} = {array[tuple(index)]:g}: must be {relation} 0")
    return array

"""The disk law of one contact point, for arrays of contacts: friction with a bound of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.laws.contact import Projection
from sapwood.laws.shapes import common_shape

if TYPE_CHECKING:
    from sapwood._core import _DiskProjection

_Float = NDArray[np.float64]


def project_disk(
    y: ArrayLike, bound: ArrayLike, R_t: ArrayLike, R_n: ArrayLike, soft_norm: float = 0.0
) -> Projection:
    """Project onto the cylinder |gamma_t| <= bound, gamma_n >= 0 in the norm of R.

    gamma_n = max(y_n, 0) and gamma_t = y_t min(1, bound/|y_t|): the law of lagged friction, and
    Coulomb's where bound = mu gamma_n.

    Parameters
    ----------
    y : array_like (..., 3)
        Unprojected impulse R^-1 (v_hat - v_c), rows (t1, t2, n), N s.
    bound : array_like (...)
        Bound of the friction, N s, >= 0.
    R_t, R_n : array_like (...)
        Tangential and normal regularization, 1/kg, > 0. R = diag(R_t, R_t, R_n).
    soft_norm : float
        eps_s >= 0 in N s: |y_t| is replaced by sqrt(|y_t|^2 + eps_s^2).

    Returns
    -------
    Projection
        ``gamma`` (..., 3), ``G`` = -dgamma/dv_c (..., 3, 3) with the bound held, and ``regions``
        (...): stiction within the disk and on its circle, sliding beyond it, none where both bound
        and gamma_n are 0.

    Raises
    ------
    TypeError, ValueError
        For a wrong dtype, shape or value; the text names the argument and the index.

    Examples
    --------
    >>> project_disk([1.0, 0.0, 1.0], bound=0.5, R_t=1.0, R_n=1.0).gamma
    array([0.5, 0. , 1. ])
    """
    shape, result = _project(y, bound, R_t, R_n, soft_norm)
    return Projection(
        result["gamma"].reshape(*shape, 3),
        result["G"].reshape(*shape, 3, 3),
        result["regions"].reshape(shape),
    )


def disk_cost(
    y: ArrayLike, bound: ArrayLike, R_t: ArrayLike, R_n: ArrayLike, soft_norm: float = 0.0
) -> _Float:
    """Cost of contacts under the disk law, in J; its derivative by v_c is -gamma.

    R_n gamma_n^2/2 and R_t |y_t|^2/2 within the disk, R_t (bound |y_t| - bound^2/2) beyond it.

    Parameters
    ----------
    y, bound, R_t, R_n, soft_norm
        The same as for :func:`project_disk`.

    Returns
    -------
    ndarray (...)
        Cost of each contact.

    Raises
    ------
    TypeError, ValueError
        The same as for :func:`project_disk`.
    """
    shape, result = _project(y, bound, R_t, R_n, soft_norm)
    return result["cost"].reshape(shape)


def _project(
    y: ArrayLike, bound: ArrayLike, R_t: ArrayLike, R_n: ArrayLike, soft_norm: float
) -> tuple[tuple[int, ...], _DiskProjection]:
    """Check the values, then the law of all contacts in one row; the shape is that to give back."""
    y = _core.as_float64(y, "y", rule="finite")
    if y.ndim == 0 or y.shape[-1] != 3:
        raise ValueError(f"y has shape {y.shape}, expected (..., 3)")
    scalars = {
        "bound": _core.as_float64(bound, "bound", rule="non-negative"),
        "R_t": _core.as_float64(R_t, "R_t", rule="positive"),
        "R_n": _core.as_float64(R_n, "R_n", rule="positive"),
    }
    shape = common_shape(scalars, y.shape[:-1])
    b, t, n = (np.broadcast_to(array, shape).reshape(-1) for array in scalars.values())
    y = np.broadcast_to(y, (*shape, 3)).reshape(-1, 3)
    return shape, _core.project_disk(y, b, t, n, soft_norm)

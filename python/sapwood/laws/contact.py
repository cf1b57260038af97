"""The contact law of one contact point, for arrays of contacts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.equality import compared_by_value
from sapwood.laws.rigid_core import DEFAULT_LAMBDA, CoreKind, core_kinds
from sapwood.laws.shapes import common_shape

_Float = NDArray[np.float64]


@compared_by_value
class Projection(NamedTuple):
    """Result of :func:`project`; the leading axes are the broadcast axes of the arguments.

    Two results are equal when all their entries are the same, to the last bit.
    """

    gamma: _Float
    """Impulse (..., 3) in N s."""
    G: _Float
    """Hessian block (..., 3, 3) in kg."""
    regions: NDArray[np.int8]
    """:class:`sapwood.Region` of each contact (...)."""


def project(
    y: ArrayLike,
    mu: ArrayLike,
    R_t: ArrayLike,
    R_n: ArrayLike,
    soft_norm: float = 0.0,
    *,
    core: ArrayLike = "none",
    kappa: ArrayLike | None = None,
    core_lambda: ArrayLike = DEFAULT_LAMBDA,
    core_table: ArrayLike | None = None,
) -> Projection:
    r"""Project onto the friction cone in the norm of R, Eq. (18); stiffen by a rigid core.

    .. math:: \gamma_0 = \arg\min_{\lVert g_t\rVert \le \mu g_n}
        \tfrac12 \lVert g - y\rVert_R^2, \qquad R = \mathrm{diag}(R_t, R_t, R_n)

    With a core the impulse is :math:`\gamma = (b'(s)/s)\, \gamma_0` at
    :math:`s = \lVert\gamma_0\rVert_R/\sqrt{\kappa}`, where :math:`b = -\tfrac12 s \log(1 - s)`
    for "log" and :math:`b = \tfrac12 s^2 e^{\lambda s}` for "exp"; "table" reads `core_table`.

    Parameters
    ----------
    y : array_like (..., 3)
        Unprojected impulse R^-1 (v_hat - v_c), rows (t1, t2, n), N s.
    mu : array_like (...)
        Friction coefficient, >= 0.
    R_t, R_n : array_like (...)
        Tangential and normal regularization, 1/kg, > 0. R = diag(R_t, R_t, R_n).
    soft_norm : float
        eps_s >= 0 in N s: |y_t| is replaced by sqrt(|y_t|^2 + eps_s^2).
    core : str or array_like of str or int (...)
        :class:`sapwood.CoreKind` of each contact: "none", "log", "exp" or "table".
    kappa : array_like (...), optional
        Energy of the core, J, > 0; required where there is one.
    core_lambda : array_like (...)
        Exponent > 0 of "exp", dimensionless.
    core_table : array_like (2, n_nodes), optional
        Nodes s and b'' > 0 of "table", see :func:`tabulate_barrier`.

    Returns
    -------
    Projection
        ``gamma`` (..., 3), ``G`` = -dgamma/dv_c (..., 3, 3) and ``regions`` (...). NaN where y is
        outside of the domain of a core: s < 1 for "log", core_lambda s < 20 for "exp".

    Raises
    ------
    TypeError, ValueError
        For a wrong dtype, shape or value; the text names the argument and the index.

    Examples
    --------
    >>> project([1.0, 0.0, 1.0], mu=0.5, R_t=1.0, R_n=1.0).gamma
    array([0.6, 0. , 1.2])
    """
    shape, flat, cores = _broadcast(y, mu, R_t, R_n, core, kappa, core_lambda, core_table)
    result = _core.project(*flat, soft_norm, *cores)
    return Projection(
        result["gamma"].reshape(*shape, 3),
        result["G"].reshape(*shape, 3, 3),
        result["regions"].reshape(shape),
    )


def contact_cost(
    y: ArrayLike,
    mu: ArrayLike,
    R_t: ArrayLike,
    R_n: ArrayLike,
    soft_norm: float = 0.0,
    *,
    core: ArrayLike = "none",
    kappa: ArrayLike | None = None,
    core_lambda: ArrayLike = DEFAULT_LAMBDA,
    core_table: ArrayLike | None = None,
) -> _Float:
    """Cost l = 1/2 gamma^T R gamma of contacts, Eq. (29), or kappa b(s) with a core, in J.

    Parameters
    ----------
    y, mu, R_t, R_n, soft_norm, core, kappa, core_lambda, core_table
        The same as for :func:`project`.

    Returns
    -------
    ndarray (...)
        Cost of each contact; infinite outside of the domain of a core.

    Raises
    ------
    TypeError, ValueError
        The same as for :func:`project`.
    """
    shape, flat, cores = _broadcast(y, mu, R_t, R_n, core, kappa, core_lambda, core_table)
    return _core.contact_cost(*flat, soft_norm, *cores).reshape(shape)


_Law = tuple[_Float, _Float, _Float, _Float]
_Cores = tuple[()] | tuple[NDArray[np.int8], _Float, _Float, ArrayLike | None]


def _broadcast(
    y: ArrayLike,
    mu: ArrayLike,
    R_t: ArrayLike,
    R_n: ArrayLike,
    core: ArrayLike,
    kappa: ArrayLike | None,
    core_lambda: ArrayLike,
    core_table: ArrayLike | None,
) -> tuple[tuple[int, ...], _Law, _Cores]:
    """Check the values, then give every argument the same leading axes, flattened to one."""
    y = _core.as_float64(y, "y", rule="finite")
    if y.ndim == 0 or y.shape[-1] != 3:
        raise ValueError(f"y has shape {y.shape}, expected (..., 3)")
    kinds = core_kinds(core)
    scalars: dict[str, NDArray[Any]] = {
        "mu": _core.as_float64(mu, "mu", rule="non-negative"),
        "R_t": _core.as_float64(R_t, "R_t", rule="positive"),
        "R_n": _core.as_float64(R_n, "R_n", rule="positive"),
    }
    if kinds.any():
        if kappa is None:
            raise TypeError("kappa is required where core is not 'none'")
        if core_table is None and np.any(kinds == CoreKind.table):
            raise TypeError("core_table is required where core is 'table'")
        scalars["core"] = kinds
        scalars["kappa"] = _core.as_float64(kappa, "kappa", rule="positive")
        scalars["core_lambda"] = _core.as_float64(core_lambda, "core_lambda", rule="positive")
    shape = common_shape(scalars, y.shape[:-1])
    flat = {name: np.broadcast_to(array, shape).reshape(-1) for name, array in scalars.items()}
    y = np.broadcast_to(y, (*shape, 3)).reshape(-1, 3)
    if not kinds.any():
        return shape, (y, flat["mu"], flat["R_t"], flat["R_n"]), ()
    core_arrays = (np.ascontiguousarray(flat["core"]), flat["kappa"], flat["core_lambda"])
    return shape, (y, flat["mu"], flat["R_t"], flat["R_n"]), (*core_arrays, core_table)

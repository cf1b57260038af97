"""The dual programs (3) and (5) in the impulses, and the primal of (3), by Clarabel.

    dual (5)      max -1/2 g^T (W + R) g - r^T g   over g in F
    dual (3)      the same with R = 0
    primal (3)    min 1/2 |v - v*|_A^2   with   J v - v_hat in F*

with W = J A^-1 J^T and r = J v* - v_hat. F is the product of the cones |g_t,i| <= mu_i g_n,i, and
F* that of mu_i |x_t,i| <= x_n,i. The primal of (5) is (15), which
`sapwood.studies.peers.conic_form` poses.
"""

from __future__ import annotations

import clarabel
import numpy as np
import scipy.sparse as sparse
from numpy.typing import ArrayLike, NDArray

from sapwood.studies.peers.clarabel_conic import quiet_settings
from sapwood.studies.peers.conic_form import compressed

Array = NDArray[np.float64]


def best_impulses(W: Array, R: Array, r: Array, mu: ArrayLike, tolerance: float) -> Array:
    """Impulses (3 n) that solve the dual (5), or (3) where R is zero.

    Parameters
    ----------
    W : (3 n, 3 n) array
        Delassus operator, 1/kg.
    R : (3 n) array
        Regularization, 1/kg.
    r : (3 n) array
        Linear term J v* - v_hat, m/s.
    mu : float or (n) array
        Friction coefficients, above 0.
    tolerance
        On gap and feasibility.
    """
    return _solve(W + np.diag(R), r, _cones(mu, len(r), dual=False), np.zeros(len(r)), tolerance)


def best_velocity(
    A: Array, v_star: Array, J: Array, v_hat: Array, mu: ArrayLike, tolerance: float
) -> Array:
    """Velocity (nv) that solves the primal of (3): contacts neither approach nor give.

    Parameters
    ----------
    A : (nv, nv) array
        Mass matrix.
    v_star : (nv) array
        Free-motion velocity.
    J : (3 n, nv) array
        Contact Jacobian.
    v_hat : (3 n) array
        Stabilization velocities, m/s.
    mu, tolerance
        The same as for `best_impulses`.
    """
    cones = _cones(mu, len(v_hat), dual=True)
    return _solve(A, -A @ v_star, cones @ J, cones @ v_hat, tolerance)


def _cones(mu: ArrayLike, rows: int, *, dual: bool) -> Array:
    """Matrix that takes x (t1, t2, n per contact) to (s, z), |z| <= s where x is in F, or F*."""
    mu = np.broadcast_to(mu, rows // 3)
    at = np.arange(rows).reshape(-1, 3)
    cones = np.zeros((rows, rows))
    cones[at[:, 0], at[:, 2]] = 1.0 if dual else mu
    for k in (0, 1):
        cones[at[:, k + 1], at[:, k]] = mu if dual else 1.0
    return cones


def _solve(P: Array, q: Array, C: Array, offset: Array, tolerance: float) -> Array:
    """Minimise 1/2 x^T P x + q^T x with C x - offset in second-order cones of three rows."""
    cones = [clarabel.SecondOrderConeT(3)] * (len(C) // 3)
    upper, rows = compressed(sparse.csc_array(np.triu(P))), compressed(sparse.csc_array(-C))
    solver = clarabel.DefaultSolver(upper, q, rows, -offset, cones, quiet_settings(tolerance))
    return np.array(solver.solve().x, dtype=float)

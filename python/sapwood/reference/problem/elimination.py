"""Elimination of velocities that no constraint moves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_Float = NDArray[np.float64]


def eliminate(A: _Float, touched: NDArray[np.integer]) -> tuple[_Float, _Float]:
    """Reduce a mass matrix to the velocities t that constraints move.

    At the minimum over the others, u, A_uu (v_u - v*_u) + A_ut (v_t - v*_t) = 0.

    Parameters
    ----------
    A : ndarray (nv, nv)
        Symmetric positive definite mass matrix.
    touched : ndarray of int (n,)
        The velocities t.

    Returns
    -------
    S : ndarray (n, n)
        A_tt - A_tu A_uu^-1 A_ut.
    P : ndarray (n, nv)
        P x = x_t - A_tu A_uu^-1 x_u; v - v* = P^T (v_t - v*_t), and S = P A P^T.
    """
    is_eliminated = np.ones(len(A), np.bool_)
    is_eliminated[touched] = False
    u = np.flatnonzero(is_eliminated)
    P = np.zeros((len(touched), len(A)))
    P[np.arange(len(touched)), touched] = 1.0
    P[:, u] = -np.linalg.solve(A[np.ix_(u, u)], A[np.ix_(u, touched)]).T
    return A[np.ix_(touched, touched)] + P[:, u] @ A[np.ix_(u, touched)], P

"""GMRES (Saad and Schultz 1986), for the matrices that Coulomb's friction leaves unsymmetric."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def gmres(
    times: Callable[[Array], Array], b: Array, weight: Array, tolerance: float, most: int
) -> Array:
    """x with |b - K x| <= tolerance |b|, or the best of the Krylov space after `most` products.

    Arnoldi's method, K Q_n = Q_n+1 H_n, and the least squares |b| e_1 - H_n y by Givens rotations;
    x = Q_n y.

    Parameters
    ----------
    times : callable
        K x of x (n).
    b : (n) array
        Right side.
    weight : (n) array
        Norms and inner products are x^T diag(weight) y.
    tolerance : float
    most : int

    Returns
    -------
    x : (n) array
        b itself where it is 0, or overflow leaves nothing better.
    """
    begin = float(np.sqrt(np.sum(weight * b * b)))
    if not 0.0 < begin < np.inf:
        return b
    q = [b / begin]
    R: list[Array] = []  # columns, triangular after their rotations
    turns: list[Array] = []
    s = [begin]
    while len(R) < most and abs(s[-1]) > tolerance * begin:
        after = times(q[-1])
        h = np.zeros(len(q) + 1)
        for k, q_k in enumerate(q):
            h[k] = np.sum(weight * q_k * after)
            after = after - h[k] * q_k
        h[-1] = np.sqrt(np.sum(weight * after * after))
        q.append(after / h[-1] if h[-1] > 0.0 else np.zeros_like(after))
        for k, turn in enumerate(turns):
            h[k : k + 2] = turn @ h[k : k + 2]
        length = float(np.hypot(h[-2], h[-1]))
        if not 0.0 < length < np.inf:
            break
        c, d = h[-2:] / length
        turns.append(np.array([[c, d], [-d, c]]))
        R.append(np.append(h[:-2], length))
        s[-1:] = turns[-1] @ [s[-1], 0.0]
    n = len(R)
    if n == 0:
        return b
    y = np.array(s[:n])
    for k in range(n - 1, -1, -1):
        y[k] = (y[k] - sum(R[j][k] * y[j] for j in range(k + 1, n))) / R[k][k]
    return np.asarray(sum(y[k] * q[k] for k in range(n)))

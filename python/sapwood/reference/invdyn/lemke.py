"""Lemke's method with the lexicographic ratio test, on a dense tableau."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def lemke(Q: Array, r: Array) -> tuple[Array | None, int]:
    """z >= 0 with w = Q z + r >= 0 and z^T w = 0; None on a ray.

    The tableau is [B^-1 | w's columns as they stand], so that rows are compared by B^-1.

    Parameters
    ----------
    Q : (n, n) array
    r : (n) array

    Returns
    -------
    z : (n) array, or None
    pivots : int
    """
    n = len(r)
    tolerance = 1e-12 * max(1.0, float(np.abs(Q).max(initial=0.0)))
    if not n or r.min() >= 0.0:
        return np.zeros(n), 0
    # w - Q z - z0 = r: columns of w (0 .. n-1), z (n .. 2n-1), z0 (2n)
    tableau = np.hstack([np.eye(n), -Q, -np.ones((n, 1)), r[:, None]])
    basis = np.arange(n)
    row, entering = int(np.argmin(r)), 2 * n
    for pivots in range(1, 100 + 50 * n):
        tableau[row] /= tableau[row, entering]
        others = np.arange(n) != row
        tableau[others] -= np.outer(tableau[others, entering], tableau[row])
        leaving, basis[row] = basis[row], entering
        if leaving == 2 * n:
            z = np.zeros(2 * n + 1)
            z[basis] = tableau[:, -1]
            return np.maximum(z[n : 2 * n], 0.0), pivots
        entering = leaving + n if leaving < n else leaving - n
        column = tableau[:, entering]
        rows = np.flatnonzero(column > tolerance)
        if not len(rows):
            return None, pivots
        ratios = tableau[rows, -1] / column[rows]
        rows = rows[ratios <= ratios.min() + 1e-12 * (1.0 + abs(ratios.min()))]
        # z0 leaves where it may; else the first of the rows in lexicographic order
        held = rows[basis[rows] == 2 * n]
        if len(held):
            row = int(held[0])
            continue
        keys = tableau[rows][:, :n] / column[rows, None]
        row = int(rows[np.lexsort(keys.T[::-1])[0]])
    return None, pivots

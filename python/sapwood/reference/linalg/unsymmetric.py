"""Factorization of the unsymmetric matrices of Coulomb's friction, as dense matrices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class UnsymmetricFactor:
    """P H = L U.

    A pivot has the largest square over the diagonal entry of its row, which is independent of the
    units of the unknowns.

    Parameters
    ----------
    H : (n, n) array

    Raises
    ------
    ZeroDivisionError
        If a pivot is 0 or not finite.
    """

    def __init__(self, H: Array) -> None:
        self.LU, n = H.copy(), len(H)
        self.order = np.arange(n)
        with np.errstate(divide="ignore", invalid="ignore"):
            weight = 1.0 / np.abs(np.diag(H))
            for k in range(n):
                size = self.LU[k:, k] ** 2 * weight[k:]
                best = k + int(np.argmax(np.where(np.isnan(size), 0.0, size)))
                for rows in (self.LU, self.order, weight):
                    rows[[k, best]] = rows[[best, k]]
                if not 0.0 < abs(self.LU[k, k]) < np.inf:
                    raise ZeroDivisionError(f"pivot {k} is {self.LU[k, k]}")
                self.LU[k + 1 :, k] /= self.LU[k, k]
                self.LU[k + 1 :, k + 1 :] -= np.outer(self.LU[k + 1 :, k], self.LU[k, k + 1 :])

    def solve(self, b: Array) -> Array:
        """H^-1 b for b (n)."""
        x, n = b[self.order], len(b)
        for k in range(n):
            x[k + 1 :] -= self.LU[k + 1 :, k] * x[k]
        for k in range(n - 1, -1, -1):
            x[k] /= self.LU[k, k]
            x[:k] -= self.LU[:k, k] * x[k]
        return x

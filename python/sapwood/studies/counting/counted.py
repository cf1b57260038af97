"""Numbers that count the operations done with them, and factorizations in plain loops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: An array of `Counted` numbers.
Numbers = NDArray[Any]


class Counter:
    """The number of operations until now.

    Attributes
    ----------
    count : int
        Additions, subtractions, multiplications, divisions and square roots.
    """

    def __init__(self) -> None:
        self.count = 0

    def lap(self) -> int:
        """Return the count and set it to 0."""
        count, self.count = self.count, 0
        return count

    def array(self, values: Any) -> Numbers:
        """Return an array of counted numbers with these values."""
        given = np.asarray(values, dtype=np.float64)
        made = np.empty(given.shape, dtype=object)
        for at in np.ndindex(given.shape):
            made[at] = Counted(float(given[at]), self)
        return made


class Counted:
    """A number whose operations add to a counter.

    Parameters
    ----------
    value
        The number.
    counter
        What counts.

    Examples
    --------
    >>> counter = Counter()
    >>> row = counter.array([1.0, 2.0, 3.0])
    >>> product = row @ row
    >>> product.value, counter.count
    (14.0, 5)
    """

    __slots__ = ("counter", "value")

    def __init__(self, value: float, counter: Counter) -> None:
        self.value, self.counter = float(value), counter

    def _made(self, value: float) -> Counted:
        self.counter.count += 1
        return Counted(value, self.counter)

    def __add__(self, other: Counted) -> Counted:
        return self._made(self.value + other.value)

    def __sub__(self, other: Counted) -> Counted:
        return self._made(self.value - other.value)

    def __mul__(self, other: Counted) -> Counted:
        return self._made(self.value * other.value)

    def __truediv__(self, other: Counted) -> Counted:
        return self._made(self.value / other.value)

    def __neg__(self) -> Counted:
        # a sign is no operation
        return Counted(-self.value, self.counter)

    def sqrt(self) -> Counted:
        """Return the square root."""
        return self._made(math.sqrt(self.value))


def values(numbers: Numbers) -> NDArray[np.float64]:
    """Return the values of an array of counted numbers."""
    return np.array([x.value for x in numbers.ravel()]).reshape(numbers.shape)


def ldl(X: Numbers) -> tuple[Numbers, Numbers]:
    """Factor a symmetric matrix without pivots: X = L D L^T with a unit diagonal of L.

    Parameters
    ----------
    X : (n, n) array of Counted
        Its leading blocks are nonsingular.

    Returns
    -------
    L : (n, n) array of Counted
        Entries below the diagonal; all others are 0 and not counted.
    D : (n,) array of Counted
    """
    n = len(X)
    L, D = np.zeros((n, n), dtype=object), np.empty(n, dtype=object)
    scaled = np.zeros((n, n), dtype=object)  # L D, which the elimination has before it divides
    for j in range(n):
        D[j] = X[j, j] - scaled[j, :j] @ L[j, :j] if j else X[j, j]
        for i in range(j + 1, n):
            scaled[i, j] = X[i, j] - L[i, :j] @ scaled[j, :j] if j else X[i, j]
            L[i, j] = scaled[i, j] / D[j]
    return L, D


def ldl_solve(factor: tuple[Numbers, Numbers], right: Numbers) -> Numbers:
    """Solve L D L^T x = right.

    Parameters
    ----------
    factor
        From `ldl`.
    right : (n, k) array of Counted

    Returns
    -------
    (n, k) array of Counted
    """
    L, D = factor
    n, x = len(D), right.copy()
    for i in range(1, n):
        x[i] = x[i] - L[i, :i] @ x[:i]
    x = x / D[:, None]
    for i in range(n - 2, -1, -1):
        x[i] = x[i] - L[i + 1 :, i] @ x[i + 1 :]
    return x


def cholesky(A: Numbers) -> Numbers:
    """Factor A = L L^T.

    Parameters
    ----------
    A : (n, n) array of Counted
        Positive definite.

    Returns
    -------
    (n, n) array of Counted
        L; entries above the diagonal are 0 and not counted.
    """
    n = len(A)
    L = np.zeros((n, n), dtype=object)
    for j in range(n):
        L[j, j] = (A[j, j] - L[j, :j] @ L[j, :j] if j else A[j, j]).sqrt()
        for i in range(j + 1, n):
            L[i, j] = (A[i, j] - L[i, :j] @ L[j, :j] if j else A[i, j]) / L[j, j]
    return L


def forward(L: Numbers, right: Numbers) -> Numbers:
    """Solve L x = right (n, k)."""
    x = right.copy()
    for i in range(len(L)):
        x[i] = (x[i] - L[i, :i] @ x[:i] if i else x[i]) / L[i, i]
    return x


def backward(L: Numbers, right: Numbers) -> Numbers:
    """Solve L^T x = right (n, k)."""
    n, x = len(L), right.copy()
    for i in range(n - 1, -1, -1):
        x[i] = (x[i] - L[i + 1 :, i] @ x[i + 1 :] if i + 1 < n else x[i]) / L[i, i]
    return x

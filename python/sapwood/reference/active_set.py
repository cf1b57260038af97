"""The dual active-set method for the nearest point of a polyhedron to the origin.

    minimise 1/2 |y|^2  subject to  A y >= b, with equality in some rows

Its multipliers u, with y = A^T u, stay feasible; see ``csrc/lcp/active_set.h``. Unlike the core
this forms the Gram matrix of the active rows anew in each step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_Array = NDArray[np.float64]
_Mask = NDArray[np.bool_]

_DEPENDENT, _MOST_CHANGES = 1e-13, 10


def _outside(A: _Array, active: list[int], row: int) -> tuple[float, _Array]:
    """The part of a row outside the span of active ones, over its length, squared, and r.

    A_active^T r is nearest to the row.
    """
    a, V = A[row], A[active]
    r = np.linalg.solve(V @ V.T, V @ a) if active else np.zeros(0)
    square = float(a @ a)
    off = a - V.T @ r
    return float(off @ off) / square if square > 0.0 else 0.0, r


class _Search:
    def __init__(self, A: _Array, b: _Array, equal: _Mask, allowed: float) -> None:
        self.A, self.b, self.equal = A, b, equal
        self.least_allowed = self.allowed = allowed
        self.active: list[int] = []
        self.u = np.zeros(len(b))
        self.changes = 0
        for row in np.flatnonzero(equal).tolist():
            if _outside(A, self.active, row)[0] > _DEPENDENT:
                self.active.append(row)

    def move(self, direction: _Array, most: float) -> bool:
        """Step by at most `most`, until a multiplier is 0 and its row leaves; whether one left."""
        u = self.u[self.active]
        falls = (direction < 0.0) & ~self.equal[self.active]
        steps = np.where(falls, u / np.where(falls, -direction, 1.0), np.inf)
        step = min(most, float(steps.min(initial=np.inf)))
        if not np.isfinite(step):
            return False
        self.step = step
        self.u[self.active] += step * direction
        if step < most:
            row = self.active.pop(int(np.argmin(steps)))
            self.u[row] = 0.0
            self.changes += 1
        return step < most

    def to_active_rows(self) -> None:
        """Move to the optimum of the active rows, without those that would pull."""
        while True:
            V = self.A[self.active]
            target = np.linalg.solve(V @ V.T, self.b[self.active])
            if not self.move(target - self.u[self.active], 1.0):
                return

    def activate(self, row: int, violation: float) -> bool:
        """Make a violated row active; whether it does not contradict the active ones.

        The violation of a row that is a sum of active ones contains their round-off, by their
        factors: such a contradiction is allowed from then on.
        """
        outside, r = _outside(self.A, self.active, row)
        while not outside > _DEPENDENT:
            if not self.move(-r, np.inf):
                if violation > self.least_allowed * (1.0 + float(np.abs(r).sum())):
                    return False
                self.allowed = violation
                return True
            self.u[row] += self.step
            outside, r = _outside(self.A, self.active, row)
        self.active.append(row)
        self.changes += 1
        return True


def nearest_point(
    A: _Array, b: _Array, equal: _Mask, allowed: float
) -> tuple[_Array, _Array, list[int]] | None:
    """The point of A y >= b nearest to the origin.

    Parameters
    ----------
    A, b : ndarray (m, n), (m,)
        Rows.
    equal : ndarray (m,) of bool
        Rows that hold with equality.
    allowed : float
        Violation that counts as none.

    Returns
    -------
    tuple or None
        y (n,), multipliers (m,) and the active rows; None if no point is feasible, or the search
        does not end.
    """
    search = _Search(A, b, equal, allowed)
    while search.changes <= _MOST_CHANGES * sum(A.shape):
        search.to_active_rows()
        y = A.T @ search.u
        slack = A @ y - b
        slack = np.where(equal, -np.abs(slack), slack)
        slack[search.active] = 0.0
        if slack.min(initial=0.0) >= -search.allowed:
            return y, search.u, search.active
        worst = int(np.argmin(slack))
        if equal[worst] or not search.activate(worst, -float(slack[worst])):
            return None
    return None

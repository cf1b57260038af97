"""The dual active-set method for the nearest point of a polyhedron to the origin.

    minimise 1/2 |y|^2  subject to  A y >= b, with equality in some rows

Its multipliers u, with y = A^T u, stay feasible; see ``csrc/lcp/active_set.h``. Unlike the core
this factors the active rows themselves, by QR and anew in each step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_Array = NDArray[np.float64]
_Mask = NDArray[np.bool_]

_DEPENDENT, _MOST_CHANGES = 1e-15, 10


def _outside(A: _Array, active: list[int], row: int) -> tuple[float, _Array]:
    """The part of a row outside the span of active ones, over its length, squared, and r.

    A_active^T r is nearest to the row.
    """
    a = A[row]
    Q, R = np.linalg.qr(A[active].T)
    off, square = a - Q @ (Q.T @ a), float(a @ a)
    return float(off @ off) / square if square > 0.0 else 0.0, np.linalg.solve(R, Q.T @ a)


class _Search:
    def __init__(self, A: _Array, b: _Array, equal: _Mask, allowed: float, held: float) -> None:
        self.A, self.b, self.equal = A, b, equal
        self.least_allowed = self.allowed = allowed
        self.held, self.residual = held, np.inf
        self.active: list[int] = []
        self.u, self.y, self.slack = np.zeros(len(b)), np.zeros(A.shape[1]), -b
        self.changes = 0
        for row in np.flatnonzero(equal).tolist():
            if _outside(A, self.active, row)[0] > _DEPENDENT:
                self.active.append(row)

    def move(self, rows: list[int], direction: _Array, most: float) -> bool:
        """Step by at most `most`, until a multiplier is 0 and its row leaves; whether one left."""
        u = self.u[rows]
        falls = (direction < 0.0) & ~self.equal[rows]
        steps = np.where(falls, u / np.where(falls, -direction, 1.0), np.inf)
        step = min(most, float(steps.min(initial=np.inf)))
        if not np.isfinite(step):
            return False
        self.u[rows] += step * direction
        self.y += step * direction @ self.A[rows]
        self.slack[self.active] *= 1.0 - step / most
        if step < most:
            row = rows[int(np.argmin(steps))]
            self.active.remove(row)
            self.u[row] = 0.0
            self.changes += 1
        return step < most

    def to_active_rows(self) -> None:
        """Move to the optimum of the active rows, without those that would pull.

        This is done again from there as long as it removes round-off from their residuals.
        """
        self.residual = before = np.inf
        while self.residual > self.held and self.residual <= before / 2.0:
            one_left = True
            while one_left:
                _, R = np.linalg.qr(self.A[self.active].T)
                direction = np.linalg.solve(R, np.linalg.solve(R.T, -self.slack[self.active]))
                one_left = self.move(self.active, direction, 1.0)
            self.slack = self.A @ self.y - self.b
            before = self.residual
            self.residual = float(np.abs(self.slack[self.active]).max(initial=0.0))

    def is_round_off(self, row: int, r: _Array) -> bool:
        """Whether the violation of a row is round-off.

        A row that is the sum A_active^T r of active ones contains their round-off, too.
        """
        residual = np.maximum(np.abs(self.slack[self.active]), self.held)
        return bool(abs(self.slack[row]) <= self.least_allowed + np.abs(r) @ residual)

    def activate(self, row: int) -> bool:
        """Make a violated row active; whether it does not contradict the active ones.

        A contradiction by round-off is allowed from then on.
        """
        outside, r = _outside(self.A, self.active, row)
        while not outside > _DEPENDENT:
            if not self.move([*self.active, row], np.append(-r, 1.0), np.inf):
                if not self.is_round_off(row, r):
                    return False
                self.allowed = abs(float(self.slack[row]))
                return True
            outside, r = _outside(self.A, self.active, row)
        self.active.append(row)
        self.changes += 1
        return True


def nearest_point(
    A: _Array, b: _Array, equal: _Mask, allowed: float, held: float
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
    held : float
        Residual at which active rows hold.

    Returns
    -------
    tuple or None
        y (n,), multipliers (m,) and the active rows; None if no point is feasible, or the search
        does not end.
    """
    search = _Search(A, b, equal, allowed, held)
    while search.changes <= _MOST_CHANGES * sum(A.shape):
        search.to_active_rows()
        slack = np.where(equal, -np.abs(search.slack), search.slack)
        slack[search.active] = 0.0
        if slack.min(initial=0.0) >= -search.allowed:
            holds = search.residual <= allowed
            return (search.y, search.u, search.active) if holds else None
        worst = int(np.argmin(slack))
        if equal[worst] or not search.activate(worst):
            return None
    return None

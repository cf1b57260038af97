"""Linear complementarity problems by pivoting on a dictionary: Lemke's method and PPM I.

The dictionary x_B = q + T x_N over w_i (number i), z_i (n + i) and the artificial z_0 (2 n) is one
array of rows [q, T]; a pivot exchanges a row's variable with a column's. Unlike the core this does
not scale, refine or regularize.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood.lcp import LcpSolution, LcpStatus, Method

_Array = NDArray[np.float64]
_ZERO, _TIE, _FEASIBLE, _SOLVED, _ROUND_OFF = 1e-11, 1e-12, 1e-11, 1e-9, 1e-14


class Dictionary:
    """Rows [q, T] with the variables of rows and of columns.

    Parameters
    ----------
    M : ndarray (n, n)
        The matrix.
    q : ndarray (n,)
        The constant term.
    """

    def __init__(self, M: _Array, q: _Array) -> None:
        self.n = len(q)
        self.rows = np.column_stack([q, M, np.ones(self.n)])
        self.basic = list(range(self.n))
        self.nonbasic = [*range(self.n, 2 * self.n), 2 * self.n]
        self.pivots = 0

    @property
    def q(self) -> _Array:
        """Values of the basic variables."""
        return self.rows[:, 0]

    def column(self, variable: int) -> _Array:
        """The column of a nonbasic variable in the basic rows."""
        return self.rows[:, 1 + self.nonbasic.index(variable)]

    def complement(self, variable: int) -> int:
        """w_i for z_i and the other way round."""
        return variable + self.n if variable < self.n else variable - self.n

    def pivot(self, leaving: int, entering: int) -> None:
        """Exchange a basic variable with a nonbasic one."""
        r, s = self.basic.index(leaving), self.nonbasic.index(entering)
        column = self.rows[:, 1 + s].copy()
        row = -self.rows[r] / column[r]
        row[1 + s] = 0.0
        column[r], scale = 0.0, 1 / column[r]
        self.rows[r] = row
        self.rows += np.outer(column, row)
        self.rows[:, 1 + s] = column * scale
        self.rows[r, 1 + s] = scale
        self.basic[r], self.nonbasic[s] = entering, leaving
        self.pivots += 1

    def entry(self, i: int, j: int) -> float:
        """T at the basic variable of pair i and the nonbasic one of pair j."""
        return float(self.column(self._of_pair(self.nonbasic, j))[self.row_of_pair(i)])

    def row_of_pair(self, i: int) -> int:
        """Row of the basic variable of pair i."""
        return self.basic.index(self._of_pair(self.basic, i))

    def exchange(self, i: int, j: int) -> None:
        """Pivot on the basic variable of pair i and the nonbasic one of pair j."""
        self.pivot(self._of_pair(self.basic, i), self._of_pair(self.nonbasic, j))

    def exchange_both(self, i: int, j: int) -> None:
        """Pivot on entries (i, j) and (j, i), both pairs as they were before."""
        out_i, out_j = self._of_pair(self.basic, i), self._of_pair(self.basic, j)
        in_i, in_j = self._of_pair(self.nonbasic, i), self._of_pair(self.nonbasic, j)
        self.pivot(out_i, in_j)
        self.pivot(out_j, in_i)

    def threshold(self, i: int) -> float:
        """The round-off level of the row of pair i."""
        row = self.row_of_pair(i)
        columns = [s for s, variable in enumerate(self.nonbasic) if variable < 2 * self.n]
        return _ZERO * float(np.abs(self.rows[row][1:][columns]).max())

    def proves_infeasible(self, M: _Array, q: _Array) -> bool:
        """Whether a row is a proof that no z >= 0 has w >= 0: y >= 0 with y^T M <= 0, y^T q < 0."""
        for row in np.flatnonzero(self.q < 0.0):
            y = np.zeros(self.n)
            for i in range(self.n):
                if i in self.nonbasic:
                    y[i] = max(-float(self.column(i)[row]), 0.0)
            if self.basic[row] < self.n:
                y[self.basic[row]] = 1.0
            columns, sizes = y @ M, y @ np.abs(M)
            if y @ q < -_SOLVED * (y @ np.abs(q)) and (columns <= _SOLVED * sizes).all():
                return True
        return False

    def z(self) -> _Array:
        """z of the basis, where it is negative by round-off 0."""
        z = np.zeros(self.n)
        for row, variable in enumerate(self.basic):
            if self.n <= variable < 2 * self.n:
                z[variable - self.n] = max(self.q[row], 0.0)
        return z

    def _of_pair(self, variables: list[int], i: int) -> int:
        return i if i in variables else self.n + i


def _least_ratio(t: Dictionary, rows: list[int], divisor: _Array) -> int:
    """The row of the lexicographically least (q_i, c_i1, ..., c_in)/divisor_i."""

    def keep(rows: list[int], values: _Array) -> list[int]:
        ratios = {row: values[row] / divisor[row] for row in rows}
        least = min(ratios.values())
        return [row for row in rows if ratios[row] <= least + _TIE * (1 + abs(least))]

    rows = keep(rows, t.q)
    for row in rows:
        if t.basic[row] == 2 * t.n:
            return row
    for k in range(t.n):
        if len(rows) > 1 and k in t.basic:
            rows = keep(rows, np.eye(t.n)[t.basic.index(k)])
        elif len(rows) > 1:
            rows = keep(rows, -t.column(k))
    return max(rows, key=lambda row: float(divisor[row]))


def lemke(t: Dictionary, max_pivots: int) -> LcpStatus:
    """Drive the artificial variable in, and out along the path of complementary pivots.

    Parameters
    ----------
    t : Dictionary
        Ends at the solution.
    max_pivots : int
        The most that are allowed.

    Returns
    -------
    LcpStatus
        ``SOLVED``, ``RAY`` or ``ITERATION_LIMIT``.
    """
    negative = np.flatnonzero(t.q < -_FEASIBLE).tolist()
    if not negative:
        return LcpStatus.SOLVED
    entering = 2 * t.n
    row = _least_ratio(t, negative, np.ones(t.n))
    while t.pivots < max_pivots:
        leaving = t.basic[row]
        t.pivot(leaving, entering)
        if leaving == 2 * t.n:
            return LcpStatus.SOLVED
        entering = t.complement(leaving)
        column = t.column(entering)
        rows = np.flatnonzero(column < -_ZERO * np.abs(column).max()).tolist()
        if not rows:
            return LcpStatus.RAY
        row = _least_ratio(t, rows, -column)
    return LcpStatus.ITERATION_LIMIT


def _most_negative(t: Dictionary, first: int) -> int | None:
    """The pair of the most negative basic variable among those numbered from ``first``."""
    least, found = -_FEASIBLE, None
    for i in range(t.n):
        if first + i in t.basic and t.q[t.basic.index(first + i)] < least:
            least, found = float(t.q[t.basic.index(first + i)]), i
    return found


def principal(t: Dictionary, max_pivots: int) -> LcpStatus:
    """PPM I, and the least-index criss-cross method where that finds no end.

    Parameters
    ----------
    t : Dictionary
        Ends at the solution.
    max_pivots : int
        The most that are allowed.

    Returns
    -------
    LcpStatus
        ``SOLVED``, ``INFEASIBLE``, ``SINGULAR`` or ``ITERATION_LIMIT``.
    """
    for _ in range(t.n + 10):
        into, out = _most_negative(t, 0), _most_negative(t, t.n)
        if into is None and out is None:
            return LcpStatus.SOLVED
        pairs = [i for i in (into, out) if i is not None]
        if not all(_exchanged(t, i) for i in pairs):
            break
    while t.pivots < max_pivots:
        infeasible = [i for i in range(t.n) if t.q[t.row_of_pair(i)] < -_FEASIBLE]
        if not infeasible:
            return LcpStatus.SOLVED
        i = infeasible[0]
        zero, diagonal = t.threshold(i), t.entry(i, i)
        if diagonal < -zero:
            return LcpStatus.SINGULAR
        if diagonal > zero:
            t.exchange(i, i)
            continue
        others = [j for j in range(t.n) if j != i and t.entry(i, j) > zero]
        if not others:
            return LcpStatus.INFEASIBLE
        if t.entry(others[0], i) >= -t.threshold(others[0]):
            return LcpStatus.SINGULAR
        t.exchange_both(i, others[0])
    return LcpStatus.ITERATION_LIMIT


def _exchanged(t: Dictionary, i: int) -> bool:
    """Exchange pair i, where its diagonal entry is positive."""
    if t.entry(i, i) <= t.threshold(i):
        return False
    t.exchange(i, i)
    return True


def _answers(M: _Array, q: _Array) -> list[tuple[int, int]]:
    """Starts of paths of a game of two: strategies, each with the answer to it."""
    pairs = []
    for i in np.flatnonzero(np.diag(M) == 0.0).tolist():
        rows = np.flatnonzero((M[:, i] > 0.0) & (M[i] > 0.0) & (q < 0.0))
        if rows.size:
            pairs.append((i, int(rows[np.argmax(-q[rows] / M[rows, i])])))
    return pairs


def _residual(M: _Array, q: _Array, z: _Array) -> float:
    """The largest of |min(z, w)|."""
    return float(np.abs(np.minimum(z, M @ z + q)).max(initial=0.0))


def _relative_residual(M: _Array, q: _Array, z: _Array) -> float:
    """The residual, each row over its absolute terms."""
    off, terms = np.abs(np.minimum(z, M @ z + q)), np.abs(M) @ z + np.abs(q)
    return float((off[off > 0.0] / terms[off > 0.0]).max(initial=0.0))


def _accurate(M: _Array, q: _Array, z: _Array, basis: NDArray[np.bool_]) -> _Array:
    """The best of z, of the basis by itself, and of either without entries that are round-off."""
    again = np.zeros_like(z)
    again[basis] = np.maximum(np.linalg.lstsq(M[np.ix_(basis, basis)], -q[basis])[0], 0.0)
    dropped = [np.where(x > _ROUND_OFF * x.max(initial=0.0), x, 0.0) for x in (z, again)]
    return min(z, again, *dropped, key=lambda x: _relative_residual(M, q, x))


def solve_lcp(M: ArrayLike, q: ArrayLike, method: Method = "lemke") -> LcpSolution:
    """Solve a linear complementarity problem.

    Parameters
    ----------
    M, q : array_like (n, n), (n,)
        The problem.
    method : {"lemke", "ppm", "auto"}, optional
        The same as for :func:`sapwood.lcp.solve`.

    Returns
    -------
    LcpSolution
        The same as for :func:`sapwood.lcp.solve`, with the relative residual of the unscaled
        problem.
    """
    M, q = np.asarray(M, dtype=float), np.asarray(q, dtype=float)
    max_pivots = max(1000, 50 * len(q))
    used: Method = "lemke" if method == "lemke" else "ppm"
    t = Dictionary(M, q)
    status = lemke(t, max_pivots) if used == "lemke" else principal(t, max_pivots)
    pivots, attempts = t.pivots, 1
    if method == "auto" and status not in (LcpStatus.SOLVED, LcpStatus.INFEASIBLE):
        used = "lemke"
        for pair in ((), *_answers(M, q)):
            t = Dictionary(M, q)
            if pair:
                t.exchange_both(*pair)
            status = lemke(t, max_pivots)
            pivots, attempts = pivots + t.pivots, attempts + 1
            if status is LcpStatus.SOLVED:
                break
    basis = np.isin(np.arange(t.n, 2 * t.n), t.basic)
    z = t.z()
    if _relative_residual(M, q, z) > _SOLVED:
        z = _accurate(M, q, z, basis)
        status = LcpStatus.INACCURATE if status is LcpStatus.SOLVED else status
    relative = _relative_residual(M, q, z)
    if relative <= _SOLVED:
        # a path may end beside a solution where the artificial variable is round-off
        status = LcpStatus.SOLVED
    if status is LcpStatus.INFEASIBLE and not t.proves_infeasible(M, q):
        status = LcpStatus.SINGULAR
    residual = _residual(M, q, z)
    return LcpSolution(z, M @ z + q, status, used, basis, pivots, attempts, residual, relative, 0.0)

"""Quadratic programs as linear complementarity problems, by their optimality conditions.

With x = offset + T z, z >= 0, and all constraints as rows R x >= r with multipliers m >= 0,

    M = [T^T H T, -(R T)^T; R T, 0],   q = [T^T (g + H offset); R offset - r]

is semidefinite, so that Lemke's method ends with a solution, or on a ray where there is none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import lcp

from .result import QpSolution, QpStatus
from .solver import solve

_Array = NDArray[np.float64]

_STATUS = {
    # a large x hides rows that do not hold
    lcp.LcpStatus.SOLVED: QpStatus.INACCURATE,
    lcp.LcpStatus.ITERATION_LIMIT: QpStatus.ITERATION_LIMIT,
    # of a semidefinite matrix round-off alone hides the pivots
    lcp.LcpStatus.SINGULAR: QpStatus.INACCURATE,
    lcp.LcpStatus.INACCURATE: QpStatus.INACCURATE,
    lcp.LcpStatus.NON_FINITE: QpStatus.NON_FINITE,
}
# there is no solution, where the matrix is semidefinite
_NONE = (lcp.LcpStatus.RAY, lcp.LcpStatus.INFEASIBLE)


@dataclass(frozen=True)
class _Program:
    """A program whose arrays are all there."""

    H: _Array
    g: _Array
    A: _Array
    b: _Array
    C: _Array
    d: _Array
    lower: _Array
    upper: _Array

    def rows(self) -> tuple[_Array, _Array]:
        """R and r: equalities from both sides, inequalities, upper bounds beside lower ones."""
        both = np.isfinite(self.lower) & np.isfinite(self.upper)
        given = np.isfinite(self.d)
        R = [self.A, -self.A, self.C[given], -np.eye(len(self.g))[both]]
        r = [self.b, -self.b, self.d[given], -self.upper[both]]
        return np.vstack(R), np.concatenate(r)

    def variables(self) -> tuple[_Array, _Array]:
        """T and the offset: up from a lower bound, else down from an upper one, else both ways."""
        below, above = np.isfinite(self.lower), np.isfinite(self.upper)
        up = np.eye(len(self.g))
        T = np.hstack([up[:, below], -up[:, ~below & above], up[:, ~below & ~above]])
        T = np.hstack([T, -up[:, ~below & ~above]])
        return T, np.where(below, self.lower, np.where(above, self.upper, 0.0))


def solve_as_lcp(
    H: ArrayLike,
    g: ArrayLike,
    *,
    A: ArrayLike | None = None,
    b: ArrayLike | None = None,
    C: ArrayLike | None = None,
    d: ArrayLike | None = None,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    method: lcp.Method = "lemke",
    tolerance: float = 1e-9,
) -> QpSolution:
    """Solve one convex quadratic program by pivoting on its optimality conditions.

    For comparison with :func:`solve`: a basic solution where there are many, at a cost that grows
    faster with the number of rows.

    Parameters
    ----------
    H, g, A, b, C, d, lower, upper
        The same as for :func:`solve`.
    method : {"lemke", "ppm", "auto"}, optional
        The same as for :func:`sapwood.lcp.solve`.
    tolerance : float, optional
        For the relative residual of the complementarity problem, in (0, 1).

    Returns
    -------
    QpSolution
        ``iterations`` are pivots. Where there is no solution the multipliers are no proof, and zero
        as x is; the status tells infeasible from unbounded programs by a second solve.

    Raises
    ------
    TypeError, ValueError
        For a wrong argument; the text names it, with the index and the rule.

    Examples
    --------
    >>> solution = solve_as_lcp([[2.0, 0.0], [0.0, 2.0]], [-2.0, -5.0], upper=1.0)
    >>> solution.x.round(9).tolist(), solution.status.name
    ([1.0, 1.0], 'SOLVED')
    """
    checked = solve(
        H, g, A=A, b=b, C=C, d=d, lower=lower, upper=upper, tolerance=tolerance, max_iterations=0,
        polish=False,
    )  # fmt: skip
    if checked.status is QpStatus.NOT_CONVEX:
        return checked
    n = len(checked.x)
    matrix = np.asarray(H, dtype=float)
    p = _Program(
        (matrix + matrix.T) / 2,
        np.asarray(g, dtype=float),
        *_rows(A, b, n),
        *_rows(C, d, n),
        np.broadcast_to(-np.inf if lower is None else np.asarray(lower, dtype=float), n),
        np.broadcast_to(np.inf if upper is None else np.asarray(upper, dtype=float), n),
    )
    R, r = p.rows()
    T, offset = p.variables()
    M, q = _conditions(p.H, p.g, R, r, T, offset)
    found = lcp.solve(M, q, method, tolerance=tolerance)
    z, m = np.split(found.z, [T.shape[1]])
    x = offset + T @ z
    hidden = found.solved and (r - R @ x > tolerance * np.abs(r)).any()
    if not found.solved or (hidden and _nearest(p, method) is not lcp.LcpStatus.SOLVED):
        return _unsolved(p, found, method)
    return _solution(p, x, m, found)


def _rows(matrix: ArrayLike | None, right: ArrayLike | None, n: int) -> tuple[_Array, _Array]:
    if matrix is None or right is None:
        return np.zeros((0, n)), np.zeros(0)
    return np.asarray(matrix, dtype=float), np.asarray(right, dtype=float)


def _conditions(
    H: _Array, g: _Array, R: _Array, r: _Array, T: _Array, offset: _Array
) -> tuple[_Array, _Array]:
    rows = R @ T
    M = np.block([[T.T @ H @ T, -rows.T], [rows, np.zeros((len(r), len(r)))]])
    return M, np.concatenate([T.T @ (g + H @ offset), R @ offset - r])


def _unsolved(p: _Program, found: lcp.LcpSolution, method: lcp.Method) -> QpSolution:
    """The status, without x and multipliers."""
    n = len(p.g)
    status = _STATUS.get(found.status, QpStatus.UNBOUNDED)
    if status in (QpStatus.UNBOUNDED, QpStatus.INACCURATE):
        nearest = _nearest(p, method)
        if nearest in _NONE:
            status = QpStatus.INFEASIBLE
        elif nearest is not lcp.LcpStatus.SOLVED:
            status = QpStatus.INACCURATE
    x, y, lam, bounds = (np.zeros(k) for k in (n, len(p.b), len(p.d), n))
    return QpSolution(
        x, y, lam, bounds, status, found.pivots, False, 0.0, np.inf, np.inf, np.inf,
        found.relative_residual,
    )  # fmt: skip


def _nearest(p: _Program, method: lcp.Method) -> lcp.LcpStatus:
    """Whether any point is feasible: how the search for the one nearest to the origin ends."""
    n = len(p.g)
    return lcp.solve(*_conditions(np.eye(n), np.zeros(n), *p.rows(), *p.variables()), method).status


def _solution(p: _Program, x: _Array, m: _Array, found: lcp.LcpSolution) -> QpSolution:
    """Multipliers by their rows, and residuals."""
    n_b, given = len(p.b), np.isfinite(p.d)
    y = m[:n_b] - m[n_b : 2 * n_b]
    lam = np.zeros(len(p.d))
    lam[given] = m[2 * n_b : 2 * n_b + given.sum()]
    rest = p.H @ x + p.g - p.A.T @ y - p.C.T @ lam
    bounded = np.isfinite(p.lower) | np.isfinite(p.upper)
    bounds = np.where(bounded, rest, 0.0)
    violations = [np.abs(p.A @ x - p.b), p.d - p.C @ x, p.lower - x, x - p.upper]
    return QpSolution(
        x,
        y,
        lam,
        bounds,
        QpStatus.SOLVED,
        found.pivots,
        False,
        float(x @ p.H @ x / 2 + p.g @ x),
        max(0.0, float(np.concatenate(violations).max(initial=0.0))),
        float(np.abs(rest - bounds).max(initial=0.0)),
        float(x @ (p.H @ x + p.g) - p.b @ y - p.d[given] @ lam[given] - _of_bounds(p, bounds)),
        found.relative_residual,
    )


def _of_bounds(p: _Program, bounds: _Array) -> float:
    """What bounds give to the dual objective."""
    at = np.where(bounds > 0.0, p.lower, p.upper)
    active = (bounds != 0.0) & np.isfinite(at)
    return float(at[active] @ bounds[active])

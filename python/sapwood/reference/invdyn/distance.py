"""The nearest point of a polyhedron by the dual active-set method (Goldfarb and Idnani 1983).

    minimize 1/2 |x - x0|^2  subject to  A x >= b, with equality in some rows

Its multipliers u solve the dual, a nonnegative least-squares problem with a linear term:

    minimize 1/2 |A^T u + x0|^2 - b^T u  subject to  u >= 0, free where the row is an equality

which is how impulses of friction cones are found: a row for each edge of a cone, in as few unknowns
as there are velocities that no motor prescribes.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: of a row's length, what counts as depending on others
DEPENDENT = 1e-9
#: violation of a row over its length that counts as zero, relative to the largest distance
VIOLATION = 1e-11
#: violation of a row that active ones imply, over its length, relative to the length of x
IMPLIED = 1e-6
#: and by a row of zeros whatever the others are: a velocity, m/s
NOTHING = 1e-13


class DistanceStatus(enum.IntEnum):
    """The outcome of the search."""

    solved = 0
    infeasible = 1
    iteration_limit = 2


class Nearest(NamedTuple):
    """The nearest point, and why it is."""

    x: Array
    u: Array
    status: DistanceStatus
    pivots: int
    row: int
    """A row that contradicts others, or -1."""


def nearest_point(
    A: Array, b: Array, x0: Array, equal: NDArray[np.bool_], negligible: float = 0.0
) -> Nearest:
    """Solve the problem above.

    Parameters
    ----------
    A : (n, d) array
    b : (n) array
    x0 : (d) array
    equal : (n) array of bool
        Rows that hold with equality.
    negligible : float
        Part of its length that a row may have beyond the active ones and be left out.
    """
    lengths = np.linalg.norm(A, axis=1)
    long = lengths > 1e-14 * lengths.max(initial=0.0)
    away = np.abs(b[long]) / lengths[long]
    scale = max(float(away.max(initial=0.0)), float(np.linalg.norm(x0)))
    # a row of zeros says nothing, or what cannot be
    zero = VIOLATION * float(np.abs(b).max(initial=0.0)) + NOTHING
    tolerance = np.where(long, VIOLATION * scale * lengths, zero)
    u = np.zeros(len(b))
    x = x0.astype(float).copy()
    active: list[int] = []
    pivots, limit = 0, 20 * (len(b) + len(x0)) + 50
    waiting = [int(i) for i in np.flatnonzero(equal)]
    while True:
        if waiting:
            row = waiting.pop(0)
        else:
            gap = (np.where(equal, 0.0, A @ x - b) + tolerance) / np.where(long, lengths, 1.0)
            gap[active] = np.inf
            row = int(np.argmin(gap)) if len(gap) else -1
            if row < 0 or gap[row] >= 0.0:
                x, u = _polished(A[active], b[active], x, u, active)
                return Nearest(x, u, DistanceStatus.solved, pivots, -1)
        a = A[row]
        missing = b[row] - a @ x
        if equal[row] and _is_implied(
            A[active], a, max(DEPENDENT, negligible), abs(missing), tolerance[row], x
        ):
            continue
        sign = 1.0 if missing >= 0.0 else -1.0
        while True:
            pivots += 1
            if pivots > limit:
                return Nearest(x, u, DistanceStatus.iteration_limit, pivots, row)
            r = np.linalg.lstsq(A[active].T, a, rcond=None)[0] if active else np.zeros(0)
            z = a - A[active].T @ r
            free = np.linalg.norm(z) > DEPENDENT * lengths[row]
            full = abs(b[row] - a @ x) / (z @ z) if free else np.inf
            steps = [
                (u[j] / (sign * r[k]), k)
                for k, j in enumerate(active)
                if not equal[j] and sign * r[k] > 1e-14
            ]
            step, k = min(steps, default=(np.inf, -1))
            t = min(full, step)
            if not np.isfinite(t):
                return Nearest(x, u, DistanceStatus.infeasible, pivots, row)
            u[active] -= sign * t * r
            u[row] += sign * t
            if free:
                x = x + sign * t * z
            if full <= step:
                active.append(row)
                break
            u[active[k]] = 0.0
            del active[k]


def _polished(rows: Array, b: Array, x: Array, u: Array, active: list[int]) -> tuple[Array, Array]:
    """The same point after a correction of round-off: active rows hold again."""
    if active:
        change = np.linalg.lstsq(rows, b - rows @ x, rcond=None)[0]
        x = x + change
        u[active] += np.linalg.lstsq(rows.T, change, rcond=None)[0]
    return x, u


def _is_implied(
    rows: Array, a: Array, negligible: float, off: float, tolerance: float, x: Array
) -> bool:
    """Whether an equality follows from the active rows, up to a small part."""
    length, reach = float(np.linalg.norm(a)), float(np.linalg.norm(x))
    r = np.linalg.lstsq(rows.T, a, rcond=None)[0] if len(rows) else np.zeros(0)
    beside = float(np.linalg.norm(a - rows.T @ r))
    return beside <= negligible * length and off <= max(tolerance, IMPLIED * reach * length)

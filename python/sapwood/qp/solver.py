"""Quadratic programs by the interior point method of the core."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base import checks
from sapwood.base.checks import boolean, integer, real
from sapwood.base.hints import explained
from sapwood.base.processors import sharing_threads

from .result import QpSolution, QpStatus


@explained()
def solve(
    H: ArrayLike,
    g: ArrayLike,
    *,
    A: ArrayLike | None = None,
    b: ArrayLike | None = None,
    C: ArrayLike | None = None,
    d: ArrayLike | None = None,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    start: QpSolution | None = None,
    tolerance: float = 1e-9,
    max_iterations: int = 100,
    polish: bool = True,
    check_convex: bool = True,
) -> QpSolution:
    """Solve one convex quadratic program.

    Parameters
    ----------
    H : array_like (n, n)
        Positive semidefinite; of one that is not symmetric (H + H^T)/2 is used.
    g : array_like (n,)
        The linear cost.
    A, b : array_like (m, n), (m,), optional
        Equalities A x = b.
    C, d : array_like (k, n), (k,), optional
        Inequalities C x >= d; where d is -inf there is none.
    lower, upper : array_like (n,) or float, optional
        Bounds, which may be infinite, and equal.
    start : QpSolution, optional
        Solution of a similar program with as many variables and rows in the same order. Its
        active rows are tried first.
    tolerance : float, optional
        For the relative residual, in (0, 1).
    max_iterations : int, optional
        Iteration limit of the interior point method.
    polish : bool, optional
        Solve for the rows that are active, as soon as they are known. Without it the interior
        point method alone runs.
    check_convex : bool, optional
        Look whether H is positive semidefinite, which costs a factorization.

    Returns
    -------
    QpSolution
        The solution, with multipliers that prove it.

    Raises
    ------
    TypeError, ValueError
        For a wrong argument; the text names it, with the index and the rule.

    Examples
    --------
    >>> solution = solve([[2.0, 0.0], [0.0, 2.0]], [-2.0, -5.0], upper=1.0)
    >>> solution.x.round(9).tolist(), solution.status.name
    ([1.0, 1.0], 'SOLVED')
    """
    settings = _settings(tolerance, max_iterations, polish, check_convex)
    arrays = (H, g, A, b, C, d, _bound(lower, "lower", g), _bound(upper, "upper", g))
    return _solutions(*_core.solve_qps(arrays, _start(start), settings, False, 1))[0]


@explained()
def solve_batch(
    H: ArrayLike,
    g: ArrayLike,
    *,
    A: ArrayLike | None = None,
    b: ArrayLike | None = None,
    C: ArrayLike | None = None,
    d: ArrayLike | None = None,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    start: Sequence[QpSolution] | None = None,
    tolerance: float = 1e-9,
    max_iterations: int = 100,
    polish: bool = True,
    check_convex: bool = True,
    threads: int | None = None,
) -> list[QpSolution]:
    """Solve many programs of one size on several threads, without the GIL.

    Parameters
    ----------
    H, g, A, b, C, d, lower, upper : array_like
        Arrays of :func:`solve`, each with one more leading dimension.
    start : sequence of QpSolution, optional
        One for each program.
    tolerance, max_iterations, polish, check_convex
        The same as for :func:`solve`.
    threads : int, optional
        Number of threads; by default one per core that this process may run on.

    Returns
    -------
    list of QpSolution
        The solutions, in the order of the programs; their arrays are rows of common ones.

    Raises
    ------
    TypeError, ValueError
        For a wrong argument; the message names it.
    """
    settings = _settings(tolerance, max_iterations, polish, check_convex)
    n_threads = sharing_threads(threads)
    arrays = (H, g, A, b, C, d, _bound(lower, "lower", g), _bound(upper, "upper", g))
    return _solutions(*_core.solve_qps(arrays, _starts(start), settings, True, n_threads))


def _settings(
    tolerance: float, max_iterations: int, polish: bool, check_convex: bool
) -> tuple[float, int, bool, bool]:
    most = min(integer(max_iterations, "max_iterations", 0), 2**31 - 1)
    polish, check_convex = boolean(polish, "polish"), boolean(check_convex, "check_convex")
    return real(tolerance, "tolerance"), most, polish, check_convex


def _start(start: QpSolution | None) -> tuple[ArrayLike, ...] | None:
    if start is None:
        return None
    if not isinstance(start, QpSolution):
        raise TypeError(f"start must be a QpSolution, not {type(start).__name__}")
    return start.x, start.y, start.lam, start.bounds


def _starts(starts: Sequence[QpSolution] | None) -> tuple[ArrayLike, ...] | None:
    """The arrays of the starts, stacked."""
    if starts is None:
        return None
    each = [_start(start) for start in starts]
    if not each or None in each:
        raise ValueError("start must hold a QpSolution for each program")
    return tuple(np.array(arrays) for arrays in zip(*each, strict=True))


def _bound(bound: ArrayLike | None, name: str, g: ArrayLike) -> ArrayLike | None:
    """A number counts for every variable."""
    if bound is None or checks.array(bound, name).ndim > 0:
        return bound
    return np.full(checks.array(g, "g").shape, bound)


def _solutions(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    lam: NDArray[np.float64],
    bounds: NDArray[np.float64],
    counts: NDArray[np.int32],
    numbers: NDArray[np.float64],
) -> list[QpSolution]:
    return [
        QpSolution(
            x[i],
            y[i],
            lam[i],
            bounds[i],
            QpStatus(outcome),
            iterations,
            bool(polished),
            *numbers[i].tolist(),
        )
        for i, (outcome, iterations, polished) in enumerate(counts.tolist())
    ]

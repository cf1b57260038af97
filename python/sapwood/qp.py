"""Small dense convex quadratic programs.

::

    minimise  1/2 x^T H x + g^T x   where   A x = b,   C x >= d,   lower <= x <= upper

    solution = sapwood.qp.solve(H, g, C=C, d=d, lower=0.0)

H is positive semidefinite, of any rank; rows may depend on each other. An interior point method on
the homogeneous embedding finds a solution or proves that there is none; it is then polished on the
rows that are active.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.checks import integer, real
from sapwood.processors import usable_processors


class QpStatus(IntEnum):
    """How a solve of a quadratic program ended."""

    SOLVED = 0
    #: y, lam and bounds are a proof: see :class:`QpSolution`
    INFEASIBLE = 1
    #: x is a direction along which the cost falls without end
    UNBOUNDED = 2
    ITERATION_LIMIT = 3
    #: no progress left before the tolerance
    INACCURATE = 4
    #: H has a negative eigenvalue
    NOT_CONVEX = 5
    #: overflow; x means nothing
    NON_FINITE = 6


@dataclass(frozen=True)
class QpSolution:
    """What came of a quadratic program.

    At a solution ``H x + g = A^T y + C^T lam + bounds`` with ``lam >= 0`` and
    ``lam * (C x - d) = 0``. Where it is infeasible, the multipliers prove it:
    ``A^T y + C^T lam + bounds = 0`` though
    ``b y + d lam + lower max(bounds, 0) + upper min(bounds, 0) = 1``. Where it is unbounded, x is a
    direction with ``H x = 0, A x = 0, C x >= 0, g x = -1``.

    Attributes
    ----------
    x : ndarray (n,)
        The minimiser.
    y, lam : ndarray (n_equalities,), (n_inequalities,)
        Multipliers of the rows of A and C.
    bounds : ndarray (n,)
        Multipliers of the bounds, > 0 at the lower one and < 0 at the upper one.
    status : QpStatus
        How it ended.
    iterations : int
        Of the interior point method.
    polished : bool
        Whether solving for the active rows made it more accurate.
    objective : float
        1/2 x^T H x + g^T x.
    primal_residual, dual_residual, gap : float
        Largest violation of a constraint, largest entry of ``H x + g - A^T y - C^T lam - bounds``,
        and the objective minus that of the dual problem.
    relative_residual : float
        The largest of them of the scaled problem: what the tolerance is for.
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    lam: NDArray[np.float64]
    bounds: NDArray[np.float64]
    status: QpStatus
    iterations: int
    polished: bool
    objective: float
    primal_residual: float
    dual_residual: float
    gap: float
    relative_residual: float

    @property
    def solved(self) -> bool:
        """Whether the status is ``SOLVED``."""
        return self.status is QpStatus.SOLVED


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
    tolerance : float, optional
        For the relative residual, in (0, 1).
    max_iterations : int, optional
        Of the interior point method.
    polish : bool, optional
        Solve for the rows that are active in the end.
    check_convex : bool, optional
        Look whether H is positive semidefinite, which costs a factorization.

    Returns
    -------
    QpSolution
        With multipliers that prove it.

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
    arrays = (H, g, A, b, C, d, _bound(lower, g), _bound(upper, g))
    return _solutions(*_core.solve_qps(arrays, settings, False, 1))[0]


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
        As for :func:`solve`, each with one more dimension before the others.
    tolerance, max_iterations, polish, check_convex
        As for :func:`solve`.
    threads : int, optional
        By default one per core that this process may run on.

    Returns
    -------
    list of QpSolution
        In the order of the programs; their arrays are rows of common ones.

    Raises
    ------
    TypeError, ValueError
        For a wrong argument; the text names it.
    """
    settings = _settings(tolerance, max_iterations, polish, check_convex)
    n_threads = usable_processors() if threads is None else integer(threads, "threads", 1)
    arrays = (H, g, A, b, C, d, _bound(lower, g), _bound(upper, g))
    return _solutions(*_core.solve_qps(arrays, settings, True, n_threads))


def _settings(
    tolerance: float, max_iterations: int, polish: bool, check_convex: bool
) -> tuple[float, int, bool, bool]:
    most = min(integer(max_iterations, "max_iterations", 0), 2**31 - 1)
    return real(tolerance, "tolerance"), most, bool(polish), bool(check_convex)


def _bound(bound: ArrayLike | None, g: ArrayLike) -> ArrayLike | None:
    """A number counts for every variable."""
    if bound is None or np.ndim(bound) > 0:
        return bound
    return np.full(np.shape(g), bound)


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

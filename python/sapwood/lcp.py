"""Linear complementarity problems: w = M z + q, z >= 0, w >= 0, z_i w_i = 0.

::

    solution = sapwood.lcp.solve(M, q)
    if solution.solved:
        ... solution.z, solution.w

One method is Lemke's with the lexicographic ratio test. It finds a solution if one exists and M is
copositive-plus (contact forces, also with friction pyramids). The other is the principal pivoting
method of Zapolsky and Drumwright with a finite end, for semidefinite M and P-matrices; it is faster
if M has low rank or a basis nearby is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base import checks
from sapwood.base.checks import integer, real
from sapwood.base.equality import compared_by_value
from sapwood.base.processors import sharing_threads

Method = Literal["lemke", "ppm", "auto"]
METHODS: tuple[Method, ...] = ("lemke", "ppm", "auto")


class LcpStatus(IntEnum):
    """The outcome of a solve of a complementarity problem.

    Only ``SOLVED`` makes a promise about z and w: each row holds to the tolerance times the sum of
    its absolute terms. For the others, the residuals show the quality: ``RAY`` (Lemke's path ended
    on one), ``INFEASIBLE`` (proved), ``ITERATION_LIMIT``, ``SINGULAR`` (neither a pivot nor a
    proof), ``INACCURATE`` (a solution up to round-off), ``NON_FINITE``.
    """

    SOLVED = 0
    #: Lemke's path ended on a ray: no solution, where M is copositive-plus
    RAY = 1
    #: no z >= 0 has w >= 0, whatever M is: some y >= 0 with y^T M <= 0 and y^T q < 0 proves it
    INFEASIBLE = 2
    ITERATION_LIMIT = 3
    #: principal pivoting found neither a pivot nor a proof: M is not sufficient, or badly scaled
    SINGULAR = 4
    #: a solution up to round-off
    INACCURATE = 5
    #: overflow; z and w mean nothing
    NON_FINITE = 6


@compared_by_value
@dataclass(frozen=True, eq=False)
class LcpSolution:
    """The solution of a linear complementarity problem.

    Attributes
    ----------
    z, w : ndarray (n,)
        z >= 0, and w = M z + q at it, with the M that was given.
    status : LcpStatus
        The outcome.
    method : {"lemke", "ppm"}
        The method that found z.
    basis : ndarray of bool (n,)
        Whether each z_i is basic; a start for a problem nearby, as ``z0=``.
    pivots, attempts : int
        Pivots of all methods and regularizations that were tried, and their number.
    residual : float
        max_i abs(min(z_i, w_i)).
    relative_residual : float
        The residual of the scaled problem with the regularization in M, each row over its own
        abs(q_i) + sum_j abs(M_ij) z_j. The tolerance bounds it.
    regularization : float
        lambda of M + lambda I, 0 for M itself.
    """

    z: NDArray[np.float64]
    w: NDArray[np.float64]
    status: LcpStatus
    method: Method
    basis: NDArray[np.bool_]
    pivots: int
    attempts: int
    residual: float
    relative_residual: float
    regularization: float

    @property
    def solved(self) -> bool:
        """Whether the status is ``SOLVED``."""
        return self.status is LcpStatus.SOLVED


def solve(
    M: ArrayLike,
    q: ArrayLike,
    method: Method = "lemke",
    z0: ArrayLike | None = None,
    *,
    tolerance: float = 1e-9,
    max_pivots: int = 0,
    least_index_after: int = 0,
    regularization_first: float = 0.0,
    regularization_factor: float = 1e4,
    regularization_last: float = 1.0,
) -> LcpSolution:
    """Solve one linear complementarity problem.

    Parameters
    ----------
    M : array_like (n, n)
        The matrix.
    q : array_like (n,)
        The constant term.
    method : {"lemke", "ppm", "auto"}, optional
        "auto" is PPM, then Lemke where that does not solve it, in the end from where paths of
        bimatrix games begin.
    z0 : array_like (n,), optional
        Expected sign of z: basic where z0 > 0; ``basis`` of a solution fits.
    tolerance : float, optional
        For the relative residual, in (0, 1).
    max_pivots : int, optional
        Limit for one method; 0 means 1000, or 50 n if that is more.
    least_index_after : int, optional
        PPM: pivots before the least-index rule takes over; 0 is n + 10.
    regularization_first, regularization_factor, regularization_last : float, optional
        If M gives no solution, M + lambda I is tried. lambda starts at ``first`` times the largest
        entry of M and grows by ``factor`` up to ``last``; ``first`` = 0 disables it.

    Returns
    -------
    LcpSolution
        The solution, with the regularization that was used.

    Raises
    ------
    TypeError, ValueError
        For a wrong argument; the text names it, with the index and the rule.

    Examples
    --------
    >>> solution = solve([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0])
    >>> solution.z.round(12).tolist(), solution.status.name
    ([1.333333333333, 2.333333333333], 'SOLVED')
    """
    settings = _settings(
        method,
        tolerance,
        max_pivots,
        least_index_after,
        (regularization_first, regularization_factor, regularization_last),
    )
    return _solutions(*_core.solve_lcps(M, q, _basis(z0), settings, False, 1))[0]


def solve_batch(
    M: ArrayLike,
    q: ArrayLike,
    method: Method = "lemke",
    z0: ArrayLike | None = None,
    *,
    tolerance: float = 1e-9,
    max_pivots: int = 0,
    least_index_after: int = 0,
    regularization_first: float = 0.0,
    regularization_factor: float = 1e4,
    regularization_last: float = 1.0,
    threads: int | None = None,
) -> list[LcpSolution]:
    """Solve many problems of one size on several threads, without the GIL.

    No bit of a solution depends on the number of threads.

    Parameters
    ----------
    M : array_like (k, n, n)
        The matrices.
    q : array_like (k, n)
        The constant terms.
    method, tolerance, max_pivots, least_index_after
        The same as for :func:`solve`.
    regularization_first, regularization_factor, regularization_last
        The same as for :func:`solve`.
    z0 : array_like (k, n), optional
        The same as for :func:`solve`.
    threads : int, optional
        Number of threads; by default one per core that this process may run on.

    Returns
    -------
    list of LcpSolution
        The solutions, in the order of the problems; their arrays are rows of common ones.

    Raises
    ------
    TypeError, ValueError
        For a wrong argument; the message names it.
    """
    settings = _settings(
        method,
        tolerance,
        max_pivots,
        least_index_after,
        (regularization_first, regularization_factor, regularization_last),
    )
    n_threads = sharing_threads(threads)
    return _solutions(*_core.solve_lcps(M, q, _basis(z0), settings, True, n_threads))


def _settings(
    method: Method,
    tolerance: float,
    max_pivots: int,
    least_index_after: int,
    regularization: tuple[float, float, float],
) -> tuple[int, float, int, int, float, float, float]:
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, not {method!r}")
    names = ("regularization_first", "regularization_factor", "regularization_last")
    first, factor, last = (
        real(value, name) for value, name in zip(regularization, names, strict=True)
    )
    return (
        METHODS.index(method),
        real(tolerance, "tolerance"),
        min(integer(max_pivots, "max_pivots", 0), 2**31 - 1),
        min(integer(least_index_after, "least_index_after", 0), 2**31 - 1),
        first,
        factor,
        last,
    )


def _basis(z0: ArrayLike | None) -> NDArray[np.int8] | None:
    if z0 is None:
        return None
    values = checks.array(z0, "z0")
    if values.dtype != np.bool_:
        values = _core.as_float64(values, "z0") > 0
    return np.ascontiguousarray(values, dtype=np.int8)


def _solutions(
    z: NDArray[np.float64],
    w: NDArray[np.float64],
    basis: NDArray[np.int8],
    counts: NDArray[np.int32],
    numbers: NDArray[np.float64],
) -> list[LcpSolution]:
    return [
        LcpSolution(
            z[i],
            w[i],
            LcpStatus(outcome),
            METHODS[found_by],
            basis[i].astype(np.bool_),
            pivots,
            attempts,
            *numbers[i].tolist(),
        )
        for i, (outcome, found_by, pivots, attempts) in enumerate(counts.tolist())
    ]

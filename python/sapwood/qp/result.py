"""The result of a quadratic program."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from sapwood.base.equality import compared_by_value


class QpStatus(IntEnum):
    """The outcome of a quadratic program.

    ``SOLVED``; ``INFEASIBLE`` and ``UNBOUNDED``, both with a proof; ``ITERATION_LIMIT``;
    ``INACCURATE`` (neither solved nor proved), ``NOT_CONVEX``, ``NON_FINITE``.
    """

    #: each condition holds to the tolerance, judged by its own data
    SOLVED = 0
    #: y, lam and bounds are a proof: see :class:`QpSolution`
    INFEASIBLE = 1
    #: x is a direction along which the cost falls without end
    UNBOUNDED = 2
    ITERATION_LIMIT = 3
    #: neither solved nor proved to have no solution, and no progress left
    INACCURATE = 4
    #: H has a negative eigenvalue
    NOT_CONVEX = 5
    #: overflow; x means nothing
    NON_FINITE = 6


@compared_by_value
@dataclass(frozen=True, eq=False)
class QpSolution:
    """The solution of a quadratic program.

    At a solution ``H x + g = A^T y + C^T lam + bounds`` with ``lam >= 0`` and
    ``lam * (C x - d) = 0``. Where it is infeasible, the multipliers prove it:
    ``A^T y + C^T lam + bounds = 0`` though
    ``b y + d lam + lower max(bounds, 0) + upper min(bounds, 0) = 1``, and x is zero. Where it is
    unbounded, x is a direction with ``H x = 0, A x = 0, C x >= 0, g x = -1``.

    Attributes
    ----------
    x : ndarray (n,)
        The minimiser.
    y, lam : ndarray (n_equalities,), (n_inequalities,)
        Multipliers of the rows of A and C.
    bounds : ndarray (n,)
        Multipliers of the bounds, > 0 at the lower one and < 0 at the upper one.
    status : QpStatus
        The outcome.
    iterations : int
        Iterations of the interior point method; 0 where the active rows were found without it.
    polished : bool
        Whether solving for the active rows gave the solution.
    objective : float
        1/2 x^T H x + g^T x.
    primal_residual, dual_residual, gap : float
        Largest violation of a constraint, largest entry of ``H x + g - A^T y - C^T lam - bounds``,
        and the difference of the primal and dual objectives. For an infeasible program the second
        is the largest entry of ``A^T y + C^T lam + bounds``.
    relative_residual : float
        Largest residual of constraints, gradient and gap beyond round-off, each relative to its own
        terms, in the scaled problem. The tolerance bounds it. A row of C is relative to
        ``abs(d_i) + sum_j abs(C_ij x_j)``, where the sum counts up to the largest d.
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

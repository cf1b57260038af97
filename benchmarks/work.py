"""The work that a solve could not do without: flops and bytes of its phases.

Divided by what a processor reaches, they are the least time that the solve could have taken::

    from benchmarks.native import Native
    from benchmarks.work import PHASES, count_work

    settings = sapwood.SapSettings(record_history=True)
    work = count_work(Native(), problem, sapwood.solve(problem, settings=settings))
    print(dict(zip(PHASES, work.flops.sum(axis=0))))

Counted from the graph of trees and constraints, the regions that the contacts ended in and the
records of the iterations; the formulas are at the top of ``csrc/work.h``.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from benchmarks.native import Native
from sapwood import ContactProblem, Solution

PHASES = ("assembly", "factorization", "solves", "products", "law", "line_search")
"""Phases of an iteration, in the order of the columns of :class:`Work`."""


@dataclasses.dataclass(frozen=True, eq=False)
class Work:
    """Least work of one solve, island by island.

    Attributes
    ----------
    evaluations, directions, trials : ndarray of int32 (n_islands,)
        Evaluations of cost and gradient (the guess and every iterate), Newton directions, and
        evaluations by line searches.
    flops, roots, bytes : ndarray (n_islands, 6)
        Operations of each of :data:`PHASES` over the whole solve: additions and multiplications (a
        multiply-add is two); square roots and divisions; bytes read and written.
    resident : ndarray (n_islands,)
        Bytes that an iteration touches: which cache they fit into.
    """

    evaluations: NDArray[np.int32]
    directions: NDArray[np.int32]
    trials: NDArray[np.int32]
    flops: NDArray[np.float64]
    roots: NDArray[np.float64]
    bytes: NDArray[np.float64]
    resident: NDArray[np.float64]


def count_work(native: Native, problem: ContactProblem, solution: Solution) -> Work:
    """Count the work of a solve.

    Parameters
    ----------
    native
        The compiled part of the benchmarks.
    problem
        What was solved.
    solution
        What came out, with its history: ``SapSettings(record_history=True)``.

    Returns
    -------
    Work
        For the ``solution.n_islands`` islands.

    Raises
    ------
    ValueError
        The solution has no history, or is not one of this problem; or the problem has rigid cores,
        contacts that resist turning or groups of constraints, whose laws are not counted.
    """
    history = solution.history
    if history is None:
        raise ValueError("solution.history is None: solve with SapSettings(record_history=True)")
    if len(solution.regions) != problem.n_contacts:
        raise ValueError("the solution has other contacts than the problem")
    for name in ("constraints", "spin_contact", "core"):
        others = getattr(problem, name)
        if others is not None and len(others) > 0:
            raise ValueError(f"{name}: must be empty, as only the compliant law is counted")
    events, operations, resident = native.work(
        problem, solution.regions, history["island"], history["trials"], solution.n_islands
    )
    return Work(*events.T, *np.moveaxis(operations, 2, 0), resident)

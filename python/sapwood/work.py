"""The work that a solve could not do without: flops and bytes of its phases.

Divided by what a processor reaches, they are the least time that the solve could have taken::

    from sapwood.work import PHASES, count_work

    settings = sapwood.SapSettings(record_history=True)
    work = count_work(problem, sapwood.solve(problem, settings=settings))
    print(dict(zip(PHASES, work.flops.sum(axis=0))))

Counted from the graph of trees and constraints, the regions that the contacts ended in and the
records of the iterations; the formulas are at the top of ``csrc/sap/work.h``.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.problem.contact_problem import ContactProblem
from sapwood.solution import Solution

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


def count_work(problem: ContactProblem, solution: Solution) -> Work:
    """Count the work of a solve.

    Parameters
    ----------
    problem : ContactProblem
        What was solved.
    solution : Solution
        What came out, with its history: ``SapSettings(record_history=True)``.

    Returns
    -------
    Work
        For the ``solution.n_islands`` islands.

    Raises
    ------
    TypeError
        `problem` is no ContactProblem.
    ValueError
        The solution has no history, or is not one of this problem; or the problem has rigid cores,
        contacts that resist turning or groups of constraints, whose laws are not counted.
    MemoryError
        Where there is no room for the graph.
    """
    if not isinstance(problem, ContactProblem):
        raise TypeError(f"problem must be a ContactProblem, not {type(problem).__name__}")
    history = solution.history
    if history is None:
        raise ValueError("solution.history is None: solve with SapSettings(record_history=True)")
    counted = _core.count_work(
        problem._core, solution.n_islands, solution.regions, history["island"], history["trials"]
    )
    evaluations, directions, trials = counted["events"].T
    flops, roots, bytes_ = np.moveaxis(counted["operations"], 2, 0)
    return Work(evaluations, directions, trials, flops, roots, bytes_, counted["resident"])

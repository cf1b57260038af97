"""Rigid contact with exact Coulomb friction by the solver's proximal solves.

The problem has R = 0. What W has beside J A^-1 J^T (`posing`) is put right by a few solves, each
with that part times the impulses of the one before; it is 0 unless W is not symmetric, or not
positive semidefinite.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from sapwood import SapSettings, SapSolver
from sapwood.studies.fclib.merit import relative_residual
from sapwood.studies.fclib.posing import Posed
from sapwood.studies.fclib.problems import Array

# the natural residual of a solve over the relative residual that is asked for: they differ by the
# weights of contacts, and by |q| instead of |gamma|
_SHARE = 0.1


@dataclass
class Answer:
    """The best impulses that were found."""

    r: Array
    """(3 n_contacts,), rows (n, t1, t2), N s."""
    residual: float = math.inf
    """`relative_residual` of r."""
    iterations: int = 0
    """Newton iterations, of the island that took most in each solve, summed over solves."""
    total_iterations: int = 0
    """Newton iterations summed over islands and solves."""
    proximal_solves: int = 0
    """Solves of compliant contact, summed over solves."""
    residuals: list[float] = field(default_factory=list)
    """After each solve of rigid contact."""


def solve(
    posed: Posed,
    tolerance: float,
    most: int = 10,
    max_iterations: int = 10000,
) -> Answer:
    """Solve until the relative residual is below a tolerance.

    Parameters
    ----------
    posed
        The problem.
    tolerance
        Of `relative_residual`; in double precision 1e-9 is within reach, as a rule.
    most
        Solves of rigid contact.
    max_iterations
        Newton iterations of each.

    Returns
    -------
    Answer
        Look at `residual`: a tolerance that is not reached is no exception.
    """
    settings = SapSettings(
        friction="coulomb",
        natural_tolerance=_SHARE * tolerance,
        max_iterations=max_iterations,
    )
    solver = SapSolver(settings)
    gamma = v = None
    answer = Answer(np.zeros_like(posed.local.q))
    for _ in range(most if posed.rest.nnz else 1):
        solution = solver.solve(posed.at(0.0, 0.0, gamma), v)
        gamma, v = solution.gamma, solution.v
        r = posed.impulses(gamma)
        residual = relative_residual(posed.local, r)
        answer.iterations += solution.iterations
        answer.total_iterations += solution.total_iterations
        answer.proximal_solves += solution.proximal_solves
        answer.residuals.append(residual)
        if residual < answer.residual:
            answer.r, answer.residual = r, residual
        if residual <= tolerance:
            break
    return answer

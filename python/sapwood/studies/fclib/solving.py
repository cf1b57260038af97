"""Rigid contact with exact Coulomb friction by a few solves of compliant contact.

A spring as stiff as a rigid contact would need leaves few digits: impulses are a difference of
velocities over R. So R stays where solves are easy, and the method of multipliers (`posing`) takes
its influence away. Friction converges fast with a soft spring already; where bodies hold each other
in many ways, normal impulses may not, and R_n is lowered when a solve gains little.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from sapwood import SapSettings, SapSolver, Status
from sapwood.studies.fclib.merit import relative_residual
from sapwood.studies.fclib.posing import Posed
from sapwood.studies.fclib.problems import Array

SIGMA_T, SIGMA_N = 1e-3, 1e-4
# a solve that leaves more of the residual than this has gained little
_GAIN = 0.3
_FACTOR = 0.1
_LEAST_SIGMA_N = 1e-8


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
    residuals: list[float] = field(default_factory=list)
    """After each solve."""


def solve(
    posed: Posed,
    tolerance: float,
    most: int = 30,
    max_iterations: int = 1000,
) -> Answer:
    """Solve until the relative residual is below a tolerance.

    Parameters
    ----------
    posed
        The problem.
    tolerance
        Of `relative_residual`; in double precision 1e-9 is within reach, as a rule.
    most
        Solves.
    max_iterations
        Newton iterations of one solve.

    Returns
    -------
    Answer
        Look at `residual`: a tolerance that is not reached is no exception.
    """
    settings = SapSettings(
        friction="coulomb",
        relative_tolerance=max(0.1 * tolerance, 1e-10),
        max_iterations=max_iterations,
    )
    solver = SapSolver(settings)
    sigma_n, least = SIGMA_N, _LEAST_SIGMA_N
    gamma = v = None
    answer = Answer(np.zeros_like(posed.local.q))
    for _ in range(most):
        solution = solver.solve(posed.at(SIGMA_T, sigma_n, gamma), v)
        r = posed.impulses(solution.gamma)
        residual = relative_residual(posed.local, r)
        answer.iterations += solution.iterations
        answer.total_iterations += solution.total_iterations
        answer.residuals.append(residual)
        little = residual > _GAIN * answer.residual
        if residual < answer.residual:
            answer.r, answer.residual = r, residual
        if residual <= tolerance:
            break
        if solution.status is not Status.converged and little:
            # too stiff: from the impulses before, with a softer spring, and never as stiff again
            least = sigma_n = min(sigma_n / _FACTOR, 1.0)
            v = None
            continue
        gamma, v = solution.gamma, solution.v
        if little:
            sigma_n = max(sigma_n * _FACTOR, least)
    return answer

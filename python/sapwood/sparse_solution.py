"""Solutions of sparse problems, from those of their reduced problems."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.derivatives.sensitivity import Sensitivity
from sapwood.derivatives.sparse_sensitivity import SparseSensitivity
from sapwood.problem.contact_problem import ContactProblem
from sapwood.problem.sparse_problem import SparseProblem
from sapwood.solution import Solution


def narrow_guess(
    problem: SparseProblem[ContactProblem], v_guess: ArrayLike | None
) -> NDArray[np.float64] | None:
    """Take the velocities of the reduced problem from a guess (nv,)."""
    if v_guess is None:
        return None
    guess = _core.as_float64(v_guess, "v_guess", (problem.nv,), "finite")
    return problem.narrow(guess)


def extended(solution: Solution, problem: SparseProblem[ContactProblem]) -> Solution:
    """Give a solution of the reduced problem the velocities of the whole one.

    Parameters
    ----------
    solution : Solution
        The solution of ``problem.reduced``.
    problem : SparseProblem
        The whole problem.

    Returns
    -------
    Solution
        A copy with all velocities, and their derivatives where it has some.
    """
    v, reduced = problem.velocities(solution.v), solution.sensitivity
    made = SparseSensitivity(problem, reduced, v) if isinstance(reduced, Sensitivity) else None
    return dataclasses.replace(solution, v=v, sensitivity=made)

"""How accurate a velocity is, whichever solver it comes from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sapwood import ContactProblem
from sapwood.reference import Objective


class Accuracy:
    """Measures velocities of one problem.

    Impulses are those of the contact law at the velocity, gamma = P_F(y(v)), so that e_m holds all
    of the error: what a solver reports about itself, and its own impulses, count for nothing.
    """

    def __init__(self, problem: ContactProblem) -> None:
        self._objective = Objective(problem, touched_trees(problem).tolist())
        self._v_ref = problem.v_ref

    def momentum_error(self, v: NDArray[np.float64]) -> float:
        """e_m (24) of v (nv,) over the trees that a contact touches; 0 where there is none."""
        return self._objective.point(v[self._objective.velocities]).momentum_error

    def velocity_error(self, v: NDArray[np.float64]) -> float | None:
        """|v - v_ref|_A / |v_ref|_A on the same trees, None where the problem has no reference."""
        if self._v_ref is None:
            return None
        reference = self._v_ref[self._objective.velocities]
        error = v[self._objective.velocities] - reference
        scale = reference @ self._objective.times_A(reference)
        if scale == 0.0:
            return None
        return float(np.sqrt(error @ self._objective.times_A(error) / scale))


def touched_trees(problem: ContactProblem) -> NDArray[np.intp]:
    """Trees that a contact lies on, ascending."""
    trees = np.concatenate([problem.tree_a, problem.tree_b])
    return np.unique(trees[trees >= 0]).astype(np.intp)

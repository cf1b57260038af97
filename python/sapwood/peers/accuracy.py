"""How accurate a solution is, whichever solver it comes from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sapwood import ContactProblem
from sapwood.reference import Objective

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Errors:
    """The two dimensionless errors of section X-C."""

    momentum: float
    """e_m (24)."""
    complementarity: float
    """e_mu (25)."""


class Accuracy:
    """Measures solutions of one problem, over the trees that a contact touches.

    Velocities alone are measured with the impulses of the contact law there, gamma = P_F(y(v)), so
    that e_m holds all of the error: what a solver reports about itself, and its own impulses, count
    for nothing. With a solver's own impulses, as in the paper, e_m and e_mu together tell how well
    both fit; neither then tells whether the impulses lie in the friction cones.
    """

    def __init__(self, problem: ContactProblem) -> None:
        self._objective = Objective(problem, touched_trees(problem).tolist())
        self._v_ref = problem.v_ref

    def momentum_error(self, v: Array) -> float:
        """e_m (24) of v (nv,) with the impulses of the law; 0 where no contact touches a tree."""
        return self._objective.point(v[self._objective.velocities]).momentum_error

    def errors(self, v: Array, gamma: Array | None = None) -> Errors:
        """e_m (24) and e_mu (25).

        With g = v_c - v_hat + R gamma, which lies in the dual cone at the solution::

            e_m  = |D (A (v - v*) - J^T gamma)| / max(|D A v|, |D J^T gamma|)
            e_mu = (1/n_c) sum_i |g_i . gamma_i| / l_p,  l_p = 1/2 |v - v*|_A^2 + 1/2 |gamma|_R^2

        Parameters
        ----------
        v
            Velocities of all trees (nv,).
        gamma
            A solver's own impulses (n_contacts, 3), rows (t1, t2, n), N s; None for those of the
            contact law at v.

        Returns
        -------
        Errors
            Both are 0 where nothing is wrong and nothing measures it.
        """
        o = self._objective
        v = v[o.velocities]
        if gamma is None:
            gamma = o.point(v).gamma
        g = o.times_J(v) - o.v_hat + o.R * gamma
        change = v - o.v_star
        j_c = o.times_J_transposed(gamma)
        p = o.times_A(change)
        scale = max(_norm(o.D * o.times_A(v)), _norm(o.D * j_c))
        cost = 0.5 * float(change @ p) + 0.5 * float(np.sum(o.R * gamma**2))
        gap = float(np.abs(np.sum(g * gamma, axis=1)).mean()) if len(gamma) else 0.0
        return Errors(_ratio(_norm(o.D * (p - j_c)), scale), _ratio(gap, cost))

    def velocity_error(self, v: Array) -> float | None:
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


def _norm(x: Array) -> float:
    return float(np.linalg.norm(x))


def _ratio(error: float, scale: float) -> float:
    """Error over scale; 0 without an error, infinite where nothing measures the one there is."""
    if error == 0.0:
        return 0.0
    return error / scale if scale > 0.0 else float("inf")

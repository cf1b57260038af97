"""The accuracy of a solution, from any solver."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sapwood import ContactProblem
from sapwood.reference import Objective
from sapwood.reference.problem.graph import touching

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Errors:
    """The two dimensionless errors of section X-C."""

    momentum: float
    """e_m (24)."""
    complementarity: float
    """e_mu (25)."""


class Accuracy:
    """Measures solutions of one problem, over the trees that a constraint touches.

    The gradient in (24) is that of (17): velocities are measured with the impulses of the contact
    law there, gamma = P_F(y(v)), so that e_m holds all of the error, and what a solver reports
    about itself, and its own impulses, count for nothing. e_mu (25) is 0 with these impulses and
    says something of a solver's own ones. With those, e_m is a linear residual; neither of the two
    then tells whether the impulses lie in the friction cones.
    """

    def __init__(self, problem: ContactProblem) -> None:
        self._objective = Objective(problem, touched_trees(problem).tolist())
        self._v_ref = problem.v_ref
        self._more = problem.core is not None or problem.n_spins > 0

    def momentum_error(self, v: Array) -> float:
        """e_m (24) of v (nv,) with the impulses of the laws; 0 where nothing is touched."""
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
            contact law at v. Impulses of constraints of other kinds are those of their laws at v.

        Returns
        -------
        Errors
            Both are 0 where nothing is wrong and nothing measures it.

        Raises
        ------
        ValueError
            Impulses where contacts have rigid cores, whose law is another than (15), or resist
            turning.
        """
        o = self._objective
        point = o.point(v[o.velocities])
        impulses = list(point.gamma)
        costs = [part.state.cost for part in point.parts]
        gaps = [
            pool.complementarity(part.y, part.state)
            for pool, part in zip(o.pools, point.parts, strict=True)
        ]
        if gamma is not None:
            if self._more:
                raise ValueError("gamma: (25) is for contacts without rigid core and spin")
            R, y = o.pools[0].R, point.parts[0].y
            impulses[0] = gamma
            costs[0] = np.sum(R * gamma**2, axis=1) / 2.0
            gaps[0] = np.abs(np.sum(R * (gamma - y) * gamma, axis=1))  # g = R (gamma - y)

        change = point.v - o.v_star
        p = o.times_A(change)
        j_c = o.times_J_transposed(impulses)
        scale = max(_norm(o.D * o.times_A(point.v)), _norm(o.D * j_c))
        gap = np.concatenate(gaps)
        l_p = float(change @ p) / 2.0 + float(np.concatenate(costs).sum())
        return Errors(
            _ratio(_norm(o.D * (p - j_c)), scale), _ratio(float(gap.sum()) / max(len(gap), 1), l_p)
        )

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
    """Trees that a contact or another constraint lies on, ascending."""
    a, b = touching(problem)
    trees = np.array(a + b, dtype=np.intp)
    return np.unique(trees[trees >= 0])


def _norm(x: Array) -> float:
    return float(np.linalg.norm(x))


def _ratio(error: float, scale: float) -> float:
    """Error over scale; 0 without an error, infinite where nothing measures the one there is."""
    if error == 0.0:
        return 0.0
    return error / scale if scale > 0.0 else float("inf")

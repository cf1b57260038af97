"""Contacts in dispute, solved exactly beside the factor of a direction of Coulomb's friction.

The system of a direction replaces the law of each contact by gamma' = gamma - K (v_c' - v_c), and
its solution is the full step u. For contacts D whose region of the law is another one at u, the law
itself replaces that, and all others keep their linear law:

    u_c' = u_c + W (gamma - gamma^0),   W = (1 - S K)^-1 S,   S = J_D H^-1 J_D^T

with gamma^0 the impulses for which u solves the equations. `small_problem` finds gamma. Two or
four rounds, and more while |D r| is too large, add the contacts whose impulse by the law differs
most from that of the equations, and the u of the least |D r| is the step, or the last u where the
search makes no progress. See
csrc/solver/coulomb/disputes.h.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..constraints.disk_pool import DiskPool
from .objective import Objective, Point
from .small_problem import THOROUGH, USUAL, Search, solve_small

Array = NDArray[np.float64]

DISPUTED, DISPUTED_AFTER_REFUSAL = 4, 8
"""Contacts that a round adds, after an accepted and after a refused step."""

ROUNDS, MORE_ROUNDS = 2, 4
"""Rounds after an accepted step, and after the stick start or a refused step."""

MOST, PER_SET, SETS = 32, 5, 8
"""Contacts of a step at most; those whose columns are found at once, and how often at most."""

LEAST = 1e-3
"""Smallest difference of an added contact, relative to the largest one."""


@dataclass(frozen=True)
class Effort:
    """Extent of the rounds of a step."""

    most: int
    """contacts that a round adds at most"""
    rounds: int
    """rounds in any case"""
    enough: float
    """|D r| above which more follow, sqrt(J)"""
    search: Search = USUAL
    """search in the small problems"""
    leaps: bool = False
    """whether the step is the u of the last round, not the one of the least |D r|"""


def effort_after(refused: bool, stuck: bool, enough: float) -> Effort:
    """The effort after an accepted or a refused step, in a search that is stuck or not."""
    if refused:
        return Effort(DISPUTED_AFTER_REFUSAL, MORE_ROUNDS, enough, THOROUGH, stuck)
    return Effort(DISPUTED, ROUNDS, enough, USUAL, stuck)


def unsymmetric_matrix(objective: Objective, K: Sequence[Array]) -> Array:
    """A + J^T K J (nv, nv), from K (n, r, r) of each pool."""
    H = np.zeros((objective.nv, objective.nv))
    for t, A in objective.A.items():
        H[objective.at[t], objective.at[t]] = A
    for pool, pool_K in zip(objective.pools, K, strict=True):
        r = pool.R.shape[1]
        for patch in pool.patches:
            m = len(patch.members)
            for t, J_t in zip(patch.trees, patch.J, strict=True):
                KJ = (pool_K[patch.members] @ J_t.reshape(m, r, -1)).reshape(m * r, -1)
                for s, J_s in zip(patch.trees, patch.J, strict=True):
                    H[objective.at[s], objective.at[t]] += J_s.T @ KJ
    return H


class Disputes:
    """The rounds after one full step.

    Parameters
    ----------
    objective : Objective
        With Coulomb's friction.
    point : Point
        Start of the step.
    K, gamma : (n, r, r) and (n, r) arrays of each pool
        The linear law of the direction at that point.
    solve : callable
        H^-1 b of b (nv), H = A + J^T K J.
    """

    def __init__(
        self,
        objective: Objective,
        point: Point,
        K: Sequence[Array],
        gamma: Sequence[Array],
        solve: Callable[[Array], Array],
    ) -> None:
        self.objective, self.solve = objective, solve
        pool = objective.pools[0]
        self.pool = pool if isinstance(pool, DiskPool) else None
        self.K = K[0]
        v_c = point.parts[0].v_c
        self.origin = gamma[0] + np.einsum("ijk,ik->ij", self.K, v_c)
        self.members: list[int] = []
        self.sets = 0
        self.rows = np.zeros((0, objective.nv))
        self.columns = np.zeros((objective.nv, 0))

    def row_block(self, i: int) -> Array:
        """J (3, nv) of a contact."""
        J = np.zeros((3, self.objective.nv))
        for patch in self.objective.pools[0].patches:
            for k in np.flatnonzero(np.asarray(patch.members) == i):
                for t, J_t in zip(patch.trees, patch.J, strict=True):
                    J[:, self.objective.at[t]] += J_t[3 * k : 3 * k + 3]
        return J

    def weights(self) -> Array:
        """J_n diag(A)^-1 J_n^T (n) of the contacts."""
        out = np.zeros(len(self.origin))
        for patch in self.objective.pools[0].patches:
            for t, J_t in zip(patch.trees, patch.J, strict=True):
                scaled = J_t[2::3] * self.objective.D[self.objective.at[t]]
                out[patch.members] += np.sum(scaled**2, axis=1)
        return out

    def linear(self, u: Point) -> Array:
        """Impulses (n, 3) of the linear law at u."""
        return np.asarray(self.origin - np.einsum("ijk,ik->ij", self.K, u.parts[0].v_c))

    def candidates(self, u: Point, most: int) -> list[int]:
        """Contacts with the largest differences between both laws, largest first."""
        gap = np.sum((u.parts[0].state.gamma - self.linear(u)) ** 2, axis=1)
        size = self.weights() * gap
        size[self.members] = 0.0
        order = np.argsort(-size, kind="stable")[:most]
        return [int(i) for i in order if size[i] > LEAST**2 * size[order[0]]]

    def round(self, u: Point, effort: Effort, gamma: Array) -> tuple[Point, Array] | None:
        """The next u with the impulses of D, from those of D so far; None if nothing is left."""
        added = self.candidates(u, effort.most)
        pool = self.pool
        if not added or pool is None:
            return None
        rows = np.vstack([self.row_block(i) for i in added])
        self.rows = np.vstack([self.rows, rows])
        self.columns = np.column_stack([self.columns, *(self.solve(row) for row in rows)])
        self.members += added
        self.sets += -(-len(added) // PER_SET)
        law = u.parts[0].state.gamma[added].ravel()
        guess = np.concatenate([gamma, law])
        gamma = np.concatenate([gamma, self.linear(u)[added].ravel()])
        D = self.members
        S = self.rows @ self.columns
        K = np.zeros_like(S)
        for k, i in enumerate(D):
            K[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = self.K[i]
        try:
            W = np.asarray(np.linalg.solve(np.eye(len(S)) - S @ K, S), dtype=np.float64)
        except np.linalg.LinAlgError:
            return None
        q = (u.parts[0].v_c - pool.v_hat)[D].ravel() - W @ gamma
        M = W + np.diag(pool.R[D].ravel())
        found = solve_small(M, q, pool.mu[D], guess, effort.search)
        force = found - gamma + K @ (W @ (found - gamma))
        return self.objective.point(u.v + self.solve(self.rows.T @ force)), found

    def settle(
        self, u: Point, effort: Effort, tolerance: Callable[[Point], float]
    ) -> tuple[Point, int]:
        """The u of the least |D r| of all rounds or of the last, and the number of evaluations.

        None follow without room for the contacts of a round.
        """
        most = effort.most
        best, trials, gamma = u, 0, np.zeros(0)
        if self.pool is None:
            return u, 0
        while (
            len(self.members) + most <= MOST
            and self.sets - (-most // PER_SET) <= SETS
            and u.gradient_norm > tolerance(u)
            and (trials < effort.rounds or best.gradient_norm > effort.enough)
        ):
            after = self.round(u, effort, gamma)
            if after is None:
                break
            u, gamma = after
            trials += 1
            best = u if u.gradient_norm < best.gradient_norm else best
        if effort.leaps:
            return u, trials
        return best, trials + (best is not u)

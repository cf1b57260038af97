"""Directions of descent: Newton's, and two changes to it that save iterations.

Turning curvature. The Hessian of a sliding contact has almost no curvature along its slip
direction t, so that a step can drive the slip through zero and out on the other side, where
friction turns round; the line search then cuts the step short. Where t has just turned, some of the
curvature across t is added along it:

    G_tt = (mu/R_t) [(mu^/(1 + mu~^2) + theta gamma_n/y_r) P + (gamma_n/y_r) (I - P)]
    theta <- max(0.4 theta, clip(1 - t . t_before, 0, 1))

Sticking start. At an impact most contacts slide at the guess, and the first iterations are spent
unlearning that. The first direction leads instead to the minimiser of

    1/2 |v - v*|_A^2 + 1/2 sum_{v_hat_n > 0} |J_i v - v_hat_i|^2_{R_i^-1}

where all touching contacts stick. With extra curvature the direction still descends; the sticking
start is used where it does. So the argument of appendix F holds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sapwood.solution import Region

from .cholesky import BlockCholesky, NotPositiveDefinite, factor_dense, solve_lower, solve_upper
from .contact import law
from .objective import Objective, Point

Array = NDArray[np.float64]


def symbolic(objective: Objective) -> BlockCholesky:
    """Order and junction tree of the Hessian of an objective."""
    sizes = {t: len(A) for t, A in objective.A.items()}
    edges = [(p.trees[0], p.trees[1]) for p in objective.patches if len(p.trees) == 2]
    return BlockCholesky(sizes, edges)


def solve_hessian(
    objective: Objective,
    G: Array,
    b: Array,
    factorization: str = "supernodal",
    cholesky: BlockCholesky | None = None,
) -> Array:
    """x with (A + J^T G J) x = b.

    Raises
    ------
    NotPositiveDefinite
        When the matrix has lost positive definiteness to round-off.
    """
    if factorization == "dense":
        try:
            L = factor_dense(objective.hessian(G))
        except np.linalg.LinAlgError:
            raise NotPositiveDefinite(objective.trees[0]) from None
        return solve_upper(L, solve_lower(L, b))
    if factorization != "supernodal":
        raise ValueError(f"the reference has no factorization named {factorization!r}")

    cholesky = symbolic(objective) if cholesky is None else cholesky
    cholesky.factor(objective.hessian_blocks(G))
    x = cholesky.solve({t: b[objective.at[t]] for t in objective.trees})
    return np.concatenate([x[t] for t in objective.trees]) if x else np.zeros(0)


def sticking_system(objective: Objective, point: Point) -> tuple[Array, Array]:
    """G (n_contacts, 3, 3) and right side (nv) of the sticking start at a point."""
    touching = objective.v_hat[:, 2] > 0.0
    G = np.where(touching[:, None], 1.0 / objective.R, 0.0)[:, :, None] * np.eye(3)
    y = np.where(touching[:, None], point.y, 0.0)
    momentum = objective.times_A(point.v - objective.v_star)
    return G, objective.times_J_transposed(y) - momentum


class Turning:
    """Follows the slip directions of the contacts from one iterate to the next."""

    def __init__(self, objective: Objective) -> None:
        n = len(objective.contacts)
        self.objective = objective
        self.theta = np.zeros(n)
        self.t_before = np.zeros((n, 2))

    def follow(self, point: Point) -> Array:
        """Take in the next iterate; returns the curvature (n_contacts, 3, 3) to add to G there."""
        o = self.objective
        q = law(point.y, o.mu, o.R_t, o.R_n, o.soft_norm)
        sliding = q.regions == Region.sliding
        t = np.where(sliding[:, None], q.t, 0.0)
        # with a soft norm |t| < 1
        lengths = np.linalg.norm(t, axis=1) * np.linalg.norm(self.t_before, axis=1)
        cosine = np.sum(t * self.t_before, axis=1) / np.where(lengths > 0.0, lengths, 1.0)
        turned = np.clip(1.0 - cosine, 0.0, 1.0)
        self.theta = np.where(sliding, np.maximum(0.4 * self.theta, turned), 0.0)
        self.t_before = t

        gamma_n = q.s / (1.0 + q.mu_tilde2)
        across = o.mu / o.R_t * gamma_n / np.where(q.y_r > 0.0, q.y_r, 1.0)
        extra = np.zeros((len(t), 3, 3))
        extra[:, :2, :2] = (self.theta * across)[:, None, None] * t[:, :, None] * t[:, None, :]
        return extra

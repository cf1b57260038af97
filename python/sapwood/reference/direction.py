"""Directions of descent: Newton's, and two changes to it that save iterations.

Primal-dual friction (Chan, Golub and Mulet 1999, for sums of norms). The Hessian of a sliding
contact has almost no curvature along its slip direction t, so that a step can drive the slip
through zero and out on the other side, where friction turns round; the line search then cuts the
step short. The direction of friction is therefore also followed as an unknown of its own: the law
linearized at the full step, however short the step that was taken, gives

    gamma' = gamma - G dv_c,   gamma_n' >= 0,   w = gamma_t' / max(mu gamma_n', |gamma_t'|)

and at the next iterate the means m = (t + w)/2 and (gamma_n + gamma_n')/2 take the place of t and
gamma_n in the curvature of the norm |y_t|:

    G_tt = (mu/R_t) [mu^/(1 + mu~^2) t t^T + (gamma_n + gamma_n')/(2 y_r) (I - m m^T)]

the factor of I - m m^T no larger than in stiction, 1/R_t. G stays positive semidefinite and
bounded, so the direction descends and the line search makes the method converge. Below e_m = 0.01,
where the last step left less than a tenth of the gradient, and after one of 1.2 and more, which
says that H was too stiff, H is Newton's unchanged.

Sticking start. At an impact most contacts slide at the guess, and the first iterations are spent
unlearning that. The first direction leads instead to the minimiser of

    1/2 |v - v*|_A^2 + 1/2 sum_{v_hat_n > 0} |J_i v - v_hat_i|^2_{R_i^-1}

where all touching contacts stick; it is used where it descends.
"""

from __future__ import annotations

from typing import NamedTuple

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
    """G (n_contacts, 3, 3) and impulses (n_contacts, 3) of the sticking start at a point."""
    touching = objective.v_hat[:, 2] > 0.0
    G = np.where(touching[:, None], 1.0 / objective.R, 0.0)[:, :, None] * np.eye(3)
    return G, np.where(touching[:, None], point.y, 0.0)


class Dual(NamedTuple):
    """What the law linearized at a full step says of the impulses there."""

    w: Array  # (n_contacts, 2) friction over mu gamma_n, |w| <= 1
    gamma_n: Array  # (n_contacts), N s, >= 0


def predict(objective: Objective, gamma: Array, G: Array, dv_c: Array) -> Dual:
    """gamma - G dv_c brought into the cone, from gamma and dv_c (n_contacts, 3) and G."""
    predicted = gamma - np.einsum("ijk,ik->ij", G, dv_c)
    gamma_n = np.maximum(predicted[:, 2], 0.0)
    divisor = np.maximum(objective.mu * gamma_n, np.linalg.norm(predicted[:, :2], axis=1))
    w = predicted[:, :2] / np.where(divisor > 0.0, divisor, 1.0)[:, None]
    return Dual(w, gamma_n)


def blend(objective: Objective, point: Point, dual: Dual) -> Array:
    """G (n_contacts, 3, 3) at a point, by the means of law and dual where contacts slide."""
    o = objective
    q = law(point.y, o.mu, o.R_t, o.R_n, o.soft_norm)
    sliding = (q.regions == Region.sliding) & np.any(q.t != 0.0, axis=1)
    y_r = np.where(sliding, q.y_r, 1.0)
    m = (q.t + dual.w) / 2.0
    friction = o.mu * (point.gamma[:, 2] + dual.gamma_n) / 2.0
    across = np.minimum(friction / y_r, 1.0) / o.R_t
    along = o.mu**2 * point.G[:, 2, 2]
    t_t = q.t[:, :, None] * q.t[:, None, :]
    m_m = m[:, :, None] * m[:, None, :]
    G_tt = along[:, None, None] * t_t + across[:, None, None] * (np.eye(2) - m_m)
    G = point.G.copy()
    G[sliding, :2, :2] = G_tt[sliding]
    return G

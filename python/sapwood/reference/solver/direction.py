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
bounded, so the direction descends and the line search makes the method converge. Below e_m = 0.01
H is Newton's unchanged.

A clamped row between finite bounds c - b and c + b, such as the dry friction of a joint, is the
same in one dimension: |y - c| in place of the norm, t = sign(y - c), and beyond a bound

    G = (1/R) b/|y - c| (1 - m^2),   m = (t + w)/2,   w = (gamma' - c)/max(b, |gamma' - c|)

in place of 0.

Sticking start. At an impact most contacts slide at the guess, and the first iterations are spent
unlearning that. The first direction leads instead to the minimiser of

    1/2 |v - v*|_A^2 + 1/2 sum_{v_hat_n > 0} |J_i v - v_hat_i|^2_{R_i^-1}

where all touching contacts stick and every clamped row acts as it does at the guess, by its own
quadratic within the bounds and by the impulse of the bound beyond; it is used where it descends.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sapwood.settings import SapSettings

from ..constraints.pools import Dual
from ..constraints.rigid_core_pool import RigidCorePool
from ..linalg.cholesky import BlockCholesky
from .objective import Objective, Point

Array = NDArray[np.float64]


def symbolic(objective: Objective) -> BlockCholesky:
    """Order and junction tree of the Hessian of an objective."""
    sizes = {t: len(A) for t, A in objective.A.items()}
    patches = [patch for pool in objective.pools for patch in pool.patches]
    edges = [(p.trees[0], p.trees[1]) for p in patches if len(p.trees) == 2]
    return BlockCholesky(sizes, edges)


def prefers_single(objective: Objective, settings: SapSettings) -> bool:
    """Whether directions may be less exact, and there are many velocities and no barriers.

    The core counts the velocities that are left of a tree alone once the others are eliminated.
    """
    return (
        settings.mixed_precision
        and sum(len(A) for A in objective.A.values()) >= 72
        and not isinstance(objective.pools[0], RigidCorePool)
    )


def solve_hessian(
    objective: Objective,
    G: Sequence[Array],
    b: Array,
    cholesky: BlockCholesky | None = None,
) -> Array:
    """x with (A + J^T G J) x = b.

    Raises
    ------
    NotPositiveDefinite
        When the matrix has lost positive definiteness to round-off.
    """
    cholesky = symbolic(objective) if cholesky is None else cholesky
    cholesky.factor(objective.hessian_blocks(G))
    return solve_factored(objective, cholesky, b)


def solve_factored(objective: Objective, cholesky: BlockCholesky, b: Array) -> Array:
    """x with H x = b, H as it was factored last."""
    x = cholesky.solve({t: b[objective.at[t]] for t in objective.trees})
    return np.concatenate([x[t] for t in objective.trees]) if x else np.zeros(0)


def sticking_system(
    objective: Objective, point: Point
) -> tuple[tuple[Array, ...], tuple[Array, ...], Array]:
    """G (n, r, r) and impulses (n, r) of each pool, and the right side, of the sticking start."""
    systems = [
        pool.sticking(part.y, part.state)
        for pool, part in zip(objective.pools, point.parts, strict=True)
    ]
    G, gamma = tuple(G for G, _ in systems), tuple(gamma for _, gamma in systems)
    momentum = objective.times_A(point.v - objective.v_star)
    return G, gamma, objective.times_J_transposed(gamma) - momentum


def predict(
    objective: Objective, gamma: Sequence[Array], G: Sequence[Array], dv_c: Sequence[Array]
) -> tuple[Dual, ...]:
    """The duals of the laws linearized at the full step, pool by pool."""
    pools = zip(objective.pools, gamma, G, dv_c, strict=True)
    return tuple(pool.predict(*values) for pool, *values in pools)


def blend(objective: Objective, point: Point, dual: Sequence[Dual | None]) -> tuple[Array, ...]:
    """G (n, r, r) of each pool at a point, by the means of law and dual."""
    pools = zip(objective.pools, point.parts, dual, strict=True)
    return tuple(pool.blend(part.y, part.state, known) for pool, part, known in pools)

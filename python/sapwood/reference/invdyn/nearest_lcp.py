"""Inverse dynamics with Coulomb friction: the solution nearest to the last torques, MINDIFF."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sapwood.qp import QpStatus

from ..lcp.quadratic import solve_qp
from .coulomb_lcp import coulomb_problem, directions
from .unactuated import Reduction

Array = NDArray[np.float64]

UNDECIDED, NO_IMPULSE, NO_VELOCITY = range(3)
# both x_i and w_i count as positive above this part of the largest x and of the largest r
_COMPLEMENTARY = 1e-7
_NEARER = 1e-9


def motor_impulses(reduction: Reduction, edges: int) -> tuple[Array, Array]:
    """lambda_0 (n_q) and D (n_q, n (edges + 2)): motor impulses lambda_0 + D x of Eq. (64)."""
    n = len(reduction.J)
    start, X = reduction.motor_map()
    along = np.einsum("ka,caq->ckq", directions(edges), X[:, :2]).reshape(n * edges, len(start))
    return start, -np.vstack([X[:, 2], along, np.zeros((n, len(start)))]).T


def solve_nearest(reduction: Reduction, edges: int, last: Array) -> tuple[Array | None, int]:
    """Impulses (n, 3) by branch and bound over all choices of x_i = 0 or w_i = 0.

    Parameters
    ----------
    reduction
        The reduced problem.
    edges
        Of the friction pyramid.
    last : (n_q) array
        Motor impulses of the last call.

    Returns
    -------
    z : (n, 3) array, or None where there is no solution
    nodes : int
        Convex programs that were solved.
    """
    n = len(reduction.J)
    Q, r = coulomb_problem(reduction, edges)
    start, D = motor_impulses(reduction, edges)
    H, g = D.T @ D, D.T @ (start - last)
    best, least, nodes = None, np.inf, 0
    stack = [np.full(len(r), UNDECIDED)]
    while stack:
        choice = stack.pop()
        nodes += 1
        held = choice == NO_VELOCITY
        upper = np.where(choice == NO_IMPULSE, 0.0, np.inf)
        found = solve_qp(
            H, g, A=Q[held], b=-r[held], C=Q[~held], d=-r[~held], lower=0.0, upper=upper
        )
        if found.status is QpStatus.INFEASIBLE:
            continue
        branch, closes = -1, NO_IMPULSE
        if found.status is QpStatus.SOLVED:
            x = found.x
            squared = float(np.sum((start + D @ x - last) ** 2))
            if not squared < least * (1.0 - _NEARER):
                continue
            part_x, part_w = x / max(x.max(), 1e-300), (Q @ x + r) / max(np.abs(r).max(), 1e-300)
            worst = np.where(choice == UNDECIDED, np.minimum(part_x, part_w), 0.0)
            branch = int(np.argmax(worst))
            if worst[branch] <= _COMPLEMENTARY:
                best, least = x, squared
                continue
            closes = NO_IMPULSE if part_x[branch] < part_w[branch] else NO_VELOCITY
        else:  # nothing is known of this node, so nothing below it is left out
            open_ = np.flatnonzero(choice == UNDECIDED)
            if not len(open_):
                continue
            branch = int(open_[0])
        for decision in (NO_IMPULSE + NO_VELOCITY - closes, closes):
            child = choice.copy()
            child[branch] = decision
            stack.append(child)
    if best is None:
        return None, nodes
    along = best[n : n + n * edges].reshape(n, edges)
    return np.column_stack([along @ directions(edges), best[:n]]), nodes

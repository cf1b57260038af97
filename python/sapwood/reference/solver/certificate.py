"""Proved bounds on the error of a velocity, round-off included.

l_p is strongly convex with H >= A (lemma 2), so for the exact gradient at v

    |v - v_min|_A <= |grad|_{A^-1},    l_p(v) - l_min <= |grad|^2_{A^-1} / 2.

What is at hand is a computed gradient. Its distance from the exact one is bounded component by
component (to first order in the unit round-off) and added.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..constraints.pools import ContactPool, Patch, Pool
from ..constraints.rigid_core_pool import RigidCorePool
from ..linalg.cholesky import factor_dense, solve_lower
from .objective import Objective, Point

Array = NDArray[np.float64]
EPS = float(np.finfo(float).eps)


def _magnitudes(pool: Pool, patch: Patch) -> list[Array]:
    """|J| of a patch for each of its trees.

    For contacts without core between trees of up to 8 velocities, the largest entry of the patch in
    each column stands for the entries of each contact: J need not be read again then.
    """
    magnitudes = [np.abs(J) for J in patch.J]
    projects = isinstance(pool, ContactPool) and not isinstance(pool, RigidCorePool)
    if projects and all(J.shape[1] <= 8 for J in patch.J):
        n = len(patch.members)
        magnitudes = [np.tile(J.reshape(n, 3, -1).max(axis=0), (n, 1)) for J in magnitudes]
    return magnitudes


def gradient_round_off(objective: Objective, point: Point) -> Array:
    """Bound (nv) on |fl(grad) - grad|, component by component.

    The terms belong to the dot products A (v - v*) and J^T gamma, and to the error of gamma: an
    error e of v_hat - v_c moves y by R^-1 e, and each law bounds the resulting change of gamma.
    Here every point forms v_c from v. In the core, v_c is a sum of k steps from v_0: n + 2 k
    replaces n, and |v_0| + sum |alpha dv| replaces |v|.
    """
    v = np.abs(point.v)
    d = np.abs(point.v - objective.v_star)
    out = np.zeros(objective.nv)
    n_terms = np.zeros(objective.nv)
    for t, A in objective.A.items():
        at = objective.at[t]
        out[at] += (len(A) + 2) * EPS * (np.abs(A) @ d[at])
        n_terms[at] += 2

    errors = []
    for pool, part in zip(objective.pools, point.parts, strict=True):
        # error of v_hat - v_c
        e = 2.0 * EPS * np.abs(pool.v_hat)
        for patch in pool.patches:
            for t, J in zip(patch.trees, _magnitudes(pool, patch), strict=True):
                at, m = objective.at[t], len(patch.members)
                e[patch.members] += (len(v[at]) + 3) * EPS * (J @ v[at]).reshape(m, -1)
                n_terms[at] += len(J)
        errors.append(pool.impulse_error(part.y, part.state, e))

    for pool, part, gamma_error in zip(objective.pools, point.parts, errors, strict=True):
        gamma = np.abs(part.state.gamma)
        for patch in pool.patches:
            for t, J in zip(patch.trees, _magnitudes(pool, patch), strict=True):
                at = objective.at[t]
                out[at] += J.T @ gamma_error[patch.members].ravel()
                out[at] += n_terms[at] * EPS * (J.T @ gamma[patch.members].ravel())
    return out + 2.0 * EPS * np.abs(point.gradient)


def velocity_error_bound(objective: Objective, point: Point) -> float:
    """Bound on |v - v_min|_A, root joules; half its square bounds l_p(v) - l_min, joules.

    |grad|_{A^-1} = |L^-1 grad| with A_t = L L^T, velocities from the last to the first: branches of
    a tree stay apart then. The triangular solve and the factorization are
    backward stable, with componentwise errors n eps |L| and n eps |L| |L^T|.

    Examples
    --------
    Without contact the minimum is v*; a mass of 4 kg is 0.01 m/s away from it:

    >>> from sapwood import ContactProblem
    >>> objective = Objective(ContactProblem.from_dense(4.0 * np.eye(3), np.zeros(3), dt=0.01))
    >>> round(velocity_error_bound(objective, objective.point(np.array([0.01, 0.0, 0.0]))), 12)
    0.02
    """
    r = gradient_round_off(objective, point)
    squares = []
    for t, A in objective.A.items():
        at, n = objective.at[t], len(A)
        L = factor_dense(A[::-1, ::-1])
        L_inv = np.abs(solve_lower(L, np.eye(n)))
        x = solve_lower(L, point.gradient[at][::-1])
        error = L_inv @ (r[at][::-1] + n * EPS * (np.abs(L) @ np.abs(x)))
        factorization = (n + 1) * EPS * np.linalg.norm(L_inv @ np.abs(L)) ** 2
        norm = np.linalg.norm(x) + np.linalg.norm(error)
        squares.append((norm * (1.0 + factorization)) ** 2)
    # the loss of squares that underflow; an overflow bounds nothing
    square = sum(squares) + objective.nv * np.finfo(float).tiny
    return float("inf") if np.isnan(square) else float(np.sqrt(square))

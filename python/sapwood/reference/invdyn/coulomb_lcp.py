"""Inverse dynamics with Coulomb friction and complementarity, ID_LCP,mu."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .lemke import lemke
from .unactuated import Reduction

Array = NDArray[np.float64]

SQUEEZE_LIMIT = 1e4


def directions(edges: int) -> Array:
    """Unit vectors (edges, 2) of the friction pyramid in the tangential plane."""
    angle = 2.0 * np.pi * np.arange(edges) / edges
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def coulomb_problem(reduction: Reduction, edges: int) -> tuple[Array, Array]:
    """Matrix and vector of Eq. (64), in f_n (n), f_F (n edges, contact by contact), lambda (n).

    [N K N^T  N K F^T  0]        [N v_free + phi/dt]
    [F K N^T  F K F^T  E]    r = [F v_free         ]
    [mu       -E^T     0]        [0                ]
    """
    n = len(reduction.J)
    d = directions(edges)
    N = reduction.J_y[:, 2]
    F = np.einsum("ka,caj->ckj", d, reduction.J_y[:, :2]).reshape(n * edges, -1)
    R = np.vstack([N, F])
    E = np.kron(np.eye(n), np.ones((edges, 1)))
    size = n * (edges + 2)
    Q = np.zeros((size, size))
    Q[: len(R), : len(R)] = R @ R.T
    Q[n : n + n * edges, n + n * edges :] = E
    Q[n + n * edges :, :n] = np.diag(reduction.system.mu)
    Q[n + n * edges :, n : n + n * edges] = -E.T
    free = reduction.contact_velocity(reduction.y_free)
    r = np.concatenate([free[:, 2] + reduction.gap_rate, (free[:, :2] @ d.T).ravel(), np.zeros(n)])
    return Q, r


def solve_coulomb(reduction: Reduction, edges: int) -> tuple[Array | None, int]:
    """Impulses (n, 3) by Lemke's method; None on a ray, or where they squeeze without bounds.

    They do so where one alone would move its contact `SQUEEZE_LIMIT` times as fast as all that is
    given does: contacts that press against each other have solutions with any such force.
    """
    n = len(reduction.J)
    solution, pivots = lemke(*coulomb_problem(reduction, edges))
    if solution is None:
        return None, pivots
    along = solution[n : n + n * edges].reshape(n, edges)
    z = np.column_stack([along @ directions(edges), solution[:n]])
    alone = np.sum(reduction.J_y**2, axis=2) * np.abs(z)
    if np.max(alone, initial=0.0) > SQUEEZE_LIMIT * reduction.velocity_scale:
        return None, pivots
    return z, pivots

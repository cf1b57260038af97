"""Task control in plain arrays: the mirror of ``csrc/invdyn/tasks/task_program.c``.

minimise  1/2 sum_i w_i (T_i a - t_i)^2 + e/2 |a|^2 + k/2 |f/M_max|^2
where     M a + h = J^T f + S^T tau,  lower <= tau <= upper,  f in polygons of friction
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..lcp.active_set import nearest_point

_Array = NDArray[np.float64]

_VIOLATION, _HELD = 1e-10, 1e-13


def solve_tasks(
    M: ArrayLike,
    h: ArrayLike,
    T: ArrayLike,
    t: ArrayLike,
    w: ArrayLike,
    J: ArrayLike,
    mu: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    actuated: ArrayLike,
    edges: int = 4,
    force_weight: float = 1e-2,
    acceleration_weight: float = 1e-5,
) -> tuple[_Array, _Array, _Array]:
    """Torques within limits, forces within friction cones, accelerations nearest to tasks.

    Parameters
    ----------
    M, h : array_like (m, m), (m,)
        Mass matrix and bias force: M a + h = J^T f + S^T tau.
    T, t, w : array_like (k, m), (k,), (k,)
        Rows, targets and weights of tasks.
    J, mu : array_like (n, 3, m), (n,)
        Jacobians of contacts, two tangents and the normal, and friction coefficients.
    lower, upper : array_like (n_q,)
        Limits of torques, which may be infinite.
    actuated : array_like (n_q,) of int
        Velocities with a motor.
    edges : int
        Corners of the friction polygon.
    force_weight, acceleration_weight : float
        k and e.

    Returns
    -------
    tuple of ndarray
        Accelerations (m,), torques (n_q,) and forces (n, 3).

    Raises
    ------
    ArithmeticError
        The search for active rows does not end.
    """
    mass, bias, rows, jacobian = (np.asarray(x, dtype=float) for x in (M, h, T, J))
    target, weight, friction = (np.asarray(x, dtype=float) for x in (t, w, mu))
    q, m, n = np.asarray(actuated, dtype=int), len(bias), len(friction)
    b = np.setdiff1d(np.arange(m), q)
    H = acceleration_weight * np.eye(m) + rows.T @ (weight[:, None] * rows)
    L = np.linalg.cholesky(H)
    a_0 = np.linalg.solve(H, rows.T @ (weight * target))
    s = np.sqrt(force_weight) / np.diag(mass).max()

    # the equations of motion in y = [L^T (a - a_0); s f]
    motion = np.hstack([np.linalg.solve(L, mass).T, -jacobian.reshape(3 * n, m).T / s])
    offset = mass @ a_0 + bias
    angles = 2 * np.pi * (np.arange(edges) + 0.5) / edges
    sides, free = [], []
    for i, coefficient in enumerate(friction):
        side = np.zeros((edges if coefficient > 0 else 1, m + 3 * n))
        at = m + 3 * i
        side[:, at + 2] = coefficient * np.cos(angles[0]) if coefficient > 0 else 1.0
        if coefficient > 0:
            side[:, at], side[:, at + 1] = -np.cos(angles), -np.sin(angles)
        else:
            free += [at, at + 1]
        sides.append(side / s)
    cones = np.vstack([*sides, np.zeros((0, m + 3 * n))])
    without = np.eye(m + 3 * n)[free]
    low, high = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
    has_low, has_high = np.isfinite(low), np.isfinite(high)
    A = np.vstack([motion[b], without, cones, motion[q][has_low], -motion[q][has_high]])
    right = np.concatenate(
        [-offset[b], np.zeros(len(free) + len(cones)), (low - offset[q])[has_low],
         (offset[q] - high)[has_high]]
    )  # fmt: skip
    equal = np.arange(len(A)) < len(b) + len(free)
    limits = np.abs(np.concatenate([low[has_low], high[has_high], bias, [1.0]]))
    scale = float(limits.max())
    found = nearest_point(A, right, equal, _VIOLATION * scale, _HELD * scale)
    if found is None:
        raise ArithmeticError("the search for active rows does not end")
    y = found[0]
    tau = np.clip((motion @ y + offset)[q], low, high)
    return a_0 + np.linalg.solve(L.T, y[:m]), tau, y[m:].reshape(n, 3) / s

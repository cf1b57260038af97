"""Jacobians of points of a mechanism: the mirror of ``csrc/invdyn/tasks/motions.c``."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

_Array = NDArray[np.float64]


def point_motion(
    chain: ArrayLike,
    cdof: ArrayLike,
    cdof_dot: ArrayLike,
    qvel: ArrayLike,
    arm: ArrayLike,
) -> tuple[_Array, _Array, _Array, _Array, _Array, _Array]:
    """Motion of a point that is fixed to a body.

    Parameters
    ----------
    chain : array_like (k,) of int
        Velocities between the body and its root.
    cdof, cdof_dot : array_like (nv, 6)
        Motions by each velocity, rotation first, at the centre of mass of the tree; their rates.
    qvel : array_like (nv,)
        Velocities.
    arm : array_like (3,)
        From that centre to the point, m.

    Returns
    -------
    J, J_r : ndarray (3, nv)
        Jacobians of the point and of the turning.
    v, bias, w, bias_r : ndarray (3,)
        Velocity of the point, its acceleration without joint accelerations, and both of the
        turning.
    """
    axes, rates = np.asarray(cdof, dtype=float), np.asarray(cdof_dot, dtype=float)
    speeds, r = np.asarray(qvel, dtype=float), np.asarray(arm, dtype=float)
    moves = np.zeros(len(speeds), dtype=bool)
    moves[np.asarray(chain, dtype=int)] = True
    J_r = np.where(moves, axes[:, :3].T, 0.0)
    J = np.where(moves, (axes[:, 3:] + np.cross(axes[:, :3], r)).T, 0.0)
    v, w = J @ speeds, J_r @ speeds
    b = rates[moves].T @ speeds[moves]
    return J, J_r, v, b[3:] + np.cross(b[:3], r) + np.cross(w, v), w, b[:3]

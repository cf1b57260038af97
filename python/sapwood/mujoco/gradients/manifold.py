"""Derivatives on the manifold of a model's positions, whose quaternions have length 1."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.trajectory.rotations import by_body_turns

_Float = NDArray[np.float64]


class Manifold:
    """The manifold of a model's positions: its quaternions and its other positions.

    A derivative by the numbers q has nq components; a derivative by small motions from q, in the
    coordinates of the velocities, has nv.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    """

    def __init__(self, model: mujoco.MjModel) -> None:
        free = model.jnt_type == mujoco.mjtJoint.mjJNT_FREE
        turning = free | (model.jnt_type == mujoco.mjtJoint.mjJNT_BALL)
        shift = np.where(free, 3, 0)
        q, v = (model.jnt_qposadr + shift)[turning], (model.jnt_dofadr + shift)[turning]
        self._q4, self._v3 = q[:, None] + np.arange(4), v[:, None] + np.arange(3)
        # positions outside of quaternions have the same order in q and v
        self._q = np.setdiff1d(np.arange(model.nq), self._q4)
        self._v = np.setdiff1d(np.arange(model.nv), self._v3)
        self._model = model

    def moved(self, q: _Float, v: _Float, time: float) -> _Float:
        """Positions after a time at constant velocity.

        Parameters
        ----------
        q : ndarray (nq,)
            Positions.
        v : ndarray (nv,)
            Velocities.
        time : float
            Time, s.

        Returns
        -------
        ndarray (nq,)
            The positions after it.
        """
        found = np.array(q)
        mujoco.mj_integratePos(self._model, found, v, time)
        return found

    def by_motions(self, q: _Float, q_bar: _Float) -> _Float:
        """Derivatives by motions, from derivatives by the numbers q.

        Parameters
        ----------
        q, q_bar : ndarray (..., nq)
            Positions, and dL/dq.

        Returns
        -------
        ndarray (..., nv)
            dL/d of motions; the component along a quaternion is dropped.
        """
        found = np.empty((*np.broadcast_shapes(q.shape, q_bar.shape)[:-1], self._model.nv))
        found[..., self._v] = q_bar[..., self._q]
        if not len(self._q4):
            return found
        Q = by_body_turns(q[..., self._q4])
        turns = Q.swapaxes(-1, -2) @ q_bar[..., self._q4][..., None]
        found[..., self._v3] = 0.5 * turns[..., 0]
        return found

    def by_numbers(self, q: _Float, bar: _Float) -> _Float:
        """Derivatives by the numbers q, from derivatives by motions.

        Parameters
        ----------
        q : ndarray (..., nq)
            Positions.
        bar : ndarray (..., nv)
            dL/d of motions.

        Returns
        -------
        ndarray (..., nq)
            dL/dq, orthogonal to the quaternions.
        """
        front = np.broadcast_shapes(q.shape[:-1], bar.shape[:-1])
        found = np.empty((*front, self._model.nq))
        found[..., self._q] = bar[..., self._v]
        if not len(self._q4):
            return found
        Q = by_body_turns(q[..., self._q4])
        found[..., self._q4] = 2.0 * (Q @ bar[..., self._v3][..., None])[..., 0]
        return found


def integration_slopes(model: mujoco.MjModel, v: _Float, dt: float) -> tuple[_Float, _Float]:
    """Derivatives of motions after a time at the velocity v by those before it, and by v.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    v : ndarray (nv,)
        The velocity.
    dt : float
        The time, s.

    Returns
    -------
    by_motion, by_velocity : ndarray (nv, nv)
        The derivatives.
    """
    by_motion, by_velocity = np.eye(model.nv), dt * np.eye(model.nv)
    free, ball = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_BALL)
    for kind, adr in zip(model.jnt_type.tolist(), model.jnt_dofadr.tolist(), strict=True):
        if kind not in (free, ball):
            continue
        first = adr + (3 if kind == free else 0)
        turn = slice(first, first + 3)
        of_turn, of_speed, of_time = np.zeros(9), np.zeros(9), np.zeros(3)
        mujoco.mjd_quatIntegrate(v[turn], dt, of_turn, of_speed, of_time)
        by_motion[turn, turn] = of_turn.reshape(3, 3)
        by_velocity[turn, turn] = dt * of_speed.reshape(3, 3)
    return by_motion, by_velocity

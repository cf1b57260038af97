"""A MuJoCo model without contact: the free motion of a step by the theta-method."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.mujoco.gradients.slopes import Slopes
from sapwood.mujoco.gradients.state_copy import StateCopy
from sapwood.stepping.model import Dynamics

_Float = NDArray[np.float64]


class FreeMujoco:
    """A MuJoCo model without contact, in the form of :class:`sapwood.stepping.FreeModel`.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    damping : ndarray (nv, 3)
        Damping coefficients of the dofs, see :class:`Slopes`.
    """

    def __init__(self, model: mujoco.MjModel, damping: _Float) -> None:
        self._model, self._copy = model, StateCopy(model)
        self._slopes = Slopes(model, damping)
        # entries of the lower triangle of M
        self._rows = np.repeat(np.arange(model.nv), model.M_rownnz)
        self._columns = np.asarray(model.M_colind)

    def load(self, data: mujoco.MjData) -> None:
        """Take over controls, activations and applied forces.

        Parameters
        ----------
        data : mujoco.MjData
            State at the start of a step.
        """
        self._copy.take(data)

    def dynamics(self, q: _Float, v: _Float, /) -> Dynamics:
        """Dynamics from MuJoCo's stages without collision detection.

        Parameters
        ----------
        q, v : ndarray (nq,), (nv,)
            Positions and velocities.

        Returns
        -------
        Dynamics
            F1 holds springs, dampers and actuators, F2 the rest.
        """
        model, data = self._model, self._copy.data
        data.qpos[:], data.qvel[:] = q, v
        mujoco.mj_fwdKinematics(model, data)
        mujoco.mj_makeM(model, data)
        mujoco.mj_factorM(model, data)
        mujoco.mj_transmission(model, data)
        mujoco.mj_fwdVelocity(model, data)
        mujoco.mj_fwdActuation(model, data)
        mujoco.mj_fwdAcceleration(model, data)
        M = np.zeros((model.nv, model.nv))
        M[self._rows, self._columns] = data.M
        M[self._columns, self._rows] = data.M
        F1 = data.qfrc_spring + data.qfrc_damper + data.qfrc_actuator
        return Dynamics(M, F1, data.qfrc_smooth - F1, *self._slopes.at(data))

    def integrate(self, q: _Float, v: _Float, dt: float, /) -> _Float:
        """Positions by ``mj_integratePos``, the exponential map for quaternions.

        Parameters
        ----------
        q, v : ndarray (nq,), (nv,)
            Positions and velocities.
        dt : float
            Time, s.

        Returns
        -------
        ndarray (nq,)
            Positions after the time.
        """
        moved = np.array(q)
        mujoco.mj_integratePos(self._model, moved, v, dt)
        return moved

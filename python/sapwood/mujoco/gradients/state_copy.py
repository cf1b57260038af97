"""A simulation looked at from aside: data of one's own in its state."""

from __future__ import annotations

import mujoco
import numpy as np

_STATE = mujoco.mjtState.mjSTATE_INTEGRATION


class StateCopy:
    """Data to compute on, which takes on the state of a simulation and leaves that as it is.

    Parameters
    ----------
    model : mujoco.MjModel
        The model of both.

    Attributes
    ----------
    data : mujoco.MjData
        In the state that was taken last, and whatever was computed on it since.
    """

    def __init__(self, model: mujoco.MjModel) -> None:
        self._model, self.data = model, mujoco.MjData(model)
        self._state = np.empty(mujoco.mj_stateSize(model, _STATE))

    def take(self, data: mujoco.MjData) -> mujoco.MjData:
        """Take on a state: positions, velocities, controls, mocap bodies, all that a step reads.

        Parameters
        ----------
        data : mujoco.MjData
            The simulation.

        Returns
        -------
        mujoco.MjData
            The data of this copy, of which nothing is computed yet.
        """
        mujoco.mj_getState(self._model, data, self._state, _STATE)
        mujoco.mj_setState(self._model, self.data, self._state, _STATE)
        return self.data

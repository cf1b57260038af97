"""A second set of data that follows the state of a simulation."""

from __future__ import annotations

import mujoco
import numpy as np

_STATE = mujoco.mjtState.mjSTATE_INTEGRATION


class StateCopy:
    """Data to compute on, in the state of a simulation, which stays as it is.

    Parameters
    ----------
    model : mujoco.MjModel
        The model of the copy and of the simulation.

    Attributes
    ----------
    data : mujoco.MjData
        Data in the last copied state, with the quantities computed since.
    """

    def __init__(self, model: mujoco.MjModel) -> None:
        self._model, self.data = model, mujoco.MjData(model)
        self._state = np.empty(mujoco.mj_stateSize(model, _STATE))

    def take(self, data: mujoco.MjData) -> mujoco.MjData:
        """Copy a state: positions, velocities, controls, mocap bodies, all inputs of a step.

        Parameters
        ----------
        data : mujoco.MjData
            The simulation.

        Returns
        -------
        mujoco.MjData
            The data of this copy, with no derived quantities yet.
        """
        mujoco.mj_getState(self._model, data, self._state, _STATE)
        mujoco.mj_setState(self._model, self.data, self._state, _STATE)
        return self.data

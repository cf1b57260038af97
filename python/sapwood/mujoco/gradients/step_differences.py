"""States close to a given one, and the derivative of a step by differences of whole steps."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
from numpy.typing import NDArray

_Float = NDArray[np.float64]
_STATE = mujoco.mjtState.mjSTATE_INTEGRATION


class StateChanges:
    """States close to that of some data, by the columns of A and B of a linearization.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    data : mujoco.MjData
        The state and the controls; they are changed.
    """

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        self._model, self._data = model, data
        self._state = np.empty(mujoco.mj_stateSize(model, _STATE))
        mujoco.mj_getState(model, data, self._state, _STATE)

    def restore(self) -> None:
        """Set the data to the given state."""
        mujoco.mj_setState(self._model, self._data, self._state, _STATE)

    def change(self, i: int, by: float) -> float:
        """Set the data to the given state with one number changed.

        Parameters
        ----------
        i : int
            Number of the column.
        by : float
            The change; a control stays in its range.

        Returns
        -------
        float
            The change that was made.
        """
        model, data = self._model, self._data
        nv, na = model.nv, model.na
        self.restore()
        if i < nv:
            mujoco.mj_integratePos(model, data.qpos, np.eye(1, nv, i)[0], by)
        elif i < 2 * nv:
            data.qvel[i - nv] += by
        elif i < 2 * nv + na:
            data.act[i - 2 * nv] += by
        else:
            by = self._change_control(i - 2 * nv - na, by)
        return by

    def move(self, change: _Float, by: float) -> None:
        """Set the data to the given state, changed along a direction.

        Parameters
        ----------
        change : ndarray (2 nv + na,)
            The direction.
        by : float
            The change along it.
        """
        self.restore()
        data, nv = self._data, self._model.nv
        q, v, act = np.split(change, [nv, 2 * nv])
        mujoco.mj_integratePos(self._model, data.qpos, q, by)
        data.qvel[:] += by * v
        data.act[:] += by * act

    def _change_control(self, i: int, by: float) -> float:
        model, ctrl = self._model, self._data.ctrl
        u = float(ctrl[i])
        clamps = not model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_CLAMPCTRL
        limited = clamps and model.actuator_ctrllimited[i]
        ctrl[i] = np.clip(u + by, *model.actuator_ctrlrange[i]) if limited else u + by
        return float(ctrl[i]) - u


class StepDifferences(StateChanges):
    """Central differences of a step of one model, a check of its linearization.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    data : mujoco.MjData
        The state and the controls; its state is the same after each call.
    take_step : callable
        Takes a step of `data`.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        take_step: Callable[[mujoco.MjData], None],
    ) -> None:
        super().__init__(model, data)
        self._take_step = take_step

    def columns(self, h: float) -> tuple[_Float, _Float, _Float, _Float]:
        """Find A, B, C and D over differences of h, in the order of ``mujoco.mjd_transitionFD``.

        Parameters
        ----------
        h : float
            The difference of each position, velocity, activation and control. A control at an end
            of its range has a one-sided difference.

        Returns
        -------
        A, B : ndarray (2 nv + na, 2 nv + na), (2 nv + na, nu)
            The derivative of the next state.
        C, D : ndarray (n_sensors, 2 nv + na), (n_sensors, nu)
            The derivative of the sensors of the step.
        """
        model = self._model
        n = 2 * model.nv + model.na
        found = np.array([self._column(i, h) for i in range(n + model.nu)]).T
        self.restore()
        A, B, C, D = found[:n, :n], found[:n, n:], found[n:, :n], found[n:, n:]
        return tuple(np.ascontiguousarray(part) for part in (A, B, C, D))  # type: ignore[return-value]

    def _column(self, i: int, h: float) -> _Float:
        low, q_low, rest_low = self._end(i, -h)
        high, q_high, rest_high = self._end(i, h)
        if high == low:
            return np.zeros(2 * self._model.nv + self._model.na + self._model.nsensordata)
        motion = np.empty(self._model.nv)
        mujoco.mj_differentiatePos(self._model, motion, high - low, q_low, q_high)
        return np.concatenate([motion, (rest_high - rest_low) / (high - low)])

    def _end(self, i: int, by: float) -> tuple[float, _Float, _Float]:
        """The change that was made, positions after the step, and all else that it leaves."""
        data, by = self._data, self.change(i, by)
        self._take_step(data)
        return by, np.array(data.qpos), np.concatenate([data.qvel, data.act, data.sensordata])

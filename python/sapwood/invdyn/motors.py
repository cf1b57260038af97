"""Motors of a MuJoCo model: from torques to controls, and their limits."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import _core

Array = NDArray[np.float64]

_BIASES = (int(mujoco.mjtBias.mjBIAS_NONE), int(mujoco.mjtBias.mjBIAS_AFFINE))


class Motors:
    """One actuator for each actuated velocity, with the force gain u + b0 + b1 length + b2 rate.

    Parameters
    ----------
    model : mujoco.MjModel
    actuated : (n_q,) ndarray of int
        Velocities of hinges and sliders.

    Raises
    ------
    ValueError
        A velocity has no actuator of this form, or several.
    """

    def __init__(self, model: mujoco.MjModel, actuated: NDArray[np.intp]) -> None:
        self.actuated = actuated
        self.joint = model.dof_jntid[actuated]
        self.position = model.jnt_qposadr[self.joint]
        self.actuator = np.array([_actuator(model, int(j)) for j in self.joint], dtype=np.intp)
        chosen = self.actuator
        self.gear = model.actuator_gear[chosen, 0]
        self.gain = model.actuator_gainprm[chosen, 0]
        affine = model.actuator_biastype[chosen] == mujoco.mjtBias.mjBIAS_AFFINE
        bias = np.where(affine, model.actuator_biasprm[chosen, :3].T, 0.0)
        # torques of the bias: a constant, and those per unit of position and velocity
        self._bias = bias * self.gear ** np.array([[1], [2], [2]])
        self.dofs = actuated.astype(np.int32)  # as the core reads them in place
        self._model = model
        self._watch = _core.ByteWatch(model, _places(model))
        self._known = self._ranges(model)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._model, self.actuated)

    def limits(self, model: mujoco.MjModel, data: mujoco.MjData) -> tuple[Array, Array, Array]:
        """Torques that the model allows, by controls and forces of actuators and by joints.

        Returns
        -------
        tuple of ndarray (n_q,)
            Torques without a control; the least and the largest ones.
        """
        if model is not self._model:
            known = self._ranges(model)
        else:
            if self._watch.changed():
                self._watch.accept()
                self._known = self._ranges(model)
            known = self._known
        return _core.bound_torques(
            data.qpos, data.qvel, self.position, self.dofs, self._bias, *known
        )

    def _ranges(self, model: mujoco.MjModel) -> tuple[Array, Array]:
        """Torques (2, n_q) by controls less their bias, and by forces; infinite for none."""
        chosen, gear = self.actuator, self.gear[:, None]
        torques = np.array([
            gear * self.gain[:, None] * model.actuator_ctrlrange[chosen],
            gear * model.actuator_forcerange[chosen], model.jnt_actfrcrange[self.joint],
        ])  # fmt: skip
        limited = np.array([
            model.actuator_ctrllimited[chosen], model.actuator_forcelimited[chosen],
            model.jnt_actfrclimited[self.joint],
        ], dtype=bool)  # fmt: skip
        # a negative gear or gain exchanges the ends
        lower = np.where(limited, torques.min(axis=2), -np.inf)
        upper = np.where(limited, torques.max(axis=2), np.inf)
        by_force = np.array([np.maximum(lower[1], lower[2]), np.minimum(upper[1], upper[2])])
        return np.array([lower[0], upper[0]]), by_force

    def write(self, model: mujoco.MjModel, data: mujoco.MjData, tau: Array) -> Array:
        """Write the controls that give these torques; returns the torques that actuators give."""
        if (model.nv, model.nu) != (self._model.nv, self._model.nu):
            raise ValueError("model is not that of the controller")
        bias, lower, upper = self.limits(model, data)
        data.ctrl[self.actuator] = (tau - bias) / (self.gear * self.gain)
        given: Array = np.minimum(np.maximum(tau, lower), upper)
        return given


def _places(model: mujoco.MjModel) -> tuple[tuple[int, int], ...]:
    """Addresses and sizes of the arrays that bound torques, in the order of memory."""
    arrays = (
        model.actuator_ctrlrange, model.actuator_ctrllimited, model.actuator_forcerange,
        model.actuator_forcelimited, model.jnt_actfrcrange, model.jnt_actfrclimited,
    )  # fmt: skip
    return tuple(sorted((int(a.__array_interface__["data"][0]), int(a.nbytes)) for a in arrays))


def _actuator(model: mujoco.MjModel, joint: int) -> int:
    """The single actuator of a joint whose force depends on its control with a fixed gain."""
    by_joint = model.actuator_trntype == mujoco.mjtTrn.mjTRN_JOINT
    found = np.flatnonzero(by_joint & (model.actuator_trnid[:, 0] == joint))
    name = model.joint(joint).name or joint
    if len(found) != 1:
        raise ValueError(f"model: joint {name} has {len(found)} actuators, must have one")
    (one,) = found
    usable = (
        model.actuator_gaintype[one] == int(mujoco.mjtGain.mjGAIN_FIXED)
        and model.actuator_dyntype[one] == int(mujoco.mjtDyn.mjDYN_NONE)
        and model.actuator_biastype[one] in _BIASES
        and model.actuator_gainprm[one, 0] != 0.0
        and model.actuator_gear[one, 0] != 0.0
    )
    if not usable:
        raise ValueError(
            f"model: the actuator of joint {name} must have a fixed gain that is not 0, an affine "
            "bias or none, and no activation"
        )
    return int(one)

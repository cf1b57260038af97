"""Motors of a MuJoCo model: from torques to controls, and their limits."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

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
        self.bias = np.where(affine[:, None], model.actuator_biasprm[chosen, :3], 0.0)
        self._is_constant = not self.bias[:, 1:].any()

    def _bias(self, data: mujoco.MjData) -> Array:
        if self._is_constant:
            return self.bias[:, 0]
        length = self.gear * data.qpos[self.position]
        rate = self.gear * data.qvel[self.actuated]
        total: Array = self.bias[:, 0] + self.bias[:, 1] * length + self.bias[:, 2] * rate
        return total

    def limits(self, model: mujoco.MjModel, data: mujoco.MjData) -> tuple[Array, Array]:
        """Torques that the model allows: by actuators' controls and forces, and by joints."""
        chosen, gear = self.actuator, self.gear[:, None]
        torques = np.empty((3, len(chosen), 2))
        bias = self._bias(data)[:, None]
        torques[0] = gear * (self.gain[:, None] * model.actuator_ctrlrange[chosen] + bias)
        torques[1] = gear * model.actuator_forcerange[chosen]
        torques[2] = model.jnt_actfrcrange[self.joint]
        limited = np.array([
            model.actuator_ctrllimited[chosen], model.actuator_forcelimited[chosen],
            model.jnt_actfrclimited[self.joint],
        ], dtype=bool)  # fmt: skip
        # a negative gear or gain exchanges the ends
        lower = np.minimum(torques[..., 0], torques[..., 1])
        upper = np.maximum(torques[..., 0], torques[..., 1])
        least = np.where(limited, lower, -np.inf).max(axis=0)
        most: Array = np.where(limited, upper, np.inf).min(axis=0)
        # controls that cannot reach a force range leave the nearest end of it
        return np.minimum(least, most), most

    def write(self, model: mujoco.MjModel, data: mujoco.MjData, tau: Array) -> Array:
        """Write the controls that give these torques; returns the torques that actuators give."""
        bias = self._bias(data)
        control = (tau / self.gear - bias) / self.gain
        data.ctrl[self.actuator] = control
        lower, upper = self.limits(model, data)
        given: Array = np.clip(tau, lower, upper)
        return given


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

"""Stiffness and damping matrices of a MuJoCo model, Eqs. (12) and (13).

The forces F1 are those of springs and dampers of joints and tendons and of actuators with feedback,
each along one direction m in the space of velocities, the row of a Jacobian: a force f(x, x')
with x' = m^T v adds

    K += -df/dx m m^T,    D += -df/dx' m m^T

wherever these slopes are positive. All the rest is F2: forces of other kinds, negative slopes, and
what the change of m with the configuration adds. F2 is as implicit in the free motion as F1; it is
only missing in the matrix A of Eq. (11).
"""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

_Float = NDArray[np.float64]

_DISABLE, _JOINT = mujoco.mjtDisableBit, mujoco.mjtJoint
# older versions of MuJoCo have no motors with a back-EMF
_DCMOTOR = getattr(mujoco.mjtBias, "mjBIAS_DCMOTOR", -1)


def _slope(linear: Any, higher: Any, x: Any) -> Any:
    """Derivative of (c_0 + c_1 x + c_2 x^2) x; dampers have |x| instead of x."""
    return linear + 2.0 * higher[..., 0] * x + 3.0 * higher[..., 1] * x**2


def _address(model: mujoco.MjModel, name: str, actuator: int) -> int:
    """Index of an actuator's control or force; before MuJoCo 4.0 each actuator had one."""
    return int(getattr(model, name)[actuator]) if hasattr(model, name) else actuator


def _higher(model: mujoco.MjModel, name: str) -> _Float:
    """Coefficients c_1, c_2 of an element's force; zeros in older versions of MuJoCo."""
    if hasattr(model, f"{name}poly"):
        poly: _Float = getattr(model, f"{name}poly")
        return poly
    return np.zeros((len(getattr(model, name)), 2))


class Slopes:
    """K and D of one model.

    Parameters
    ----------
    model : mujoco.MjModel
        The model; its constants are read once.
    damping : ndarray (nv, 3)
        Coefficients of the damping forces -(c_0 + c_1 |v| + c_2 v^2) v of the dofs.
    """

    def __init__(self, model: mujoco.MjModel, damping: _Float) -> None:
        self._model, self._damping = model, damping
        flags = model.opt.disableflags
        # one entry per dof of a joint with a spring; ball joints are linearized for small turns
        dofs, positions, stiffness, higher = [], [], [], []
        poly = _higher(model, "jnt_stiffness")
        sizes = {int(_JOINT.mjJNT_FREE): 6, int(_JOINT.mjJNT_BALL): 3}
        for j in np.flatnonzero((model.jnt_stiffness != 0.0) | np.any(poly != 0.0, axis=1)):
            size = sizes.get(int(model.jnt_type[j]), 1)
            dofs += [model.jnt_dofadr[j] + i for i in range(size)]
            positions += [model.jnt_qposadr[j] if size == 1 else -1] * size
            stiffness += [model.jnt_stiffness[j]] * size
            higher += [poly[j] if size == 1 else np.zeros(2)] * size
        self._springs = not flags & _DISABLE.mjDSBL_SPRING
        self._dampers = not flags & _DISABLE.mjDSBL_DAMPER
        self._dof, self._position = np.array(dofs, np.intp), np.array(positions, np.intp)
        self._stiffness = np.array(stiffness, np.float64)
        self._higher = np.array(higher, np.float64).reshape(-1, 2)
        self._tendon_poly = _higher(model, "tendon_stiffness"), _higher(model, "tendon_damping")
        self._actuators = self._with_feedback()

    def at(self, data: mujoco.MjData) -> tuple[_Float, _Float]:
        """K and D at the state of data.

        Parameters
        ----------
        data : mujoco.MjData
            Data after MuJoCo's stages up to the actuation.

        Returns
        -------
        K, D : ndarray (nv, nv)
            Symmetric positive semidefinite.
        """
        nv = self._model.nv
        K, D = np.zeros((nv, nv)), np.zeros((nv, nv))
        if self._springs:
            x = data.qpos[self._position] - self._model.qpos_spring[self._position]
            x[self._position < 0] = 0.0
            slope = _slope(self._stiffness, self._higher, x)
            K[self._dof, self._dof] = np.maximum(slope, 0.0)
        if self._dampers:
            slope = _slope(self._damping[:, 0], self._damping[:, 1:], np.abs(data.qvel))
            D[np.diag_indices(nv)] = np.maximum(slope, 0.0)
        self._add_tendons(data, K, D)
        self._add_actuators(data, K, D)
        return K, D

    def _add_tendons(self, data: mujoco.MjData, K: _Float, D: _Float) -> None:
        model = self._model
        stiffness, damping = self._tendon_poly
        # MuJoCo 4.0 moved the pattern of the Jacobian from the data to the model
        pattern = model if hasattr(model, "ten_J_rownnz") else data
        for t in range(model.ntendon):
            first = pattern.ten_J_rowadr[t]
            entries = slice(first, first + pattern.ten_J_rownnz[t])
            where, m = pattern.ten_J_colind.ravel()[entries], data.ten_J.ravel()[entries]
            low, high = model.tendon_lengthspring[t]
            beyond = data.ten_length[t] - np.clip(data.ten_length[t], low, high)
            # the spring has no force between its two rest lengths
            if self._springs and (beyond != 0.0 or low == high):
                _add(K, where, m, _slope(model.tendon_stiffness[t], stiffness[t], beyond))
            if self._dampers:
                velocity = abs(data.ten_velocity[t])
                _add(D, where, m, _slope(self._tendon_damping(t), damping[t], velocity))

    def _tendon_damping(self, t: int) -> float:
        """Linear damping of a tendon, with the damping of its actuator."""
        model = self._model
        own = float(model.tendon_damping[t])
        actuator = int(getattr(model, "tendon_actuatorid", [-1] * model.ntendon)[t])
        if actuator < 0:
            return own
        gear = float(model.actuator_gear[_address(model, "actuator_outadr", actuator), 0])
        return own + gear**2 * float(model.actuator_damping[actuator])

    def _with_feedback(self) -> list[int]:
        """Actuators with one output and a force with constant slopes in length and velocity."""
        model = self._model
        affine = model.actuator_biastype == mujoco.mjtBias.mjBIAS_AFFINE
        affine |= model.actuator_gaintype == mujoco.mjtGain.mjGAIN_AFFINE
        # the back-EMF of motors
        affine |= model.actuator_biastype == _DCMOTOR
        if hasattr(model, "actuator_outnum"):
            affine &= model.actuator_outnum == 1
        if model.opt.disableflags & _DISABLE.mjDSBL_ACTUATION:
            affine[:] = False
        return [int(i) for i in np.flatnonzero(affine)]

    def _add_actuators(self, data: mujoco.MjData, K: _Float, D: _Float) -> None:
        model = self._model
        for i in self._actuators:
            output = _address(model, "actuator_outadr", i)
            first = data.moment_rowadr[output]
            entries = slice(first, first + data.moment_rownnz[output])
            where, m = data.moment_colind[entries], data.actuator_moment[entries]
            if self._is_held(data, i, output, where):
                continue
            prm = np.zeros(3)
            if model.actuator_biastype[i] == mujoco.mjtBias.mjBIAS_AFFINE:
                prm += model.actuator_biasprm[i, :3]
            if model.actuator_gaintype[i] == mujoco.mjtGain.mjGAIN_AFFINE:
                prm += self._input(data, i) * model.actuator_gainprm[i, :3]
            if model.actuator_biastype[i] == _DCMOTOR:
                prm[2] -= self._back_emf(i)
            _add(K, where, m, -prm[1])
            _add(D, where, m, -prm[2])

    def _back_emf(self, i: int) -> float:
        """Damping K^2/R of a motor; 0 if its current or temperature is a state."""
        resistance, constant, heating = self._model.actuator_gainprm[i, :3]
        if self._model.actuator_dynprm[i, 0] > 0.0 or heating != 0.0:
            return 0.0
        return float(constant**2 / resistance)

    def _activation(self, data: mujoco.MjData, i: int) -> float:
        """The last activation of an actuator, at the end of the step if it acts early."""
        model = self._model
        at = model.actuator_actadr[i] + model.actuator_actnum[i] - 1
        activation = float(data.act[at])
        if not model.actuator_actearly[i]:
            return activation
        time = model.opt.timestep
        if model.actuator_dyntype[i] == mujoco.mjtDyn.mjDYN_FILTEREXACT:
            tau = max(float(model.actuator_dynprm[i, 0]), mujoco.mjMINVAL)
            time = -tau * np.expm1(-time / tau)
        activation += time * float(data.act_dot[at])
        if model.actuator_actlimited[i]:
            activation = float(np.clip(activation, *model.actuator_actrange[i]))
        return activation

    def _input(self, data: mujoco.MjData, i: int) -> float:
        """The factor of an actuator's gain: its last activation, or its control."""
        model = self._model
        if model.actuator_dyntype[i] != mujoco.mjtDyn.mjDYN_NONE:
            return self._activation(data, i)
        at = _address(model, "actuator_ctrladr", i)
        control = float(data.ctrl[at])
        clamped = not model.opt.disableflags & _DISABLE.mjDSBL_CLAMPCTRL
        if clamped and model.actuator_ctrllimited[at]:
            control = float(np.clip(control, *model.actuator_ctrlrange[at]))
        return control

    def _is_held(self, data: mujoco.MjData, i: int, output: int, where: NDArray[np.int32]) -> bool:
        """Whether an actuator is disabled, or its force or its joint's force is at a limit."""
        model = self._model
        group = int(model.actuator_group[i])
        if 0 <= group < 31 and model.opt.disableactuator >> group & 1:
            return True
        force = data.actuator_force[output]
        low, high = model.actuator_forcerange[i]
        if model.actuator_forcelimited[i] and not low < force < high:
            return True
        joints = model.dof_jntid[where]
        total = data.qfrc_actuator[where]
        ranges = model.jnt_actfrcrange[joints]
        inside = (ranges[:, 0] < total) & (total < ranges[:, 1])
        if np.any(model.jnt_actfrclimited[joints].astype(bool) & ~inside):
            return True
        on_tendon = model.actuator_trntype[i] == mujoco.mjtTrn.mjTRN_TENDON
        return bool(on_tendon and model.tendon_actfrclimited[model.actuator_trnid[i, 0]])


def _add(matrix: _Float, where: NDArray[np.int32], m: _Float, slope: float) -> None:
    """matrix += slope m m^T for positive slopes."""
    if slope > 0.0:
        matrix[np.ix_(where, where)] += slope * np.outer(m, m)

"""A MuJoCo model for controllers: motors, equations of motion, motions of bodies."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_JOINT = mujoco.mjtJoint


def actuated_dofs(model: mujoco.MjModel) -> NDArray[np.intp]:
    """Velocities of hinges and sliders with an actuator; all of them if there is no actuator.

    Free and ball joints and joints without an actuator are moved by contacts and other forces.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.

    Returns
    -------
    ndarray of int
        Indices of velocities, ascending.
    """
    single = np.isin(model.jnt_type, (_JOINT.mjJNT_HINGE, _JOINT.mjJNT_SLIDE))
    driven = np.zeros(model.njnt, dtype=bool)
    by_joint = model.actuator_trntype == mujoco.mjtTrn.mjTRN_JOINT
    driven[model.actuator_trnid[by_joint, 0]] = True
    chosen = single & driven if model.nu else single
    return np.asarray(model.jnt_dofadr[chosen], dtype=np.intp)


def mass_matrix(model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """Mass matrix (nv, nv) at the positions in `data`, with armature."""
    M, units = np.zeros((model.nv, model.nv)), np.eye(model.nv)
    for column, unit in zip(M, units, strict=True):
        mujoco.mj_mulM(model, data, column, unit)
    return M


def bias_force(model: mujoco.MjModel, data: mujoco.MjData, actuated: NDArray[np.intp]) -> Array:
    """Force h (nv) in M a + h = S^T tau + J^T f.

    It holds Coriolis forces and gravity, less springs, dampers, ``xfrc_applied``, and
    ``qfrc_applied`` of velocities without a motor; on actuated ones it is part of tau.
    """
    applied = data.qfrc_applied.copy()
    applied[actuated] = 0.0
    for body in np.flatnonzero(data.xfrc_applied.any(axis=1)):
        mujoco.mj_applyFT(
            model, data, data.xfrc_applied[body, :3], data.xfrc_applied[body, 3:],
            data.xipos[body], int(body), applied,
        )  # fmt: skip
    h: Array = data.qfrc_bias - data.qfrc_passive - applied
    return h


def skew(r: Array) -> Array:
    """Matrices (..., 3, 3) of the cross product with vectors (..., 3)."""
    S = np.zeros((*r.shape[:-1], 3, 3))
    S[..., 0, 1], S[..., 0, 2], S[..., 1, 2] = -r[..., 2], r[..., 1], -r[..., 0]
    S[..., 1, 0], S[..., 2, 0], S[..., 2, 1] = r[..., 2], -r[..., 1], r[..., 0]
    return S


class Motions:
    """Jacobians of bodies and their accelerations without joint accelerations, each found once."""

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        self.model, self.data = model, data
        self._found: dict[int, tuple[Array, Array]] = {}

    def body(self, body: int) -> tuple[Array, Array]:
        """Jacobian (6, nv) of the body's origin and turning, and its rate times velocity (6,)."""
        found = self._found.get(body)
        if found is None:
            nv = self.model.nv
            J, rate = np.zeros((2, 3, nv)), np.zeros((2, 3, nv))
            if body > 0:
                point = self.data.xpos[body]
                mujoco.mj_jac(self.model, self.data, J[0], J[1], point, body)
                mujoco.mj_jacDot(self.model, self.data, rate[0], rate[1], point, body)
            found = J.reshape(6, nv), rate.reshape(6, nv) @ self.data.qvel
            self._found[body] = found
        return found

    def turning(self, bodies: NDArray[np.intp]) -> Array:
        """Jacobians (n, 3, nv) of the angular velocities of bodies."""
        return np.array([self.body(int(body))[0][3:] for body in bodies])

    def points(self, bodies: NDArray[np.intp], positions: Array) -> tuple[Array, Array, Array]:
        """Jacobians (n, 3, nv) of points fixed in bodies, their velocities and bias (n, 3)."""
        if not bodies.any():
            n, nv = len(bodies), self.model.nv
            return np.zeros((n, 3, nv)), np.zeros((n, 3)), np.zeros((n, 3))
        names, place = np.unique(bodies, return_inverse=True)
        each = [self.body(int(name)) for name in names]
        J = np.array([j for j, _ in each])[place]
        rate = np.array([r for _, r in each])[place]
        arms = skew(positions - self.data.xpos[bodies])
        at_points = J[:, :3] - arms @ J[:, 3:]
        spin = (J[:, 3:] @ self.data.qvel)[..., None]
        turning = skew(spin[..., 0])
        bias = rate[:, :3, None] - arms @ rate[:, 3:, None] - turning @ (arms @ spin)
        return at_points, at_points @ self.data.qvel, bias[..., 0]

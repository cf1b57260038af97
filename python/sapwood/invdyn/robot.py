"""A MuJoCo model for controllers: its motors and its equations of motion."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import _core

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


def mechanism_constants(model: mujoco.MjModel) -> tuple[NDArray[np.int32], ...]:
    """The constants of a model from which its Jacobians and mass matrix follow."""
    # bodies without joints move as their parent
    last = np.where(model.body_dofnum > 0, model.body_dofadr + model.body_dofnum - 1, -1)
    for body in np.flatnonzero(model.body_dofnum[1:] == 0) + 1:
        last[body] = last[model.body_parentid[body]]
    return (
        last, model.body_rootid, model.dof_parentid, model.M_rownnz, model.M_rowadr,
        model.M_colind,
    )  # fmt: skip


def mechanism_of(model: mujoco.MjModel) -> _core.Mechanism:
    """The mechanism of a model."""
    return _core.Mechanism(*mechanism_constants(model))


def mass_matrix(model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """Mass matrix (nv, nv) at the positions in `data`, with armature."""
    return mechanism_of(model).mass_matrix(data.M)


def state_of(data: mujoco.MjData) -> tuple[Array, ...]:
    """Positions, velocities and motions, as ``_core.Mechanism`` takes them."""
    return (
        data.cdof, data.cdof_dot, data.qvel, data.subtree_com, data.qpos, data.xpos, data.xmat,
        data.xipos,
    )  # fmt: skip


def loads_of(data: mujoco.MjData, actuated: NDArray[np.integer[Any]]) -> tuple[NDArray[Any], ...]:
    """Forces on a model, as ``_core.Mechanism`` takes them."""
    return data.qfrc_bias, data.qfrc_passive, data.qfrc_applied, data.xfrc_applied, actuated


def bias_force(
    model: mujoco.MjModel, data: mujoco.MjData, actuated: NDArray[np.integer[Any]]
) -> Array:
    """Force h (nv) in M a + h = S^T tau + J^T f.

    It holds Coriolis forces and gravity, less springs, dampers, ``xfrc_applied``, and
    ``qfrc_applied`` of velocities without a motor; on actuated ones it is part of tau.
    """
    return mechanism_of(model).bias_force(state_of(data), loads_of(data, actuated))

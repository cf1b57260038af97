"""The elements that constrain a MuJoCo model beside contacts, as the C core takes them.

These are limits, equality constraints, friction loss, and actuators that act as implicit
controllers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.constraints.materials import (
    KINDS,
    ConstraintMaterial,
    Stiffness,
    element_stiffness,
)
from sapwood.mujoco.reading.arrays import custom_entries
from sapwood.mujoco.reading.changes import (
    ALL,
    GAINS,
    JOINT_LIMITS,
    LOSSES,
    TENDON_LIMITS,
    Changes,
)
from sapwood.mujoco.reading.controllers import Controller
from sapwood.mujoco.reading.joined_trees import trees_of_problem
from sapwood.mujoco.reading.names import names_of
from sapwood.mujoco.reading.support import colliding_flexes
from sapwood.mujoco.reading.trees import EQUALITIES, holds_mocap, trees_of_equality, trees_of_tendon

_Float = NDArray[np.float64]
_Index = NDArray[np.int32]

_DISABLE, _OBJECT, _EQUALITY = mujoco.mjtDisableBit, mujoco.mjtObj, mujoco.mjtEq
_TORQUE_SCALE = 10  # place in eq_data of a weld


def _pairs(trees: list[set[int]]) -> _Index:
    """Rows (n, 2) of trees of the problem; -1 for none, and for more than two."""
    rows = [(*sorted(each), -1, -1)[:2] if len(each) <= 2 else (-1, -1) for each in trees]
    return np.array(rows, dtype=np.int32).reshape(-1, 2)


def _limited_joints(model: mujoco.MjModel) -> NDArray[np.intp]:
    if model.opt.disableflags & (_DISABLE.mjDSBL_LIMIT | _DISABLE.mjDSBL_CONSTRAINT):
        return np.zeros(0, dtype=np.intp)
    return np.flatnonzero(model.jnt_limited)


def _limited_tendons(model: mujoco.MjModel) -> NDArray[np.bool_]:
    off = model.opt.disableflags & (_DISABLE.mjDSBL_LIMIT | _DISABLE.mjDSBL_CONSTRAINT)
    return np.asarray(model.tendon_limited, dtype=bool) & (not off)


def _has_friction_loss(model: mujoco.MjModel) -> bool:
    return not model.opt.disableflags & (
        _DISABLE.mjDSBL_FRICTIONLOSS | _DISABLE.mjDSBL_CONSTRAINT
    ) and bool(np.any(model.dof_frictionloss) or np.any(model.tendon_frictionloss))


def _int32(values: Any) -> _Index:
    return np.ascontiguousarray(values, dtype=np.int32)


def _float64(values: Any, columns: int = 2) -> _Float:
    return np.array(values, dtype=np.float64).reshape(-1, columns)


def element_materials(
    model: mujoco.MjModel,
    constraint: ConstraintMaterial | None,
    constraints: Mapping[str, ConstraintMaterial] | None,
    time_step: float,
    faults: list[str],
) -> dict[str, Stiffness]:
    """Stiffness and dissipation time of all limits and equality constraints.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    constraint, constraints
        Materials, see :func:`sapwood.constraints.materials.element_stiffness`.
    time_step : float
        Time step, s.
    faults : list of str
        Takes the texts of malformed custom numbers.

    Returns
    -------
    dict
        Materials by kind.
    """
    objects = (_OBJECT.mjOBJ_JOINT, _OBJECT.mjOBJ_TENDON, _OBJECT.mjOBJ_EQUALITY)
    names = {kind: names_of(model, obj) for kind, obj in zip(KINDS, objects, strict=True)}
    return element_stiffness(
        names, custom_entries(model), constraint, constraints, time_step, faults
    )


def _has_elements(model: mujoco.MjModel, implicit: list[Controller]) -> bool:
    equality = not model.opt.disableflags & _DISABLE.mjDSBL_EQUALITY and model.neq > 0
    return bool(
        implicit
        or equality
        or _limited_joints(model).size
        or _limited_tendons(model).any()
        or _has_friction_loss(model)
        or colliding_flexes(model).size
    )


def _structure(
    model: mujoco.MjModel, stiffness: Mapping[str, Stiffness], joined: _Index
) -> dict[str, Any]:
    kinds = [EQUALITIES.get(int(kind), 0) for kind in model.eq_type]
    held = [trees_of_equality(model, i) if kinds[i] else set() for i in range(model.neq)]
    moved = [trees_of_tendon(model, i) for i in range(model.ntendon)]
    is_angle = _is_angle(model)
    return {
        "nq": int(model.nq),
        "n_outputs": int(model.nout),
        "dof_angle": _int32(_turns(model)),
        "tendon_tree": _pairs([trees_of_problem(joined, trees) for trees in moved]),
        "tendon_k": np.ascontiguousarray(stiffness["tendon"].k[:, 0]),
        "tendon_tau_d": stiffness["tendon"].tau_d,
        "tendon_angle": _int32([_sums_angles(model, i, is_angle) for i in range(model.ntendon)]),
        "ten_J_rownnz": _int32(model.ten_J_rownnz),
        "ten_J_rowadr": _int32(model.ten_J_rowadr),
        "ten_J_colind": _int32(model.ten_J_colind),
        "equality_kind": _int32(kinds),
        "equality_tree": _pairs([trees_of_problem(joined, trees) for trees in held]),
        "equality_k": stiffness["equality"].k,
        "equality_tau_d": stiffness["equality"].tau_d,
        "equality_angle": _int32([_couples_angles(model, i, is_angle) for i in range(model.neq)]),
        "equality_driven": _int32([holds_mocap(model, i) for i in range(model.neq)]),
    }


def _friction_losses(model: mujoco.MjModel) -> _Float:
    acts = (model.dof_frictionloss > 0.0) & _has_friction_loss(model)
    return np.where(acts, model.dof_frictionloss, 0.0)


def _joint_limits(model: mujoco.MjModel, stiffness: Stiffness) -> dict[str, Any]:
    joints = _limited_joints(model)
    return {
        "limit_joint": _int32(joints),
        "limit_ball": _int32(model.jnt_type[joints] == int(mujoco.mjtJoint.mjJNT_BALL)),
        "limit_qposadr": _int32(model.jnt_qposadr[joints]),
        "limit_dofadr": _int32(model.jnt_dofadr[joints]),
        "limit_range": _limit_ranges(model, joints),
        "limit_k": np.ascontiguousarray(stiffness.k[joints, 0]),
        "limit_tau_d": stiffness.tau_d[joints],
        "limit_angle": _int32(_is_angle(model)[joints]),
    }


def _equality_scales(model: mujoco.MjModel) -> _Float:
    torque_scale = np.abs(np.asarray(model.eq_data)[:, _TORQUE_SCALE])
    weld = (model.eq_type == int(_EQUALITY.mjEQ_WELD)) & (torque_scale > 0.0)
    scale = np.ones(model.neq)
    scale[weld] = 2.0 / torque_scale[weld]
    return scale


def _controllers(model: mujoco.MjModel, implicit: list[Controller]) -> dict[str, Any]:
    return {
        "controller_output": _int32([c.output for c in implicit]),
        "controller_tree": _pairs([c.trees for c in implicit]),
        "controller_group": _int32([model.actuator_group[c.actuator] for c in implicit]),
        "controller_dof": _int32([c.dof for c in implicit]),
        "controller_gains": _float64([c.gains for c in implicit]),
        "controller_range": _float64([c.range for c in implicit]),
        "controller_total": _float64([c.total for c in implicit]),
    }


def element_arrays(
    model: mujoco.MjModel,
    stiffness: Mapping[str, Stiffness],
    implicit: list[Controller],
    joined: _Index,
    n_flexes: int,
    last: Mapping[str, Any] | None = None,
    changes: Changes = ALL,
) -> dict[str, Any] | None:
    """The constant arrays of the elements, by the names of struct sap_elements of the C core.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    stiffness : mapping
        The result of :func:`element_materials`.
    implicit : list of Controller
        Actuators that act implicitly.
    joined : ndarray of int32 (ntree,)
        Trees of the problem, of :func:`sapwood.mujoco.reading.joined_trees.joined_trees`.
    n_flexes : int
        Flexes whose surfaces follow the geoms, 0 where none has contacts in the core.
    last : mapping, optional
        The arrays as they were.
    changes : Changes
        The changes since then.

    Returns
    -------
    dict or None
        None where the model has no such elements.
    """
    if not _has_elements(model, implicit):
        return None
    if last is None:
        changes = ALL
    if last is None or changes.are_all:
        elements = _structure(model, stiffness, joined)
    else:
        elements = dict(last)
    elements["n_flexes"] = n_flexes
    elements["flexes_elsewhere"] = int(n_flexes == 0 and colliding_flexes(model).size > 0)
    if changes.any_of(*LOSSES):
        elements["dof_frictionloss"] = _friction_losses(model)
    if changes.any_of(*JOINT_LIMITS):
        elements |= _joint_limits(model, stiffness["joint"])
    if changes.any_of(*TENDON_LIMITS):
        elements["tendon_limited"] = _int32(_limited_tendons(model))
        elements["tendon_range"] = _float64(model.tendon_range)
    if changes.any_of("eq_data"):
        elements["equality_scale"] = _equality_scales(model)
    if changes.any_of("actuator_group", *GAINS):
        elements |= _controllers(model, implicit)
    return elements


def _is_angle(model: mujoco.MjModel) -> NDArray[np.bool_]:
    """Which joints (njnt) have positions in rad."""
    kind, joint = model.jnt_type, mujoco.mjtJoint
    return np.asarray((kind == int(joint.mjJNT_HINGE)) | (kind == int(joint.mjJNT_BALL)))


def _turns(model: mujoco.MjModel) -> NDArray[np.bool_]:
    """Which dofs (nv) have velocities in rad/s."""
    joint = np.asarray(model.dof_jntid)
    free = model.jnt_type[joint] == int(mujoco.mjtJoint.mjJNT_FREE)
    last = np.arange(model.nv) - model.jnt_dofadr[joint] >= 3
    return np.asarray(_is_angle(model)[joint] | (free & last))


def _sums_angles(model: mujoco.MjModel, tendon: int, is_angle: NDArray[np.bool_]) -> bool:
    """Whether the length of a tendon is a sum of angles of joints."""
    first = model.tendon_adr[tendon]
    if model.wrap_type[first] != mujoco.mjtWrap.mjWRAP_JOINT:
        return False
    joints = model.wrap_objid[first : first + model.tendon_num[tendon]]
    return bool(is_angle[joints].all())


def _couples_angles(model: mujoco.MjModel, equality: int, is_angle: NDArray[np.bool_]) -> bool:
    """Whether an equality constraint has one row, in rad."""
    kind, first = model.eq_type[equality], model.eq_obj1id[equality]
    if kind == _EQUALITY.mjEQ_JOINT:
        return bool(is_angle[first])
    return kind == _EQUALITY.mjEQ_TENDON and _sums_angles(model, first, is_angle)


def _limit_ranges(model: mujoco.MjModel, joints: NDArray[np.intp]) -> _Float:
    """Lower and upper limits; a ball joint has its angle bounded by the larger of the two."""
    ranges = _float64(model.jnt_range[joints])
    ball = model.jnt_type[joints] == int(mujoco.mjtJoint.mjJNT_BALL)
    ranges[ball, 1] = ranges[ball].max(axis=1)
    return ranges

"""The elements that constrain a MuJoCo model beside contacts, as the C core takes them.

These are limits, equality constraints, friction loss, and actuators that act as implicit
controllers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.constraints.materials import KINDS, ConstraintMaterial, element_stiffness
from sapwood.mujoco.arrays import custom_entries, names_of

_Float = NDArray[np.float64]
_Index = NDArray[np.int32]

_DISABLE, _OBJECT, _EQUALITY = mujoco.mjtDisableBit, mujoco.mjtObj, mujoco.mjtEq
_JOINT, _TRANSMISSION = mujoco.mjtJoint, mujoco.mjtTrn

# enum sap_equality of the C core; what is not here is refused
_EQUALITIES = {
    int(_EQUALITY.mjEQ_CONNECT): 1,
    int(_EQUALITY.mjEQ_WELD): 2,
    int(_EQUALITY.mjEQ_JOINT): 3,
    int(_EQUALITY.mjEQ_TENDON): 3,
}
_JOINT_TRANSMISSIONS = {int(_TRANSMISSION.mjTRN_JOINT), int(_TRANSMISSION.mjTRN_JOINTINPARENT)}
_SCALAR_JOINTS = {int(_JOINT.mjJNT_HINGE), int(_JOINT.mjJNT_SLIDE)}
_TORQUE_SCALE = 10  # place in eq_data of a weld


def is_supported(model: mujoco.MjModel, equality: int) -> bool:
    """Whether an equality constraint is of a kind that the C core has."""
    return int(model.eq_type[equality]) in _EQUALITIES


def trees_of_tendon(model: mujoco.MjModel, tendon: int) -> set[int] | None:
    """Trees that a tendon moves; None where they are more than two."""
    count = int(model.tendon_treenum[tendon])
    return None if count > 2 else {int(t) for t in model.tendon_treeid[tendon, :count]} - {-1}


def _tree_of_body(model: mujoco.MjModel, body: int) -> set[int]:
    return {int(model.body_treeid[model.body_weldid[body]])} - {-1}


def _tree_of_joint(model: mujoco.MjModel, joint: int) -> set[int]:
    return {int(model.dof_treeid[model.jnt_dofadr[joint]])}


def trees_of_equality(model: mujoco.MjModel, equality: int) -> set[int] | None:
    """Trees that an equality constraint moves; None where they are more than two."""
    trees: set[int] = set()
    for obj in (int(model.eq_obj1id[equality]), int(model.eq_obj2id[equality])):
        kind = model.eq_type[equality]
        if obj < 0:
            continue
        if kind == _EQUALITY.mjEQ_JOINT:
            trees |= _tree_of_joint(model, obj)
        elif kind == _EQUALITY.mjEQ_TENDON:
            found = trees_of_tendon(model, obj)
            if found is None:
                return None
            trees |= found
        elif model.eq_objtype[equality] == _OBJECT.mjOBJ_SITE:
            trees |= _tree_of_body(model, int(model.site_bodyid[obj]))
        else:
            trees |= _tree_of_body(model, obj)
    return trees if len(trees) <= 2 else None


def _pairs(trees: list[set[int] | None], many: int = -1) -> _Index:
    """Rows (n, 2) of at most two trees, -1 for none; `many` stands for more than two."""
    rows = [(many, -1) if t is None else (*sorted(t), -1, -1)[:2] for t in trees]
    return np.array(rows, dtype=np.int32).reshape(-1, 2)


# ---- controllers --------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Controller:
    """An actuator whose force is Kp (q_d - q) - Kd v, taken at the end of the step.

    Attributes
    ----------
    actuator, output : int
        The actuator and its force.
    trees : set of int
        One or two trees that it moves.
    gains : tuple of float
        Kp and Kd in the coordinate of the actuator.
    range : tuple of float
        Bounds of its force.
    joint : int
        Joint of its transmission, or -1.
    dof : int
        Dof whose total actuator force has bounds, or -1.
    total : tuple of float
        These bounds.
    """

    actuator: int
    output: int
    trees: set[int]
    gains: tuple[float, float]
    range: tuple[float, float] = (-np.inf, np.inf)
    joint: int = -1
    dof: int = -1
    total: tuple[float, float] = (-np.inf, np.inf)


def _gains(model: mujoco.MjModel, i: int) -> tuple[float, float] | None:
    """Kp and Kd of an actuator with a spring or a damper of constant gain, else None."""
    constant = {int(mujoco.mjtGain.mjGAIN_FIXED), int(getattr(mujoco.mjtGain, "mjGAIN_PID", -1))}
    affine = model.actuator_gaintype[i] == mujoco.mjtGain.mjGAIN_AFFINE
    if not (int(model.actuator_gaintype[i]) in constant
            or (affine and not model.actuator_gainprm[i, 1:3].any())):  # fmt: skip
        return None
    if model.actuator_biastype[i] != mujoco.mjtBias.mjBIAS_AFFINE or model.actuator_plugin[i] >= 0:
        return None
    Kp, Kd = (-float(value) for value in model.actuator_biasprm[i, 1:3])
    return (Kp, Kd) if min(Kp, Kd) >= 0.0 and max(Kp, Kd) > 0.0 else None


def _holds_zero(limits: NDArray[np.float64]) -> bool:
    return bool(limits[0] <= 0.0 <= limits[1])


def _candidate(model: mujoco.MjModel, i: int) -> Controller | None:
    gains, target = _gains(model, i), int(model.actuator_trnid[i, 0])
    kind = int(model.actuator_trntype[i])
    if gains is None or model.actuator_outnum[i] != 1:
        return None
    joint, trees = -1, None
    if kind in _JOINT_TRANSMISSIONS:
        if int(model.jnt_type[target]) in _SCALAR_JOINTS:
            joint, trees = target, _tree_of_joint(model, target)
    elif kind == _TRANSMISSION.mjTRN_TENDON:
        trees = trees_of_tendon(model, target)
    limits = model.actuator_forcerange[i]
    limited = bool(model.actuator_forcelimited[i])
    if not trees or (limited and not _holds_zero(limits)):
        return None
    bounds = (float(limits[0]), float(limits[1])) if limited else (-np.inf, np.inf)
    return Controller(i, int(model.actuator_outadr[i]), trees, gains, bounds, joint)


def _dofs(model: mujoco.MjModel, controller: Controller) -> set[int]:
    """Dofs that an actuator on a joint or a tendon moves."""
    if controller.joint >= 0:
        return {int(model.jnt_dofadr[controller.joint])}
    tendon = model.actuator_trnid[controller.actuator, 0]
    first = model.ten_J_rowadr[tendon]
    return set(model.ten_J_colind[first : first + model.ten_J_rownnz[tendon]].tolist())


def _actuators_of_tendon(model: mujoco.MjModel, tendon: int) -> int:
    on_tendon = model.actuator_trntype == _TRANSMISSION.mjTRN_TENDON
    return int(np.sum(on_tendon & (model.actuator_trnid[:, 0] == tendon)))


def controllers(model: mujoco.MjModel) -> list[Controller]:
    """The actuators that act implicitly.

    These are springs and dampers of constant gain (``position``, ``velocity``, ``intvelocity``,
    ``pid``, and ``general`` with an affine bias) on a hinge, a slide or a tendon of at most two
    trees, whose range of forces contains 0. Where a joint or a tendon bounds its total actuator
    force there may be one of them, on that joint itself, or on a tendon that has no other actuator.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.

    Returns
    -------
    list of Controller
        In the order of the actuators.
    """
    found = [c for c in (_candidate(model, i) for i in range(model.nactuator)) if c is not None]
    kept = []
    limited = {int(model.jnt_dofadr[j]): int(j) for j in np.flatnonzero(model.jnt_actfrclimited)}
    touching = {dof: sum(dof in _dofs(model, c) for c in found) for dof in limited}
    for c in found:
        bounded = _dofs(model, c) & limited.keys()
        if c.joint >= 0 and bounded:
            (dof,) = bounded
            total = model.jnt_actfrcrange[c.joint]
            if touching[dof] > 1 or not _holds_zero(total):
                continue
            c = dataclasses.replace(c, dof=dof, total=(float(total[0]), float(total[1])))
        elif bounded:
            continue
        if c.joint < 0 and model.tendon_actfrclimited[model.actuator_trnid[c.actuator, 0]]:
            tendon = int(model.actuator_trnid[c.actuator, 0])
            total = model.tendon_actfrcrange[tendon]
            if _actuators_of_tendon(model, tendon) > 1 or not _holds_zero(total):
                continue
            low, high = max(c.range[0], float(total[0])), min(c.range[1], float(total[1]))
            c = dataclasses.replace(c, range=(low, high))
        kept.append(c)
    return kept


def release_controllers(model: mujoco.MjModel, implicit: list[Controller]) -> None:
    """Let MuJoCo compute the forces of these actuators without bounds: the C core bounds them.

    Parameters
    ----------
    model : mujoco.MjModel
        The private copy of the stepper; changed.
    implicit : list of Controller
        Its implicit controllers.
    """
    for c in implicit:
        model.actuator_forcelimited[c.actuator] = False
        if c.dof >= 0:
            model.jnt_actfrclimited[c.joint] = False
        if c.joint < 0:
            model.tendon_actfrclimited[model.actuator_trnid[c.actuator, 0]] = False


# ---- the whole ----------------------------------------------------------------------------------


def _limited_joints(model: mujoco.MjModel) -> NDArray[np.intp]:
    if model.opt.disableflags & (_DISABLE.mjDSBL_LIMIT | _DISABLE.mjDSBL_CONSTRAINT):
        return np.zeros(0, dtype=np.intp)
    return np.flatnonzero(model.jnt_limited)


def _limited_tendons(model: mujoco.MjModel) -> NDArray[np.bool_]:
    off = model.opt.disableflags & (_DISABLE.mjDSBL_LIMIT | _DISABLE.mjDSBL_CONSTRAINT)
    return np.asarray(model.tendon_limited, dtype=bool) & (not off)


def _has_friction_loss(model: mujoco.MjModel) -> bool:
    off = model.opt.disableflags & _DISABLE.mjDSBL_FRICTIONLOSS
    return not off and bool(np.any(model.dof_frictionloss) or np.any(model.tendon_frictionloss))


def _int32(values: Any) -> _Index:
    return np.ascontiguousarray(values, dtype=np.int32)


def _float64(values: Any, columns: int = 2) -> _Float:
    return np.array(values, dtype=np.float64).reshape(-1, columns)


def element_arrays(
    model: mujoco.MjModel,
    constraint: ConstraintMaterial | None,
    constraints: Mapping[str, ConstraintMaterial] | None,
    time_step: float,
    implicit: list[Controller],
) -> dict[str, Any] | None:
    """The constant arrays of the elements, by the names of struct sap_elements of the C core.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    constraint, constraints
        Materials, see :func:`sapwood.constraint_materials.element_stiffness`.
    time_step : float
        Time step, s.
    implicit : list of Controller
        Actuators that act implicitly.

    Returns
    -------
    dict or None
        None where the model has no such elements.
    """
    objects = (_OBJECT.mjOBJ_JOINT, _OBJECT.mjOBJ_TENDON, _OBJECT.mjOBJ_EQUALITY)
    names = {kind: names_of(model, obj) for kind, obj in zip(KINDS, objects, strict=True)}
    stiffness = element_stiffness(names, custom_entries(model), constraint, constraints, time_step)
    joints, tendons = _limited_joints(model), _limited_tendons(model)
    equality = not model.opt.disableflags & _DISABLE.mjDSBL_EQUALITY and model.neq > 0
    if not (joints.size or tendons.any() or equality or implicit or _has_friction_loss(model)):
        return None
    torque_scale = np.abs(np.asarray(model.eq_data)[:, _TORQUE_SCALE])
    weld = (model.eq_type == _EQUALITY.mjEQ_WELD) & (torque_scale > 0.0)
    trees = [trees_of_equality(model, i) for i in range(model.neq)]
    kinds = [
        0 if found is None else _EQUALITIES.get(int(kind), 0)
        for kind, found in zip(model.eq_type, trees, strict=True)
    ]
    scale = np.ones(model.neq)
    scale[weld] = 2.0 / torque_scale[weld]
    return {
        "nq": int(model.nq),
        "n_outputs": int(model.nout),
        "limit_joint": _int32(joints),
        "limit_ball": _int32(model.jnt_type[joints] == _JOINT.mjJNT_BALL),
        "limit_qposadr": _int32(model.jnt_qposadr[joints]),
        "limit_dofadr": _int32(model.jnt_dofadr[joints]),
        "limit_range": _limit_ranges(model, joints),
        "limit_k": np.ascontiguousarray(stiffness["joint"].k[joints, 0]),
        "limit_tau_d": stiffness["joint"].tau_d[joints],
        "tendon_tree": _pairs([trees_of_tendon(model, i) for i in range(model.ntendon)], -2),
        "tendon_limited": _int32(tendons),
        "tendon_range": _float64(model.tendon_range),
        "tendon_k": np.ascontiguousarray(stiffness["tendon"].k[:, 0]),
        "tendon_tau_d": stiffness["tendon"].tau_d,
        "ten_J_rownnz": _int32(model.ten_J_rownnz),
        "ten_J_rowadr": _int32(model.ten_J_rowadr),
        "ten_J_colind": _int32(model.ten_J_colind),
        "equality_kind": _int32(kinds),
        "equality_tree": _pairs(trees),
        "equality_k": stiffness["equality"].k,
        "equality_tau_d": stiffness["equality"].tau_d,
        "equality_scale": scale,
        "controller_output": _int32([c.output for c in implicit]),
        "controller_tree": _pairs([c.trees for c in implicit]),
        "controller_group": _int32([model.actuator_group[c.actuator] for c in implicit]),
        "controller_dof": _int32([c.dof for c in implicit]),
        "controller_gains": _float64([c.gains for c in implicit]),
        "controller_range": _float64([c.range for c in implicit]),
        "controller_total": _float64([c.total for c in implicit]),
    }


def _limit_ranges(model: mujoco.MjModel, joints: NDArray[np.intp]) -> _Float:
    """Lower and upper limits; a ball joint has its angle bounded by the larger of the two."""
    ranges = _float64(model.jnt_range[joints])
    ball = model.jnt_type[joints] == _JOINT.mjJNT_BALL
    ranges[ball, 1] = ranges[ball].max(axis=1)
    return ranges

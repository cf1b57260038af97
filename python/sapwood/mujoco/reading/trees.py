"""The trees that tendons, joints and equality constraints of a MuJoCo model move."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

_EQUALITY, _OBJECT, _JOINT = mujoco.mjtEq, mujoco.mjtObj, mujoco.mjtJoint

# equality types of the C core, enum sap_equality; others are refused
EQUALITIES = {
    int(_EQUALITY.mjEQ_CONNECT): 1,
    int(_EQUALITY.mjEQ_WELD): 2,
    int(_EQUALITY.mjEQ_JOINT): 3,
    int(_EQUALITY.mjEQ_TENDON): 3,
}


def is_supported(model: mujoco.MjModel, equality: int) -> bool:
    """Whether the C core has this kind of equality constraint."""
    return int(model.eq_type[equality]) in EQUALITIES


def trees_of_tendon(model: mujoco.MjModel, tendon: int) -> set[int] | None:
    """Trees that a tendon moves; None for more than two."""
    count = int(model.tendon_treenum[tendon])
    return None if count > 2 else {int(t) for t in model.tendon_treeid[tendon, :count]} - {-1}


def _tree_of_body(model: mujoco.MjModel, body: int) -> set[int]:
    return {int(model.body_treeid[model.body_weldid[body]])} - {-1}


def tree_of_joint(model: mujoco.MjModel, joint: int) -> set[int]:
    """The tree that a joint moves."""
    return {int(model.dof_treeid[model.jnt_dofadr[joint]])}


def _body_of_equality(model: mujoco.MjModel, equality: int, obj: int) -> int:
    """The body of an object of a connect or weld constraint."""
    site = model.eq_objtype[equality] == _OBJECT.mjOBJ_SITE
    return int(model.site_bodyid[obj]) if site else obj


def holds_mocap(model: mujoco.MjModel, equality: int) -> bool:
    """Whether an equality constraint holds something to a mocap body."""
    if int(model.eq_type[equality]) not in (_EQUALITY.mjEQ_CONNECT, _EQUALITY.mjEQ_WELD):
        return False
    sides = (int(model.eq_obj1id[equality]), int(model.eq_obj2id[equality]))
    bodies = [_body_of_equality(model, equality, obj) for obj in sides if obj >= 0]
    return bool(np.any(model.body_mocapid[model.body_rootid[bodies]] >= 0))


def trees_of_equality(model: mujoco.MjModel, equality: int) -> set[int] | None:
    """Trees that an equality constraint moves; None for more than two."""
    trees: set[int] = set()
    for obj in (int(model.eq_obj1id[equality]), int(model.eq_obj2id[equality])):
        kind = model.eq_type[equality]
        if obj < 0:
            continue
        if kind == _EQUALITY.mjEQ_JOINT:
            trees |= tree_of_joint(model, obj)
        elif kind == _EQUALITY.mjEQ_TENDON:
            found = trees_of_tendon(model, obj)
            if found is None:
                return None
            trees |= found
        else:
            trees |= _tree_of_body(model, _body_of_equality(model, equality, obj))
    return trees if len(trees) <= 2 else None


def tree_quaternions(model: mujoco.MjModel) -> NDArray[np.int32]:
    """First entry in qpos of the quaternion of each tree that is one freely rotating body.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.

    Returns
    -------
    ndarray of int32 (ntree,)
        -1 for trees with other joints than a single free or ball joint, and for trees in an
        equality constraint, active or not. A constraint of more than two trees counts for all.
    """
    found = np.full(model.ntree, -1, np.int32)
    for kind, size, start in ((_JOINT.mjJNT_FREE, 6, 3), (_JOINT.mjJNT_BALL, 3, 0)):
        for joint in np.flatnonzero(model.jnt_type == int(kind)):
            tree = model.dof_treeid[model.jnt_dofadr[joint]]
            if model.tree_dofnum[tree] == size:
                found[tree] = model.jnt_qposadr[joint] + start
    found[_trees_held(model)] = -1
    return found


def turning_dofs(model: mujoco.MjModel) -> NDArray[np.int8]:
    """The rotations of trees that take their bias forces at the middle of the step.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.

    Returns
    -------
    ndarray of int8 (nv,)
        In trees whose root is a free or ball joint with joints below: 2 for the rotation of the
        root, 1 for hinges and balls below, 0 for slides. 0 for other trees, for those in equality
        constraints, and for those with a tendon that has an armature, and a bias force of its own.
    """
    joint = model.dof_jntid
    kind, place = model.jnt_type[joint], np.arange(model.nv) - model.jnt_dofadr[joint]
    slides = (kind == int(_JOINT.mjJNT_SLIDE)) | ((kind == int(_JOINT.mjJNT_FREE)) & (place < 3))
    root, count = model.tree_dofadr, model.tree_dofnum
    floats = ((kind[root] == int(_JOINT.mjJNT_FREE)) & (count > 6)) | (
        (kind[root] == int(_JOINT.mjJNT_BALL)) & (count > 3)
    )
    floats &= ~_trees_held(model)
    for tendon in np.flatnonzero(model.tendon_armature):
        trees = trees_of_tendon(model, int(tendon))
        floats[slice(None) if trees is None else list(trees)] = False
    turns = np.where(joint == joint[root][model.dof_treeid], 2, 1)
    return np.where(floats[model.dof_treeid] & ~slides, turns, 0).astype(np.int8)


def _trees_held(model: mujoco.MjModel) -> NDArray[np.bool_]:
    """Whether each tree (ntree) is in an equality constraint, active or not."""
    held = np.zeros(model.ntree, bool)
    for equality in range(model.neq):
        trees = trees_of_equality(model, equality) if is_supported(model, equality) else None
        held[slice(None) if trees is None else list(trees)] = True
    return held

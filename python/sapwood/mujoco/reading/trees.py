"""The trees that tendons, joints and equality constraints of a MuJoCo model move."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np
from numpy.typing import NDArray

_EQUALITY, _OBJECT, _JOINT = mujoco.mjtEq, mujoco.mjtObj, mujoco.mjtJoint

# kinds of the C core, enum sap_equality; 0 for all others, whose rows are constraints of their own
EQUALITIES = {
    int(_EQUALITY.mjEQ_CONNECT): 1,
    int(_EQUALITY.mjEQ_WELD): 2,
    int(_EQUALITY.mjEQ_JOINT): 3,
    int(_EQUALITY.mjEQ_TENDON): 3,
}


def trees_of_tendon(model: mujoco.MjModel, tendon: int) -> set[int]:
    """Trees that a tendon moves."""
    count = int(model.tendon_treenum[tendon])
    if count <= 2:  # MuJoCo lists two
        return {int(t) for t in model.tendon_treeid[tendon, :count]} - {-1}
    first = int(model.ten_J_rowadr[tendon])
    dofs = model.ten_J_colind[first : first + int(model.ten_J_rownnz[tendon])]
    return set(model.dof_treeid[dofs].tolist())


def has_nodes(model: mujoco.MjModel, flex: int) -> bool:
    """Whether nodes move the vertices of a flex."""
    return hasattr(model, "flex_interp") and bool(model.flex_interp[flex])


def bodies_of_flex(model: mujoco.MjModel, flex: int) -> NDArray[np.int32]:
    """Bodies of the vertices of a flex, or of its nodes."""
    kind = "node" if has_nodes(model, flex) else "vert"
    begin, n = (int(getattr(model, f"flex_{kind}{end}")[flex]) for end in ("adr", "num"))
    found: NDArray[np.int32] = getattr(model, f"flex_{kind}bodyid")[begin : begin + n]
    return found


def trees_of_flex(model: mujoco.MjModel, flex: int) -> set[int]:
    """Trees that move the vertices of a flex."""
    bodies = bodies_of_flex(model, flex)
    return set(model.body_treeid[model.body_weldid[bodies]].tolist()) - {-1}


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


def is_of_flex(model: mujoco.MjModel, equality: int) -> bool:
    """Whether an equality constraint holds edges, vertices or strains of a flex."""
    return "FLEX" in _EQUALITY(model.eq_type[equality]).name


def trees_of_equality(model: mujoco.MjModel, equality: int) -> set[int]:
    """Trees that an equality constraint moves."""
    trees: set[int] = set()
    kind = model.eq_type[equality]
    for obj in (int(model.eq_obj1id[equality]), int(model.eq_obj2id[equality])):
        if obj < 0:
            continue
        if kind == _EQUALITY.mjEQ_JOINT:
            trees |= tree_of_joint(model, obj)
        elif kind == _EQUALITY.mjEQ_TENDON:
            trees |= trees_of_tendon(model, obj)
        elif is_of_flex(model, equality):
            trees |= trees_of_flex(model, obj)
        else:
            trees |= _tree_of_body(model, _body_of_equality(model, equality, obj))
    return trees


def free_quaternions(model: mujoco.MjModel) -> NDArray[np.int32]:
    """First entry in qpos of the quaternion of each tree that is one freely rotating body.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.

    Returns
    -------
    ndarray of int32 (nv,)
        At the first dof of the tree. -1 elsewhere, for trees with other joints than a single free
        or ball joint, and for trees in an equality constraint, active or not.
    """
    found = np.full(model.nv, -1, np.int32)
    held = _trees_held(model)
    for kind, size, start in ((_JOINT.mjJNT_FREE, 6, 3), (_JOINT.mjJNT_BALL, 3, 0)):
        for joint in np.flatnonzero(model.jnt_type == int(kind)):
            dof = model.jnt_dofadr[joint]
            tree = model.dof_treeid[dof]
            if model.tree_dofnum[tree] == size and not held[tree]:
                found[dof] = model.jnt_qposadr[joint] + start
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
        root, 1 for hinges and balls below, 0 for slides. 4 and 3 in those that a connect or weld
        holds, active or not, also without joints below. 0 for other trees, for those in other
        equality constraints, and for those with a tendon that has an armature, and a bias force of
        its own.
    """
    joint = model.dof_jntid
    kind, place = model.jnt_type[joint], np.arange(model.nv) - model.jnt_dofadr[joint]
    slides = (kind == int(_JOINT.mjJNT_SLIDE)) | ((kind == int(_JOINT.mjJNT_FREE)) & (place < 3))
    root, count = model.tree_dofadr, model.tree_dofnum
    looped = _trees_held(model, (int(_EQUALITY.mjEQ_CONNECT), int(_EQUALITY.mjEQ_WELD)))
    floats = ((kind[root] == int(_JOINT.mjJNT_FREE)) & (looped | (count > 6))) | (
        (kind[root] == int(_JOINT.mjJNT_BALL)) & (looped | (count > 3))
    )
    floats &= looped | ~_trees_held(model)
    for tendon in np.flatnonzero(model.tendon_armature):
        floats[list(trees_of_tendon(model, int(tendon)))] = False
    turns = np.where(joint == joint[root][model.dof_treeid], 2, 1)
    turns[looped[model.dof_treeid]] += 2
    return np.where(floats[model.dof_treeid] & ~slides, turns, 0).astype(np.int8)


def _trees_held(model: mujoco.MjModel, kinds: Sequence[int] = ()) -> NDArray[np.bool_]:
    """Whether each tree (ntree) is in an equality constraint, active or not, of these kinds."""
    held = np.zeros(model.ntree, bool)
    for equality in range(model.neq):
        if not kinds or int(model.eq_type[equality]) in kinds:
            held[list(trees_of_equality(model, equality))] = True
    return held

"""Actuators that act as implicit controllers: springs and dampers of constant gain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.mujoco.reading.joined_trees import trees_of_problem
from sapwood.mujoco.reading.trees import tree_of_joint, trees_of_tendon

_JOINT, _TRANSMISSION = mujoco.mjtJoint, mujoco.mjtTrn
_JOINT_TRANSMISSIONS = {int(_TRANSMISSION.mjTRN_JOINT), int(_TRANSMISSION.mjTRN_JOINTINPARENT)}
_TENDON_TRANSMISSION = int(_TRANSMISSION.mjTRN_TENDON)
_AFFINE_GAIN, _AFFINE_BIAS = int(mujoco.mjtGain.mjGAIN_AFFINE), int(mujoco.mjtBias.mjBIAS_AFFINE)
_CONSTANT_GAINS = {int(mujoco.mjtGain.mjGAIN_FIXED), int(getattr(mujoco.mjtGain, "mjGAIN_PID", -1))}
_SCALAR_JOINTS = {int(_JOINT.mjJNT_HINGE), int(_JOINT.mjJNT_SLIDE)}

#: Flags of a model by which MuJoCo bounds the forces of actuators.
BOUNDED = ("actuator_forcelimited", "jnt_actfrclimited", "tendon_actfrclimited")


class Controller(NamedTuple):
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


def _holds_zero(limits: Sequence[float]) -> bool:
    return limits[0] <= 0.0 <= limits[1]


class _Actuator(NamedTuple):
    """Fields of an actuator, by the names that a model has them under."""

    gaintype: int
    gainprm: list[float]
    biastype: int
    biasprm: list[float]
    plugin: int
    outnum: int
    outadr: int
    trntype: int
    trnid: list[int]
    forcelimited: bool
    forcerange: list[float]


def _actuators(model: mujoco.MjModel) -> list[_Actuator]:
    columns = (getattr(model, f"actuator_{name}").tolist() for name in _Actuator._fields)
    return [_Actuator(*row) for row in zip(*columns, strict=True)]


def _gains(actuator: _Actuator) -> tuple[float, float] | None:
    """Kp and Kd of an actuator with a spring or a damper of constant gain, else None."""
    affine = actuator.gaintype == _AFFINE_GAIN and not any(actuator.gainprm[1:3])
    if not (affine or actuator.gaintype in _CONSTANT_GAINS):
        return None
    if actuator.biastype != _AFFINE_BIAS or actuator.plugin >= 0:
        return None
    Kp, Kd = -actuator.biasprm[1], -actuator.biasprm[2]
    return (Kp, Kd) if min(Kp, Kd) >= 0.0 and max(Kp, Kd) > 0.0 else None


def _candidate(
    model: mujoco.MjModel, i: int, actuator: _Actuator, joined: NDArray[np.int32]
) -> Controller | None:
    gains, target = _gains(actuator), actuator.trnid[0]
    if gains is None or actuator.outnum != 1:
        return None
    joint, moved = -1, set[int]()
    if actuator.trntype in _JOINT_TRANSMISSIONS:
        if int(model.jnt_type[target]) in _SCALAR_JOINTS:
            joint, moved = target, tree_of_joint(model, target)
    elif actuator.trntype == _TENDON_TRANSMISSION:
        moved = trees_of_tendon(model, target)
    trees = trees_of_problem(joined, moved)
    if len(trees) not in (1, 2) or (actuator.forcelimited and not _holds_zero(actuator.forcerange)):
        return None
    low, high = actuator.forcerange if actuator.forcelimited else (-np.inf, np.inf)
    return Controller(i, actuator.outadr, trees, gains, (low, high), joint)


def _dofs(model: mujoco.MjModel, controller: Controller) -> set[int]:
    """Dofs that an actuator on a joint or a tendon moves."""
    if controller.joint >= 0:
        return {int(model.jnt_dofadr[controller.joint])}
    tendon = model.actuator_trnid[controller.actuator, 0]
    first = model.ten_J_rowadr[tendon]
    return set(model.ten_J_colind[first : first + model.ten_J_rownnz[tendon]].tolist())


def _actuators_of_tendon(model: mujoco.MjModel, tendon: int) -> int:
    on_tendon = model.actuator_trntype == _TENDON_TRANSMISSION
    return int(np.sum(on_tendon & (model.actuator_trnid[:, 0] == tendon)))


def controllers(model: mujoco.MjModel, joined: NDArray[np.int32]) -> list[Controller]:
    """The actuators that act implicitly.

    These are springs and dampers of constant gain (``position``, ``velocity``, ``intvelocity``,
    ``pid``, and ``general`` with an affine bias) on a hinge, a slide or a tendon of at most two
    trees, whose range of forces contains 0. Where a joint or a tendon bounds its total actuator
    force there may be one of them, on that joint itself, or on a tendon that has no other actuator.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    joined : ndarray of int32 (ntree,)
        Trees of the problem, of :func:`sapwood.mujoco.reading.joined_trees.joined_trees`.

    Returns
    -------
    list of Controller
        The controllers, in the order of the actuators.
    """
    candidates = (_candidate(model, i, each, joined) for i, each in enumerate(_actuators(model)))
    found = [c for c in candidates if c is not None]
    moved = [_dofs(model, c) for c in found]
    kept = []
    limited = {int(model.jnt_dofadr[j]) for j in np.flatnonzero(model.jnt_actfrclimited)}
    touching = Counter(dof for dofs in moved for dof in dofs)
    for c, dofs in zip(found, moved, strict=True):
        bounded = dofs & limited
        if c.joint >= 0 and bounded:
            (dof,) = bounded
            total = model.jnt_actfrcrange[c.joint].tolist()
            if touching[dof] > 1 or not _holds_zero(total):
                continue
            c = c._replace(dof=dof, total=(total[0], total[1]))
        elif bounded:
            continue
        if c.joint < 0 and model.tendon_actfrclimited[model.actuator_trnid[c.actuator, 0]]:
            tendon = int(model.actuator_trnid[c.actuator, 0])
            total = model.tendon_actfrcrange[tendon].tolist()
            if _actuators_of_tendon(model, tendon) > 1 or not _holds_zero(total):
                continue
            low, high = max(c.range[0], total[0]), min(c.range[1], total[1])
            c = c._replace(range=(low, high))
        kept.append(c)
    return kept


def release_controllers(
    model: mujoco.MjModel, implicit: list[Controller]
) -> dict[str, NDArray[np.bool_]]:
    """Let MuJoCo compute the forces of these actuators without bounds: the C core bounds them.

    Parameters
    ----------
    model : mujoco.MjModel
        The private copy of the stepper; changed.
    implicit : list of Controller
        Its implicit controllers.

    Returns
    -------
    dict
        The cleared flags, by the names in `BOUNDED`.
    """
    bounded = {name: np.array(getattr(model, name), dtype=bool) for name in BOUNDED}
    for c in implicit:
        model.actuator_forcelimited[c.actuator] = False
        if c.dof >= 0:
            model.jnt_actfrclimited[c.joint] = False
        if c.joint < 0:
            model.tendon_actfrclimited[model.actuator_trnid[c.actuator, 0]] = False
    return {name: was & (getattr(model, name) == 0) for name, was in bounded.items()}

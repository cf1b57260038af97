"""Actuators that act as implicit controllers: springs and dampers of constant gain."""

from __future__ import annotations

import dataclasses

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.mujoco.reading.trees import tree_of_joint, trees_of_tendon

_JOINT, _TRANSMISSION = mujoco.mjtJoint, mujoco.mjtTrn
_JOINT_TRANSMISSIONS = {int(_TRANSMISSION.mjTRN_JOINT), int(_TRANSMISSION.mjTRN_JOINTINPARENT)}
_SCALAR_JOINTS = {int(_JOINT.mjJNT_HINGE), int(_JOINT.mjJNT_SLIDE)}

#: Flags of a model by which MuJoCo bounds the forces of actuators.
BOUNDED = ("actuator_forcelimited", "jnt_actfrclimited", "tendon_actfrclimited")


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
            joint, trees = target, tree_of_joint(model, target)
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

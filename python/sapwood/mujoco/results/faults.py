"""Texts for steps that could not be taken."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.mujoco.reading.arrays import STATE_NAMES
from sapwood.mujoco.reading.names import name_of, names_of_sides
from sapwood.mujoco.reading.support import dimension_text
from sapwood.mujoco.results.results import StepError
from sapwood.mujoco.results.violations import violation_text
from sapwood.solution import Status

# a failed step as the C core reports it: kind, two indices, a text
Failure = tuple[str, int, int, str]

_OBJECT = mujoco.mjtObj

# rad per step, from which on explicit products of velocities may grow without bound
_FAST = 0.5


def bad_value_text(name: str, array: NDArray[np.float64], flat_index: int) -> str:
    """Text for an entry of the state that is not finite or too large."""
    index = np.unravel_index(flat_index, array.shape)
    position = ", ".join(str(i) for i in index)
    return (
        f"{name}[{position}] = {array[index]:g}: must be finite and at most {mujoco.mjMAXVAL:g} in "
        "magnitude"
    )


MORE_MEMORY = (
    "the memory of the model is too small for this state: give it more, "
    '<size memory="..."/> in MJCF (MjSpec: spec.memory), and make new MjData'
)


def mujoco_error_text(message: str) -> str:
    """Text for an error of MuJoCo itself."""
    full = "memory" in message
    return f"{MORE_MEMORY} (MuJoCo: {message})" if full else f"MuJoCo: {message}"


def outcome_text(status: Status, tree: int) -> str:
    """Text for a solve without a velocity to go on with; ``tree`` is -1 if none is known."""
    at = "" if tree < 0 else f" at tree {tree}"
    return (
        f"the contact solver ended in {status}{at}; velocities or masses are out of "
        "proportion (a smaller time step or a larger sigma may help)"
    )


def remembered_text(code: int, n: int) -> str:
    """Text for the friction memory in a row of a batch: no room for n contacts, or no such row."""
    if code:
        return "state has no friction memory behind that of MuJoCo: zeros remember nothing"
    return f"lagged friction has {n} contacts to remember: Batch(remembered_contacts={n}) has room"


def failure_text(failure: Failure, model: mujoco.MjModel, data: mujoco.MjData) -> str:
    """Text for a step that failed in the C core; it left ``data`` as given here."""
    kind, array, index, message = failure
    if kind == "state":
        name = STATE_NAMES[array]
        return bad_value_text(name, getattr(data, name), index)
    if kind == "fault":
        return fault_text(_core.FAULTS[array], index, model, data)
    if kind == "outcome":
        return outcome_text(Status(array), index) + violation_text(model, data)
    if kind == "options":
        return "options of stepper.model were changed by a callback"
    if kind == "remembered":
        return remembered_text(array, index)
    if kind == "memory":
        return MORE_MEMORY
    return mujoco_error_text(message) if kind == "mujoco" else message


def error_of(
    failure: Failure | BaseException | None, model: mujoco.MjModel, data: mujoco.MjData
) -> BaseException | None:
    """The exception for the report of the C core on a step of ``data``; None without a fault."""
    if isinstance(failure, tuple):
        return StepError(failure_text(failure, model, data), data.time)
    return failure


def _turn_text(model: mujoco.MjModel, data: mujoco.MjData) -> str:
    """Name the joint that turns most in a step, if it turns fast enough to be the cause."""
    turns = np.asarray(model.jnt_type)[model.dof_jntid] != mujoco.mjtJoint.mjJNT_SLIDE
    # the first three velocities of a free joint are linear
    free = np.flatnonzero(model.jnt_type == mujoco.mjtJoint.mjJNT_FREE)
    turns[(np.asarray(model.jnt_dofadr)[free, None] + np.arange(3)).ravel()] = False
    angle = np.abs(data.qvel) * turns * model.opt.timestep
    dof = int(np.argmax(angle))
    if not angle[dof] > _FAST:
        return ""
    joint = name_of(model, _OBJECT.mjOBJ_JOINT, int(model.dof_jntid[dof]))
    return (
        f"; {joint} turns by {angle[dof]:.2g} rad in a time step, and explicit centrifugal forces "
        "then grow from step to step: take a smaller time_step, or scheme='midpoint'"
    )


def fault_text(fault: str, index: int, model: mujoco.MjModel, data: mujoco.MjData) -> str:
    """Text for a fault of the C core in a step of ``data``; for ``index`` see enum sap_fault."""
    if fault == "overflow":
        return MORE_MEMORY
    if fault == "rows":
        return (
            "there are constraints that were switched on after the stepper was made: limits, "
            "friction loss or equality constraints; make a new one"
        )
    if fault == "mass":
        return f"mass matrix and damping of kinematic tree {index} are not positive definite"
    if fault in ("force", "acceleration"):
        joint = name_of(model, _OBJECT.mjOBJ_JOINT, int(model.dof_jntid[index]))
        kind = "free acceleration" if fault == "force" else "acceleration"
        return (
            f"the {kind} of dof {index} ({joint}) is not finite or too large; look at ctrl, "
            "qfrc_applied, xfrc_applied, velocities and masses"
            f"{_turn_text(model, data)}{violation_text(model, data)}"
        )
    if fault == "patch":
        return f"the patches of {name_of(model, _OBJECT.mjOBJ_GEOM, index)} are not finite"
    contact = data.contact[index]
    sides = names_of_sides(model, contact)
    if fault == "dimension":
        return dimension_text(f"contact of {sides}", int(contact.dim))
    if fault == "geom":
        return f"contact of {sides}: flexes had none when the stepper was made; make a new one"
    return f"contact of {sides}: its position, frame or friction is not finite"

"""The violations at the start of a step, for the text of an error."""

from __future__ import annotations

import mujoco
import numpy as np

from sapwood.mujoco.reading.names import name_of, names_of_sides

_OBJECT, _ROW = mujoco.mjtObj, mujoco.mjtConstraint

# smallest violation that is reported, m or rad
_LEAST = 1e-3


def _row_text(model: mujoco.MjModel, kind: int, index: int, depth: float) -> str:
    if kind == _ROW.mjCNSTR_EQUALITY:
        return f"{name_of(model, _OBJECT.mjOBJ_EQUALITY, index)} is off by {depth:.3g}"
    if kind == _ROW.mjCNSTR_LIMIT_TENDON:
        return f"{name_of(model, _OBJECT.mjOBJ_TENDON, index)} is {depth:.3g} m beyond its limit"
    unit = "m" if model.jnt_type[index] == mujoco.mjtJoint.mjJNT_SLIDE else "rad"
    return f"{name_of(model, _OBJECT.mjOBJ_JOINT, index)} is {depth:.3g} {unit} beyond its limit"


def violation_text(model: mujoco.MjModel, data: mujoco.MjData) -> str:
    """Name the deepest violation at the start of a step, by its constraint rows.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    data : mujoco.MjData
        Data as the failed step left them.

    Returns
    -------
    str
        Text to append to the reason; empty if no violation reaches a millimetre or milliradian.
    """
    kinds, position = np.asarray(data.efc_type), np.asarray(data.efc_pos)
    limits = (kinds == _ROW.mjCNSTR_LIMIT_JOINT) | (kinds == _ROW.mjCNSTR_LIMIT_TENDON)
    of_rows = np.where(limits, -position, 0.0)
    of_rows = np.where(kinds == _ROW.mjCNSTR_EQUALITY, np.abs(position), of_rows)
    of_contacts = np.where(data.contact.exclude == 0, -data.contact.dist, 0.0)
    # a NaN is no violation
    depth = np.fmax(np.concatenate([of_rows, of_contacts]), 0.0)
    most = int(np.argmax(depth)) if depth.size else -1
    if most < 0 or depth[most] <= _LEAST:
        return ""
    if most < kinds.size:
        text = _row_text(model, int(kinds[most]), int(data.efc_id[most]), depth[most])
    else:
        sides = names_of_sides(model, data.contact[most - kinds.size])
        text = f"{sides} overlap by {depth[most]:.3g} m"
    return f"; at its start {text}"

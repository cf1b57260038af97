"""What a step started violated, for the text of an error."""

from __future__ import annotations

import mujoco
import numpy as np

from sapwood.mujoco.names import name_of

_OBJECT, _ROW = mujoco.mjtObj, mujoco.mjtConstraint

# what is less is no start violation, m or rad
_LEAST = 1e-3


def _row_text(model: mujoco.MjModel, kind: int, index: int, depth: float) -> str:
    if kind == _ROW.mjCNSTR_EQUALITY:
        return f"{name_of(model, _OBJECT.mjOBJ_EQUALITY, index)} is off by {depth:.3g}"
    if kind == _ROW.mjCNSTR_LIMIT_TENDON:
        return f"{name_of(model, _OBJECT.mjOBJ_TENDON, index)} is {depth:.3g} m beyond its limit"
    unit = "m" if model.jnt_type[index] == mujoco.mjtJoint.mjJNT_SLIDE else "rad"
    return f"{name_of(model, _OBJECT.mjOBJ_JOINT, index)} is {depth:.3g} {unit} beyond its limit"


def violation_text(model: mujoco.MjModel, data: mujoco.MjData) -> str:
    """Name the deepest violation that a step started with, by its constraint rows.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    data : mujoco.MjData
        As the step left it that failed.

    Returns
    -------
    str
        To be appended to the reason; empty where nothing was violated by a millimetre, or a
        milliradian.
    """
    found: list[tuple[float, str]] = []
    kinds, position = np.asarray(data.efc_type), np.asarray(data.efc_pos)
    limits = (kinds == _ROW.mjCNSTR_LIMIT_JOINT) | (kinds == _ROW.mjCNSTR_LIMIT_TENDON)
    depth = np.where(kinds == _ROW.mjCNSTR_EQUALITY, np.abs(position), limits * -position)
    if depth.size:
        row = int(np.argmax(depth))
        text = _row_text(model, int(kinds[row]), int(data.efc_id[row]), depth[row])
        found.append((float(depth[row]), text))
    distance = np.where(data.contact.exclude == 0, data.contact.dist, np.inf)
    if distance.size:
        contact = data.contact[int(np.argmin(distance))]
        sides = " and ".join(
            name_of(model, _OBJECT.mjOBJ_GEOM, int(geom)) for geom in contact.geom if geom >= 0
        )
        found.append((-contact.dist, f"{sides} overlap by {-contact.dist:.3g} m"))
    most, text = max(found, default=(0.0, ""))
    return f"; at its start {text}" if most > _LEAST else ""

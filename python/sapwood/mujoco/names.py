"""Names of a MuJoCo model and of its elements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import mujoco
import numpy as np
from numpy.typing import NDArray


def model_name(model: mujoco.MjModel) -> str:
    """Name of the model, the first in its list of names."""
    return bytes(model.names).split(b"\0", 1)[0].decode()


def name_of(model: mujoco.MjModel, kind: mujoco.mjtObj, index: int) -> str:
    """Readable name of an element, such as ``geom 'foot'`` or ``geom 3 (unnamed)``."""
    name = mujoco.mj_id2name(model, kind, index)
    label = mujoco.mju_type2Str(kind) or "element"
    return f"{label} '{name}'" if name else f"{label} {index} (unnamed)"


def names_of(model: mujoco.MjModel, kind: mujoco.mjtObj) -> list[str]:
    """Names of all elements of a kind, empty for none."""
    counts = {
        mujoco.mjtObj.mjOBJ_BODY: model.nbody,
        mujoco.mjtObj.mjOBJ_GEOM: model.ngeom,
        mujoco.mjtObj.mjOBJ_JOINT: model.njnt,
        mujoco.mjtObj.mjOBJ_TENDON: model.ntendon,
        mujoco.mjtObj.mjOBJ_EQUALITY: model.neq,
    }
    return [mujoco.mj_id2name(model, kind, i) or "" for i in range(counts[kind])]


def names_of_sides(model: mujoco.MjModel, contact: mujoco.MjContact) -> str:
    """Readable names of the two geoms or flexes of a contact."""
    geom, flex = mujoco.mjtObj.mjOBJ_GEOM, mujoco.mjtObj.mjOBJ_FLEX
    return " and ".join(
        name_of(model, geom, int(g)) if g >= 0 else name_of(model, flex, int(f))
        for g, f in zip(contact.geom, contact.flex, strict=True)
    )


def named(
    model: mujoco.MjModel, kind: mujoco.mjtObj, indices: Iterable[int] | NDArray[np.integer]
) -> list[str]:
    """Elements as messages name them."""
    return [name_of(model, kind, int(i)) for i in indices]


def listed(names: Sequence[str], most: int = 5) -> str:
    """The first of some names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more

"""Names of a MuJoCo model and of its elements."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.base.hints import nearest


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
        mujoco.mjtObj.mjOBJ_FLEX: model.nflex,
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
    """Readable names of elements, for messages."""
    return [name_of(model, kind, int(i)) for i in indices]


def listed(names: Sequence[str], most: int = 5) -> str:
    """The first few names, and the number of the others."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


@dataclasses.dataclass(frozen=True, eq=False)
class GeomNames:
    """Names of the geoms of a model and of their bodies, empty for unnamed ones.

    Attributes
    ----------
    geoms, bodies : tuple of str
        Names by index; those of flexes follow the geoms, if flexes have contacts in the C core.
    body_of : ndarray of int (n_geoms,)
        Index of the body of each geom; for a flex that of a vertex.
    """

    geoms: tuple[str, ...]
    bodies: tuple[str, ...]
    body_of: NDArray[np.int32]

    @classmethod
    def of(cls, model: mujoco.MjModel, body_of: NDArray[np.int32]) -> GeomNames:
        """Read the names of a model, of which geoms have these bodies."""
        geoms = names_of(model, mujoco.mjtObj.mjOBJ_GEOM)
        flexes = names_of(model, mujoco.mjtObj.mjOBJ_FLEX)
        bodies = names_of(model, mujoco.mjtObj.mjOBJ_BODY)
        return cls(tuple((geoms + flexes)[: len(body_of)]), tuple(bodies), body_of)

    def label(self, kind: str, number: int) -> str:
        """Name of a geom or body, such as ``geom 3`` for one without a name."""
        names = self.geoms if kind == "geom" else self.bodies
        return names[number] or f"{kind} {number}"

    def find(self, kind: str, key: str | int, argument: str) -> int:
        """Index of the geom or body that a user gives by name or index."""
        names = self.geoms if kind == "geom" else self.bodies
        if isinstance(key, str):
            if not key or key not in names:
                hint = nearest(key, names)
                raise ValueError(
                    f"{argument} = {key!r}: the model has no {kind} of this name{hint}"
                )
            return names.index(key)
        if isinstance(key, bool) or not isinstance(key, (int, np.integer)):
            raise TypeError(
                f"{argument} must be the name or the number of a {kind}, not {type(key).__name__}"
            )
        if not 0 <= key < len(names):
            raise ValueError(f"{argument} = {key}: must be >= 0 and < {len(names)}")
        return int(key)

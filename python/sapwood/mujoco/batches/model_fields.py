"""The fields of a model that may differ between the worlds of a batch."""

from __future__ import annotations

import functools

import mujoco
import numpy as np

from sapwood.mujoco.following.watch import OPTIONS, VECTORS
from sapwood.mujoco.reading.engine_fields import READ_AGAIN, fields_of

_EMPTY = mujoco.MjModel.from_xml_string("<mujoco/>")

# arrays of assets and names, which all worlds share
_ASSETS = ("bvh_", "hfield_", "mesh_", "name", "oct_", "path", "skin_", "tex_", "text_")

# integers by which MuJoCo finds its way: addresses, counts, ids, types
_ADDRESSES = ("adr", "num", "id", "type", "rownnz", "colind", "treeid")


def is_asset(name: str) -> bool:
    """Whether an array of a model is of assets or names, which all worlds share.

    Parameters
    ----------
    name : str
        Name of an array of mjModel.

    Returns
    -------
    bool
        The answer.
    """
    return name.startswith(_ASSETS)


@functools.cache
def fixed_fields() -> frozenset[str]:
    """Names of the fields that say how a model is laid out; worlds cannot differ in them.

    Returns
    -------
    frozenset of str
        Arrays by name, options as ``opt.NAME``.
    """
    fixed = set(fields_of("mjModel", "FIXED"))
    fixed |= {f"opt.{name}" for name in fields_of("mjOption", "FIXED", "FIXED_UNLESS_GIVEN")}
    fixed |= {"opt.disableflags", "opt.enableflags"}
    for name in dir(_EMPTY):
        value = getattr(_EMPTY, name) if not name.startswith("_") else None
        if isinstance(value, np.ndarray) and value.dtype.kind in "iu":
            ends = name.endswith(_ADDRESSES) and not name.endswith("contype")
            if ends or name.startswith(("map", "B_", "D_", "M_", "body_", "tree_", "wrap_")):
                fixed.add(name)
    # bodies have masks of contact, which mj_setConst derives; materials are for drawings alone
    free = {"body_contype", "body_conaffinity", "geom_matid", "site_matid", "tendon_matid"}
    free |= set(fields_of("mjModel", *READ_AGAIN, "EACH_STEP", "FIXED_WITH_FIELDS"))
    return frozenset(fixed - free)


@functools.cache
def model_fields() -> frozenset[str]:
    """Names of the fields that worlds may differ in.

    Returns
    -------
    frozenset of str
        Arrays by name, options as ``opt.NAME``.
    """
    arrays = {
        name
        for name in dir(_EMPTY)
        if not name.startswith("_")
        and (name == "bvh_aabb" or not is_asset(name))
        and isinstance(getattr(_EMPTY, name), np.ndarray)
    }
    options = {f"opt.{name}" for name in (*OPTIONS, *VECTORS)}
    return frozenset((arrays | options) - fixed_fields())

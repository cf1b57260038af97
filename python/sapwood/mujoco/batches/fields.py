"""The fields of MuJoCo's data that a batch binds, where they lie in memory, and rows for them."""

from __future__ import annotations

import functools
from collections.abc import Collection
from typing import Any

import mujoco
import numpy as np
from numpy.typing import DTypeLike, NDArray

from sapwood.base.hints import nearest
from sapwood.mujoco.reading.engine import numbers_in_data

_Array = NDArray[Any]

WHOLE_STATE = int(mujoco.mjtState.mjSTATE_INTEGRATION)

_COMPONENTS = {
    "time": "TIME", "qpos": "QPOS", "qvel": "QVEL", "act": "ACT", "history": "HISTORY",
    "qacc_warmstart": "WARMSTART", "ctrl": "CTRL", "qfrc_applied": "QFRC_APPLIED",
    "xfrc_applied": "XFRC_APPLIED", "eq_active": "EQ_ACTIVE", "mocap_pos": "MOCAP_POS",
    "mocap_quat": "MOCAP_QUAT", "userdata": "USERDATA", "plugin_state": "PLUGIN",
    "plastic": "PLASTIC",
}  # fmt: skip

#: Fields of MjData in the state of a world, by the bit of mjtState; not every version has all.
STATE_FIELDS = {
    name: int(getattr(mujoco.mjtState, f"mjSTATE_{part}"))
    for name, part in _COMPONENTS.items()
    if hasattr(mujoco.mjtState, f"mjSTATE_{part}")
    and int(getattr(mujoco.mjtState, f"mjSTATE_{part}")) & WHOLE_STATE
}

#: Numbers of MjData that a batch binds: sizes of the lists of a step.
COUNTS = tuple(
    name
    for name in ("nA", "nJ", "ncon", "ne", "nefc", "nf", "nidof", "nisland", "nl")
    if hasattr(mujoco.MjData, name)
)

#: Fields that lean steps leave as full ones do; a batch that binds no others is lean.
KEPT_FIELDS = frozenset(STATE_FIELDS) | {
    "act_dot", "actuator_force", "actuator_length", "actuator_velocity", "cdof", "cinert",
    "geom_xmat", "geom_xpos", "ncon", "qacc", "qfrc_actuator", "qfrc_bias",
    "qfrc_constraint", "qfrc_passive", "qfrc_smooth", "site_xmat", "site_xpos", "subtree_com",
    "ten_length", "ten_velocity", "xanchor", "xaxis", "ximat", "xipos", "xmat", "xpos", "xquat",
}  # fmt: skip

# arrays in the arena, whose size changes from step to step
_ARENA = ("efc_", "iefc_", "efm_", "island_", "map_", "iacc", "ifrc_")
_IN_ARENA = ("contact", "dof_island", "tree_island", "tendon_efcadr")


def _is_in_arena(name: str) -> bool:
    return name.startswith(_ARENA) or name in _IN_ARENA


@functools.cache
def _empty() -> tuple[mujoco.MjModel, mujoco.MjData]:
    model = mujoco.MjModel.from_xml_string("<mujoco/>")
    return model, mujoco.MjData(model)


@functools.cache
def data_fields() -> frozenset[str]:
    """Names of the fields of MjData that a batch binds.

    Returns
    -------
    frozenset of str
        Arrays outside the arena, and some numbers.
    """
    data = _empty()[1]
    arrays = {
        name
        for name in dir(data)
        if not name.startswith("_")
        and not _is_in_arena(name)
        and isinstance(getattr(data, name), np.ndarray)
    }
    return frozenset(arrays | set(COUNTS) | set(STATE_FIELDS))


def field_of(data: mujoco.MjData, name: str) -> _Array:
    """A bound field of the data where it lies in memory.

    Parameters
    ----------
    data : mujoco.MjData
        Data, which must outlive the result.
    name : str
        A name of :func:`data_fields`, not of a state alone.

    Returns
    -------
    ndarray
        The array; of a number an array without axes.
    """
    if name in COUNTS:
        return numbers_in_data(data, (name,))[name].reshape(())
    array: _Array = getattr(data, name)
    return array


def warnings_of(data: mujoco.MjData) -> _Array:
    """The counters of warnings (mjNWARNING, 2) of the data: last information, number."""
    first = data.warning.lastinfo
    return np.lib.stride_tricks.as_strided(first, (first.size, 2), (first.strides[0], 4))


def aligned(shape: tuple[int, ...], dtype: DTypeLike) -> _Array:
    """Zeros in memory that begins on a cache line.

    Parameters
    ----------
    shape : tuple of int
        Shape of the array.
    dtype : dtype
        Its type.

    Returns
    -------
    ndarray
        A contiguous array.
    """
    kind = np.dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    memory = np.zeros(size + 64, np.uint8)
    begin = -memory.ctypes.data % 64
    return memory[begin : begin + size].view(kind).reshape(shape)


def read_only(array: _Array) -> _Array:
    """A view of an array that cannot be written.

    Parameters
    ----------
    array : ndarray
        The array.

    Returns
    -------
    ndarray
        The view.
    """
    view = array.view()
    view.flags.writeable = False
    return view


def hint_of(name: str, known: Collection[str], options: Collection[str] = ()) -> str:
    """Where a wrong name belongs, or the known name nearest to it, as the end of a message."""
    if f"opt.{name}" in options:
        return f"; {name} is a field of the options: use expand('opt.{name}')"
    return nearest(name, known)


def not_bindable(name: str, expandable: Collection[str]) -> ValueError:
    """The error for a name that `bind` does not accept.

    Parameters
    ----------
    name : str
        The name.
    expandable : collection of str
        Names of fields of the model.

    Returns
    -------
    ValueError
        The error, which says where the name belongs.
    """
    value = getattr(_empty()[1], name, None) if not name.startswith("_") else None
    if name in expandable:
        return ValueError(f"{name} is a field of the model: use expand({name!r})")
    if isinstance(value, int) and not isinstance(value, bool):
        return ValueError(
            f"{name} is not one of the MjData scalars bind() accepts: {', '.join(COUNTS)}"
        )
    if _is_in_arena(name) and value is not None:
        return ValueError(
            f"{name} is in the arena, whose size changes from step to step, and cannot be bound"
        )
    return ValueError(f"{name} is no array of MjData{hint_of(name, data_fields(), expandable)}")

"""Controls and records of a rollout of a batch, as the C core reads and fills them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.checks import integer
from sapwood.mujoco.batches.fields import STATE_FIELDS
from sapwood.mujoco.batches.outputs import Outputs

_Array = NDArray[Any]

RecordItem: TypeAlias = Any  # str, int or mujoco.mjtState


def control_plane(
    model: mujoco.MjModel, control: ArrayLike, spec: int, shape: tuple[int, int]
) -> _Array:
    """Controls as the C core reads them.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    control : array_like (n, steps, ncontrol)
        The controls, of length 1 along an axis whose entries share them.
    spec : int
        Bits of ``mujoco.mjtState`` of the fields.
    shape : tuple of int
        Numbers of worlds and of substeps.

    Returns
    -------
    ndarray (n or 1, steps or 1, ncontrol)
        A contiguous array.

    Raises
    ------
    TypeError, ValueError
        If they are no numbers, or the shape does not fit.
    """
    array = _core.as_float64(control, "control")
    expected = (*shape, mujoco.mj_stateSize(model, spec))
    try:
        np.broadcast_to(array, expected)
    except ValueError:
        raise ValueError(f"control has shape {array.shape}, expected {expected}") from None
    array = array.reshape((1,) * (3 - array.ndim) + array.shape)
    columns = np.broadcast_to(array, (*array.shape[:2], expected[2]))
    return np.ascontiguousarray(columns)


def record_arrays(
    model: mujoco.MjModel,
    outputs: Outputs,
    record: Sequence[RecordItem],
    shape: tuple[int, int],
    out: Mapping[RecordItem, _Array],
) -> tuple[dict[RecordItem, _Array], tuple[Any, ...]]:
    """Arrays that a rollout records into.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    outputs : Outputs
        Fields of its worlds.
    record : sequence of str or int
        Names of fields of MjData, or bits of ``mujoco.mjtState``.
    shape : tuple of int
        Numbers of worlds and of substeps.
    out : mapping
        Arrays of the caller, by items of ``record``.

    Returns
    -------
    arrays : dict
        For each item an array (n, steps, ...).
    records : tuple
        The same for the C core: places of a field or None, bits of a state, array.

    Raises
    ------
    ValueError
        For an unknown field, or an array that does not fit.
    """
    arrays: dict[RecordItem, _Array] = {}
    records: list[tuple[Any, int, _Array]] = []
    for item in record:
        if isinstance(item, str):
            template = outputs.template(item)
            tail, kind = template.shape, template.dtype
        else:
            spec = integer(int(item), "record", 0)
            tail = (mujoco.mj_stateSize(model, spec),)
            kind = np.dtype(np.float64)
        array = out.get(item)
        if array is None:
            array = np.empty((*shape, *tail), kind)
        elif not _is_room(array, (*shape, *tail), kind):
            raise ValueError(
                f"out[{item!r}] must be a writable C-contiguous {kind} array of shape "
                f"{(*shape, *tail)}"
            )
        arrays[item] = array
        if array.size == 0:
            continue
        if not isinstance(item, str):
            records.append((None, int(item), array))
        elif item == "time":
            records.append((None, STATE_FIELDS["time"], array[..., None]))
        else:
            records.append((outputs.places(item), 0, array))
    return arrays, tuple(records)


def _is_room(array: object, shape: tuple[int, ...], kind: np.dtype[Any]) -> bool:
    return (
        isinstance(array, np.ndarray)
        and array.shape == shape
        and array.dtype == kind
        and array.flags.c_contiguous
        and array.flags.writeable
    )

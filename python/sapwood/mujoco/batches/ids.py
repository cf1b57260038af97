"""Checks of the worlds and numbers that a call of a batch names."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood.base import checks

_Int = NDArray[np.int32]


def world_ids(ids: ArrayLike | None, n_worlds: int) -> _Int | None:
    """The worlds of a call; None stands for all.

    Parameters
    ----------
    ids : array_like, optional
        Sorted and unique integers (n), or a mask of booleans (n_worlds).
    n_worlds : int
        Number of worlds of the batch.

    Returns
    -------
    ndarray of int32, or None
        The worlds, or None for all.

    Raises
    ------
    ValueError
        If the ids are no such array; the text names the first wrong one.
    """
    if ids is None:
        return None
    array = checks.array(ids, "ids")
    kind = array.dtype.kind
    if kind == "b":
        if array.shape != (n_worlds,):
            raise ValueError(f"ids has shape {array.shape}: a mask must have shape ({n_worlds},)")
        return None if array.all() else np.flatnonzero(array).astype(np.int32)
    if array.ndim != 1:
        raise ValueError(f"ids has {array.ndim} dimensions, expected 1")
    if array.size == 0:
        return np.zeros(0, np.int32)
    if kind not in "iu":
        raise ValueError(f"ids must be integers, not {array.dtype}")
    first, last = int(array[0]), int(array[-1])
    if array.size > 1:
        falls = array[1:] <= array[:-1]
        if falls.any():
            at = int(falls.argmax())
            raise ValueError(
                f"ids must be sorted and unique, got {array[at]} before {array[at + 1]}"
            )
    for extreme in (first, last):
        if not 0 <= extreme < n_worlds:
            raise ValueError(f"ids must be in [0, {n_worlds}), got {extreme}")
    return array.astype(np.int32, order="C", copy=False)


def bounded(value: ArrayLike, shape: tuple[int, ...], least: int, end: int, name: str) -> _Int:
    """Integers in [least, end), broadcast to a shape.

    Parameters
    ----------
    value : array_like of int
        The numbers.
    shape : tuple of int
        Shape of the result.
    least, end : int
        The range.
    name : str
        Name of the argument in errors.

    Returns
    -------
    ndarray of int32
        A contiguous array.

    Raises
    ------
    ValueError
        If a number is no integer or out of range, or the shape does not fit.
    """
    array = checks.array(value, name)
    if array.dtype.kind not in "iu":
        raise ValueError(f"{name} must be integers, not {array.dtype}")
    wrong = array[(array < least) | (array >= end)]
    if wrong.size:
        raise ValueError(f"{name} must be in [{least}, {end}), got {wrong.flat[0]}")
    try:
        return np.ascontiguousarray(np.broadcast_to(array, shape), dtype=np.int32)
    except ValueError:
        raise ValueError(f"{name} has shape {array.shape}, expected {shape}") from None

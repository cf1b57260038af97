"""Equality of results that hold arrays; unlike in tuples, NaN equals NaN."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np


def equal_values(one: Any, other: Any) -> bool:
    """Whether two arrays, records or plain values are the same.

    Parameters
    ----------
    one, other : object
        The values to compare; arrays may be structured.

    Returns
    -------
    bool
        True where shapes and entries are the same; NaN is the same as NaN.
    """
    a, b = np.asarray(one), np.asarray(other)
    if a.dtype.names or b.dtype.names:
        return (
            a.dtype == b.dtype
            and a.shape == b.shape
            and all(equal_values(a[name], b[name]) for name in a.dtype.names or ())
        )
    return np.array_equal(a, b, equal_nan=a.dtype.kind == b.dtype.kind == "f")


def equal_arrays(one: tuple[Any, ...], other: object) -> bool:
    """Whether `other` is a tuple with the same entries.

    Parameters
    ----------
    one : tuple of array_like
        The arrays to compare.
    other : object
        The value to compare with; unequal if it is no tuple.

    Returns
    -------
    bool
        True where :func:`equal_values` is for every entry.
    """
    return (
        isinstance(other, tuple)
        and len(one) == len(other)
        and all(equal_values(a, b) for a, b in zip(one, other, strict=True))
    )


def equal_fields(one: Any, other: object) -> bool:
    """Whether `other` is a dataclass of the same type with the same fields.

    Parameters
    ----------
    one : dataclass
        Fields are arrays, plain values, or tuples of these.
    other : object
        The value to compare with.

    Returns
    -------
    bool
        True where all fields are equal, as by :func:`equal_values`.
    """
    names = [field.name for field in dataclasses.fields(one)]
    if type(one) is not type(other):
        return False
    pairs = [(getattr(one, name), getattr(other, name)) for name in names]
    return all(equal_arrays(a, b) if isinstance(a, tuple) else equal_values(a, b) for a, b in pairs)

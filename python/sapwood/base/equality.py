"""Equality of results that hold arrays; unlike in tuples, NaN equals NaN."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

_Class = TypeVar("_Class")


def equal_values(one: Any, other: Any) -> bool:
    """Whether two arrays, records or plain values are the same.

    Parameters
    ----------
    one, other : object
        The values to compare; arrays may be structured, tuples and mappings may hold others.

    Returns
    -------
    bool
        True where shapes and entries are the same; NaN is the same as NaN.
    """
    if isinstance(one, tuple):
        return equal_arrays(one, other)
    if isinstance(one, Mapping):
        same = isinstance(other, Mapping) and one.keys() == other.keys()
        return same and all(equal_values(one[name], other[name]) for name in one)
    a, b = np.asarray(one), np.asarray(other)
    if a.dtype.names or b.dtype.names:
        return (
            a.dtype == b.dtype
            and a.shape == b.shape
            and all(equal_values(a[name], b[name]) for name in a.dtype.names or ())
        )
    return np.array_equal(a, b, equal_nan=a.dtype.kind == b.dtype.kind == "f")


def compared_by_value(kind: type[_Class]) -> type[_Class]:
    """Let == of a class compare the entries of its arrays; such objects have no hash.

    Parameters
    ----------
    kind : type
        A named tuple, or a dataclass made with ``eq=False``.

    Returns
    -------
    type
        The class itself.
    """
    equal = equal_arrays if issubclass(kind, tuple) else equal_fields

    def differs(one: Any, other: object) -> bool:
        return not equal(one, other)

    for name, method in (("__eq__", equal), ("__ne__", differs), ("__hash__", None)):
        setattr(kind, name, method)
    return kind


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
    return type(one) is type(other) and all(
        equal_values(getattr(one, name), getattr(other, name)) for name in names
    )

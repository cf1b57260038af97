"""Equality of results that hold arrays, which plain tuples cannot tell: NaN equals NaN."""

from __future__ import annotations

from typing import Any

import numpy as np


def equal_values(one: Any, other: Any) -> bool:
    """Whether two arrays, records or plain values are the same.

    Parameters
    ----------
    one, other : object
        What is compared; arrays may be structured.

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
        What is compared.
    other : object
        With what; unequal where it is no tuple.

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

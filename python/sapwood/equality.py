"""Equality of tuples of arrays, which a plain tuple cannot tell."""

from __future__ import annotations

from typing import Any

import numpy as np


def equal_arrays(one: tuple[Any, ...], other: object) -> bool:
    """Whether `other` is a tuple with the same shapes and values, entry by entry.

    Parameters
    ----------
    one : tuple of array_like
        What is compared.
    other : object
        With what; unequal where it is no tuple.

    Returns
    -------
    bool
        True where every entry is the same; an entry that is NaN is not.
    """
    return (
        isinstance(other, tuple)
        and len(one) == len(other)
        and all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    )

"""One shape for the arguments of a law."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def common_shape(
    arrays: Mapping[str, NDArray[Any]], shape: tuple[int, ...] = ()
) -> tuple[int, ...]:
    """Shape that every array broadcasts to, together with `shape`.

    Raises
    ------
    ValueError
        If there is none; the text names the first array that does not fit those before it.
    """
    for name, array in arrays.items():
        try:
            shape = np.broadcast_shapes(shape, array.shape)
        except ValueError:
            raise ValueError(
                f"{name} has shape {array.shape}, which does not broadcast with {shape}"
            ) from None
    return shape

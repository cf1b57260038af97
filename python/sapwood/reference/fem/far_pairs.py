"""Pairs of tetrahedra of one mesh that may touch: mirror of fem.h."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_Float = NDArray[np.float64]
_Index = NDArray[np.int32]


def far_pairs(
    tetrahedra: _Index, centres: _Float, reach: _Float, positions: _Float
) -> NDArray[np.intp]:
    """Find the pairs of tetrahedra that are apart at rest, and whose boxes meet.

    Parameters
    ----------
    tetrahedra : ndarray of int32 (m, 4)
        Corners.
    centres : ndarray (m, 3)
        Centres of their balls at rest, m.
    reach : ndarray (m,)
        Radii of the balls, m.
    positions : ndarray (n, 3)
        Present positions, m.

    Returns
    -------
    ndarray of int (p, 2)
        The pairs, the lower number first, sorted.
    """
    corners = positions[tetrahedra]
    low, high = corners.min(axis=1), corners.max(axis=1)
    meet = np.all((low[:, None] <= high) & (low <= high[:, None]), axis=2)
    away = np.linalg.norm(centres[:, None] - centres, axis=2)
    return np.argwhere(np.triu(meet & (away > reach[:, None] + reach)))

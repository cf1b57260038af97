"""Equality rows of edges of flexes: part of the mass of their vertices.

The impulse of such a row has no bounds, gamma = (v_hat - J v)/R, so its cost is quadratic. It adds

    J^T R^-1 J    to A,    and J^T R^-1 v_hat to the momentum,

both between neighbours. Contact then has the sparse equations of a flex with stiff springs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_Float = NDArray[np.float64]


@dataclass(frozen=True)
class EdgeRows:
    """Rows between two vertices of a flex, or of one vertex.

    Attributes
    ----------
    numbers : ndarray of int (n,)
        Their numbers among all rows of constraints other than contacts.
    free : ndarray of int (n, 2)
        Places of the vertices among the free ones; -1 for the second of a row of one.
    J : ndarray (n, 2, 3)
        Entries along the slides of both vertices.
    R, v_hat : ndarray (n,)
        Regularization, 1/kg, and stabilization velocity, m/s.
    """

    numbers: NDArray[np.intp]
    free: NDArray[np.intp]
    J: _Float
    R: _Float
    v_hat: _Float

    def velocities(self, along: _Float) -> _Float:
        """J v (n,) of velocities (n_free, 3) along the slides."""
        found: _Float = np.einsum("nsi,nsi->n", self.J, along[self.free])
        return found

    def impulses(self, along: _Float) -> _Float:
        """Impulses (n,) at velocities (n_free, 3) along the slides, N s."""
        found: _Float = (self.v_hat - self.velocities(along)) / self.R
        return found


_NONE = np.zeros(0, np.intp)
NO_EDGES = EdgeRows(_NONE, _NONE.reshape(0, 2), np.zeros((0, 2, 3)), np.zeros(0), np.zeros(0))
"""No rows."""

"""Contacts that stick in the next direction, because the last step reversed their slip.

The linear law of a sliding contact keeps its friction along the slip. Where less friction stops the
slip, the step leads through zero, and the law has the opposite friction at its end. The linear law
of such a contact becomes that of stiction, gamma_t' = R_t^-1 (v_hat_t - v_t'), without U, and y_t
takes the place of gamma_t in r. See csrc/solver/coulomb/reversals.h.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..constraints.disk_pool import DiskPool
from .objective import Objective, Point

Array = NDArray[np.float64]

REVERSAL = 0.8
"""Slip turns round in a step if the cosine of its change of direction is below minus this."""


def reversed_contacts(pool: DiskPool, start: Point, point: Point) -> NDArray[np.bool_]:
    """True (n) for contacts that slide at the point, against their slip before the last step."""
    part = point.parts[0]
    before = (start.parts[0].v_c - pool.v_hat)[:, :2]
    now = (part.v_c - pool.v_hat)[:, :2]
    product = np.sum(before * now, axis=1)
    size = np.linalg.norm(before, axis=1) * np.linalg.norm(now, axis=1)
    slides = np.any(pool.coupling(part.y) != 0.0, axis=(1, 2))
    return np.asarray(slides & (product < -REVERSAL * size), dtype=np.bool_)


def stick_reversed(
    objective: Objective,
    start: Point,
    point: Point,
    G: Sequence[Array],
    U: Sequence[Array],
) -> tuple[tuple[Array, ...], tuple[Array, ...], tuple[Array, ...]]:
    """G, U (n, r, r) and impulses (n, r) of each pool in the linear law of the next direction."""
    pool = objective.pools[0]
    if not isinstance(pool, DiskPool):
        return tuple(G), tuple(U), point.gamma
    found = reversed_contacts(pool, start, point)
    G_0, U_0, gamma = G[0].copy(), U[0].copy(), point.gamma[0].copy()
    G_0[found, :2, :2] = np.eye(2) / pool.R_t[found, None, None]
    U_0[found] = 0.0
    gamma[found, :2] = point.parts[0].y[found, :2]
    return (G_0, *G[1:]), (U_0, *U[1:]), (gamma, *point.gamma[1:])

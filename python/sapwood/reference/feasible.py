"""Starts inside of the domains of barriers (`core`).

A guess outside is moved towards v = 0, where every contact is inside, for those that start too deep
have been given a larger kappa, unless a surface moves. Where one does, kappa is raised for as many
contacts as that takes, and the minimiser with these is the start for the next, smaller ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .objective import Line, Objective, Point

Array = NDArray[np.float64]


def lower_barriers(objective: Objective, point: Point) -> int:
    """Take the smallest kappa that a point allows; how many are larger than they should be."""
    pools = zip(objective.pools, point.parts, strict=True)
    return sum(pool.fit(part.y) for pool, part in pools)


def step_inside(line: Line) -> float:
    """A step along the line that stays clear of the wall; 0 after overflow."""
    alpha = 1.0
    for _ in range(100):
        if line.derivatives(alpha)[0] < np.inf:
            return 0.9 * alpha if alpha < 1.0 else 1.0
        alpha = line.wall(alpha)
    return 0.0


def start_inside(objective: Objective, v: Array) -> tuple[Point, int]:
    """A point inside near v, which is outside, and how many kappa had to be raised for it."""
    rest = objective.point(np.zeros_like(v))
    raised = lower_barriers(objective, rest)
    if raised:
        rest = objective.point(rest.v)
    return objective.point(step_inside(objective.line(rest, v)) * v), raised

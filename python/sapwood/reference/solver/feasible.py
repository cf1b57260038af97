"""Starts inside of the domains of barriers (`rigid_core`).

A guess outside is moved towards v = 0, where every contact is inside unless a surface moves:
contacts that start too deep have a larger kappa. With moving surfaces, the start is the minimiser
of the stick start (`direction`), which follows them. If that is outside too, kappa is raised for as
many contacts as necessary, and the minimiser with these is the start for the next, smaller ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..linalg.cholesky import BlockCholesky, NotPositiveDefinite
from .direction import solve_hessian, sticking_system
from .objective import Line, Objective, Point

Array = NDArray[np.float64]


def fit_barriers(objective: Objective, point: Point, least: float = 1.0) -> int:
    """Take the smallest kappa that a point allows, with delta at least `least` times as large.

    Returns the number of contacts with a larger kappa than the problem's.
    """
    pools = zip(objective.pools, point.parts, strict=True)
    return sum(pool.fit(part.y, least) for pool, part in pools)


def step_inside(line: Line) -> float:
    """A step along the line that stays clear of the wall; 0 after overflow."""
    alpha = 1.0
    for _ in range(100):
        if line.derivatives(alpha)[0] < np.inf:
            return 0.9 * alpha if alpha < 1.0 else 1.0
        alpha = line.wall(alpha)
    return 0.0


def follow_surfaces(objective: Objective, rest: Point, cholesky: BlockCholesky) -> Point:
    """The point where contacts stick to their surfaces; `rest` if H breaks down."""
    G, _, b = sticking_system(objective, rest)
    try:
        return objective.point(rest.v + solve_hessian(objective, G, b, cholesky=cholesky))
    except NotPositiveDefinite:
        return rest


def start_inside(objective: Objective, v: Array, cholesky: BlockCholesky) -> tuple[Point, int]:
    """A point inside near v, which is outside, and the number of raised kappa."""
    rest = objective.point(np.zeros_like(v))
    if not fit_barriers(objective, rest):
        return objective.point(step_inside(objective.line(rest, v)) * v), 0
    rest = objective.point(rest.v)
    point = follow_surfaces(objective, rest, cholesky)
    raised = fit_barriers(objective, point)
    return objective.point(point.v), raised

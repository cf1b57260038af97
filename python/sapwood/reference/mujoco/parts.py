"""Time steps in parts that meet a tolerance: the mirror of ``csrc/mujoco/accuracy/parts_run.c``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sapwood.base.equality import compared_by_value

_Array = NDArray[np.float64]
_Motion = tuple[_Array, _Array]

# error over the tolerance below which the next part is twice as long
_GROW_BELOW = 0.2


@compared_by_value
class Parts(NamedTuple):
    """A time step in parts.

    Attributes
    ----------
    q, v : ndarray
        Positions and velocities at its end.
    substeps, refused, unmet : int
        Halves that were taken, parts that were taken again in halves, and parts of the least length
        that missed the tolerance.
    smallest_step, error : float
        The shortest half, s, and the largest estimated error of a part that was taken.
    level : int
        Halvings of the part that would follow.
    """

    q: _Array
    v: _Array
    substeps: int
    refused: int
    unmet: int
    smallest_step: float
    error: float
    level: int


def take_in_parts(
    advance: Callable[[_Array, _Array, float], _Motion],
    q: _Array,
    v: _Array,
    time_step: float,
    tolerance: float,
    halvings: int,
    level: int = 0,
    *,
    scale: _Array,
    difference: Callable[[_Array, _Array], _Array] = lambda one, other: other - one,
    move: Callable[[_Array, _Array], _Array] = lambda q, by: q + by,
    closes_gap: Callable[[], bool] = lambda: False,
) -> Parts:
    """Take a time step in parts, by step doubling with extrapolation.

    Parameters
    ----------
    advance : callable
        Takes one step: (q, v, length) to (q, v).
    q, v : ndarray (nq,), (nv,)
        Positions and velocities.
    time_step : float
        Length of the time step, s.
    tolerance : float
        Largest error of a part over the scale.
    halvings : int
        The smallest step is the time step over 2^halvings.
    level : int
        Halvings of the first part.
    scale : ndarray (nv,)
        Unit of the error of each velocity's position.
    difference, move : callable
        Motion (nv,) from one position to another, and a position after a motion.
    closes_gap : callable
        Whether a contact that was open acted in the last step that `advance` took.

    Returns
    -------
    Parts
        State and record of the step.
    """
    units, at = 1 << halvings, 0
    substeps = refused = unmet = 0
    smallest, largest = units, 0.0
    while at < units:
        while at % (units >> level):  # a part begins at a multiple of its length
            level += 1
        h = math.ldexp(time_step, -level)
        q_whole, v_whole = advance(q, v, h)
        q_middle, v_middle = advance(q, v, h / 2)
        q_half, v_half = advance(q_middle, v_middle, h / 2)
        dq, dv = difference(q_whole, q_half), v_half - v_whole
        error_q, error_v = (float(np.max(np.abs(d) / scale, initial=0.0)) for d in (dq, dv))
        error = max(error_q, time_step * error_v)
        if error <= tolerance and closes_gap():
            # the force of the contact shows after the second half, in a third one
            missed = advance(q_half, v_half, h / 2)[1] - 2.0 * v_half + v_middle
            error_v = max(error_v, float(np.max(np.abs(missed) / scale, initial=0.0)))
            error = max(error_q, time_step * error_v)
        if error > tolerance and level + 1 < halvings:
            refused, level = refused + 1, level + 1
            continue
        if error <= tolerance and h * error_v <= error_q:
            q_half, v_half = move(q_half, dq), v_half + dv
        q, v, at = q_half, v_half, at + (units >> level)
        substeps, unmet = substeps + 2, unmet + (error > tolerance)
        smallest, largest = min(smallest, units >> (level + 1)), max(largest, error)
        level -= error < _GROW_BELOW * tolerance and level > 0
    shortest = time_step * smallest / units
    return Parts(q, v, substeps, refused, unmet, shortest, largest, level)

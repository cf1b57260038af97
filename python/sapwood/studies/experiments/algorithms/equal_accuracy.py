"""Times of solvers at equal accuracy, read off between their measured settings.

A setting of a solver is a point (e_m, time). Only points count that no other one beats in both; the
time at an accuracy in between is interpolated between neighbours, as a power of e_m. At accuracies
that the loosest of them exceeds, its time is the one; beyond the tightest there is none.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

#: The accuracy at which times are compared by default: the paper's tolerance in this scene.
TARGET = 1e-5

#: General conic solvers, in the place of the paper's Gurobi.
CONIC = ("clarabel", "qoco", "scs", "ecos")

#: The name for whichever of them is the quickest on a problem.
BEST_CONIC = "best conic"

# e_m of a solution without any error, so that it has a logarithm
_ROUND_OFF = 1e-18


def best_times(e_m: Array, seconds: Array) -> Array:
    """Least time among the points that are as accurate as each, shape (n,).

    Parameters
    ----------
    e_m
        Momentum errors (24), shape (n,).
    seconds
        Times, shape (n,), s.
    """
    order = np.argsort(e_m, kind="stable")
    least = np.minimum.accumulate(seconds[order])
    # equally accurate ones share the best
    last = np.searchsorted(e_m[order], e_m, side="right") - 1
    best: Array = least[last]
    return best


def time_at(e_m: Array, seconds: Array, target: float) -> float:
    """Time to reach an accuracy, s; NaN where no point does.

    Parameters
    ----------
    e_m, seconds
        Measured points, shape (n,); those with NaN do not count.
    target
        The accuracy.
    """
    known = np.isfinite(e_m) & np.isfinite(seconds)
    e_m, seconds = np.maximum(e_m[known], _ROUND_OFF), seconds[known]
    if not np.any(e_m <= target):
        return float("nan")
    # no other point is at least as accurate and quicker
    kept = seconds <= best_times(e_m, seconds)
    e, first = np.unique(e_m[kept], return_index=True)
    t = seconds[kept][first]
    return float(np.exp(np.interp(np.log(target), np.log(e), np.log(t))))


def times_at(rows: NDArray[np.void], target: float) -> dict[tuple[int, int, int, str], float]:
    """Time of every solver on every problem at equal accuracy, s; NaN where not reached.

    Parameters
    ----------
    rows
        With the columns ``walls``, ``bodies``, ``step``, ``solver``, ``e_m`` and ``seconds``, as
        `sapwood.studies.experiments.algorithms.solver_comparison` gives them.
    target
        The accuracy e_m.

    Returns
    -------
    dict
        From (walls, bodies, step, solver); `BEST_CONIC` is a solver too.
    """
    times: dict[tuple[int, int, int, str], float] = {}
    for walls, bodies, step in problems(rows):
        here = rows[(rows["walls"] == walls) & (rows["bodies"] == bodies) & (rows["step"] == step)]
        for solver in dict.fromkeys(here["solver"].tolist()):
            own = here[here["solver"] == solver]
            times[walls, bodies, step, solver] = time_at(own["e_m"], own["seconds"], target)
        conic = [times.get((walls, bodies, step, name), np.nan) for name in CONIC]
        reached = [seconds for seconds in conic if np.isfinite(seconds)]
        times[walls, bodies, step, BEST_CONIC] = min(reached, default=float("nan"))
    return times


def problems(rows: NDArray[np.void]) -> Iterator[tuple[int, int, int]]:
    """The problems of a table, as (walls, bodies, step), in the order of the table."""
    columns = (rows[name].tolist() for name in ("walls", "bodies", "step"))
    yield from dict.fromkeys(zip(*columns, strict=True))


def ratios(
    times: dict[tuple[int, int, int, str], float],
    solver: str,
    reference: str = "sapwood",
    walls: int | None = None,
    bodies: int | None = None,
) -> Array:
    """Times of a solver over those of another, on the problems of a kind; NaN where not reached.

    Parameters
    ----------
    times
        From `times_at`.
    solver, reference
        Their names.
    walls, bodies
        Which problems; None for all.
    """
    found = [
        seconds / times.get((w, b, step, reference), np.nan)
        for (w, b, step, name), seconds in times.items()
        if name == solver and walls in (None, w) and bodies in (None, b)
    ]
    return np.array(found, dtype=float)


def geometric_mean(values: ArrayLike) -> float:
    """Geometric mean of the finite values; NaN if there is none."""
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    return float(np.exp(np.log(known).mean())) if known.size else float("nan")

"""Step lengths: the exact search and Armijo backtracking (section VIII-B).

A search works on a convex l with slope l'(0) < 0. The step it returns does not increase l: past
their limit of trials both go on until they have one that does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from sapwood.settings import SapSettings

    from .objective import Line


class Slope(Protocol):
    """The interface of l along a direction for the exact search."""

    dv_dp: float  # dv.A dv, the least curvature

    def derivatives(self, alpha: float) -> tuple[float, float]:
        """dl/da and d2l/da2; beyond a wall both are infinite."""

    def moves(self, alpha: float) -> bool:
        """Whether a step changes anything."""

    def wall(self, alpha: float) -> float:
        """At a step outside of the domain: a shorter one, none shorter than the longest inside."""


class Search:
    """A line with the number of its evaluations and the wall they have met."""

    def __init__(self, line: Slope) -> None:
        self.line = line
        self.trials = 0
        self.wall = np.inf  # bound on the domain, infinite as long as none was met

    def derivatives(self, alpha: float) -> tuple[float, float]:
        """Slope and curvature; beyond a wall both are infinite."""
        self.trials += 1
        slope, curvature = self.line.derivatives(alpha)
        if slope == np.inf:
            self.wall = min(self.wall, self.line.wall(alpha))
        return slope, curvature

    def next(self, alpha: float, slope: float, curvature: float, low: float) -> float:
        """The step after alpha: Newton's, or where a wall is near, well away from it.

        Inside it is the root of -a + c/(wall - alpha) with this slope and curvature: near its wall
        the slope of a log barrier is such a function.
        """
        if self.wall == np.inf:
            return alpha - slope / curvature
        if slope == np.inf:
            room = self.wall - low
            return low + room / (1.0 + room)
        room = self.wall - alpha
        return self.wall - room * (curvature * room) / (curvature * room - slope)


def exact(line: Slope, slope_0: float, settings: SapSettings) -> tuple[float, int]:
    """Root of dl/da by rtsafe: Newton's method, kept in a bracket by bisection.

    The full Newton step is tried first. Where the slope there is still negative, the root that
    Newton's method sees from there follows, then alpha_max, which is returned if the slope is
    negative even there. Stops when no float is left inside the bracket, past
    the limit when a step moves nothing, or short of the minimum at
    |dl/da| <= tolerance |dl/da(0)| and beyond it, where l may have risen again, at a slope of no
    more than 1e-8 |dl/da(0)|, or of a tenth of the tolerance if dl/da <= alpha dv.A dv/2: then
    dl/da(t) <= dl/da(alpha) - (alpha - t) dv.A dv for t <= alpha, so that l(alpha) <= l(0). A step
    out of the domain of a barrier has an infinite slope.

    Returns
    -------
    alpha : float
    trials : int
        Number of evaluations.
    """
    short_of = settings.line_search_tolerance

    def flat(alpha: float, slope: float) -> bool:
        falls = alpha * line.dv_dp / (2.0 * abs(slope_0))
        beyond = min(max(min(0.1 * short_of, falls), 1e-8), short_of)
        return -short_of <= slope / abs(slope_0) <= beyond

    search = Search(line)
    alpha = 1.0
    slope, curvature = search.derivatives(alpha)
    if flat(alpha, slope):
        return alpha, search.trials

    low, high = 0.0, 1.0  # dl/da(low) < 0 < dl/da(high)
    if slope < 0.0:
        low, high = 1.0, settings.max_step
        newton = 1.0 - slope / curvature
        if newton < high:
            alpha = newton
            slope, curvature = search.derivatives(alpha)
            if flat(alpha, slope):
                return alpha, search.trials
            if slope < 0.0:
                low = alpha
            else:
                high = alpha
        if high == settings.max_step and search.derivatives(high)[0] <= 0.0:
            return high, search.trials

    step_before = high - low
    while search.trials < settings.line_search_max_trials or (low == 0.0 and line.moves(high)):
        right = min(high, search.wall)
        step = search.next(alpha, slope, curvature, low) - alpha
        if not low < alpha + step < right or abs(step) > abs(step_before) / 2.0:
            step = low + (right - low) / 2.0 - alpha
        if not low < alpha + step < right:
            break
        step_before = step
        alpha += step
        slope, curvature = search.derivatives(alpha)
        if flat(alpha, slope):
            return alpha, search.trials
        if slope < 0.0:
            low = alpha
        else:
            high = alpha
    return (low if low > 0.0 else high), search.trials


def backtracking(line: Line, slope_0: float, settings: SapSettings) -> tuple[float, int]:
    """Armijo's rule, l(alpha) - l(0) < c alpha dl/da(0), on alpha_max, rho alpha_max, and so on.

    Returns the first such step that the next shorter one does not beat. Past the limit of trials
    alpha is halved until the cost is lower at all.

    The rule alone would take alpha_max = 1.5 wherever l is nearly quadratic, and so halve the
    error of each iterate instead of squaring it.
    """
    alpha = settings.max_step
    difference = line.difference(alpha)
    trials = 1
    tiny = np.finfo(float).tiny
    while (trials < settings.line_search_max_trials or not difference < 0.0) and alpha > tiny:
        within = trials < settings.line_search_max_trials
        shorter = (settings.armijo_rho if within else min(settings.armijo_rho, 0.5)) * alpha
        difference_shorter = line.difference(shorter)
        trials += 1
        enough = difference < settings.armijo_c * alpha * slope_0
        if enough and difference_shorter >= difference:
            break
        alpha, difference = shorter, difference_shorter
    return alpha, trials

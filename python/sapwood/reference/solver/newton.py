"""Newton's method, algorithm 1, and its stopping rule (20)."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sapwood.settings import SapSettings
from sapwood.solution import Status

from ..constraints.pools import Dual
from ..constraints.rigid_core_pool import RigidCorePool
from ..linalg.cholesky import NotPositiveDefinite
from .certificate import gradient_round_off
from .direction import (
    blend,
    predict,
    prefers_single,
    solve_factored,
    solve_hessian,
    sticking_system,
    symbolic,
)
from .feasible import fit_barriers, start_inside
from .line_search import backtracking, exact
from .objective import Line, Objective, Point

Array = NDArray[np.float64]
EPS = float(np.finfo(float).eps)

FIRST_PART = 50
"""Most iterations of the first part of a solve, for which half of the limit is allowed."""

Record = tuple[int, int, int, float, float, float, float]


@dataclass
class Run:
    """The result of Newton's method on one objective."""

    point: Point
    status: Status
    tree: int
    iterations: int
    trials: int
    records: list[Record]
    raised: int  # contacts whose kappa is larger than it should be, for the start to be inside
    fallbacks: set[str] = field(default_factory=set)  # names as in `IslandAlgorithm`


def retreat(objective: Objective, v: Array, step: Array) -> Point:
    """A point short of v + step, which round-off has carried out of the domain of a barrier."""
    for k in range(30, 0, -6):
        point = objective.point(v + (1.0 - 2.0**-k) * step)
        if np.isfinite(point.cost):
            break
    return point


def nothing_moves(objective: Objective, point: Point) -> bool:
    """Whether all that there is of net momentum, net impulse and gradient is round-off.

    So it is where impulses cancel. As far as double precision can tell nothing moves then, and e_m
    compares round-off with round-off.
    """
    if point.scale**2 > EPS * abs(point.cost):
        return False
    return max(point.gradient_norm, point.scale) <= round_off(objective, point)


def round_off(objective: Objective, point: Point) -> float:
    """Bound on the rounding errors of |D grad|."""
    return float(np.linalg.norm(objective.D * gradient_round_off(objective, point)))


def is_newtons_turn(point: Point) -> bool:
    """Whether Newton's own H does better, near the end."""
    return point.momentum_error <= 0.01


class Newton:
    """Algorithm 1 on one objective, with its memory of earlier iterations.

    Where the objective is one of K islands, each stopped by itself, the rule (20) is sharpened so
    that it holds for the whole: from |D grad_k| <= a + r max(p_k, j_k) with a = eps_a / sqrt(K) and
    r = eps_r / sqrt(2) follows |D grad| <= eps_a + eps_r max(p, j), by the triangle inequality and
    sum_k max(p_k, j_k)^2 <= p^2 + j^2 <= 2 max(p, j)^2.
    """

    def __init__(self, objective: Objective, settings: SapSettings, n_islands: int = 1) -> None:
        share = np.sqrt(2.0) if n_islands > 1 else 1.0
        self.eps_a = settings.absolute_tolerance / np.sqrt(n_islands)
        self.eps_r = settings.relative_tolerance / share
        self.objective, self.settings = objective, settings
        self.cholesky = symbolic(objective)
        self.cholesky.single = prefers_single(objective, settings)
        self.iterations = 0
        self.idle = 0  # iterations at round-off that did not reduce the gradient
        self.alpha = 1.0  # length of the last step
        self.gradient = 0.0  # |D grad| of the last iterate
        self.factored: Sequence[Array] = ()  # G of the last factorization
        self.dual: tuple[Dual | None, ...] = (None,) * len(objective.pools)

    def minimize(self, v: Array, island: int = 0) -> Run:
        """Iterate from v, or from inside of the domain of barriers where v is not.

        Short of convergence the iterate with the least e_m is returned.
        """
        objective = self.objective
        point, raised = objective.point(v), 0
        if not np.isfinite(point.cost):
            point, raised = start_inside(objective, point.v, self.cholesky)
        run = Run(point, Status.converged, -1, 0, 0, [], raised)
        best, smallest = point, point.gradient_norm
        run.records.append((island, 0, 0, 0.0, point.cost, 0.0, point.momentum_error))

        while (status := self.outcome(point)) is None:
            # H dv = -grad
            try:
                dv, G, gamma = self.find_direction(point)
            except NotPositiveDefinite as error:
                status, run.tree = Status.breakdown, error.tree
                break
            line = objective.line(point, dv)
            slope, _ = line.derivatives(0.0)
            if not slope < 0.0:
                status = Status.stalled
                break

            # alpha = argmin l(v + alpha dv)
            self.dual = predict(objective, gamma, G, line.dv_c)
            self.gradient = point.gradient_norm
            predicted = -slope / 2.0  # decrease if l were quadratic
            self.alpha, trials = self.search(line, slope, predicted <= 10.0 * EPS * abs(point.cost))
            decrease = -line.difference(self.alpha)
            before, point = point, objective.point(point.v + self.alpha * dv)
            if not np.isfinite(point.cost):
                point = retreat(objective, before.v, self.alpha * dv)
            self.iterations += 1
            run.trials += trials
            run.records.append((island, self.iterations, trials, self.alpha, point.cost, decrease,
                                point.momentum_error))  # fmt: skip

            at_round_off = (
                predicted <= EPS * abs(point.cost)
                or point.gradient_norm <= EPS * point.scale
                or point.cost >= before.cost
            )
            self.idle += at_round_off and point.gradient_norm > 0.9 * smallest
            smallest = min(smallest, point.gradient_norm)
            if point.momentum_error < best.momentum_error:
                best = point

        if self.left_single:
            run.fallbacks.add("double")
        run.status, run.iterations = status, self.iterations
        run.point = point if status == Status.converged else best
        return run

    @property
    def left_single(self) -> bool:
        """Whether single precision was chosen and did not suffice."""
        return prefers_single(self.objective, self.settings) and not self.cholesky.single

    def tolerance(self, point: Point) -> float:
        """Right side of (20)."""
        return float(self.eps_a + self.eps_r * point.scale)

    def outcome(self, point: Point) -> Status | None:
        """The status of the iterations at this point; None if they go on."""
        if not point.finite:
            return Status.non_finite
        if point.gradient_norm <= self.tolerance(point) or nothing_moves(self.objective, point):
            return Status.converged
        if self.idle == 3:
            return Status.stalled
        if self.iterations == self.settings.max_iterations:
            return Status.iteration_limit
        return None

    def solve_system(self, G: Sequence[Array], b: Array) -> Array:
        """H^-1 b, in single precision first where that is chosen."""
        if self.cholesky.single:
            with contextlib.suppress(NotPositiveDefinite):
                x = solve_hessian(self.objective, G, b, self.cholesky)
                if 0.0 < b @ x < np.inf:
                    return x
            self.cholesky.single = False  # H is too close to singular
        return solve_hessian(self.objective, G, b, self.cholesky)

    def solve_again(self, b: Array) -> Array:
        """H^-1 b by the factorization of the last solve."""
        return solve_factored(self.objective, self.cholesky, b)

    def factor_suffices(self, point: Point) -> bool:
        """Whether the factorization of the iteration before will do for the last step.

        After a full step another one by the same H leaves about the same share of the gradient.
        """
        most = self.tolerance(point) * self.gradient / 2.0
        return abs(self.alpha - 1.0) < 0.1 and point.gradient_norm**2 <= most

    def find_direction(self, point: Point) -> tuple[Array, Sequence[Array], Sequence[Array]]:
        """dv, and G and gamma of the quadratic whose minimiser it leads to.

        H dv = -grad, with primal-dual friction, the factorization of before or the sticking start
        where they help.
        """
        objective, settings, first = self.objective, self.settings, self.iterations == 0
        if settings.turning and self.factor_suffices(point):
            return self.solve_system(self.factored, -point.gradient), point.G, point.gamma
        poor = first and point.momentum_error > settings.start_threshold
        if settings.start == "sticking" and poor:
            G, gamma, b = sticking_system(objective, point)
            dv = self.solve_system(G, b)
            # the sticking quadratic is not l_p: its minimiser may lie uphill
            if point.gradient @ dv < 0.0:
                self.factored = G
                return dv, G, gamma
        turning = settings.turning and not first and not is_newtons_turn(point)
        self.factored = blend(objective, point, self.dual) if turning else point.G
        return self.solve_system(self.factored, -point.gradient), self.factored, point.gamma

    def search(self, line: Line, slope: float, below_round_off: bool) -> tuple[float, int]:
        """Step and trials; below the round-off of l there are no costs to compare."""
        if self.settings.line_search == "exact":
            return exact(line, slope, self.settings)
        if not below_round_off:
            return backtracking(line, slope, self.settings)
        return 1.0, 0


def first_part(settings: SapSettings) -> int:
    """Iterations of the first part of a solve, which others follow."""
    most = settings.max_iterations
    return min(most - most // 2, FIRST_PART)


def minimize_with_barriers(
    objective: Objective, v: Array, settings: SapSettings, island: int = 0, n_islands: int = 1
) -> Run:
    """`Newton.minimize`, and on from its result where a barrier had to be raised or is in the way.

    If kappa was raised for the start, because a surface moves or walls are too close together, the
    iterations use thicker layers at first, and make them as thin as each rough minimiser allows.
    """
    if not isinstance(objective.pools[0], RigidCorePool):
        return Newton(objective, settings, n_islands).minimize(v, island)
    most, tolerance = settings.max_iterations, settings.relative_tolerance
    half = dataclasses.replace(settings, max_iterations=first_part(settings))
    run = Newton(objective, half, n_islands).minimize(v, island)
    # near the end it is round-off that stops an iteration, and would with thicker layers too
    stalled = run.status == Status.stalled and is_newtons_turn(run.point)
    done = not run.raised and (run.status == Status.converged or stalled)
    if done or run.iterations == most:
        return run

    def go_on(relative_tolerance: float) -> Run:
        rest = dataclasses.replace(
            settings,
            max_iterations=most - run.iterations,
            relative_tolerance=relative_tolerance,
        )
        part = Newton(objective, rest, n_islands).minimize(run.point.v, island)
        later = [(r[0], run.iterations + r[1], *r[2:]) for r in part.records]
        part.iterations += run.iterations
        part.trials += run.trials
        part.records = run.records + later
        part.fallbacks |= run.fallbacks
        return part

    raised = fit_barriers(objective, run.point, 1.0 if run.raised else 16.0)
    rounds = 0
    while raised and rounds < 20:
        run = go_on(max(tolerance, 1e-2))
        raised = fit_barriers(objective, run.point)
        rounds += 1
    return go_on(tolerance)

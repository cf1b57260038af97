"""The semi-analytic primal solver: algorithm 1, its stopping rule and what it reports."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood.problem.contact_problem import ContactProblem
from sapwood.settings import DEFAULT_SETTINGS, SapSettings
from sapwood.solution import ConstraintSolution, Solution, Status
from sapwood.solver import Evaluation, LineValues

from .certificate import velocity_error_bound
from .cholesky import NotPositiveDefinite
from .core_pool import CorePool
from .direction import (
    blend,
    predict,
    prefers_single,
    solve_hessian,
    sticking_system,
    symbolic,
)
from .feasible import fit_barriers, start_inside
from .graph import islands, touching
from .line_search import backtracking, exact
from .objective import Objective, Point
from .pools import Dual

Array = NDArray[np.float64]
EPS = float(np.finfo(float).eps)

HISTORY_DTYPE = np.dtype(
    [
        ("island", np.int32),
        ("iteration", np.int32),
        ("trials", np.int32),
        ("step", np.float64),
        ("cost", np.float64),
        ("decrease", np.float64),
        ("momentum_error", np.float64),
    ]
)
Record = tuple[int, int, int, float, float, float, float]


@dataclass
class Run:
    """How Newton's method went on one objective."""

    point: Point
    status: Status
    tree: int
    iterations: int
    trials: int
    records: list[Record]
    raised: int  # contacts whose kappa is larger than it should be, for the start to be inside


def retreat(objective: Objective, v: Array, step: Array) -> Point:
    """A point short of v + step, which round-off has carried out of the domain of a barrier."""
    for k in range(30, 0, -6):
        point = objective.point(v + (1.0 - 2.0**-k) * step)
        if np.isfinite(point.cost):
            break
    return point


def minimize(
    objective: Objective,
    v: Array,
    settings: SapSettings,
    island: int = 0,
    n_islands: int = 1,
) -> Run:
    """Algorithm 1 on one objective, starting at v.

    Short of convergence the iterate with the smallest |D grad| is returned. A start outside of the
    domain of barriers is moved inside first.

    Where the objective is one of K islands, each stopped by itself, the rule (20) is sharpened so
    that it holds for the whole: from |D grad_k| <= a + r max(p_k, j_k) with a = eps_a / sqrt(K) and
    r = eps_r / sqrt(2) follows |D grad| <= eps_a + eps_r max(p, j), by the triangle inequality and
    sum_k max(p_k, j_k)^2 <= p^2 + j^2 <= 2 max(p, j)^2.
    """
    share = np.sqrt(2.0) if n_islands > 1 else 1.0
    eps_a = settings.absolute_tolerance / np.sqrt(n_islands)
    eps_r = settings.relative_tolerance / share
    cholesky = symbolic(objective)
    cholesky.single = prefers_single(objective, settings)

    def solve_for(G: Sequence[Array], b: Array) -> Array:
        if cholesky.single:
            with contextlib.suppress(NotPositiveDefinite):
                x = solve_hessian(objective, G, b, cholesky=cholesky)
                if 0.0 < b @ x < np.inf:
                    return x
            cholesky.single = False  # H is too close to singular
        return solve_hessian(objective, G, b, settings.factorization, cholesky)

    def tolerance(point: Point) -> float:
        return float(eps_a + eps_r * point.scale)  # right side of (20)

    point, raised = objective.point(v), 0
    if not np.isfinite(point.cost):
        point, raised = start_inside(objective, point.v, cholesky)
    best = point
    records = [(island, 0, 0, 0.0, point.cost, 0.0, point.momentum_error)]
    status, tree, total_trials, iteration = Status.converged, -1, 0, 0
    alpha, gradient_before = 1.0, 0.0
    factored: Sequence[Array] = point.G
    dual: tuple[Dual | None, ...] = (None,) * len(point.parts)
    idle = 0

    while True:
        if not point.finite:
            status = Status.non_finite
            break
        if point.gradient_norm <= tolerance(point):
            return Run(point, Status.converged, -1, iteration, total_trials, records, raised)
        if idle == 3:
            status = Status.stalled
            break
        if iteration == settings.max_iterations:
            status = Status.iteration_limit
            break

        # the H of before does for the last step: after a full step another one by the same H
        # leaves about the same share of the gradient
        here = point.gradient_norm
        again = abs(alpha - 1.0) < 0.1 and here**2 <= tolerance(point) * gradient_before / 2.0
        pure = point.momentum_error <= 0.01  # Newton's own H near the end

        # H dv = -grad
        G, gamma = point.G, point.gamma
        poor = iteration == 0 and point.momentum_error > settings.start_threshold
        dv = None
        try:
            if settings.turning and again:
                dv = solve_for(factored, -point.gradient)
            elif settings.turning and iteration > 0 and not pure:
                G = blend(objective, point, dual)
            elif settings.start == "sticking" and poor:
                G, gamma = sticking_system(objective, point)
                momentum = objective.times_A(point.v - objective.v_star)
                dv = solve_for(G, objective.times_J_transposed(gamma) - momentum)
                factored = G
                if point.gradient @ dv >= 0.0:
                    G, gamma, dv = point.G, point.gamma, None
            if dv is None:
                dv = solve_for(G, -point.gradient)
                factored = G
        except NotPositiveDefinite as error:
            status, tree = Status.breakdown, error.tree
            break
        line = objective.line(point, dv)
        slope, _ = line.derivatives(0.0)
        if not slope < 0.0:
            status = Status.stalled
            break

        # alpha = argmin l(v + alpha dv)
        dual = predict(objective, gamma, G, line.dv_c)
        gradient_before = point.gradient_norm
        predicted = -slope / 2.0  # decrease if l were quadratic
        if settings.line_search == "exact":
            alpha, trials = exact(line, slope, settings)
        elif predicted > 10.0 * EPS * abs(point.cost):
            alpha, trials = backtracking(line, slope, settings)
        else:
            alpha, trials = 1.0, 0  # below the round-off of l there is nothing to compare
        total_trials += trials
        decrease = -line.difference(alpha)
        before, point = point, objective.point(point.v + alpha * dv)
        if not np.isfinite(point.cost):
            point = retreat(objective, before.v, alpha * dv)
        iteration += 1
        records.append(
            (island, iteration, trials, alpha, point.cost, decrease, point.momentum_error)
        )

        # idle: at round-off, and the gradient stayed
        drowned = (
            predicted <= EPS * abs(point.cost)
            or point.gradient_norm <= EPS * point.scale
            or point.cost >= before.cost
        )
        idle += drowned and point.gradient_norm > 0.9 * best.gradient_norm
        if point.gradient_norm < best.gradient_norm:
            best = point

    return Run(best, status, tree, iteration, total_trials, records, raised)


def minimize_with_barriers(
    objective: Objective, v: Array, settings: SapSettings, island: int = 0, n_islands: int = 1
) -> Run:
    """`minimize`, and on from its result where a barrier had to be raised or is in the way.

    Where kappa was raised for the start, because a surface moves, or walls are so close that there
    is no way between them, the iterations go on with thicker layers, which are made as thin as each
    rough minimiser allows.
    """
    if not isinstance(objective.pools[0], CorePool):
        return minimize(objective, v, settings, island, n_islands)
    most, tolerance = settings.max_iterations, settings.relative_tolerance
    half = dataclasses.replace(settings, max_iterations=most - most // 2)
    run = minimize(objective, v, half, island, n_islands)
    done = not run.raised and run.status == Status.converged
    if done or run.iterations == most:
        return run

    def go_on(relative_tolerance: float) -> Run:
        rest = dataclasses.replace(
            settings,
            max_iterations=most - run.iterations,
            relative_tolerance=relative_tolerance,
        )
        part = minimize(objective, run.point.v, rest, island, n_islands)
        part.iterations += run.iterations
        part.trials += run.trials
        part.records = run.records + part.records
        return part

    raised = fit_barriers(objective, run.point, 1.0 if run.raised else 16.0)
    rounds = 0
    while raised and rounds < 20:
        run = go_on(max(tolerance, 1e-2))
        raised = fit_barriers(objective, run.point)
        rounds += 1
    return go_on(tolerance)


def solve(
    problem: ContactProblem,
    v_guess: ArrayLike | None = None,
    settings: SapSettings | None = None,
) -> Solution:
    """Solve a contact problem, like `sapwood.solve`; takes and returns what that does.

    Trees that no constraint touches keep v = v* and count nowhere, e_m included. With
    `settings.islands` each island is solved and stopped by itself; without, all are solved as one.
    """
    start = time.perf_counter()
    settings = DEFAULT_SETTINGS if settings is None else settings
    if v_guess is None:
        v_guess = problem.v_star if problem.v_guess is None else problem.v_guess
    guess = np.asarray(v_guess, dtype=float)

    island, n_islands = islands(problem.n_trees, *touching(problem))
    if settings.islands:
        groups = [np.flatnonzero(island == k) for k in range(n_islands)]
    else:
        groups = [np.flatnonzero(island >= 0)] if n_islands else []

    v = np.array(problem.v_star, dtype=float)
    kappa = np.full(problem.n_contacts, np.inf)
    runs, bounds = [], []
    # overflow is an outcome, not a warning
    with np.errstate(over="ignore", invalid="ignore"):
        for k, trees in enumerate(groups):
            objective = Objective(problem, trees, settings.soft_norm)
            start_v = guess[objective.velocities]
            run = minimize_with_barriers(objective, start_v, settings, k, len(groups))
            v[objective.velocities] = run.point.v
            runs.append(run)
            bounds.append(velocity_error_bound(objective, run.point))
            if isinstance(objective.pools[0], CorePool):
                kappa[objective.pools[0].members] = objective.pools[0].barrier.kappa

        whole = Objective(problem, np.flatnonzero(island >= 0), settings.soft_norm)
        core_scale = None
        if isinstance(whole.pools[0], CorePool):
            whole.pools[0].use(kappa)
            core_scale = whole.pools[0].core_scale
        point = whole.point(v[whole.velocities])
        e_mu = complementarity_error(whole, point)
    contacts, *rows = point.parts
    bound = float(np.linalg.norm(bounds))
    worst = max(runs, key=lambda run: int(run.status), default=None)
    history = None
    if settings.record_history:
        history = np.array([r for run in runs for r in run.records], dtype=HISTORY_DTYPE)
    return Solution(
        v=v,
        gamma=contacts.state.gamma,
        v_c=contacts.v_c,
        regions=cast("NDArray[np.int8]", contacts.state.regions),
        constraints=tuple(
            ConstraintSolution(
                part.state.gamma[:, 0],
                part.v_c[:, 0],
                (group.lower < part.state.gamma[:, 0]) & (part.state.gamma[:, 0] < group.upper),
            )
            for group, part in zip(problem.constraints, rows, strict=True)
        ),
        core_scale=core_scale,
        status=Status.converged if worst is None else worst.status,
        iterations=max((run.iterations for run in runs), default=0),
        total_iterations=sum(run.iterations for run in runs),
        line_search_trials=sum(run.trials for run in runs),
        n_islands=len(groups),
        symbolic_reused=False,
        momentum_error=point.momentum_error,
        complementarity_error=e_mu,
        velocity_error_bound=bound,
        cost_gap_bound=bound**2 / 2.0,
        cost=point.cost,
        history=history,
        timing={"seconds": time.perf_counter() - start},
        tree=-1 if worst is None else worst.tree,
    )


def complementarity_error(objective: Objective, point: Point) -> float:
    """e_mu (25): the mean over contacts and rows of |g_i . gamma_i|, over |l_p|."""
    products = [
        pool.complementarity(part.y, part.state)
        for pool, part in zip(objective.pools, point.parts, strict=True)
    ]
    every = np.concatenate(products)
    if point.cost == 0.0 or not len(every):
        return 0.0
    return float(np.mean(every) / abs(point.cost))


class SapSolver:
    """The reference behind the interface of `sapwood.SapSolver`; keeps nothing between calls."""

    def __init__(self, settings: SapSettings | None = None) -> None:
        self.settings = DEFAULT_SETTINGS if settings is None else settings

    def solve(self, problem: ContactProblem, v_guess: ArrayLike | None = None) -> Solution:
        """See `solve`."""
        return solve(problem, v_guess, self.settings)

    def evaluate(self, problem: ContactProblem, v: ArrayLike) -> Evaluation:
        """Cost, gradient (nv), Hessian (nv, nv) and Newton direction (nv) at v, of all trees."""
        objective = Objective(problem, soft_norm=self.settings.soft_norm)
        point = objective.point(v)
        return Evaluation(
            cost=point.cost,
            gradient=point.gradient,
            hessian=objective.hessian(point.G),
            direction=solve_hessian(
                objective, point.G, -point.gradient, self.settings.factorization
            ),
        )

    def along_line(
        self, problem: ContactProblem, v: ArrayLike, dv: ArrayLike, alpha: ArrayLike
    ) -> LineValues:
        """l(v + alpha dv) - l(v) and its first two derivatives in alpha, at each alpha (...)."""
        objective = Objective(problem, soft_norm=self.settings.soft_norm)
        line = objective.line(objective.point(v), dv)
        alpha = np.asarray(alpha, dtype=float)
        values = [(line.difference(a), *line.derivatives(a)) for a in alpha.ravel()]
        columns = np.array(values).reshape(-1, 3).T
        return LineValues(*(column.reshape(alpha.shape) for column in columns))

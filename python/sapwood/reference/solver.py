"""The semi-analytic primal solver: island by island, and what it reports."""

from __future__ import annotations

import dataclasses
import time
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood.problem.contact_problem import ContactProblem
from sapwood.settings import DEFAULT_SETTINGS, SapSettings
from sapwood.solution import ConstraintSolution, Solution, Status
from sapwood.solver import Evaluation, LineValues

from .barrier_pool import BarrierPool
from .certificate import velocity_error_bound
from .coulomb import minimize_coulomb, minimize_lagged
from .direction import solve_hessian
from .disk_pool import DiskPool
from .graph import islands, touching
from .newton import minimize_with_barriers
from .objective import Objective, Point

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

MINIMIZE = {
    "convex": minimize_with_barriers,
    "lagged": minimize_lagged,
    "coulomb": minimize_coulomb,
}


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
    friction_bound = np.full(problem.n_contacts, np.nan)
    runs, bounds = [], []
    # overflow is an outcome, not a warning
    with np.errstate(over="ignore", invalid="ignore"):
        for k, trees in enumerate(groups):
            objective = Objective(problem, trees, settings.soft_norm, settings.friction)
            start_v = guess[objective.velocities]
            run = MINIMIZE[settings.friction](objective, start_v, settings, k, len(groups))
            v[objective.velocities] = run.point.v
            runs.append(run)
            bounds.append(velocity_error_bound(objective, run.point))
            if isinstance(objective.pools[0], BarrierPool):
                kappa[objective.pools[0].members] = objective.pools[0].barrier.kappa
            if isinstance(objective.pools[0], DiskPool):
                friction_bound[objective.pools[0].members] = objective.pools[0].bound

        touched = np.flatnonzero(island >= 0)
        whole = Objective(problem, touched, settings.soft_norm, settings.friction)
        core_scale = None
        if isinstance(whole.pools[0], BarrierPool):
            whole.pools[0].use(kappa)
            core_scale = whole.pools[0].core_scale
        if isinstance(whole.pools[0], DiskPool):
            whole.pools[0].bound = friction_bound[whole.pools[0].members]
        point = whole.point(v[whole.velocities])
        e_c = coulomb_error(whole, point)
        e_mu = complementarity_error(whole, point)
    contacts, *rows = point.parts
    bound = float(np.linalg.norm(bounds))
    worst = max(runs, key=lambda run: int(run.status), default=None)
    status = Status.converged if worst is None else worst.status
    tolerance = settings.absolute_tolerance + settings.relative_tolerance * point.scale
    if status == Status.stalled and point.gradient_norm <= tolerance:
        status = Status.converged  # an island is at the end of precision, the whole meets (20)
    if not point.finite:  # islands that are finite may have sums that are not
        status = Status.non_finite
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
        status=status,
        iterations=max((run.iterations for run in runs), default=0),
        total_iterations=sum(run.iterations for run in runs),
        line_search_trials=sum(run.trials for run in runs),
        n_islands=len(groups),
        symbolic_reused=False,
        momentum_error=point.momentum_error,
        complementarity_error=e_mu,
        coulomb_error=e_c,
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


def coulomb_error(objective: Objective, point: Point) -> float:
    """e_c: the r of Coulomb's law in place of the gradient of e_m; NaN where friction is convex."""
    pool = objective.pools[0]
    if not isinstance(pool, DiskPool):
        return float("nan")
    given, pool.friction = pool.friction, "coulomb"
    r = objective.point(point.v).gradient_norm
    pool.friction = given
    return dataclasses.replace(point, gradient_norm=r).momentum_error


class SapSolver:
    """The reference behind the interface of `sapwood.SapSolver`; keeps nothing between calls."""

    def __init__(self, settings: SapSettings | None = None) -> None:
        self.settings = DEFAULT_SETTINGS if settings is None else settings

    def solve(self, problem: ContactProblem, v_guess: ArrayLike | None = None) -> Solution:
        """See `solve`."""
        return solve(problem, v_guess, self.settings)

    def _objective(self, problem: ContactProblem) -> Objective:
        """On all trees."""
        settings = self.settings
        return Objective(problem, soft_norm=settings.soft_norm, friction=settings.friction)

    def evaluate(self, problem: ContactProblem, v: ArrayLike) -> Evaluation:
        """Cost, gradient (nv), Hessian (nv, nv) and Newton direction (nv) at v, of all trees."""
        objective = self._objective(problem)
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
        """l(v + alpha dv) - l(v) and its first two derivatives in alpha, at each alpha (...).

        With Coulomb's friction the bounds are held at those of v.
        """
        objective = self._objective(problem)
        point = objective.point(v)
        if isinstance(objective.pools[0], DiskPool) and self.settings.friction == "coulomb":
            objective.pools[0].hold(point.parts[0].y)
        line = objective.line(point, dv)
        alpha = np.asarray(alpha, dtype=float)
        values = [(line.difference(a), *line.derivatives(a)) for a in alpha.ravel()]
        columns = np.array(values).reshape(-1, 3).T
        return LineValues(*(column.reshape(alpha.shape) for column in columns))

"""The semi-analytic primal solver: island by island, and what it reports."""

from __future__ import annotations

import dataclasses
import time
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood.problem.contact_problem import ContactProblem
from sapwood.settings import DEFAULT_SETTINGS, SapSettings
from sapwood.solution import FALLBACKS, ConstraintSolution, IslandAlgorithm, Solution, Status
from sapwood.solver import Evaluation, LineValues

from ..constraints.rigid_core_pool import RigidCorePool
from ..constraints.torsional_pool import WidePool
from ..problem.graph import islands, touching
from .certificate import velocity_error_bound
from .coulomb import minimize_coulomb, minimize_lagged
from .dense import Component, fits
from .direction import solve_hessian
from .newton import Run, minimize_with_barriers
from .objective import Objective, Point
from .proximal import is_rigid, solve_rigid

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
    """Solve a contact problem, like `sapwood.solve`; takes and returns what that does."""
    settings = DEFAULT_SETTINGS if settings is None else settings
    if v_guess is None:
        v_guess = problem.v_star if problem.v_guess is None else problem.v_guess
    guess = np.asarray(v_guess, dtype=float)
    if is_rigid(problem, settings):
        return solve_rigid(problem, guess, settings, solve_compliant)
    return solve_compliant(problem, guess, settings)


def _solve_islands(
    objectives: list[Objective], guess: NDArray[np.float64], settings: SapSettings
) -> tuple[list[Run], tuple[IslandAlgorithm, ...]]:
    """Solve each island: a small one for its impulses, all others for their velocities.

    An island whose impulses are not found is solved for its velocities too.
    """
    runs, algorithms = [], []
    for k, objective in enumerate(objectives):
        start, n = guess[objective.velocities], len(objectives)
        small = fits(objective, settings)
        run = Component(objective).solve(start, settings, k, n) if small else None
        if run is not None:
            algorithm = IslandAlgorithm("delassus", "dense")
        else:
            run = MINIMIZE[settings.friction](objective, start, settings, k, n)
            taken = {*run.fallbacks, "supernodal"} if small else run.fallbacks
            algorithm = IslandAlgorithm(
                "coulomb" if settings.friction == "coulomb" else "newton",
                "supernodal",
                tuple(name for name in FALLBACKS if name in taken),
            )
        runs.append(run)
        algorithms.append(algorithm)
    return runs, tuple(algorithms)


def _evaluate_whole(
    problem: ContactProblem,
    touched: NDArray[np.intp],
    objectives: list[Objective],
    runs: list[Run],
    settings: SapSettings,
) -> tuple[Objective, Point, NDArray[np.float64] | None]:
    """The objective of all islands at their velocities, and the scale of rigid cores."""
    whole = Objective(problem, touched, settings.soft_norm, settings.friction)
    v = np.array(problem.v_star, dtype=float)
    kappa = np.full(problem.n_contacts, np.inf)
    friction_bound = np.full(problem.n_contacts, np.nan)
    for objective, run in zip(objectives, runs, strict=True):
        v[objective.velocities] = run.point.v
        if isinstance(objective.pools[0], RigidCorePool):
            kappa[objective.pools[0].members] = objective.pools[0].barrier.kappa
        for law in objective.disks:
            friction_bound[law.members] = law.bound
    core_scale = None
    if isinstance(whole.pools[0], RigidCorePool):
        whole.pools[0].use(kappa)
        core_scale = np.ones(problem.n_contacts)
        core_scale[whole.pools[0].members] = whole.pools[0].core_scale
    for law in whole.disks:
        law.bound = friction_bound[law.members]
    return whole, whole.point(v[whole.velocities]), core_scale


def _status(runs: list[Run], point: Point, settings: SapSettings) -> Status:
    """The worst status of all islands, seen from the whole problem."""
    status = max((run.status for run in runs), key=int, default=Status.converged)
    tolerance = settings.absolute_tolerance + settings.relative_tolerance * point.scale
    if status == Status.stalled and point.gradient_norm <= tolerance:
        status = Status.converged  # an island is at the end of precision, the whole meets (20)
    if not point.finite:  # islands that are finite may have sums that are not
        status = Status.non_finite
    return status


def solve_compliant(
    problem: ContactProblem, guess: NDArray[np.float64], settings: SapSettings
) -> Solution:
    """Solve a contact problem whose R is large enough for double precision.

    Trees that no constraint touches keep v = v* and count nowhere, e_m included. With
    `settings.islands` each island is solved and stopped by itself; without, all are solved as one.
    """
    start = time.perf_counter()
    island, n_islands = islands(problem.n_trees, *touching(problem))
    touched = np.flatnonzero(island >= 0)
    if settings.islands:
        groups = [np.flatnonzero(island == k) for k in range(n_islands)]
    else:
        groups = [touched] if n_islands else []
    # overflow is an outcome, not a warning
    with np.errstate(over="ignore", invalid="ignore"):
        objectives = [
            Objective(problem, trees, settings.soft_norm, settings.friction) for trees in groups
        ]
        runs, algorithms = _solve_islands(objectives, guess, settings)
        bounds = [
            velocity_error_bound(objective, run.point)
            for objective, run in zip(objectives, runs, strict=True)
        ]
        whole, point, core_scale = _evaluate_whole(problem, touched, objectives, runs, settings)
        e_c = coulomb_error(whole, point)
        e_mu = complementarity_error(whole, point)
    v = np.array(problem.v_star, dtype=float)
    v[whole.velocities] = point.v
    rows = point.parts[len(whole.contacts) :]
    bound = float(np.linalg.norm(bounds))
    worst = max(runs, key=lambda run: int(run.status), default=None)
    history = None
    if settings.record_history:
        history = np.array([r for run in runs for r in run.records], dtype=HISTORY_DTYPE)
    return Solution(
        v=v,
        **gather_contacts(problem, whole, point),
        constraints=tuple(
            ConstraintSolution(
                part.state.gamma[:, 0],
                part.v_c[:, 0],
                (group.lower < part.state.gamma[:, 0]) & (part.state.gamma[:, 0] < group.upper),
            )
            for group, part in zip(problem.constraints, rows, strict=True)
        ),
        core_scale=core_scale,
        status=_status(runs, point, settings),
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
        algorithm=algorithms,
    )


def gather_contacts(problem: ContactProblem, objective: Objective, point: Point) -> dict[str, Any]:
    """The contacts of a solution, in the order of the problem."""
    n = problem.n_contacts
    gamma, v_c, regions = np.zeros((n, 3)), np.zeros((n, 3)), np.zeros(n, dtype=np.int8)
    spin_gamma = None if problem.spin_contact is None else np.zeros((problem.n_spins, 3))
    for pool, part in zip(objective.contacts, objective.contact_parts(point), strict=True):
        gamma[pool.members] = part.state.gamma[:, :3]
        v_c[pool.members] = part.v_c[:, :3]
        regions[pool.members] = cast("NDArray[np.int8]", part.state.regions)
        if isinstance(pool, WidePool) and spin_gamma is not None:
            spin_gamma[pool.spins] = pool.own(part.state.gamma)
    spin_v_c = None
    if spin_gamma is not None:
        v = np.array(problem.v_star)
        v[objective.velocities] = point.v
        spin_v_c = (problem.spin_jacobian() @ v).reshape(-1, 3)
    return {
        "gamma": gamma,
        "v_c": v_c,
        "regions": regions,
        "spin_gamma": spin_gamma,
        "spin_v_c": spin_v_c,
    }


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
    if not objective.disks:
        return float("nan")
    given = objective.disks[0].friction
    objective.let_act("coulomb")
    r = objective.point(point.v).gradient_norm
    objective.let_act(given)
    return dataclasses.replace(point, gradient_norm=r).momentum_error


class SapSolver:
    """The reference behind the interface of `sapwood.SapSolver`; keeps nothing between calls."""

    def __init__(self, settings: SapSettings | None = None) -> None:
        self.settings = DEFAULT_SETTINGS if settings is None else settings

    def solve(self, problem: ContactProblem, v_guess: ArrayLike | None = None) -> Solution:
        """See `solve`."""
        return solve(problem, v_guess, self.settings)

    def _at(self, problem: ContactProblem, v: ArrayLike) -> tuple[Objective, Point]:
        """The objective on all trees, at v."""
        settings = self.settings
        objective = Objective(problem, soft_norm=settings.soft_norm, friction=settings.friction)
        point = objective.point(v)
        if settings.friction == "lagged":
            objective.find_unknown(point)
            point = objective.point(v)
        return objective, point

    def evaluate(self, problem: ContactProblem, v: ArrayLike) -> Evaluation:
        """Cost, gradient (nv), Hessian (nv, nv) and Newton direction (nv) at v, of all trees.

        Bounds of lagged friction that are not known are mu gamma_n at v.
        """
        objective, point = self._at(problem, v)
        return Evaluation(
            cost=point.cost,
            gradient=point.gradient,
            hessian=objective.hessian(point.G),
            direction=solve_hessian(objective, point.G, -point.gradient),
        )

    def along_line(
        self, problem: ContactProblem, v: ArrayLike, dv: ArrayLike, alpha: ArrayLike
    ) -> LineValues:
        """l(v + alpha dv) - l(v) and its first two derivatives in alpha, at each alpha (...).

        With Coulomb's friction the bounds are held at those of v.
        """
        objective, point = self._at(problem, v)
        if self.settings.friction == "coulomb":
            objective.hold(point)
        line = objective.line(point, dv)
        alpha = np.asarray(alpha, dtype=float)
        values = [(line.difference(a), *line.derivatives(a)) for a in alpha.ravel()]
        columns = np.array(values).reshape(-1, 3).T
        return LineValues(*(column.reshape(alpha.shape) for column in columns))

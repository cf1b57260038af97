"""Coulomb's friction: b = mu gamma_n of the disk law at the velocity that is looked for.

With the impulses gamma(v) of the disk law (`disk`) whose bounds follow from v, solves

    r(v) = A (v - v*) - J^T gamma(v) = 0

by a semismooth Newton method. There is no cost: where a contact slides, friction depends on the
normal velocity and not the other way round, and of -dgamma/dv_c

    U_tn = -dgamma_t/dv_n = mu t/R_n    of contacts that slide, y_n > 0

comes to G, unsymmetric: (A + J^T (G + U) J) dv = -r. Contacts whose slip the last step reversed
stick in the next system (`reversals`). Where the full step is not the solution, contacts in dispute
are solved exactly beside it (`disputes`), and the best of these steps is taken.
Where eight iterations do not lower |D r| by a tenth, the search alternates between two iterates, or
a step is not finite, the bounds are held for one convex solve: a step of the fixed point
b = mu gamma_n(b). Where five iterations from its result bring nothing, the next such step follows
from there.

The first step is the whole of the sticking start of `direction`, unless the guess is fair: no law
of friction differs from another where contacts stick. Where the last step leaves a share of |D r|
that is small enough, its factorization serves for the next one.
|D r| over the scale of (20) is e_c, and (20) the criterion. A solution exists (csrc/sap/coulomb.h),
perhaps several; nothing is proved of the approach.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from sapwood.settings import SapSettings
from sapwood.solution import Status

from ..constraints.disk_pool import DiskPool
from ..constraints.pools import Dual
from ..constraints.torsional_pool import WidePool
from ..linalg.cholesky import NotPositiveDefinite
from ..linalg.unsymmetric import UnsymmetricFactor
from .direction import blend, predict, sticking_system
from .disputes import (
    DISPUTED,
    MORE_ROUNDS,
    Disputes,
    Effort,
    effort_after,
    unsymmetric_matrix,
)
from .newton import Newton, Run, first_part, nothing_moves, round_off
from .objective import Objective, Point
from .reversals import stick_reversed

Array = NDArray[np.float64]

LAGGED_ROUGH = 1e-2
"""e_c of the solve that finds the bounds of contacts that have none."""

FAIR = 0.3
"""e_c of a guess up to which the search starts without the sticking start."""

TURNING_ABOVE = 1e-2
"""e_c above which the curvature is primal-dual."""

DESCENT = 0.9
"""A step that leaves more of |D r| is refused: it and the next one take more effort."""

SHARE = 0.1
"""Tolerance of a convex solve with fixed bounds, relative to e_c."""

SAME = 1e-3
"""Relative change of |D r| in one or two iterations below which further ones repeat it."""

STUCK, STAGNATION, TRIAL, MOST_FIXED_POINT_STEPS = 3, 8, 5, 30
"""Iterations that do not lower |D r| by a tenth before steps are those of the last round, before
bounds are held, and before they are held again; how often in a row."""


def minimize_lagged(
    objective: Objective, v: Array, settings: SapSettings, island: int = 0, n_islands: int = 1
) -> Run:
    """One convex solve with the bounds fixed; unknown bounds come from a rough solve before."""
    parts = Parts(objective, settings, island, n_islands)
    disks = objective.disks
    bounds = [law.bound for law in disks]
    if any(np.any(np.isnan(bound)) for bound in bounds):
        tolerance = max(settings.relative_tolerance, LAGGED_ROUGH)
        rough = dataclasses.replace(
            settings, relative_tolerance=tolerance, max_iterations=first_part(settings)
        )
        parts.run = minimize_coulomb(objective, v, rough, island, n_islands)
        v, contacts = parts.run.point.v, objective.contact_parts(parts.run.point)
        found = [law.mu * part.state.gamma[:, 2] for law, part in zip(disks, contacts, strict=True)]
        bounds = [np.where(np.isnan(b), f, b) for b, f in zip(bounds, found, strict=True)]
    for law, bound in zip(disks, bounds, strict=True):
        law.friction, law.bound = "lagged", bound
    parts.solve(v)
    return parts.run


def minimize_coulomb(
    objective: Objective, v: Array, settings: SapSettings, island: int = 0, n_islands: int = 1
) -> Run:
    """Solve r(v) = 0 from v; short of convergence the iterate with the least e_c."""
    return Coulomb(objective, settings, island, n_islands).solve(v)


def coupling(objective: Objective, point: Point) -> tuple[Array, ...]:
    """U (n, r, r) of each pool, which is 0 for rows."""
    return tuple(
        pool.coupling(part.y)
        if isinstance(pool, DiskPool | WidePool)
        else np.zeros(part.state.G.shape)
        for pool, part in zip(objective.pools, point.parts, strict=True)
    )


class Parts:
    """Convex solves one after the other, which share the limit of iterations."""

    def __init__(
        self, objective: Objective, settings: SapSettings, island: int, n_islands: int
    ) -> None:
        if not objective.disks:
            raise TypeError("the contacts of the objective are under another law")
        self.objective, self.settings = objective, settings
        self.island, self.n_islands = island, n_islands
        self.run = Run(objective.point(objective.v_star), Status.converged, -1, 0, 0, [], 0)

    def solve(self, v: Array, tolerance: float = 0.0) -> None:
        """Minimise with friction as it acts at present, to e_m <= tolerance at least."""
        run, settings = self.run, self.settings
        rest = dataclasses.replace(
            settings,
            relative_tolerance=max(settings.relative_tolerance, tolerance),
            max_iterations=settings.max_iterations - run.iterations,
            start=settings.start if run.iterations == 0 else "newton",
        )
        part = Newton(self.objective, rest, self.n_islands).minimize(v, self.island)
        run.records += [(r[0], run.iterations + r[1], *r[2:]) for r in part.records]
        run.iterations += part.iterations
        run.trials += part.trials
        run.point, run.status, run.tree = part.point, part.status, part.tree
        run.fallbacks |= part.fallbacks


class Coulomb:
    """The iteration on one objective, with its memory of earlier iterates."""

    def __init__(
        self, objective: Objective, settings: SapSettings, island: int = 0, n_islands: int = 1
    ) -> None:
        self.parts = Parts(objective, settings, island, n_islands)
        self.objective, self.run = objective, self.parts.run
        self.settings = settings
        self.newton = Newton(objective, settings, n_islands)  # its stopping rule and factor
        self.newton.cholesky.single = False
        self.dual: tuple[Dual | None, ...] = (None,) * len(objective.pools)
        self.predicts = False  # whether the last direction predicts the next one
        self.solve_again: Callable[[Array], Array] = self.newton.solve_again  # by the last factor
        self.law: Sequence[Array] = ()  # K of the last factor
        self.gamma: Sequence[Array] = ()  # impulses of the linear law at the last iterate
        self.start: Point | None = None  # the last step began here
        self.was_refused = False  # whether the last step did not lower |D r| by a tenth
        # length of the last step, |D r| before it and before the step ahead of that one
        self.alpha, self.before, self.earlier = 0.0, 0.0, 0.0
        self.reference_norm = np.inf  # |D r| at its last decrease by a tenth
        # since then: iterations, STAGNATION after a direction that led up; solves with bounds held
        self.stagnation = self.fixed_point_steps = 0
        self.held = self.objective.v_star  # velocities of the last minimiser with bounds held

    def at(self, v: Array) -> Point:
        """r and the impulses of Coulomb's law at v."""
        self.objective.let_act("coulomb")
        return self.objective.point(v)

    def solve(self, v: Array) -> Run:
        """Iterate from v."""
        run, point = self.run, self.at(v)
        poor = point.momentum_error > max(self.settings.start_threshold, FAIR)
        sticks = poor and self.settings.start == "sticking"
        best, alpha, trials = point, 0.0, 0
        while True:
            run.records.append((self.parts.island, run.iterations, trials, alpha, point.cost, 0.0,
                                point.momentum_error))  # fmt: skip
            if point.momentum_error < best.momentum_error:
                best = point
            status = self.outcome(point)
            if status is not None:
                break
            if self.stagnation == STAGNATION:
                if self.fixed_point_steps > 0 and best.gradient_norm <= round_off(
                    self.objective, point
                ):
                    status = Status.stalled
                    break
                point, alpha, trials = self.hold(point), 0.0, 0
                continue
            try:
                before, stuck = point, self.stick(point) if sticks else None
                if stuck:
                    (point, trials), alpha = stuck, 1.0
                else:
                    point, alpha, trials = self.advance(point, self.direction(point))
            except NotPositiveDefinite as error:
                status, run.tree = Status.breakdown, error.tree
                break
            sticks = False
            self.start = before
            self.alpha, self.before, self.earlier = alpha, before.gradient_norm, self.before
            run.trials += trials
            run.iterations += 1
            self.note(point)
            if self.repeats(point) or not alpha > 0.0:
                self.stagnation = STAGNATION
        if status == Status.stalled and best.gradient_norm <= self.newton.tolerance(best):
            status = Status.converged
        run.status, run.point = status, point if status == Status.converged else best
        return run

    def note(self, point: Point) -> None:
        """Count the iteration that led to this point."""
        if point.gradient_norm < DESCENT * self.reference_norm:
            self.reference_norm, self.stagnation, self.fixed_point_steps = point.gradient_norm, 0, 0
        else:
            self.stagnation += 1

    def repeats(self, point: Point) -> bool:
        """Whether the search stays at an iterate, or alternates between two."""
        now = point.gradient_norm
        return min(abs(now - self.before), abs(now - self.earlier)) <= SAME * now

    def outcome(self, point: Point) -> Status | None:
        """The status of the iterations at this point; None if they go on."""
        if not point.finite:
            return Status.non_finite
        if point.gradient_norm <= self.newton.tolerance(point):
            return Status.converged
        if nothing_moves(self.objective, point):
            return Status.converged
        over = self.fixed_point_steps == MOST_FIXED_POINT_STEPS
        if self.run.iterations == self.settings.max_iterations or over:
            return Status.friction_limit
        return None

    def stick(self, point: Point) -> tuple[Point, int] | None:
        """The minimiser of the quadratic in which every touching contact sticks.

        None if H breaks down.
        """
        objective = self.objective
        G, gamma, b = sticking_system(objective, point)
        try:
            dv = self.newton.solve_system(G, b)
        except NotPositiveDefinite:
            return None
        self.law, self.solve_again = G, self.newton.solve_again
        objective.let_act("convex")  # contacts that stick are not coupled
        self.dual = predict(objective, gamma, G, objective.times_J(dv))
        objective.let_act("coulomb")
        disputes = Disputes(objective, point, G, gamma, self.solve_again)
        after, trials = disputes.settle(
            objective.point(point.v + dv),
            Effort(DISPUTED, MORE_ROUNDS, np.inf),
            self.newton.tolerance,
        )
        self.predicts = True
        return after, 1 + trials

    def factor_suffices(self, point: Point) -> bool:
        """Whether the factorization of the iteration before will do for the last step."""
        most = self.newton.tolerance(point) * self.before / 2.0
        return self.predicts and self.alpha == 1.0 and point.gradient_norm**2 <= most

    def direction(self, point: Point) -> Array:
        """(A + J^T (G + U) J) dv = -r; keeps the prediction of the linearized law."""
        objective, newton = self.objective, self.newton
        turning = self.settings.turning and self.predicts and point.momentum_error > TURNING_ABOVE
        again = self.settings.turning and self.factor_suffices(point)
        U = coupling(objective, point)
        G, self.gamma, b = point.G, point.gamma, -point.gradient
        if turning and not again and self.start is not None:
            G = blend(objective, point, self.dual)
            G, U, self.gamma = stick_reversed(objective, self.start, point, G, U)
            change = [a - b for a, b in zip(self.gamma, point.gamma, strict=True)]
            b = b + objective.times_J_transposed(change)
        both = [G_k + U_k for G_k, U_k in zip(G, U, strict=True)]
        coupled = any(np.any(U_k) for U_k in U) and not again
        unsymmetric = self.factor(both) if coupled else None
        if coupled and unsymmetric is None:
            both = list(G)
        self.law = self.law if again else both
        if unsymmetric is not None:
            self.solve_again = unsymmetric.solve
        if again or unsymmetric is not None:
            dv = self.solve_again(b)
        else:
            dv = newton.solve_system(G, b)
            self.solve_again = newton.solve_again
        self.dual = predict(objective, self.gamma, both, objective.times_J(dv))
        self.predicts = True
        return dv

    def factor(self, K: Sequence[Array]) -> UnsymmetricFactor | None:
        """The factor of A + J^T K J; None where it breaks down, and U is left out."""
        try:
            return UnsymmetricFactor(unsymmetric_matrix(self.objective, K))
        except ZeroDivisionError:
            self.run.fallbacks.add("symmetric")
            return None

    def advance(self, point: Point, dv: Array) -> tuple[Point, float, int]:
        """The point after a step, its length and the evaluations that it took.

        The full step, or one with contacts in dispute: the best, or the last without progress. The
        length is 0 if that is not finite.
        """
        after, trials = self.at(point.v + dv), 1
        disputes = Disputes(self.objective, point, self.law, self.gamma, self.solve_again)
        stuck = self.stagnation >= STUCK
        effort = effort_after(self.was_refused, stuck, DESCENT * point.gradient_norm)
        after, more = disputes.settle(after, effort, self.newton.tolerance)
        trials += more
        self.was_refused = not after.gradient_norm <= DESCENT * point.gradient_norm
        if np.isfinite(after.momentum_error):
            return after, 1.0, trials
        return self.at(point.v), 0.0, trials + 1

    def hold(self, point: Point) -> Point:
        """The minimiser with the bounds fixed at the point's, or at those of the last minimiser."""
        if self.fixed_point_steps > 0:
            point = self.at(self.held)
        self.objective.hold(point)
        self.parts.solve(point.v, SHARE * point.momentum_error)
        self.run.fallbacks.add("bounds_held")
        self.fixed_point_steps += 1
        self.predicts, self.before = False, 0.0
        self.stagnation, self.held = STAGNATION - TRIAL, self.run.point.v
        return self.at(self.held)

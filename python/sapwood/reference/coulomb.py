"""Coulomb's friction: b = mu gamma_n of the disk law at the velocity that is looked for.

With the impulses gamma(v) of the disk law (`disk`) whose bounds follow from v, solves

    r(v) = A (v - v*) - J^T gamma(v) = 0

by a semismooth Newton method. There is no cost: where a contact slides, friction depends on the
normal velocity and not the other way round, and of -dgamma/dv_c

    U_tn = -dgamma_t/dv_n = mu t/R_n    of contacts that slide, y_n > 0

comes to G, unsymmetric. (A + J^T (G + U) J) dv = -r is solved by GMRES, with the Cholesky factor of
A + J^T G J as its preconditioner. The full step is taken where |D r| falls; else the step goes to
the minimum, along the same direction, of the convex cost with the bounds held at those of the
iterate. Where eight iterations do not lower |D r| by a tenth, or dv leads up, the bounds are held
for one convex solve: a step of the fixed point b = mu gamma_n(b), and on from there; after eight
that bring nothing, once, from the minimiser with convex friction.

Small islands begin with steps to the impulses that contacts have in the space of these alone
(`impulses`), as long as these lower |D r|. Else, and of a body or two before these, the first step
is the whole of the sticking start of `direction`, unless the guess is close already, or fair and
that leads away: no law of friction differs from another where contacts stick. Where the last step
leaves a share of |D r| that is small enough, its factorization serves for the next one.
|D r| over the scale of (20) is e_c, and (20) the criterion. A solution exists
(csrc/solver/coulomb/coulomb.h), perhaps several; nothing is proved of the approach.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sapwood.settings import SapSettings
from sapwood.solution import Status

from .cholesky import NotPositiveDefinite
from .direction import blend, predict, sticking_system
from .disk_pool import DiskPool
from .impulses import FEW_SCALARS, fits, impulse_direction
from .krylov import gmres
from .line_search import exact
from .newton import Newton, Run, first_part, nothing_moves, round_off
from .objective import Objective, Point
from .pools import Dual
from .wide_pool import WidePool

Array = NDArray[np.float64]

LAGGED_ROUGH = 1e-2
"""e_c of the solve that finds the bounds of contacts that have none."""

ROUGH = 1e-6
"""What may be left of the impulses that contacts have by themselves."""

FAIR = 0.3
"""e_c of a guess from which the sticking start must not lead away."""

TURNING_ABOVE = 1e-2
"""e_c above which the curvature is that of primal-dual friction."""

DESCENT = 0.9
"""A full step leaves no more of |D r| than this."""

SHARE = 0.1
"""Of e_c: e_m of a convex solve with bounds held."""

STAGNATION, MOST_FIXED_POINT_STEPS = 8, 8
"""Iterations that do not lower |D r| by a tenth before bounds are held, and how often in a row."""

KRYLOV, KRYLOV_TOLERANCE = 5, 1e-2
"""Products and accuracy of a direction: an inexact Newton method."""


def minimize_lagged(
    objective: Objective, v: Array, settings: SapSettings, island: int = 0, n_islands: int = 1
) -> Run:
    """One convex solve with the bounds held; those that are not known from a rough one before."""
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
    """The iteration on one objective, and what it needs to know of the iterates before."""

    def __init__(
        self, objective: Objective, settings: SapSettings, island: int = 0, n_islands: int = 1
    ) -> None:
        self.parts = Parts(objective, settings, island, n_islands)
        self.objective, self.run = objective, self.parts.run
        self.settings = settings
        self.newton = Newton(objective, settings, n_islands)  # its stopping rule and factor
        self.dual: tuple[Dual | None, ...] = (None,) * len(objective.pools)
        self.predicts = False  # whether the last direction tells of the next one
        self.factored: Sequence[Array] = ()  # G of the last factorization
        # of the last step: its length, and |D r| before it
        self.alpha, self.before = 0.0, 0.0
        self.reference_norm = np.inf  # |D r| at its last decrease by a tenth
        # since then: iterations, STAGNATION after a direction that led up; solves with bounds held
        self.stagnation = self.fixed_point_steps = 0
        self.restarted = False  # whether it began again from convex friction
        self.in_impulses = False  # are contacts still solved for in the space of their impulses?
        self.impulses: Array | None = None  # what that found last

    def at(self, v: Array) -> Point:
        """r and the impulses of Coulomb's law at v."""
        self.objective.let_act("coulomb")
        return self.objective.point(v)

    def solve(self, v: Array) -> Run:
        """Iterate from v."""
        run, point = self.run, self.at(v)
        poor = point.momentum_error > self.settings.start_threshold
        sticks = poor and self.settings.start == "sticking"
        plain = self.settings.start == "sticking" and not self.settings.soft_norm
        self.in_impulses = plain and fits(self.objective)
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
                on = (
                    self.hold(point)
                    if self.fixed_point_steps < MOST_FIXED_POINT_STEPS
                    else self.restart(point)
                )
                point, alpha, trials = on, 0.0, 0
                continue
            try:
                before, apart = point, self.solve_contacts(point)
                stuck = self.stick(point) if sticks and not apart else None
                if apart:
                    point, alpha, trials = apart, 1.0, 1
                elif stuck:
                    point, alpha, trials = stuck, 1.0, 1
                else:
                    point, alpha, trials = self.advance(point, self.direction(point))
            except NotPositiveDefinite as error:
                status, run.tree = Status.breakdown, error.tree
                break
            sticks = False
            self.alpha, self.before = alpha, before.gradient_norm
            run.trials += trials
            run.iterations += 1
            self.note(point)
            self.stagnation = self.stagnation if alpha > 0.0 else STAGNATION
        if status == Status.stalled and best.gradient_norm <= self.newton.tolerance(best):
            status = Status.converged
        if self.newton.left_single:
            run.fallbacks.add("double")
        run.status, run.point = status, point if status == Status.converged else best
        return run

    def note(self, point: Point) -> None:
        """Count the iteration that led to this point."""
        if point.gradient_norm < DESCENT * self.reference_norm:
            self.reference_norm, self.stagnation, self.fixed_point_steps = point.gradient_norm, 0, 0
        else:
            self.stagnation += 1

    def outcome(self, point: Point) -> Status | None:
        """How the iterations end at this point; None where they go on."""
        if not point.finite:
            return Status.non_finite
        if point.gradient_norm <= self.newton.tolerance(point):
            return Status.converged
        if nothing_moves(self.objective, point):
            return Status.converged
        over = self.fixed_point_steps == MOST_FIXED_POINT_STEPS and self.restarted
        if self.run.iterations == self.settings.max_iterations or over:
            return Status.friction_limit
        return None

    def solve_contacts(self, point: Point) -> Point | None:
        """The point with the impulses that contacts have in the space of these alone.

        None where that does not lower |D r|.
        """
        late = self.objective.nv <= FEW_SCALARS and self.run.iterations == 0
        if late or not self.in_impulses:
            return None
        self.in_impulses = False
        try:
            dv, rest, self.impulses = impulse_direction(self.objective, point, self.impulses)
        except np.linalg.LinAlgError:
            return None
        after = self.at(point.v + dv)
        if not after.gradient_norm <= DESCENT * point.gradient_norm:
            return None
        self.in_impulses, self.predicts = rest <= ROUGH, False
        return after

    def stick(self, point: Point) -> Point | None:
        """The minimiser of the quadratic in which every touching contact sticks.

        None where that leads away from a point that is fair, or H breaks down.
        """
        objective = self.objective
        G, gamma, b = sticking_system(objective, point)
        try:
            dv = self.newton.solve_system(G, b)
        except NotPositiveDefinite:
            return None
        objective.let_act("convex")  # what sticks is not coupled
        self.dual = predict(objective, gamma, G, objective.times_J(dv))
        after = self.at(point.v + dv)
        if point.momentum_error < FAIR and after.gradient_norm > point.gradient_norm:
            return None
        self.factored, self.predicts = G, True
        return after

    def factor_suffices(self, point: Point) -> bool:
        """Whether the factorization of the iteration before will do for the last step."""
        most = self.newton.tolerance(point) * self.before / 2.0
        return self.predicts and self.alpha == 1.0 and point.gradient_norm**2 <= most

    def direction(self, point: Point) -> Array:
        """(A + J^T (G + U) J) dv = -r; and what the law linearized at the full step says."""
        objective, newton = self.objective, self.newton
        turning = self.settings.turning and self.predicts and point.momentum_error > TURNING_ABOVE
        again = self.settings.turning and self.factor_suffices(point)
        if not again:
            self.factored = blend(objective, point, self.dual) if turning else point.G
        G = self.factored
        U = coupling(objective, point)

        def times(x: Array) -> Array:
            """(I + H^-1 J^T U J) x."""
            coupled = [
                np.einsum("ijk,ik->ij", U_k, x_c)
                for U_k, x_c in zip(U, objective.times_J(x), strict=True)
            ]
            if not any(np.any(gamma) for gamma in coupled):
                return x
            return x + newton.solve_again(objective.times_J_transposed(coupled))

        b = -point.gradient
        dv = newton.solve_again(b) if again else newton.solve_system(G, b)
        dv = gmres(times, dv, objective.D**-2, KRYLOV_TOLERANCE, KRYLOV)
        G = point.G if again else G
        both = [G_k + U_k for G_k, U_k in zip(G, U, strict=True)]
        self.dual = predict(objective, point.gamma, both, objective.times_J(dv))
        self.predicts = True
        return dv

    def advance(self, point: Point, dv: Array) -> tuple[Point, float, int]:
        """The point after a step, its length and the evaluations that it took.

        The full step where |D r| falls by a tenth or more; else to the minimum along dv of the cost
        with the bounds held at those of the point. The length is 0 where dv does not descend in it.
        """
        after = self.at(point.v + dv)
        if after.gradient_norm <= DESCENT * point.gradient_norm:
            return after, 1.0, 1
        self.objective.hold(point)
        line = self.objective.line(point, dv)
        slope, _ = line.derivatives(0.0)
        if not slope < 0.0:
            return point, 0.0, 1
        alpha, trials = exact(line, slope, self.settings)
        return self.at(point.v + alpha * dv), alpha, 1 + trials

    def hold(self, point: Point) -> Point:
        """The minimiser with bounds held at those of the point."""
        self.objective.hold(point)
        self.parts.solve(point.v, SHARE * point.momentum_error)
        self.run.fallbacks.add("bounds_held")
        self.predicts, self.stagnation, self.fixed_point_steps = (
            False,
            0,
            self.fixed_point_steps + 1,
        )
        return self.at(self.run.point.v)

    def restart(self, point: Point) -> Point:
        """The minimiser with convex friction, as exact as the solution is wanted."""
        self.objective.let_act("convex")
        self.parts.solve(point.v)
        self.run.fallbacks.add("convex_restart")
        self.predicts, self.stagnation, self.fixed_point_steps, self.restarted = False, 0, 0, True
        self.reference_norm = np.inf
        return self.at(self.run.point.v)

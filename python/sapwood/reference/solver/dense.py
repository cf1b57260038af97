"""Components in dense storage, by the impulses of their constraints: solver/dense/dense.h.

A component is the velocities of the trees that constraints connect. A small one is solved by the
semismooth Newton method of `impulses` on its Delassus problem, without a graph or an order.
With few rows all impulses are unknown, and one step from v* is exact:

    v = v* + A^-1 J^T gamma,   gamma: the law at v_hat - J v* - J A^-1 J^T gamma

With many rows most of them keep their state at an iterate v, free or at a bound. At the first one
rows at a bound that ask for a velocity are free if they would be off it alone. The free ones are
condensed into H = A + sum J_r^T J_r/R_r, and

    dv = H^-1 (b + J^T gamma),   b = J_r^T gamma_r - A (v - v*)

with the impulses gamma of contacts and of the rows that the step itself frees or brings to a bound:
these become unknowns before it ends, one round after the other. Where the steps that are allowed do
not suffice the component is solved in the other storage, from its beginning.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from sapwood.laws.rigid_core import CoreKind
from sapwood.settings import SapSettings
from sapwood.solution import Status

from ..constraints.pools import RowPool
from ..constraints.rigid_core_pool import RigidCorePool
from ..constraints.torsional_pool import WidePool
from .impulses import Impulses, unknowns
from .newton import Newton, Run
from .objective import Objective, Point

Array = NDArray[np.float64]
Index = NDArray[np.intp]

MOST_STEPS, MOST_SCALARS, MOST_SCALARS_WITH_CONTACTS = 4, 64, 128
MOST_IMPULSES, FEWER_IMPULSES = 48, 24
FEW_ROWS, MOST_UNKNOWN_ROWS = 6, 24
WIDE = 24
"""Velocities beyond which impulses of two thirds as many are unknowns, with rows that have bounds.
"""

DESCENT = 0.5
"""A step that leads to the end leaves no more of the gradient than this."""

AT_REST = 1e-3
"""Share of the speed that the free motion gains: a guess below it is at rest."""

LEAST_REMAINDER = 1e-6
"""Share of R: the least diagonal of a row whose free part is taken out of H."""


def fits(objective: Objective, settings: SapSettings) -> bool:
    """Whether the component is small, with contacts under Coulomb's or the convex law or none."""
    rows = unknowns(objective)
    most = MOST_SCALARS_WITH_CONTACTS if rows else MOST_SCALARS
    if not settings.islands or objective.nv > most:
        return False
    if not rows:
        return True
    taken = settings.friction != "lagged" and settings.start == "sticking"
    if not taken or settings.soft_norm or _has_core(objective):
        return False
    n_impulses = sum(len(contact) for contact in rows)
    n_rows = sum(pool.R.size for pool in objective.pools[len(objective.contacts) :])
    plain = n_impulses == 3 * len(rows) and n_rows <= FEW_ROWS and len(objective.trees) == 1
    if settings.friction == "convex":  # few, and a chain: branches have zeros in the last row
        chain = all(bool(np.all(A[-1] != 0.0)) for A in objective.A.values())
        few = n_impulses <= MOST_IMPULSES and 3 * n_impulses <= 2 * objective.nv
        return plain and chain and few
    most = MOST_IMPULSES if plain else max(FEWER_IMPULSES, objective.nv)
    return n_impulses <= min(most, MOST_IMPULSES)


class Component:
    """A component: its constraints as dense rows, those of contacts first.

    Parameters
    ----------
    objective : Objective
        Of its trees.
    """

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        self.n_pools = n = len(objective.contacts)
        pools = objective.contacts
        contact_rows = unknowns(objective)
        self._every = np.concatenate([np.zeros(0, dtype=np.intp), *contact_rows])
        self.n_impulses = len(self._every)
        self.first = np.cumsum([0, *(len(rows) for rows in contact_rows)])
        laws = (pool.law if isinstance(pool, WidePool) else pool for pool in pools)
        self.mu = np.concatenate([np.zeros(0), *(law.mu for law in laws)])
        columns = [objective.times_J(e) for e in np.eye(objective.nv)]
        self.J = np.column_stack([self._of_contacts(column[:n]) for column in columns])
        self.J_r = np.column_stack([_join(column[n:]) for column in columns])
        rows = [pool for pool in objective.pools[n:] if isinstance(pool, RowPool)]
        self.R, self.R_r = self._of_contacts(p.R for p in pools), _join(p.R for p in rows)
        self.v_hat = self._of_contacts(pool.v_hat for pool in pools)
        self.v_hat_r = _join(pool.v_hat for pool in rows)
        self.lower = _join(pool.lower for pool in rows)
        self.upper = _join(pool.upper for pool in rows)
        self.A = objective.hessian([np.zeros((*pool.R.shape, pool.R.shape[1]))
                                    for pool in objective.pools])  # fmt: skip

    def _of_contacts(self, arrays: Iterable[Array]) -> Array:
        return np.asarray(_join(arrays)[self._every])

    @property
    def bounded(self) -> NDArray[np.bool_]:
        """Rows that may meet a bound."""
        return np.isfinite(self.lower) | np.isfinite(self.upper)

    def condenses(self) -> bool:
        """Whether rows are condensed, and not all impulses unknown."""
        n, m, n_rows = self.objective.nv, self.n_impulses, len(self.R_r)
        few = n_rows <= MOST_UNKNOWN_ROWS and 3 * (m + n_rows) <= 2 * n and n > WIDE
        return m == 0 or (n_rows > FEW_ROWS and not (few and bool(self.bounded.any())))

    def solve(self, v: Array, settings: SapSettings, island: int, n_islands: int) -> Run | None:
        """Iterate from v; None once a step leaves too much."""
        objective, condenses = self.objective, self.condenses()
        most = min(settings.max_iterations, MOST_STEPS if condenses else 1)
        tolerance = Newton(objective, settings, n_islands).tolerance
        point = objective.point(v if condenses or self.is_at_rest(v) else objective.v_star)
        run = Run(point, Status.converged, -1, 0, 0, [], 0)
        before, cost, settles = np.inf, point.cost, False
        while True:
            step = float(run.iterations > 0)
            has_cost = self.n_impulses == 0 or not objective.disks
            decrease = cost - point.cost if has_cost else 0.0
            run.records.append((island, run.iterations, 0, step, point.cost, decrease,
                                point.momentum_error))  # fmt: skip
            cost = point.cost
            if point.gradient_norm <= tolerance(point) and point.cost < np.inf:
                run.point = point
                return run
            falls = point.gradient_norm < DESCENT * before
            goes_on = run.iterations < most and point.gradient_norm < np.inf
            if not goes_on or (settles and not falls):
                return None
            point = point if condenses else objective.point(objective.v_star)
            try:
                dv, settles = self.condensed_step(point, run.iterations == 0) if condenses else (
                    self.whole_step(point), True
                )  # fmt: skip
            except np.linalg.LinAlgError:
                return None
            before = point.gradient_norm
            point = objective.point(point.v + dv)
            run.iterations += 1

    def is_at_rest(self, v: Array) -> bool:
        """Whether v is small compared with the speed that the free motion gains."""
        mass, gain = np.diag(self.A), self.objective.v_star - v
        return bool(mass @ v**2 <= AT_REST**2 * (mass @ gain**2))

    def impulses(self, W: Array, u: Array, gamma: Array, rows: Index) -> Array:
        """The impulses of contacts and of these rows, from gamma."""
        R = np.concatenate([self.R, self.R_r[rows]])
        problem = Impulses(
            W + np.diag(R), u, self.mu, self.first, gamma, self.lower[rows], self.upper[rows],
            not self.objective.disks,
        )  # fmt: skip
        problem.find()
        return problem.gamma

    def whole_step(self, point: Point) -> Array:
        """From v*, with the impulses of all contacts and rows as unknowns."""
        J = np.concatenate([self.J, self.J_r])
        u = np.concatenate([self.v_hat, self.v_hat_r]) - J @ point.v
        X = np.linalg.solve(self.A, J.T)
        gamma = self.impulses(J @ X, u, np.zeros(len(u)), np.arange(len(self.R_r)))
        return np.asarray(X @ gamma)

    def condensed_step(self, point: Point, is_first: bool) -> tuple[Array, bool]:
        """The step, and whether all rows go on as it took them.

        Raises LinAlgError where H is not positive definite.
        """
        n, J, J_r, R_r = self.n_pools, self.J, self.J_r, self.R_r
        gamma_r = _join(point.gamma[n:])
        y = _join(part.y for part in point.parts[n:])
        free = _join(part.state.G for part in point.parts[n:]) > 0.0
        if is_first:
            freed = self.freed(free)
            free, gamma_r = free | freed, np.where(freed, y, gamma_r)
        momentum = self.objective.times_A(point.v - self.objective.v_star)
        found = np.zeros(len(J)) if is_first else self._of_contacts(point.gamma[:n])
        rows: list[int] = []  # that are unknowns
        while True:
            known = np.ones(len(R_r), dtype=bool)
            known[rows] = False
            H = self.hessian(free & known)
            J_u = np.concatenate([J, J_r[rows]])
            solved = np.linalg.solve(H, np.column_stack([J_r[known].T @ gamma_r[known] - momentum,
                                                         J_u.T]))  # fmt: skip
            dv, X = solved[:, 0], solved[:, 1:]
            if len(J_u) > 0:
                u = np.concatenate([self.v_hat, self.v_hat_r[rows]]) - J_u @ (point.v + dv)
                found = self.impulses(J_u @ X, u, found, np.array(rows, dtype=np.intp))
                dv = dv + X @ found
            after = np.clip(y - J_r @ dv / R_r, self.lower, self.upper)
            kept = np.where(free, y - J_r @ dv / R_r, gamma_r)
            changed = np.flatnonzero(known & self.bounded & (after != kept))
            if not changed.size:
                return dv, True
            for row in changed.tolist():
                if len(rows) == MOST_UNKNOWN_ROWS or self.is_lost(row, free, rows):
                    return dv, False
                rows.append(row)
                found = np.append(found, after[row])

    def freed(self, free: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Rows at a bound that alone on v* would reach the velocity they ask for between bounds."""
        w = self.J_r**2 @ (1.0 / np.diag(self.A))
        alone = (self.v_hat_r - self.J_r @ self.objective.v_star) / (w + self.R_r)
        between = (alone > self.lower) & (alone < self.upper)
        return np.asarray((self.v_hat_r != 0.0) & ~free & between)

    def hessian(self, free: NDArray[np.bool_]) -> Array:
        """A and the free rows; raises LinAlgError where that is not positive definite."""
        H = self.A + self.J_r[free].T @ (self.J_r[free] / self.R_r[free, None])
        np.linalg.cholesky(H)
        return H

    def is_lost(self, row: int, free: NDArray[np.bool_], rows: list[int]) -> bool:
        """Whether round-off is all that H without a free row has in its direction."""
        if not free[row]:
            return False
        others = free.copy()
        others[rows] = False
        w = self.J_r[row] @ np.linalg.solve(self.hessian(others), self.J_r[row])
        return not self.R_r[row] - w > LEAST_REMAINDER * self.R_r[row]


def _has_core(objective: Objective) -> bool:
    """Whether a contact has a rigid core."""
    pools = (pool for pool in objective.contacts if isinstance(pool, RigidCorePool))
    return any(bool(np.any(pool.barrier.kind != CoreKind.none)) for pool in pools)


def _join(arrays: Iterable[Array]) -> Array:
    return np.concatenate([np.zeros(0), *(array.ravel() for array in arrays)])

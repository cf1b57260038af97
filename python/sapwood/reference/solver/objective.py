"""The cost l_p(v) of (17), its gradient and Hessian, on all trees or on one island."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood.base.equality import compared_by_value
from sapwood.problem.contact_problem import ContactProblem
from sapwood.settings import Friction

from ..constraints.disk_pool import DiskPool
from ..constraints.pools import ContactPool, Pool, RowPool, State
from ..constraints.rigid_core_pool import RigidCorePool
from ..constraints.torsional_pool import WidePool

Array = NDArray[np.float64]


@compared_by_value
@dataclass(frozen=True, eq=False)
class Part:
    """The constraints of one pool at one velocity, n of them with r rows each."""

    v_c: Array  # (n, r) constraint velocities J v
    y: Array  # (n, r) unprojected impulses
    state: State


@compared_by_value
@dataclass(frozen=True, eq=False)
class Point:
    """Everything the solver wants to know at one velocity."""

    v: Array  # (nv)
    parts: tuple[Part, ...]  # the contacts in one or two pools, then every group of constraints
    cost: float
    gradient: Array  # (nv)
    gradient_norm: float  # |D grad|, root joules
    scale: float  # max(|D A v|, |D J^T gamma|), root joules

    @property
    def G(self) -> tuple[Array, ...]:
        """G (n, r, r) of each pool."""
        return tuple(part.state.G for part in self.parts)

    @property
    def gamma(self) -> tuple[Array, ...]:
        """Impulses (n, r) of each pool."""
        return tuple(part.state.gamma for part in self.parts)

    @property
    def momentum_error(self) -> float:
        """e_m (24); 0 without a gradient, infinite where nothing measures the one there is."""
        if self.gradient_norm == 0.0:
            return 0.0
        if not self.scale < np.inf:
            return float("nan")  # overflow
        return self.gradient_norm / self.scale if self.scale > 0.0 else float("inf")

    @property
    def finite(self) -> bool:
        """False after overflow."""
        scalars = np.array([self.cost, self.gradient_norm, self.scale])
        values = (self.v, *self.gamma, self.gradient, scalars)
        return all(bool(np.all(np.isfinite(x))) for x in values)


def law_of(
    problem: ContactProblem, members: NDArray[np.intp], soft_norm: float, friction: Friction
) -> ContactPool:
    """Some contacts of a problem under their law of three rows."""
    if friction == "convex":
        return ContactPool(problem, members, soft_norm)
    return DiskPool(problem, members, soft_norm, friction)


def contacts_of(
    problem: ContactProblem, chosen: NDArray[np.bool_], soft_norm: float, friction: Friction
) -> tuple[ContactPool | WidePool, ...]:
    """The contacts of a problem under their laws; contacts with torsional friction come last."""
    spins = np.zeros(problem.n_contacts, dtype=bool)
    if problem.spin_contact is not None:
        spins[problem.spin_contact] = True
    here = chosen[problem.tree_a]
    plain, wide = np.flatnonzero(here & ~spins), np.flatnonzero(here & spins)
    if problem.core is not None and friction != "convex":
        i = int(np.flatnonzero(problem.core)[0])
        raise ValueError(
            f"core[{i}] = {problem.core[i]}: needs convex friction: a core is one of the whole cone"
        )
    first = (
        law_of(problem, plain, soft_norm, friction)
        if problem.core is None
        else RigidCorePool(problem, plain, soft_norm)
    )
    if not wide.size:
        return (first,)
    return first, WidePool(problem, law_of(problem, wide, soft_norm, friction))


class Objective:
    """l_p restricted to some trees of a problem, which must be closed under constraints.

    It has velocities, constraints and arrays of the chosen trees only, in the order of the problem.

    Parameters
    ----------
    problem : ContactProblem
    trees : array of int, optional
        Default: all trees.
    soft_norm : float
        eps_s of the contact law, N s.
    friction : {"convex", "lagged", "coulomb"}
        The law of friction: where it is not convex, contacts are under the disk law.

    Raises
    ------
    ValueError
        If a contact has a rigid core and friction is not convex.
    """

    def __init__(
        self,
        problem: ContactProblem,
        trees: ArrayLike | None = None,
        soft_norm: float = 0.0,
        friction: Friction = "convex",
    ) -> None:
        every = np.arange(problem.n_trees)
        self.trees = tuple(int(t) for t in (every if trees is None else np.asarray(trees)))
        chosen = np.zeros(problem.n_trees, dtype=bool)
        chosen[list(self.trees)] = True
        rows = [RowPool(problem, k, chosen) for k in range(len(problem.constraints))]
        self.contacts = contacts_of(problem, chosen, soft_norm, friction)
        self.pools: tuple[Pool, ...] = (*self.contacts, *rows)

        # slices of the velocities of each tree, here and in the problem
        self.at: dict[int, slice] = {}
        indices = []
        n = 0
        for t in self.trees:
            begin, end = int(problem.tree_offsets[t]), int(problem.tree_offsets[t + 1])
            self.at[t] = slice(n, n + end - begin)
            indices.append(np.arange(begin, end))
            n += end - begin
        self.velocities = np.concatenate(indices) if indices else np.zeros(0, dtype=np.intp)
        self.nv = n

        self.A = {t: np.asarray(problem.A_block(t)) for t in self.trees}
        self.v_star = np.asarray(problem.v_star)[self.velocities]
        diagonals = [np.diag(A) for A in self.A.values()]
        self.D = 1.0 / np.sqrt(np.concatenate(diagonals)) if diagonals else np.zeros(0)  # (19)

    @property
    def disks(self) -> tuple[DiskPool, ...]:
        """The laws of contacts, pool by pool, where friction is not convex; else none."""
        laws = (pool.law if isinstance(pool, WidePool) else pool for pool in self.contacts)
        return tuple(law for law in laws if isinstance(law, DiskPool))

    def let_act(self, friction: Friction) -> None:
        """Let friction act so from now on, where it is not convex for good."""
        for law in self.disks:
            law.friction = friction

    def hold(self, point: Point) -> None:
        """Hold the bounds of friction at mu gamma_n of a point from now on."""
        for law, part in zip(self.disks, self.contact_parts(point), strict=True):
            law.hold(part.y)

    def find_unknown(self, point: Point) -> None:
        """Bounds of lagged friction that are not known become mu gamma_n of a point."""
        for law, part in zip(self.disks, self.contact_parts(point), strict=True):
            law.find_unknown(part.y)

    def contact_parts(self, point: Point) -> tuple[Part, ...]:
        """The contacts of a point, pool by pool."""
        return point.parts[: len(self.contacts)]

    def times_A(self, x: Array) -> Array:
        """A x."""
        out = np.empty(self.nv)
        for t, A in self.A.items():
            out[self.at[t]] = A @ x[self.at[t]]
        return out

    def times_J(self, x: Array) -> tuple[Array, ...]:
        """J x (n, r) of each pool."""
        out = tuple(np.zeros(pool.R.shape) for pool in self.pools)
        for pool, pool_out in zip(self.pools, out, strict=True):
            for patch in pool.patches:
                for t, J in zip(patch.trees, patch.J, strict=True):
                    product = (J @ x[self.at[t]]).reshape(len(patch.members), -1)
                    pool_out[patch.members] += product
        return out

    def times_J_transposed(self, gamma: Sequence[Array]) -> Array:
        """J^T gamma, from gamma (n, r) of each pool."""
        out = np.zeros(self.nv)
        for pool, pool_gamma in zip(self.pools, gamma, strict=True):
            for patch in pool.patches:
                for t, J in zip(patch.trees, patch.J, strict=True):
                    out[self.at[t]] += J.T @ pool_gamma[patch.members].ravel()
        return out

    def point(self, v: ArrayLike) -> Point:
        """Evaluate the laws, the cost and its gradient at v (nv)."""
        v = np.array(v, dtype=float)
        parts = []
        for pool, v_c in zip(self.pools, self.times_J(v), strict=True):
            y = (pool.v_hat - v_c) / pool.R  # R^-1 (v_hat - v_c)
            parts.append(Part(v_c, y, pool.at(y)))
        p = self.times_A(v - self.v_star)
        j_c = self.times_J_transposed([part.state.gamma for part in parts])
        constraints = sum(float(np.sum(part.state.cost)) for part in parts)
        gradient = p - j_c  # (VIII-A)
        return Point(
            v=v,
            parts=tuple(parts),
            cost=float((v - self.v_star) @ p / 2.0) + constraints,  # (17)
            gradient=gradient,
            gradient_norm=float(np.linalg.norm(self.D * gradient)),
            scale=float(
                max(np.linalg.norm(self.D * self.times_A(v)), np.linalg.norm(self.D * j_c))
            ),
        )

    def hessian_blocks(self, G: Sequence[Array]) -> dict[tuple[int, int], Array]:
        """H = A + J^T G J by blocks: (t, t) of every tree and (s, t), t < s, of every patch."""
        H = {(t, t): A.copy() for t, A in self.A.items()}
        for pool, pool_G in zip(self.pools, G, strict=True):
            r = pool.R.shape[1]
            for patch in pool.patches:
                m = len(patch.members)
                for t, J_t in zip(patch.trees, patch.J, strict=True):
                    GJ = (pool_G[patch.members] @ J_t.reshape(m, r, -1)).reshape(m * r, -1)
                    for s, J_s in zip(patch.trees, patch.J, strict=True):
                        if s >= t:
                            block = J_s.T @ GJ
                            H[s, t] = H[s, t] + block if (s, t) in H else block
        return H

    def hessian(self, G: Sequence[Array]) -> Array:
        """H as a dense (nv, nv) array."""
        H = np.zeros((self.nv, self.nv))
        for (s, t), block in self.hessian_blocks(G).items():
            H[self.at[s], self.at[t]] = block
            H[self.at[t], self.at[s]] = block.T
        return H

    def line(self, point: Point, dv: ArrayLike) -> Line:
        """The cost along v + alpha dv."""
        return Line(self, point, np.asarray(dv, dtype=float))


class Line:
    """l(alpha) = l_p(v + alpha dv), relative to alpha = 0 (section VIII-C).

    Forms dp = A dv and dv_c = J dv once; each trial costs O(n).
    """

    def __init__(self, objective: Objective, point: Point, dv: Array) -> None:
        self.pools = objective.pools
        self.y = tuple(part.y for part in point.parts)
        self.dv_c = objective.times_J(dv)
        self.dy = tuple(-d / pool.R for d, pool in zip(self.dv_c, self.pools, strict=True))
        dp = objective.times_A(dv)
        self.v, self.dv = point.v, np.asarray(dv, dtype=float)
        self.dv_dp = float(dv @ dp)
        self.dp_v = float(dp @ (point.v - objective.v_star))

    def difference(self, alpha: float) -> float:
        """l(alpha) - l(0), formed term by term so that it keeps its digits near convergence."""
        constraints = sum(
            float(np.sum(pool.cost_difference(y, alpha * dy)))
            for pool, y, dy in zip(self.pools, self.y, self.dy, strict=True)
        )
        return alpha * self.dp_v + alpha * alpha / 2.0 * self.dv_dp + constraints

    def derivatives(self, alpha: float) -> tuple[float, float]:
        """Slope and curvature, infinite outside of the domain.

        dl/da   = dp.(v + a dv - v*) - dv_c.gamma(a)
        d2l/da2 = dv.dp + dv_c.G(a) dv_c
        """
        slope, curvature = self.dp_v + alpha * self.dv_dp, self.dv_dp
        for pool, y, dy, dv_c in zip(self.pools, self.y, self.dy, self.dv_c, strict=True):
            state = pool.at(y + alpha * dy)
            if np.any(np.isinf(state.cost)):
                return np.inf, np.inf
            slope -= float(np.sum(dv_c * state.gamma))
            curvature += float(np.einsum("ij,ijk,ik", dv_c, state.G, dv_c))
        return slope, curvature

    def moves(self, alpha: float) -> bool:
        """Whether v + alpha dv differs from v."""
        return bool(np.any(self.v + alpha * self.dv != self.v))

    def wall(self, alpha: float) -> float:
        """At a step outside of the domain: a shorter one, none shorter than the longest inside."""
        pools = zip(self.pools, self.y, self.dv_c, strict=True)
        return min(pool.wall(y, dv_c, alpha) for pool, y, dv_c in pools)

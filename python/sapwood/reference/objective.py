"""The cost l_p(v) of (17), its gradient and Hessian, on all trees or on one island."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood.problem import ContactProblem

from .contact import contact_cost, contact_cost_difference, project

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Patch:
    """All contacts between the same two trees, or one tree and the world: an edge of the graph."""

    contacts: NDArray[np.intp]  # (r_p) indices into the contacts of the objective
    trees: tuple[int, ...]  # one or two trees
    J: tuple[Array, ...]  # the Jacobian (3 r_p, n_t) of each of these trees


@dataclass(frozen=True)
class Point:
    """Everything the solver wants to know at one velocity."""

    v: Array  # (nv)
    v_c: Array  # (n_contacts, 3) contact velocities J v
    y: Array  # (n_contacts, 3) unprojected impulses
    gamma: Array  # (n_contacts, 3)
    G: Array  # (n_contacts, 3, 3)
    regions: NDArray[np.int8]  # (n_contacts)
    cost: float
    gradient: Array  # (nv)
    gradient_norm: float  # |D grad|, root joules
    scale: float  # max(|D A v|, |D J^T gamma|), root joules

    @property
    def momentum_error(self) -> float:
        """e_m (24); 0 without a gradient, infinite where nothing measures the one there is."""
        if self.gradient_norm == 0.0:
            return 0.0
        return self.gradient_norm / self.scale if self.scale > 0.0 else float("inf")

    @property
    def finite(self) -> bool:
        """False after overflow."""
        parts = (self.v, self.gamma, self.gradient, self.cost, self.gradient_norm)
        return all(bool(np.all(np.isfinite(x))) for x in parts)


class Objective:
    """l_p restricted to some trees of a problem, which must be closed under contact.

    Velocities, contacts and their arrays are those of the chosen trees only, in the order of the
    problem.

    Parameters
    ----------
    problem : ContactProblem
    trees : array of int, optional
        Default: all trees.
    soft_norm : float
        eps_s of the contact law, N s.
    """

    def __init__(
        self,
        problem: ContactProblem,
        trees: ArrayLike | None = None,
        soft_norm: float = 0.0,
    ) -> None:
        every = np.arange(problem.n_trees)
        self.trees = tuple(int(t) for t in (every if trees is None else np.asarray(trees)))
        chosen = np.zeros(problem.n_trees, dtype=bool)
        chosen[list(self.trees)] = True
        self.contacts = np.flatnonzero(chosen[problem.tree_a])
        self.soft_norm = soft_norm

        # where the velocities of each tree lie here and in the problem
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

        self.mu = np.asarray(problem.mu)[self.contacts]
        self.R_t = np.asarray(problem.R_t)[self.contacts]
        self.R_n = np.asarray(problem.R_n)[self.contacts]
        self.R = np.stack([self.R_t, self.R_t, self.R_n], axis=-1)
        self.v_hat = np.zeros((self.contacts.size, 3))
        self.v_hat[:, 2] = np.asarray(problem.v_hat_n)[self.contacts]
        if problem.v_hat_t is not None:
            self.v_hat[:, :2] = np.asarray(problem.v_hat_t)[self.contacts]
        self.patches = self._group(problem)

    def _group(self, problem: ContactProblem) -> list[Patch]:
        """Contacts by the pair of trees they lie on, whichever of the two comes first."""
        members: dict[tuple[int, ...], list[int]] = {}
        for local, i in enumerate(self.contacts.tolist()):
            a, b = int(problem.tree_a[i]), int(problem.tree_b[i])
            members.setdefault((a,) if b < 0 else (min(a, b), max(a, b)), []).append(local)
        patches = []
        for trees, contacts in members.items():
            rows: list[list[Array]] = [[] for _ in trees]
            for local in contacts:
                i = int(self.contacts[local])
                first = int(problem.tree_a[i])
                blocks = [np.asarray(J) for J in problem.J_blocks(i) if J is not None]
                if first != trees[0]:
                    blocks.reverse()
                for column, J in zip(rows, blocks, strict=True):
                    column.append(J)
            J_pt = tuple(np.concatenate(column) for column in rows)
            patches.append(Patch(np.array(contacts), trees, J_pt))
        return patches

    def times_A(self, x: Array) -> Array:
        """A x."""
        out = np.empty(self.nv)
        for t, A in self.A.items():
            out[self.at[t]] = A @ x[self.at[t]]
        return out

    def times_J(self, x: Array) -> Array:
        """J x as one row of three per contact."""
        out = np.zeros((self.contacts.size, 3))
        for patch in self.patches:
            for t, J in zip(patch.trees, patch.J, strict=True):
                out[patch.contacts] += (J @ x[self.at[t]]).reshape(-1, 3)
        return out

    def times_J_transposed(self, gamma: Array) -> Array:
        """J^T gamma."""
        out = np.zeros(self.nv)
        for patch in self.patches:
            for t, J in zip(patch.trees, patch.J, strict=True):
                out[self.at[t]] += J.T @ gamma[patch.contacts].ravel()
        return out

    def point(self, v: ArrayLike) -> Point:
        """Evaluate the contact law, the cost and its gradient at v (nv)."""
        v = np.array(v, dtype=float)
        v_c = self.times_J(v)
        y = (self.v_hat - v_c) / self.R  # R^-1 (v_hat - v_c)
        gamma, G, regions = project(y, self.mu, self.R_t, self.R_n, self.soft_norm)
        p = self.times_A(v - self.v_star)
        j_c = self.times_J_transposed(gamma)
        contacts = contact_cost(y, self.mu, self.R_t, self.R_n, self.soft_norm)
        gradient = p - j_c  # (VIII-A)
        return Point(
            v=v,
            v_c=v_c,
            y=y,
            gamma=gamma,
            G=G,
            regions=regions,
            cost=float((v - self.v_star) @ p / 2.0 + np.sum(contacts)),  # (17)
            gradient=gradient,
            gradient_norm=float(np.linalg.norm(self.D * gradient)),
            scale=float(
                max(np.linalg.norm(self.D * self.times_A(v)), np.linalg.norm(self.D * j_c))
            ),
        )

    def hessian_blocks(self, G: Array) -> dict[tuple[int, int], Array]:
        """H = A + J^T G J by blocks: (t, t) of every tree and (s, t), t < s, of every patch."""
        H = {(t, t): A.copy() for t, A in self.A.items()}
        for patch in self.patches:
            r = len(patch.contacts)
            for t, J_t in zip(patch.trees, patch.J, strict=True):
                GJ = (G[patch.contacts] @ J_t.reshape(r, 3, -1)).reshape(3 * r, -1)
                for s, J_s in zip(patch.trees, patch.J, strict=True):
                    if s >= t:
                        block = J_s.T @ GJ
                        H[s, t] = H[s, t] + block if (s, t) in H else block
        return H

    def hessian(self, G: Array) -> Array:
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
        self.objective = objective
        self.point = point
        self.dv_c = objective.times_J(dv)
        dp = objective.times_A(dv)
        self.dv_dp = float(dv @ dp)
        self.dp_v = float(dp @ (point.v - objective.v_star))
        self.dy = -self.dv_c / objective.R

    def difference(self, alpha: float) -> float:
        """l(alpha) - l(0), formed term by term so that it keeps its digits near convergence."""
        o = self.objective
        contacts = contact_cost_difference(
            self.point.y, alpha * self.dy, o.mu, o.R_t, o.R_n, o.soft_norm
        )
        return alpha * self.dp_v + alpha**2 / 2.0 * self.dv_dp + float(np.sum(contacts))

    def derivatives(self, alpha: float) -> tuple[float, float]:
        """Slope and curvature.

        dl/da   = dp.(v + a dv - v*) - dv_c.gamma(a)
        d2l/da2 = dv.dp + dv_c.G(a) dv_c
        """
        o = self.objective
        y = self.point.y + alpha * self.dy
        gamma, G, _ = project(y, o.mu, o.R_t, o.R_n, o.soft_norm)
        slope = self.dp_v + alpha * self.dv_dp - float(np.sum(self.dv_c * gamma))
        curvature = self.dv_dp + float(np.einsum("ij,ijk,ik", self.dv_c, G, self.dv_c))
        return slope, curvature

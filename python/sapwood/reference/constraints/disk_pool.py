"""Contacts whose friction is not convex, as the objective sees them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sapwood.problem.contact_problem import ContactProblem
from sapwood.settings import Friction
from sapwood.solution import Region

from .disk import disk, disk_cost, disk_cost_difference, project_disk
from .pools import ContactPool, Dual, State

Array = NDArray[np.float64]


class DiskPool(ContactPool):
    """Frictional contacts of a problem under the disk law.

    Parameters
    ----------
    problem, members, soft_norm
        The same as in ContactPool.
    friction : {"convex", "lagged", "coulomb"}
        The present law of friction: the law of ContactPool, to find a start and bounds; with a
        fixed `bound`, NaN where the problem does not know it; or with b = mu gamma_n at every y.
    """

    def __init__(
        self,
        problem: ContactProblem,
        members: NDArray[np.intp],
        soft_norm: float = 0.0,
        friction: Friction = "lagged",
    ) -> None:
        super().__init__(problem, members, soft_norm)
        self.friction = friction
        known = problem.friction_bound
        self.bound = np.full(members.size, np.nan) if known is None else known[members]

    def coulomb_bound(self, y: Array) -> Array:
        """mu gamma_n (n) at y."""
        return np.asarray(self.mu * np.maximum(y[:, 2], 0.0))

    def hold(self, y: Array) -> None:
        """Hold the bounds at mu gamma_n of y from now on."""
        self.friction, self.bound = "lagged", self.coulomb_bound(y)

    def find_unknown(self, y: Array) -> None:
        """Bounds that are not known become mu gamma_n of y."""
        self.bound = np.where(np.isnan(self.bound), self.coulomb_bound(y), self.bound)

    def _parameters(self, y: Array) -> tuple[Array, Array, Array, float]:
        """Arguments of the disk law at y."""
        bound = self.coulomb_bound(y) if self.friction == "coulomb" else self.bound
        return bound, self.R_t, self.R_n, self.soft_norm

    def at(self, y: Array) -> State:
        """Project y onto the friction cones, or onto cylinders."""
        if self.friction == "convex":
            return super().at(y)
        gamma, G, regions = project_disk(y, *self._parameters(y))
        return State(gamma, G, disk_cost(y, *self._parameters(y)), regions)

    def cost_difference(self, y: Array, dy: Array) -> Array:
        """See `disk_cost_difference`, with the bounds at y."""
        if self.friction == "convex":
            return super().cost_difference(y, dy)
        return disk_cost_difference(y, dy, *self._parameters(y))

    def coupling(self, y: Array) -> Array:
        """The addition of b = mu gamma_n to G: U_tn = mu t/R_n (n, 3, 3) if a contact slides."""
        bound = self.coulomb_bound(y)
        q = disk(y, bound, self.soft_norm)
        slides = (q.regions == Region.sliding) & (q.y_n > 0.0)
        U = np.zeros((len(y), 3, 3))
        U[:, :2, 2] = np.where(slides, self.mu / self.R_n, 0.0)[:, None] * q.t
        return U

    def predict(self, gamma: Array, G: Array, dv_c: Array) -> Dual:
        """gamma - G dv_c brought into the cylinder, whose bound follows where friction does."""
        if self.friction == "convex":
            return super().predict(gamma, G, dv_c)
        predicted = gamma - np.einsum("ijk,ik->ij", G, dv_c)
        gamma_n = np.maximum(predicted[:, 2], 0.0)
        bound = self.mu * gamma_n if self.friction == "coulomb" else self.bound
        divisor = np.maximum(bound, np.linalg.norm(predicted[:, :2], axis=1))
        w = predicted[:, :2] / np.where(divisor > 0.0, divisor, 1.0)[:, None]
        return Dual(w, gamma_n)

    def blend(self, y: Array, state: State, dual: Dual | None) -> Array:
        """Primal-dual friction, see `direction`."""
        if self.friction == "convex" or dual is None:
            return super().blend(y, state, dual)
        bound = self._parameters(y)[0]
        bound_dual = self.mu * dual.gamma_n if self.friction == "coulomb" else bound
        q = disk(y, bound, self.soft_norm)
        sliding = (q.regions == Region.sliding) & np.any(q.t != 0.0, axis=1)
        m = (q.t + dual.w) / 2.0
        y_r = np.where(sliding, q.y_r, 1.0)
        across = np.minimum((bound + bound_dual) / (2.0 * y_r), 1.0) / self.R_t
        G_tt = across[:, None, None] * (np.eye(2) - m[:, :, None] * m[:, None, :])
        G = state.G.copy()
        G[sliding, :2, :2] = G_tt[sliding]
        return G

    def complementarity(self, y: Array, state: State) -> Array:
        """|g_n gamma_n| + |g_t . gamma_t + b |g_t|| with g = R (gamma - y).

        Friction of size b is opposite to a slip g_t wherever there is one.
        """
        if self.friction == "convex":
            return super().complementarity(y, state)
        g = self.R * (state.gamma - y)
        product = g * state.gamma
        slip = self._parameters(y)[0] * np.hypot(g[:, 0], g[:, 1])
        return np.abs(product[:, 2]) + np.abs(product[:, 0] + product[:, 1] + slip)

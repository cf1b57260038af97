"""Contacts with rigid cores as the objective sees them: a pool with a domain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sapwood.laws.rigid_core import CoreKind
from sapwood.problem.contact_problem import ContactProblem

from .contact import contact_cost, contact_cost_difference, law, project
from .pools import EPS, ContactPool, Dual, State
from .rigid_core import (
    Barrier,
    barrier,
    cost_difference,
    deepened,
    distance,
    factors,
    stiffest,
    with_core,
)

Array = NDArray[np.float64]


class RigidCorePool(ContactPool):
    """Frictional contacts of a problem, some of them with a core; parameters as of ContactPool.

    kappa is the problem's, larger for contacts that start too deep. It may for a while be larger
    for others too, so that an iterate is inside of the domain; see `fit`.
    """

    def __init__(
        self, problem: ContactProblem, members: NDArray[np.intp], soft_norm: float = 0.0
    ) -> None:
        super().__init__(problem, members, soft_norm)
        if problem.core is None or problem.kappa is None or problem.core_lambda is None:
            raise ValueError("no contact of the problem has a core")
        n, kappa = len(self.members), problem.kappa[self.members]
        of = barrier(
            problem.core[self.members],
            kappa,
            problem.core_lambda[self.members],
            (n,),
            problem.core_table,
        )
        self.kappa_problem = of.kappa
        self.given = of._replace(kappa=deepened(self.v_hat[:, 2], self.R_n, of))
        self.barrier: Barrier = self.given

    @property
    def core_scale(self) -> Array:
        """The delta in use over the delta of the problem (n)."""
        ratio = np.ones(self.kappa_problem.shape)
        finite = np.isfinite(self.kappa_problem)
        np.divide(self.barrier.kappa, self.kappa_problem, out=ratio, where=finite)
        return np.sqrt(ratio)

    def use(self, kappa: Array) -> None:
        """Take kappa (n_contacts) of the whole problem as it is."""
        self.barrier = self.given._replace(kappa=kappa[self.members])

    def _compliant(self, y: Array) -> tuple[Array, Array, Array, NDArray[np.int8]]:
        """gamma_0, G_0, l_0 and region."""
        parameters = (self.mu, self.R_t, self.R_n, self.soft_norm)
        gamma, G, regions = project(y, *parameters)
        return gamma, G, contact_cost(y, *parameters), regions

    def at(self, y: Array) -> State:
        """Project y onto the friction cones and stiffen; infinite cost outside of the domain."""
        gamma, G, cost, regions = self._compliant(y)
        gamma, G, cost, _ = with_core(gamma, G, cost, self.barrier)
        return State(gamma, G, cost, regions)

    def cost_difference(self, y: Array, dy: Array) -> Array:
        """See `rigid_core.cost_difference`."""
        parameters = (self.mu, self.R_t, self.R_n, self.soft_norm)
        difference = contact_cost_difference(y, dy, *parameters)
        return cost_difference(contact_cost(y, *parameters), difference, self.barrier)

    def sticking(self, y: Array, state: State) -> tuple[Array, Array]:
        """Let the touching contacts stick, each as stiff as its core is at y."""
        G, gamma = super().sticking(y, state)
        phi = factors(distance(self._compliant(y)[2], self.barrier), self.barrier).phi
        return phi[:, None, None] * G, phi[:, None] * gamma

    def _blend_barriers(self, y: Array, size: Array) -> Array:
        """Primal-dual barriers, see `direction`; `size` is the size of the predicted impulse."""
        gamma, G, cost, _ = self._compliant(y)
        s = distance(cost, self.barrier)
        f = factors(s, self.barrier)
        log, exp, own = (self.barrier.kind == kind for kind in (*CoreKind,)[1:])
        # |gamma_b|_R = phi |gamma_0|_R
        phi = np.clip(size / np.where(cost > 0.0, np.sqrt(2.0 * cost), np.inf), 1.0, f.phi)
        # a table keeps its own slope: its phi may be below 1, and has no wall to follow
        phi = np.select([exp, own], [(phi + f.phi) / 2.0, f.phi], phi)
        # log: phi = (L + u)/2,  s phi' = (u - L + s u^2)/2 with one u of the product from phi
        u = 2.0 * f.phi - f.beta
        u_dual = np.clip(2.0 * phi - f.beta, 1.0, u)
        # exp: s phi' = phi x (3 + x)/(2 + x)
        x = self.barrier.lambda_ * s
        rises = [f.phi - f.beta + s * u * u_dual / 2.0, phi * x * (3.0 + x) / (2.0 + x)]
        rise = np.select([log, exp, own], [*rises, f.rise], 0.0)
        outer = gamma[..., :, None] * gamma[..., None, :]
        outer = outer / np.where(cost > 0.0, 2.0 * cost, 1.0)[..., None, None]
        return phi[:, None, None] * G + rise[:, None, None] * outer

    def predict(self, gamma: Array, G: Array, dv_c: Array) -> Dual:
        """Like ContactPool, with the size of the impulse."""
        predicted = gamma - np.einsum("ijk,ik->ij", G, dv_c)
        dual = super().predict(gamma, G, dv_c)
        return dual._replace(size=np.sqrt(np.sum(self.R * predicted**2, axis=1)))

    def blend(self, y: Array, state: State, dual: Dual | None) -> Array:
        """Primal-dual friction and barriers (`direction`); in stiction G_tt is at least phi/R_t."""
        if dual is None or dual.size is None:
            return state.G
        G = self._blend_barriers(y, dual.size)
        q = law(y, self.mu, self.R_t, self.R_n, self.soft_norm)
        compliant = q.s / (1.0 + q.mu_tilde2)
        phi = state.gamma[:, 2] / np.where(compliant > 0.0, compliant, np.inf)
        return self._blend_friction(q, state.gamma, dual, G, phi)

    def impulse_error(self, y: Array, state: State, e: Array) -> Array:
        """|e|_{R^-1} and round-off as of ContactPool, times the largest b'' up to the s they allow.

        b'' = phi + s phi' bounds the slope of gamma in the norm of R; it is infinite, and so is the
        bound, where the errors reach out of the domain.
        """
        del state
        norm = np.sqrt(np.sum(e**2 / self.R, axis=1))
        norm += 8.0 * EPS * np.sqrt(np.sum(y**2 * self.R, axis=1))
        s = distance(self._compliant(y)[2], self.barrier) + norm / np.sqrt(self.barrier.kappa)
        return np.asarray((stiffest(s, self.barrier) * norm)[:, None] / np.sqrt(self.R))

    def complementarity(self, y: Array, state: State) -> Array:
        """|g . gamma| with g = R (gamma_0 - y): gamma_0 is the projection, gamma a multiple."""
        g = self.R * (self._compliant(y)[0] - y)
        return np.asarray(np.abs(np.sum(g * state.gamma, axis=1)))

    def wall(self, y: Array, dv_c: Array, alpha: float) -> float:
        """At a step outside of the domain: a shorter one, none shorter than the longest inside.

        s is convex along a line, so that Newton's method for its limit, started outside, does not
        pass it.
        """
        gamma, _, cost, _ = self._compliant(y - alpha * dv_c / self.R)
        s, most = distance(cost, self.barrier), self.barrier.most
        outside = ~(s <= most)
        # ds/dalpha = -dv_c . gamma_0/(kappa s)
        slope = -np.sum(dv_c * gamma, axis=1) / (self.barrier.kappa * np.where(s > 0.0, s, 1.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = alpha - (s - most) / slope
        # at least by round-off; after overflow anything shorter will do
        shorter = np.minimum(newton, (1.0 - 2.0**-33) * alpha)
        newton = np.where((newton > 0.0) & (newton <= alpha), shorter, alpha / 2.0)
        return float(np.min(newton[outside], initial=alpha))

    def fit(self, y: Array, least: float) -> int:
        """Make delta `least` times as large as it should be, or so large that s = 0.9 at y.

        The second where y is outside of the domain after the first. Returns the number of contacts
        whose delta is larger than it should be.
        """
        s, most = distance(self._compliant(y)[2], self.given), self.given.most
        core = self.given.kind != CoreKind.none
        with np.errstate(invalid="ignore"):
            fitted = s / (0.9 * np.minimum(most, 1.0))
        factor = np.where(core, np.where(s <= least * most, least, fitted), 1.0)
        self.barrier = self.given._replace(kappa=self.given.kappa * factor**2)
        return int(np.count_nonzero(factor > 1.0))

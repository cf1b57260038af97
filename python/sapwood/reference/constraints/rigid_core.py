"""Rigid core: barriers around the compliant contact law.

With l_0, gamma_0 and G_0 of the compliant law (`contact`) and an energy kappa per contact

    s = sqrt(2 l_0/kappa) = |gamma_0|_R/sqrt(kappa)    distance to the polar cone, dimensionless
    l_b = kappa b(s)
    gamma_b = phi(s) gamma_0,    phi = b'(s)/s
    G_b = phi G_0 + phi'(s)/(kappa s) gamma_0 gamma_0^T

    none  b = s^2/2
    log   b = -s log(1 - s)/2          only s < 1
    exp   b = s^2 exp(lambda s)/2
    table b by its curvature at nodes: `barrier_table`

b is convex and increasing and s a convex function of v_c, so that l_b is convex; where s is 0 it
is the compliant law. b'' = phi + s phi' bounds the slope of gamma_b in the norm of R.

With kappa = (delta/(dt + tau_d))^2/R_n a contact without slip has s = -(phi_0 + (dt + tau_d)
v_n)/delta, phi_0 being its distance: s < 1 keeps the penetration below delta from step to step,
for an approaching contact stops short of it and a separating one only loses depth.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood.laws.rigid_core import (
    DEFAULT_LAMBDA,
    EXPONENT_MOST,
    EXPONENT_START,
    LOG_START,
    CoreKind,
    core_kinds,
)

from . import barrier_table, contact

Array = NDArray[np.float64]

LOG_MOST = 1.0 - 2.0**-36
"""Iterates keep s below this under the log barrier, for the round-off of s."""


class Factors(NamedTuple):
    """Scales of the compliant law by the barrier; arrays of shape (...)."""

    beta: Array  # l_b/l_0 = 2 b/s^2
    phi: Array  # gamma_b/gamma_0
    rise: Array  # s phi'


class Barrier(NamedTuple):
    """Kind and parameters of the barriers of contacts; arrays of shape (...)."""

    kind: NDArray[np.int8]
    kappa: Array  # J, infinite without a core
    lambda_: Array
    table: Array | None = None  # (2, n_nodes) of tabulated barriers

    @property
    def most(self) -> Array:
        """Largest s of an iterate."""
        return np.select(
            [self.kind == CoreKind.log, self.kind == CoreKind.exp, self.kind == CoreKind.table],
            [LOG_MOST, EXPONENT_MOST / self.lambda_, np.finfo(float).max],
            np.inf,
        )


def factors(s: ArrayLike, barrier: Barrier) -> Factors:
    """beta, phi and s phi' at s (...) >= 0, infinite beyond `Barrier.most`."""
    s = np.asarray(s, dtype=float)
    inside = s <= barrier.most
    s = np.where(inside, s, 0.0)

    # log: L = -log(1-s)/s, u = 1/(1-s): beta = L, phi = (L + u)/2, s phi' = (u - L + s u^2)/2
    x = np.where(barrier.kind == CoreKind.log, s, 0.0)
    u = 1.0 / (1.0 - x)
    small = x < 0.05
    L = np.where(x > 0.0, -np.log1p(-x) / np.where(x > 0.0, x, 1.0), 1.0)
    series = sum(k / (k + 1.0) * np.where(small, x, 0.0) ** k for k in range(1, 14))
    log = Factors(L, (L + u) / 2.0, (np.where(small, series, u - L) + x * u**2) / 2.0)

    # exp: x = lambda s: beta = e^x, phi = e^x (1 + x/2), s phi' = e^x x (3 + x)/2
    x = np.where(barrier.kind == CoreKind.exp, barrier.lambda_ * s, 0.0)
    e = np.exp(x)
    exp = Factors(e, e * (1.0 + x / 2.0), e * x * (3.0 + x) / 2.0)

    # each is 1, 1, 0 where a contact has another kind
    values = [log.beta * exp.beta, log.phi * exp.phi, log.rise + exp.rise]
    if barrier.table is not None:
        own, tabulated = barrier.kind == CoreKind.table, barrier_table.factors(barrier.table, s)
        values = [np.where(own, t, v) for t, v in zip(tabulated, values, strict=True)]
    return Factors(*(np.where(inside, value, np.inf) for value in values))


def stiffest(s: Array, barrier: Barrier) -> Array:
    """Largest b'' on [0, s] (...), infinite beyond `Barrier.most`."""
    f = factors(s, barrier)
    if barrier.table is None:
        return f.phi + f.rise  # b'' grows with s
    own, inside = barrier.kind == CoreKind.table, np.isfinite(f.phi)
    tabulated = barrier_table.stiffest(barrier.table, np.where(inside, s, 0.0))
    return np.where(own & inside, tabulated, f.phi + f.rise)


def barrier(
    core: ArrayLike,
    kappa: ArrayLike | None,
    core_lambda: ArrayLike,
    shape: tuple[int, ...],
    core_table: ArrayLike | None = None,
) -> Barrier:
    """Barriers of the given shape; `kappa` may be None where no contact has a core."""
    table = None if core_table is None else np.asarray(core_table, dtype=float)
    kind = np.broadcast_to(core_kinds(core), shape)
    energy = np.where(kind == CoreKind.none, np.inf, np.inf if kappa is None else kappa)
    lambda_ = np.broadcast_to(np.asarray(core_lambda, dtype=float), shape)
    return Barrier(kind, energy, lambda_, table)


def leading_shape(y: ArrayLike, *others: ArrayLike | None) -> tuple[int, ...]:
    """Leading axes (...) of y (..., 3) and the other arguments of a law, broadcast."""
    shapes = [np.shape(y)[:-1], *(np.shape(x) for x in others if x is not None)]
    return np.broadcast_shapes(*shapes)


def distance(cost: Array, of: Barrier) -> Array:
    """s = sqrt(2 l_0/kappa) from the compliant cost."""
    return np.sqrt(2.0 * cost / of.kappa)


def with_core(
    gamma: Array, G: Array, cost: Array, of: Barrier
) -> tuple[Array, Array, Array, Array]:
    """gamma_b, G_b, l_b and s from the compliant gamma_0, G_0 and l_0.

    With gamma_0 gamma_0^T/(2 l_0), which has norm 1 in R^-1, no factor of G_b grows at small s.
    Outside of the domain l_b is infinite, gamma_b and G_b are NaN.
    """
    s = distance(cost, of)
    f = factors(s, of)
    outer = gamma[..., :, None] * gamma[..., None, :]
    outer = outer / np.where(cost > 0.0, 2.0 * cost, 1.0)[..., None, None]
    phi, rise = (np.where(np.isfinite(f.phi), x, np.nan) for x in (f.phi, f.rise))
    G_b = phi[..., None, None] * G + rise[..., None, None] * outer
    return phi[..., None] * gamma, G_b, f.beta * cost, s


def project(
    y: ArrayLike,
    mu: ArrayLike,
    R_t: ArrayLike,
    R_n: ArrayLike,
    soft_norm: float = 0.0,
    *,
    core: ArrayLike = "none",
    kappa: ArrayLike | None = None,
    core_lambda: ArrayLike = DEFAULT_LAMBDA,
    core_table: ArrayLike | None = None,
) -> tuple[Array, Array, NDArray[np.int8]]:
    """Impulse, G and region of contacts, like `sapwood.project`, which documents the parameters."""
    shape = leading_shape(y, mu, R_t, R_n, core, kappa, core_lambda)
    y = np.broadcast_to(np.asarray(y, dtype=float), (*shape, 3))
    gamma, G, regions = contact.project(y, mu, R_t, R_n, soft_norm)
    of = barrier(core, kappa, core_lambda, shape, core_table)
    if np.any(of.kind != CoreKind.none):
        cost = contact.contact_cost(y, mu, R_t, R_n, soft_norm)
        gamma, G, _, _ = with_core(gamma, G, cost, of)
    return gamma, G, regions


def contact_cost(
    y: ArrayLike,
    mu: ArrayLike,
    R_t: ArrayLike,
    R_n: ArrayLike,
    soft_norm: float = 0.0,
    *,
    core: ArrayLike = "none",
    kappa: ArrayLike | None = None,
    core_lambda: ArrayLike = DEFAULT_LAMBDA,
    core_table: ArrayLike | None = None,
) -> Array:
    """Cost of contacts (...), like `sapwood.contact_cost`; infinite outside a barrier's domain."""
    shape = leading_shape(y, mu, R_t, R_n, core, kappa, core_lambda)
    y = np.broadcast_to(np.asarray(y, dtype=float), (*shape, 3))
    cost = contact.contact_cost(y, mu, R_t, R_n, soft_norm)
    of = barrier(core, kappa, core_lambda, shape, core_table)
    return np.asarray(factors(distance(cost, of), of).beta * cost)


def cost_difference(cost: Array, difference: Array, of: Barrier) -> Array:
    """l_b at l_0 + difference minus l_b at l_0 = `cost`, without cancellation.

    With ds = s_b - s_a from s_b^2 - s_a^2 = 2 difference/kappa every term has the same sign:

        log   -kappa/2 [s_b log((1 - s_b)/(1 - s_a)) + ds log(1 - s_a)]
        exp   difference e^(lambda s_b) + l_0 (e^(lambda s_b) - e^(lambda s_a))
        table kappa (b(s_b) - b(s_a)), see `barrier_table`
    """
    end = cost + difference
    s_a, s_b = distance(cost, of), distance(np.maximum(end, 0.0), of)
    inside = s_b <= of.most
    total = s_a + s_b
    s_b = np.where(inside, s_b, s_a)
    ds = 2.0 * difference / of.kappa / np.where(total > 0.0, total, 1.0)
    ds = np.where(inside, ds, 0.0)

    is_log, is_exp = of.kind == CoreKind.log, of.kind == CoreKind.exp
    kappa = np.where(is_log, of.kappa, 1.0)
    x_a, x_b, dx = (np.where(is_log, x, 0.0) for x in (s_a, s_b, ds))
    log = -kappa / 2.0 * (x_b * np.log1p(-dx / (1.0 - x_a)) + dx * np.log1p(-x_a))

    x_a, x_b, dx = (np.where(is_exp, of.lambda_ * x, 0.0) for x in (s_a, s_b, ds))
    exp = difference * np.exp(x_b) + cost * np.exp(x_a) * np.expm1(dx)
    changes = np.select([is_log, is_exp], [log, exp], difference)
    if of.table is not None:
        own = of.kind == CoreKind.table
        x_a, x_b, dx = (np.where(own, x, 0.0) for x in (s_a, s_b, ds))
        tabulated = barrier_table.difference(of.table, x_a, x_b, dx)
        changes = np.where(own, np.where(own, of.kappa, 1.0) * tabulated, changes)
    return np.where(inside, changes, np.inf)


def deepened(v_hat_n: ArrayLike, R_n: ArrayLike, of: Barrier) -> Array:
    """kappa (...) with which every contact is feasible at rest; larger where one starts too deep.

    At rest s = v_hat_n/sqrt(R_n kappa) = -phi_0/delta. The new delta of a log barrier is the depth
    and a tenth of its excess over delta, 1 % of the depth at most: little enough for it to be
    pushed out by fifty times the force of its spring, and room to start from.
    """
    v_hat_n, R_n = np.asarray(v_hat_n, dtype=float), np.asarray(R_n, dtype=float)
    rest = np.maximum(v_hat_n, 0.0) / np.sqrt(R_n * of.kappa)
    log = of.kind == CoreKind.log
    deep = rest > np.where(log, LOG_START, 0.999 * of.most)
    rest = np.where(deep, rest, 1.0)
    room = np.clip(0.1 * (1.0 - 1.0 / rest), 1.0 - LOG_START, 0.01)
    scale = np.where(log, rest * (1.0 + room), rest * of.lambda_ / EXPONENT_START)
    return np.where(deep, of.kappa * np.where(deep, scale, 1.0) ** 2, of.kappa)

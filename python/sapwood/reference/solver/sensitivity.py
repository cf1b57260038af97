"""Reverse-mode derivatives of a solution, with dense matrices.

At the solution m(v, p) = A (v - v*) - J^T gamma(J v; p) = 0. With K = -dgamma/dv_c, the G of the
law and what Coulomb's friction adds to it, and H = A + J^T K J,

    H^T lambda = v_bar - J^T K^T gamma_bar,    z = J lambda + gamma_bar,    x = K^T z
    dL/dv* = A lambda                          dL/dA = -(lambda (v - v*)^T + (v - v*) lambda^T)/2
    dL/dv_hat = x                              dL/dJ = gamma lambda^T - x v^T
    dL/dp = (dgamma/dp)^T z

y = R^-1 (v_hat - v_c) gives dgamma/dR_j = -K_j y_j; the rest of dgamma/dp is the derivative of the
law at a given y. Angular rows of contacts with torsional friction are scaled by s_k = mu_k/mu
(`torsional`): a change of s_k changes the row and its impulse.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood.derivatives.differential import Differential, GroupDifferential
from sapwood.problem.contact_problem import ContactProblem
from sapwood.settings import Friction
from sapwood.solution import Region

from ..constraints.contact import contact_cost, law, project
from ..constraints.disk import disk
from ..constraints.disk_pool import DiskPool
from ..constraints.pools import ContactPool, Pool, RowPool
from ..constraints.rigid_core import distance, factors
from ..constraints.rigid_core_pool import RigidCorePool
from ..constraints.torsional import lift_matrix, radial
from ..constraints.torsional_pool import WidePool
from .objective import Objective

Array = NDArray[np.float64]
Partials = dict[str, Array]  # dgamma/dp (n, r) by name


def solution_gradient(
    problem: ContactProblem,
    v: ArrayLike,
    v_bar: ArrayLike,
    gamma_bar: ArrayLike | None = None,
    *,
    friction: Friction = "convex",
    soft_norm: float = 0.0,
) -> Differential:
    """Gradient of a loss by the numbers of a problem, R, v_hat and bounds as numbers of their own.

    Parameters
    ----------
    problem : ContactProblem
        The solved problem.
    v : array_like (nv,)
        Its solution.
    v_bar : array_like (nv,)
        dL/dv.
    gamma_bar : array_like (n_contacts, 3), optional
        dL/dgamma of the contacts.
    friction : {"convex", "lagged", "coulomb"}
        The law of friction that was solved with.
    soft_norm : float
        eps_s of the law, N s.

    Returns
    -------
    Differential
        The gradient by the numbers themselves, without physical parameters.
    """
    objective = Objective(problem, soft_norm=soft_norm, friction=friction)
    point = objective.point(v)
    K = [slope(pool, part.y) for pool, part in zip(objective.pools, point.parts, strict=True)]
    lambda_, z, x = adjoint(objective, K, v_bar, gamma_bar)
    found = _Found(problem)
    for k, pool in enumerate(objective.pools):
        by = partials(pool, point.parts[k].y, K[k])
        bars = {name: np.sum(z[k] * of, axis=1) for name, of in by.items()}
        gamma = point.parts[k].state.gamma
        if isinstance(pool, RowPool):
            n = len(found.groups)
            rows = row_gradients(problem, n, gamma, x[k], lambda_, point.v, objective)
            found.groups.append(GroupDifferential(J=rows, v_hat=x[k][:, 0], **bars))
            continue
        members = cast("ContactPool | WidePool", pool).members
        for name, bar in bars.items():
            found.numbers[name][members] += bar
        found.v_hat[members] = x[k][:, :3]
        for n, i in enumerate(members):
            trees = [int(problem.tree_a[i]), int(problem.tree_b[i])]
            found.blocks["J"][int(i)] = outer_blocks(
                gamma[n, :3], x[k][n, :3], lambda_, point.v, objective, trees
            )
        if isinstance(pool, WidePool):
            add_spins(
                problem, pool, gamma, x[k], lambda_, objective, point.v, found.numbers, found.blocks
            )
    return found.differential(objective, lambda_, point.v - objective.v_star)


class _Found:
    """Derivatives of a loss by the numbers of a problem, as far as they are found."""

    def __init__(self, problem: ContactProblem) -> None:
        n = problem.n_contacts
        names = ("mu", "R_t", "R_n", "friction_bound", "kappa", "core_lambda")
        self.numbers: dict[str, Array] = {name: np.zeros(n) for name in names}
        self.numbers["spin_mu"] = np.zeros((problem.n_spins, 3))
        self.v_hat = np.zeros((n, 3))
        self.blocks: dict[str, dict[int, Array]] = {"J": {}, "spin_J": {}}
        self.groups: list[GroupDifferential] = []

    def differential(self, objective: Objective, lambda_: Array, dw: Array) -> Differential:
        """All of them, with those by A and v*; dw = v - v*."""
        A = [
            (-0.5 * (np.outer(lambda_[at], dw[at]) + np.outer(dw[at], lambda_[at]))).ravel()
            for at in objective.at.values()
        ]
        flat = {
            name: np.concatenate([np.zeros(0), *(of[i] for i in sorted(of))])
            for name, of in self.blocks.items()
        }
        return Differential(
            v_star=objective.times_A(lambda_),
            A=np.concatenate(A),
            **self.numbers,
            **flat,
            v_hat_n=self.v_hat[:, 2],
            v_hat_t=self.v_hat[:, :2],
            constraints=tuple(self.groups),
        )


def adjoint(
    objective: Objective, K: list[Array], v_bar: ArrayLike, gamma_bar: ArrayLike | None
) -> tuple[Array, list[Array], list[Array]]:
    """Solve H^T lambda = v_bar - J^T K^T gamma_bar; return lambda, and z and x of each pool."""
    J = dense_jacobians(objective)
    z = [np.zeros(pool.R.shape) for pool in objective.pools]
    if gamma_bar is not None:
        for contacts, z_pool in zip(objective.contacts, z, strict=False):
            z_pool[:, :3] = np.asarray(gamma_bar, dtype=float)[contacts.members]
    H = objective.hessian([np.zeros_like(K_pool) for K_pool in K])  # A
    right = np.array(v_bar, dtype=float)
    for J_pool, K_pool, z_pool in zip(J, K, z, strict=True):
        H += np.einsum("nra,nrs,nsb->ab", J_pool, K_pool, J_pool)
        right -= np.einsum("nra,nsr,ns->a", J_pool, K_pool, z_pool)
    lambda_ = np.linalg.solve(H.T, right)
    z = [z_pool + J_pool @ lambda_ for J_pool, z_pool in zip(J, z, strict=True)]
    x = [np.einsum("nsr,ns->nr", K_pool, z_pool) for K_pool, z_pool in zip(K, z, strict=True)]
    return lambda_, z, x


def dense_jacobians(objective: Objective) -> list[Array]:
    """J (n, r, nv) of each pool."""
    columns = [objective.times_J(e) for e in np.eye(objective.nv)]
    return [np.stack(pool_columns, axis=-1) for pool_columns in zip(*columns, strict=True)]


def slope(pool: Pool, y: Array) -> Array:
    """K (n, r, r): G, and what b = mu gamma_n adds to it."""
    of = pool.law if isinstance(pool, WidePool) else pool
    K = pool.at(y).G
    follows = isinstance(of, DiskPool) and of.friction == "coulomb"
    return K + pool.coupling(y) if follows else K  # type: ignore[attr-defined]


# ---- the laws at a given y -----------------------------------------------------------------------


def cone_slopes(pool: ContactPool, y: Array) -> tuple[Partials, Array]:
    """d(|gamma_t|, gamma_n)/dp (n, 2) where a contact slides, and t (n, 2)."""
    q = law(y, pool.mu, pool.R_t, pool.R_n, pool.soft_norm)
    sliding = q.regions == Region.sliding
    share = 1.0 / (1.0 + q.mu_tilde2)
    gamma_n = np.where(sliding, q.s * share, 0.0)
    by_mu_hat = np.where(sliding, share * (q.y_r - pool.mu * gamma_n), 0.0)
    normal = {
        "mu": by_mu_hat * pool.R_t / pool.R_n - share * q.mu_hat * gamma_n,
        "R_t": by_mu_hat * pool.mu / pool.R_n,
        "R_n": -by_mu_hat * q.mu_hat / pool.R_n,
    }
    none = np.zeros(gamma_n.shape)
    own = {"mu": gamma_n, "R_t": none, "R_n": none}
    slopes = {k: np.stack([pool.mu * n + own[k], n], axis=1) for k, n in normal.items()}
    return slopes, np.where(sliding[:, None], q.t, 0.0)


def disk_slopes(pool: DiskPool, y: Array) -> tuple[Partials, Array]:
    """The slopes of friction with a bound."""
    follows = pool.friction == "coulomb"
    bound = pool.coulomb_bound(y) if follows else pool.bound
    q = disk(y, bound, pool.soft_norm)
    sliding = q.regions == Region.sliding
    none, one = np.zeros(len(y)), np.where(sliding, 1.0, 0.0)
    y_n = np.where(sliding, np.maximum(y[:, 2], 0.0), 0.0)
    slopes = (
        # b = mu y_n; that y_n follows R_n is in K
        {"mu": np.stack([y_n, none], axis=1)}
        if follows
        else {"friction_bound": np.stack([one, none], axis=1)}
    )
    return slopes, np.where(sliding[:, None], q.t, 0.0)


def law_slopes(pool: ContactPool, y: Array) -> tuple[Partials, Array]:
    """The slopes of the law of these contacts."""
    return disk_slopes(pool, y) if isinstance(pool, DiskPool) else cone_slopes(pool, y)


# ---- dgamma/dp at a given v_c --------------------------------------------------------------------


def through_y(K: Array, y: Array, tangential: tuple[int, ...]) -> Partials:
    """dgamma/dR = -K y of the rows that have this R."""
    t = list(tangential)
    return {
        "R_t": -np.einsum("nrs,ns->nr", K[:, :, t], y[:, t]),
        "R_n": -K[:, :, 2] * y[:, 2:3],
    }


def added(*parts: Partials) -> Partials:
    """Sums by name."""
    total: Partials = {}
    for part in parts:
        for name, x in part.items():
            total[name] = total[name] + x if name in total else x
    return total


def three_rows(slopes: Partials, t: Array) -> Partials:
    """The slopes of the three rows of contacts."""
    return {name: np.concatenate([x[:, :1] * t, x[:, 1:]], axis=1) for name, x in slopes.items()}


def partials(pool: Pool, y: Array, K: Array) -> Partials:
    """dgamma/dp (n, r) of the constants of a pool, at a given v_c."""
    if isinstance(pool, RowPool):
        inside, low = K[:, :, 0] > 0.0, y <= pool.lower
        return {
            "R": -K[:, :, 0] * y,
            "lower": np.where(~inside & low, 1.0, 0.0),
            "upper": np.where(~inside & ~low, 1.0, 0.0),
        }
    if isinstance(pool, WidePool):
        at = radial(y)
        slopes, t = law_slopes(pool.law, at.y)
        lifted = {}
        for name, x in slopes.items():
            # a matrix whose normal column is the partial derivative
            column = np.zeros((len(y), 3, 3))
            column[:, 0, 2], column[:, 2, 2] = x[:, 0] * t[:, 0], x[:, 1]
            lifted[name] = lift_matrix(at.e, column)[:, :, 2]
        return added(lifted, through_y(K, y, (0, 1, 3, 4, 5)))
    if isinstance(pool, RigidCorePool):
        return core_partials(pool, y)
    if not isinstance(pool, ContactPool):
        raise TypeError(f"{type(pool).__name__} has no derivatives")
    return added(three_rows(*law_slopes(pool, y)), through_y(K, y, (0, 1)))


def core_partials(pool: RigidCorePool, y: Array) -> Partials:
    """gamma = phi(s) gamma_0 with kappa s^2 = 2 l_0."""
    parameters = (pool.mu, pool.R_t, pool.R_n, pool.soft_norm)
    gamma, G, regions = project(y, *parameters)
    l_0, q = contact_cost(y, *parameters), law(y, *parameters)
    f = factors(distance(l_0, pool.barrier), pool.barrier)
    sliding, gamma_n = regions == Region.sliding, gamma[:, 2]
    friction = pool.mu * gamma_n
    y_t2, soft2 = np.sum(q.y_t**2, axis=1), pool.soft_norm**2
    sliding_cost = friction * soft2 / np.where(q.y_r > 0.0, q.y_r, 1.0) - friction**2 / 2.0
    cost = {
        "mu": np.where(sliding, pool.R_t * gamma_n * (q.y_r - friction), 0.0),
        "R_t": np.select(
            [regions == Region.stiction, sliding], [(soft2 - y_t2) / 2.0, sliding_cost]
        ),
        "R_n": -(gamma_n**2) / 2.0,
    }
    compliant = added(three_rows(*cone_slopes(pool, y)), through_y(G, y, (0, 1)))
    rise = np.where(l_0 > 0.0, f.rise / np.where(l_0 > 0.0, 2.0 * l_0, 1.0), 0.0)
    found = {
        name: f.phi[:, None] * compliant[name] + (rise * cost[name])[:, None] * gamma
        for name in cost
    }
    found["kappa"] = -(f.rise / (2.0 * pool.kappa_problem))[:, None] * gamma
    exponential = np.where(pool.barrier.kind == 2, f.rise / pool.barrier.lambda_, 0.0)
    found["core_lambda"] = exponential[:, None] * gamma
    return found


# ---- by J ----------------------------------------------------------------------------------------


def outer_blocks(
    gamma: Array, x: Array, lambda_: Array, v: Array, objective: Objective, trees: list[int]
) -> Array:
    """gamma lambda^T - x v^T of the blocks of one constraint, flat."""
    parts = [
        (np.outer(gamma, lambda_[objective.at[t]]) - np.outer(x, v[objective.at[t]])).ravel()
        for t in trees
        if t >= 0
    ]
    return np.concatenate(parts)


def row_gradients(
    problem: ContactProblem,
    k: int,
    gamma: Array,
    x: Array,
    lambda_: Array,
    v: Array,
    objective: Objective,
) -> Array:
    """dL/dJ of group k, flat."""
    group = problem.constraints[k]
    ends = np.cumsum(group.size)
    parts: list[Array] = [np.zeros(0)]
    for i, (begin, end) in enumerate(zip(ends - group.size, ends, strict=True)):
        trees = [int(group.tree_a[i]), int(group.tree_b[i])]
        rows = slice(begin, end)
        parts.append(outer_blocks(gamma[rows, 0], x[rows, 0], lambda_, v, objective, trees))
    return np.concatenate(parts)


def sides(problem: ContactProblem, i: int, k: int) -> Iterator[tuple[int, Array]]:
    """Tree and angular rows (3, n) of each side of contact i, spin k."""
    for tree, J in zip(
        (int(problem.tree_a[i]), int(problem.tree_b[i])), problem.spin_blocks(k), strict=True
    ):
        if J is not None:
            yield tree, J


def add_spins(
    problem: ContactProblem,
    pool: WidePool,
    gamma: Array,
    x: Array,
    lambda_: Array,
    objective: Objective,
    v: Array,
    found: dict[str, Array],
    blocks: dict[str, dict[int, Array]],
) -> None:
    """The angular rows, s_k J_k, and s_k = mu_k/mu."""
    for n, (i, k) in enumerate(zip(pool.members, pool.spins, strict=True)):
        s, mu = pool.scale[n], pool.law.mu[n]
        trees = [int(problem.tree_a[i]), int(problem.tree_b[i])]
        blocks["spin_J"][int(k)] = outer_blocks(
            s * gamma[n, 3:], s * x[n, 3:], lambda_, v, objective, trees
        )
        s_bar = np.zeros(3)
        for tree, J in sides(problem, int(i), int(k)):
            at = objective.at[tree]
            s_bar += gamma[n, 3:] * (J @ lambda_[at]) - x[n, 3:] * (J @ v[at])
        found["spin_mu"][k] = s_bar / mu
        found["mu"][i] -= s @ s_bar / mu

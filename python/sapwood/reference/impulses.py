"""A small island by its impulses: csrc/solver/dense/impulse_space.h and delassus_newton.h.

With its other rows as free as they are at the iterate v, H_0 = A + J_r^T G_r J_r, Coulomb's
friction asks of the next velocity

    H_0 dv = b + J^T gamma,   b = -A (v - v*) + J_r^T gamma_r
    gamma: the law at v_hat - v_c - J dv = u_0 - J H_0^-1 J^T gamma

a problem in gamma alone. (Rows of a single joint, which the core makes unknowns once a step has
freed them or brought them to a bound, are none that problems in Python have.)
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .objective import Objective, Point
from .wide import NORMAL, TANGENTIAL
from .wide_pool import WidePool

Array = NDArray[np.float64]
Index = NDArray[np.intp]

FEW_SCALARS, MOST_SCALARS, FEW_IMPULSES, MOST_IMPULSES = 12, 64, 24, 48
ROUNDS, SWEEPS, WIDE_SWEEPS, NEAR_SWEEPS = 5, 4, 2, 1
STEPS, HALVINGS, RISES, ENOUGH = 12, 2, 5.0, 1e-11

_NO_ROWS = np.zeros(0)


class Impulses:
    """Contacts and clamped rows by their impulses: u = u_0 - W gamma.

    gamma is a fixed point of the natural map: with z = gamma + s^-1 u

        contacts  gamma_n = max(z_n, 0),  gamma_t = min(mu gamma_n/|z_t|, 1) z_t
        rows      gamma = clip(z, lower, upper)

    Parameters
    ----------
    W : (m, m) array
        With R on its diagonal.
    u : (m) array
        u_0.
    mu : (n_contacts) array
    first : (n_contacts + 1) array of int
        Of a contact: gamma_t, of two to five components, from here on, and last gamma_n. Rows
        follow behind the last contact.
    gamma : (m) array, optional
        What is near; default: 0.
    lower, upper : (n_rows) array
        Bounds of the rows.
    """

    def __init__(
        self,
        W: Array,
        u: Array,
        mu: Array,
        first: Index,
        gamma: Array | None = None,
        lower: Array = _NO_ROWS,
        upper: Array = _NO_ROWS,
    ) -> None:
        self.W, self.mu = W, mu
        self.rows, self.lower, self.upper = np.arange(first[-1], len(u)), lower, upper
        self.gamma = np.zeros(len(u)) if gamma is None else gamma.copy()
        self.u = u - W @ self.gamma
        self.tangential = [slice(begin, end - 1) for begin, end in pairwise(first)]
        self.normal = first[1:] - 1
        self.plain = first[-1] == 3 * len(mu)

    def find(self) -> float:
        """Find gamma; what is left of the map, over the largest s |gamma|."""
        near = bool(np.any(self.gamma))
        least = NEAR_SWEEPS if near else SWEEPS if self.plain else WIDE_SWEEPS
        rest = np.inf
        for sweeps in (0, *(least * 2**k for k in range(ROUNDS - 1))):
            for _ in range(sweeps):
                self._sweep()
            gamma, u = self.gamma.copy(), self.u.copy()
            begin = rest = self._rest()
            stick = sweeps == 0 and not near
            for k in range(STEPS):
                if rest <= ENOUGH:
                    break
                try:
                    system = self._linearize(stick and k == 0)
                    step = np.asarray(np.linalg.solve(*system), np.float64)
                except np.linalg.LinAlgError:
                    break
                rest = self._take(step)
            if rest <= ENOUGH:
                break
            if not rest < begin:
                self.gamma, self.u, rest = gamma, u, begin
        return rest

    def _take(self, step: Array) -> float:
        """The full step, unless it leaves much more than there was; then the best of its halves."""
        gamma, u, before = self.gamma, self.u, self._lacks()
        best = (np.inf, 1.0)
        for k in range(HALVINGS + 1):
            alpha = 0.5**k
            self.gamma, self.u = gamma + alpha * step, u - alpha * (self.W @ step)
            best = min(best, (self._lacks(), alpha), key=lambda tried: tried[0])
            if best[0] <= RISES * before:
                break
        alpha = best[1]
        self.gamma, self.u = gamma + alpha * step, u - alpha * (self.W @ step)
        return self._rest()

    def _lacks(self) -> float:
        """The largest s |gamma - map(gamma)|."""
        return float(np.abs(self._linearize()[1]).max())

    def _rest(self) -> float:
        """That, over the largest s |gamma|."""
        rest, most = self._lacks(), (np.diag(self.W) * np.abs(self.gamma)).max()
        return (rest / most if most > 0.0 else np.inf) if rest > 0.0 else 0.0

    def _move(self, k: int, value: float) -> None:
        self.u -= (value - self.gamma[k]) * self.W[:, k]
        self.gamma[k] = value

    def _sweep(self) -> None:
        """Gauss-Seidel over the blocks."""
        W, gamma, u = self.W, self.gamma, self.u
        for mu, k, t in zip(self.mu, self.normal, self.tangential, strict=True):
            self._move(k, max(gamma[k] + u[k] / W[k, k], 0.0))
            for j, value in enumerate(self._friction(t, mu * gamma[k]), t.start):
                self._move(j, value)
        for k, lower, upper in zip(self.rows, self.lower, self.upper, strict=True):
            self._move(k, min(max(gamma[k] + u[k] / W[k, k], lower), upper))

    def _friction(self, t: slice, bound: float) -> Array:
        """That of sticking where it is small enough, else one at the bound.

        Of slip alone that of a step of the map; of torsion and rolling too, about the one that
        slides, (W_tt + shift I) z = W_tt gamma_t + u_t, after a step of Newton's method on 1/|z|.
        """
        W, gamma, u = self.W[t, t], self.gamma[t], self.u[t]
        z = gamma + np.linalg.solve(W, u)
        size = np.linalg.norm(z)
        if size <= bound:
            return z
        if len(z) > 2 and bound > 0.0:
            shift = size**2 / (z @ np.linalg.solve(W, z)) * (size - bound) / bound
            z = np.linalg.solve(W + shift * np.eye(len(z)), W @ gamma + u)
        else:
            z = gamma + u / np.trace(W)
        size = np.linalg.norm(z)
        return np.asarray(z * (bound / size if size > bound else 1.0))

    def _linearize(self, stick: bool = False) -> tuple[Array, Array]:
        """Newton's system at gamma, and its right hand side, s (map(gamma) - gamma).

        Contacts that slide may be taken as sticking, as all do that touch where gamma is 0.
        """
        m, gamma, u = len(self.u), self.gamma, self.u
        diagonal = np.diag(self.W)
        system = np.column_stack((self.W, u))

        for mu, k, t in zip(self.mu, self.normal, self.tangential, strict=True):
            s = diagonal[t].sum()
            if not gamma[k] + u[k] / diagonal[k] > 0.0:
                for j in range(t.start, k + 1):
                    s_j = s if j < k else diagonal[k]
                    system[j] = 0.0
                    system[j, j], system[j, m] = s_j, -s_j * gamma[j]
                continue
            z, bound = gamma[t] + u[t] / s, mu * gamma[k]
            size = np.sqrt(z @ z)
            if size > bound and not stick:
                direction = z / size
                one = np.eye(len(z))
                across = bound / size * (one - np.outer(direction, direction))
                system[t, :m] = across @ self.W[t]
                system[t, t] += s * (one - across)
                system[t, k] -= s * mu * direction
                system[t, m] = s * (bound * direction - gamma[t])
        for k, lower, upper in zip(self.rows, self.lower, self.upper, strict=True):
            z = gamma[k] + u[k] / diagonal[k]
            value = min(max(z, lower), upper)
            if value != z:
                system[k] = 0.0
                system[k, k], system[k, m] = diagonal[k], diagonal[k] * (value - gamma[k])
        return system[:, :m], system[:, m]


def unknowns(objective: Objective) -> list[Index]:
    """Rows of each contact: those that friction acts on, then that of the normal.

    They count through the contacts of all pools.
    """
    rows: list[Index] = []
    begin = 0
    for pool in objective.contacts:
        n = pool.R.shape[1]
        for i in range(len(pool.R)):
            turning = pool.scale[i] if isinstance(pool, WidePool) else ()
            friction = [*TANGENTIAL[:2], *(3 + r for r, scale in enumerate(turning) if scale > 0.0)]
            rows.append(begin + n * i + np.array([*friction, NORMAL]))
        begin += pool.R.size
    return rows


def fits(objective: Objective) -> bool:
    """Whether the island is small, with contacts under the disk law and clamped rows alone."""
    m, nv = sum(len(rows) for rows in unknowns(objective)), objective.nv
    few = m <= nv or (m <= FEW_IMPULSES and nv > FEW_SCALARS)
    return 0 < m <= MOST_IMPULSES and few and nv <= MOST_SCALARS


def impulse_direction(
    objective: Objective, point: Point, gamma: Array | None
) -> tuple[Array, float, Array]:
    """dv, what `Impulses.find` returns from gamma, and the gamma that it finds.

    Raises LinAlgError where there is none.
    """
    pools, parts = objective.contacts, objective.contact_parts(point)
    rows = unknowns(objective)
    every, n = np.concatenate(rows), len(pools)

    def join(arrays: Iterable[Array]) -> Array:
        return np.concatenate([array.ravel() for array in arrays])[every]

    J = np.column_stack([join(objective.times_J(e)[:n]) for e in np.eye(objective.nv)])
    held = [np.zeros_like(gamma) for gamma in point.gamma[n:]]
    b = -point.gradient - objective.times_J_transposed([*point.gamma[:n], *held])
    free = [np.zeros_like(G) for G in point.G[:n]]
    L = np.linalg.cholesky(objective.hessian([*free, *point.G[n:]]))
    Y, y = np.linalg.solve(L, J.T), np.linalg.solve(L, b)
    lacks = (pool.v_hat - part.v_c for pool, part in zip(pools, parts, strict=True))
    R = np.diag(join(pool.R for pool in pools))
    mu = np.concatenate([law.mu for law in objective.disks])
    first = np.cumsum([0, *(len(contact) for contact in rows)])
    impulses = Impulses(Y.T @ Y + R, join(lacks) - Y.T @ y, mu, first, gamma)
    rest = impulses.find()
    return np.linalg.solve(L.T, y + Y @ impulses.gamma), rest, impulses.gamma

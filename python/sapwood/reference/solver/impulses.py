"""Contacts and clamped rows by their impulses alone: csrc/solver/delassus/delassus_newton.h."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..constraints.torsional import NORMAL, TANGENTIAL
from ..constraints.torsional_pool import WidePool
from .objective import Objective

Array = NDArray[np.float64]
Index = NDArray[np.intp]

ROUNDS, SWEEPS, WIDE_SWEEPS, NEAR_SWEEPS = 5, 4, 2, 1
STEPS, HALVINGS, RISES, ENOUGH = 12, 2, 5.0, 1e-11

_NO_ROWS = np.zeros(0)


class _Image(NamedTuple):
    """The map of a contact: gamma_t = share z_t and gamma_n = normal."""

    state: str
    """open, sticks or slides"""
    z: Array
    share: float
    normal: float


class Impulses:
    """Contacts and clamped rows by their impulses: u = u_0 - W gamma.

    gamma is a fixed point of the natural map: with z = gamma + s^-1 u

        contacts  gamma_n = max(z_n, 0),  gamma_t = min(mu gamma_n/|z_t|, 1) z_t
        rows      gamma = clip(z, lower, upper)

    where convex friction projects z onto the cone in the metric of s.

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
    convex : bool
        Convex friction, not Coulomb's.
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
        convex: bool = False,
    ) -> None:
        self.W, self.mu, self.convex = W, mu, convex
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
        W = self.W
        for mu, k, t in zip(self.mu, self.normal, self.tangential, strict=True):
            if self.convex:
                image = self._map(mu, k, t, 0.5)
                after = np.append(image.share * image.z, image.normal)
                for j, value in enumerate(after.tolist(), t.start):
                    self._move(j, value)
                continue
            self._move(k, max(self.gamma[k] + self.u[k] / W[k, k], 0.0))
            for j, value in enumerate(self._friction(t, mu * self.gamma[k]), t.start):
                self._move(j, value)
        for k, lower, upper in zip(self.rows, self.lower, self.upper, strict=True):
            self._move(k, min(max(self.gamma[k] + self.u[k] / W[k, k], lower), upper))

    def _map(self, mu: float, k: int, t: slice, part: float = 1.0) -> _Image:
        """The map of a contact, with z = gamma + part s^-1 u."""
        s, s_n = np.diag(self.W)[t].sum(), self.W[k, k]
        z = self.gamma[t] + part * self.u[t] / s
        z_n = self.gamma[k] + part * self.u[k] / s_n
        length = float(np.sqrt(z @ z))
        way = s_n * z_n + (mu * s * length if self.convex else 0.0)
        slipping = way / (s_n + mu**2 * s) if self.convex else self.gamma[k]
        if not way > 0.0:
            return _Image("open", z, 0.0, 0.0)
        if length > mu * slipping:
            return _Image("slides", z, mu * slipping / length, slipping if self.convex else z_n)
        return _Image("sticks", z, 1.0, z_n)

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
            s, s_n = diagonal[t].sum(), diagonal[k]
            image = self._map(mu, k, t)
            if image.state == "open":
                for j in range(t.start, k + 1):
                    s_j = s if j < k else s_n
                    system[j] = 0.0
                    system[j, j], system[j, m] = s_j, -s_j * gamma[j]
            elif image.state == "slides" and not stick:
                own, n = np.arange(t.start, k + 1), len(image.z)
                scale = np.append(np.full(n, s), s_n)
                direction = image.z / np.sqrt(image.z @ image.z)
                to = np.append(mu * direction, 1.0)  # the edge of the cone
                by_z, by_gamma = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1))
                by_z[:n, :n] = image.share * (np.eye(n) - np.outer(direction, direction))
                if self.convex:
                    by_z += np.outer(to, scale * to) / (to @ (scale * to))
                else:
                    by_z[n, n], by_gamma[:n, n] = 1.0, mu * direction
                by_u = scale[:, None] * by_z / scale
                system[own, :m] = by_u @ self.W[own]
                system[np.ix_(own, own)] += scale[:, None] * (np.eye(n + 1) - by_z - by_gamma)
                found = np.append(image.share * image.z, image.normal)
                system[own, m] = scale * (found - gamma[own])
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

"""Contacts with Coulomb's friction in their impulses, where M need not be symmetric.

    u = q + M gamma,   0 <= gamma_n perp u_n >= 0,   |gamma_t| <= mu gamma_n,
    u_t = -lambda gamma_t with lambda >= 0, and = 0 where |gamma_t| < mu gamma_n

Gauss-Seidel sweeps solve one contact after the other exactly, also where friction drives a contact
onto itself (Painleve), and semismooth Newton steps follow. Cycles of both go on until the natural
map sum |gamma - P(gamma - rho u)|^2/rho, rho = 1/|M_ii|, is small. After the first cycle Newton's
steps take a larger rho for friction. See csrc/solver/delassus/small_problem.h.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

CYCLES, FIRST_SWEEPS, SWEEPS = 4, 2, 10
ENOUGH = 1e-14
PARALLEL = 1e-6


@dataclass(frozen=True)
class Search:
    """How long a search goes on, and its factors of rho for friction in each cycle."""

    steps: int
    halvings: int
    sharpness: tuple[float, ...]


USUAL = Search(6, 3, (1.0, 30.0, 1000.0, 30.0))
THOROUGH = Search(20, 6, (1.0, 30.0, 1000.0, 10000.0))
"""The searches that are usual, and that follow a refused step."""


def solve_small(M: Array, q: Array, mu: Array, gamma: Array, search: Search = USUAL) -> Array:
    """Find gamma from an estimate.

    Parameters
    ----------
    M : (3 n, 3 n) array
        Rows (t1, t2, n) of each contact, R on the diagonal included, 1/kg.
    q : (3 n) array
        m/s
    mu : (n) array
    gamma : (3 n) array
        Estimate, N s.
    search : Search

    Returns
    -------
    gamma : (3 n) array
        The impulses of the smallest natural map that was met, N s.
    """
    return SmallProblem(M, q, mu, search).solve(gamma)


@dataclass
class Sliding:
    """The impulse of one contact that slides with friction along t, scaled by its divisor."""

    t: Array
    divisor: float
    slip: Array
    cross: float
    turning: float

    @property
    def admissible(self) -> bool:
        """Whether the contact touches and friction opposes the slip."""
        return bool(self.divisor > 0.0 and self.t @ self.slip <= 0.0)

    @property
    def root(self) -> bool:
        """Whether friction is parallel to the slip."""
        return bool(self.cross**2 <= PARALLEL**2 * (self.slip @ self.slip))


def slide(M: Array, q: Array, mu: float, t: Array) -> Sliding:
    """Slide along t of any length; M (3, 3), q (3)."""
    t = t / np.hypot(*t)
    across = np.array([-t[1], t[0]])
    divisor = M[2, 2] + mu * (M[2, :2] @ t)
    slip = divisor * q[:2] - q[2] * (mu * (M[:2, :2] @ t) + M[:2, 2])
    turn = mu * (M[2, :2] @ across) * q[:2] - q[2] * mu * (M[:2, :2] @ across)
    cross = t[0] * slip[1] - t[1] * slip[0]
    return Sliding(t, divisor, slip, cross, t[0] * turn[1] - t[1] * turn[0] - t @ slip)


def follow(M: Array, q: Array, mu: float, t: Array) -> Sliding:
    """Newton's method on the cross product, from t."""
    now = slide(M, q, mu, t)
    for _ in range(6):
        if now.root or now.turning == 0.0:
            break
        half = float(np.clip(-0.5 * now.cross / now.turning, -0.25, 0.25))
        across = np.array([-now.t[1], now.t[0]])
        now = slide(M, q, mu, (1.0 - half**2) * now.t + 2.0 * half * across)
    return now


def bracket(M: Array, q: Array, mu: float, left: Sliding, right: Sliding) -> Sliding:
    """The root between two directions by the Illinois method."""
    now, sides, last = left, [left, right], -1
    size = [abs(left.cross), abs(right.cross)]
    for _ in range(40):
        if now.root:
            break
        now = slide(M, q, mu, size[1] * sides[0].t + size[0] * sides[1].t)
        side = int((now.cross > 0.0) != (sides[0].cross > 0.0))
        size[1 - side] *= 0.5 if side == last else 1.0
        size[side], sides[side], last = abs(now.cross), now, side
    return now


def scan(M: Array, q: Array, mu: float) -> Sliding | None:
    """The admissible root of the smallest slip between 32 directions."""
    angles = 2.0 * np.pi * np.arange(33) / 32.0
    tried = [slide(M, q, mu, np.array([np.cos(a), np.sin(a)])) for a in angles]
    best, smallest = None, np.inf
    for left, right in itertools.pairwise(tried):
        if (left.cross > 0.0) == (right.cross > 0.0):
            continue
        now = bracket(M, q, mu, left, right)
        slip = float(now.slip @ now.slip) / now.divisor**2
        if now.admissible and slip < smallest:
            best, smallest = now, slip
    return best


def solve_contact(M: Array, q: Array, mu: float, gamma: Array) -> Array:
    """One contact with all others fixed, exactly; gamma has the last direction of friction."""
    if q[2] >= 0.0:
        return np.zeros(3)
    sticking = -np.linalg.solve(M, q) if np.linalg.det(M) != 0.0 else np.zeros(3)
    bound, length = mu * max(sticking[2], 0.0), float(np.hypot(*sticking[:2]))
    if sticking[2] > 0.0 and length <= bound:
        return np.asarray(sticking)
    t = gamma[:2] if np.any(gamma[:2]) else -q[:2] if np.any(q[:2]) else np.array([1.0, 0.0])
    found: Sliding | None = follow(M, q, mu, t)
    if found is None or not (found.root and found.admissible):
        found = scan(M, q, mu)
    if found is not None:
        gamma_n = -q[2] / found.divisor
        return np.array([*(mu * gamma_n * found.t), gamma_n])
    share = bound / length if length > bound else 1.0
    return np.array([*(share * sticking[:2]), max(sticking[2], 0.0)])


class SmallProblem:
    """The cycles of sweeps and Newton's steps."""

    def __init__(self, M: Array, q: Array, mu: Array, search: Search = USUAL) -> None:
        self.M, self.q, self.mu, self.search = M, q, mu, search
        diagonal = np.abs(np.diag(M)).reshape(-1, 3)
        tangential = np.mean(diagonal[:, :2], axis=1)
        self.rho = 1.0 / np.column_stack([tangential, tangential, diagonal[:, 2]])
        self.sharp = self.rho

    def z(self, gamma: Array, rho: Array) -> Array:
        """gamma - rho u (n, 3)."""
        u = (self.q + self.M @ gamma).reshape(-1, 3)
        return gamma.reshape(-1, 3) - rho * u

    def residual(self, gamma: Array, rho: Array | None = None) -> float:
        """The natural map."""
        rho = self.rho if rho is None else rho
        z, g = self.z(gamma, rho), gamma.reshape(-1, 3)
        bound, length = self.mu * np.maximum(g[:, 2], 0.0), np.hypot(z[:, 0], z[:, 1])
        slides = length > bound
        share = np.where(slides, bound / np.where(slides, length, 1.0), 1.0)
        image = np.column_stack([share[:, None] * z[:, :2], np.maximum(z[:, 2], 0.0)])
        return float(np.sum((g - image) ** 2 / rho))

    def sweep(self, gamma: Array) -> Array:
        """Solve every contact once."""
        gamma = gamma.copy()
        for i, mu in enumerate(self.mu):
            here = slice(3 * i, 3 * i + 3)
            block = self.M[here, here]
            q = self.q[here] + self.M[here] @ gamma - block @ gamma[here]
            gamma[here] = solve_contact(block, q, mu, gamma[here])
        return gamma

    def step(self, gamma: Array, before: float) -> tuple[Array, float]:
        """Newton's step, halved while the natural map does not fall; infinity without a step."""
        z, n = self.z(gamma, self.sharp), len(gamma)
        rows, right, columns = [], [], []
        for i in np.flatnonzero(z[:, 2] > 0.0):
            at = 3 * int(i)
            length, bound = float(np.hypot(*z[i, :2])), self.mu[i] * z[i, 2]
            if length <= bound:
                rows += list(self.M[at : at + 3])
                right += list(-self.q[at : at + 3])
                columns += list(np.eye(n)[at : at + 3])
                continue
            t, share = z[i, :2] / length, bound / length
            across = np.zeros(n)
            across[at : at + 2] = -t[1], t[0]
            along = np.zeros(n)
            along[at : at + 3] = self.mu[i] * t[0], self.mu[i] * t[1], 1.0
            rows += [share * (across @ self.M) + (1.0 - share) / self.sharp[i, 0] * across,
                     self.M[at + 2]]  # fmt: skip
            right += [-share * (across @ self.q), -self.q[at + 2]]
            columns += [across, along]
        after = np.zeros(n)
        if rows:
            basis = np.array(columns).T
            try:
                after = basis @ np.linalg.solve(np.array(rows) @ basis, np.array(right))
            except np.linalg.LinAlgError:
                return gamma, np.inf
        part = 1.0
        for _ in range(self.search.halvings + 1):
            now = gamma + part * (after - gamma)
            size = self.residual(now, self.sharp)
            if size < before:
                break
            part /= 2.0
        return now, size

    def solve(self, gamma: Array) -> Array:
        """See `solve_small`."""
        zero = np.zeros_like(gamma)
        at_zero, least = self.residual(zero), self.residual(gamma)
        best = gamma
        if not least <= at_zero:
            best, least = zero, at_zero
        for cycle in range(CYCLES):
            if least <= ENOUGH * at_zero:
                break
            for _ in range(SWEEPS if cycle else FIRST_SWEEPS):
                gamma = self.sweep(gamma)
            best, least = self.better(gamma, best, least)
            sharpness = self.search.sharpness[cycle]
            self.sharp = self.rho * [sharpness, sharpness, 1.0]
            now = self.residual(gamma, self.sharp)
            for _ in range(self.search.steps):
                if not now < np.inf or least <= ENOUGH * at_zero:
                    break
                gamma, now = self.step(gamma, now)
                best, least = self.better(gamma, best, least)
        return best

    def better(self, gamma: Array, best: Array, least: float) -> tuple[Array, float]:
        """The gamma of the smaller natural map, and that map."""
        now = self.residual(gamma)
        return (gamma, now) if now < least else (best, least)

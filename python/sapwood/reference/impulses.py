"""A small island by the impulses of its contacts: csrc/sap/impulse_space.h and impulses.h.

With its other rows as free as they are at the iterate v, H_0 = A + J_r^T G_r J_r, Coulomb's
friction asks of the next velocity

    H_0 dv = b + J^T gamma,   b = -A (v - v*) + J_r^T gamma_r
    gamma: the law at v_hat - v_c - J dv = u_0 - J H_0^-1 J^T gamma

a problem in gamma alone. (Rows of a single joint, which the core makes unknowns once a step has
freed them or brought them to a bound, are none that problems in Python have.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .disk_pool import DiskPool
from .objective import Objective, Point

Array = NDArray[np.float64]

FEW_SCALARS, MOST_SCALARS, FEW_CONTACTS, MOST_CONTACTS = 12, 64, 8, 16
ROUNDS, SWEEPS, STEPS, HALVINGS, RISES, ENOUGH = 3, 4, 12, 2, 5.0, 1e-11


class Impulses:
    """Contacts by their impulses: u = u_0 - W gamma.

    gamma is a fixed point of the natural map: with z = gamma + s^-1 u

        gamma_n = max(z_n, 0),  gamma_t = min(mu gamma_n/|z_t|, 1) z_t

    Parameters
    ----------
    W : (m, m) array
        With R on its diagonal: (t1, t2, n) of each contact.
    u : (m) array
        u_0.
    mu : (n_contacts) array
    """

    def __init__(self, W: Array, u: Array, mu: Array) -> None:
        self.W, self.u, self.mu = W, u.copy(), mu
        self.gamma = np.zeros(len(u))

    def find(self) -> float:
        """Find gamma from 0; what is left of the map, over the largest s |gamma|."""
        rest, sweeps = np.inf, SWEEPS
        for _ in range(ROUNDS):
            for _ in range(sweeps):
                self._sweep()
            gamma, u = self.gamma.copy(), self.u.copy()
            begin = rest = self._rest()
            for _ in range(STEPS):
                if rest <= ENOUGH:
                    break
                try:
                    step = np.asarray(np.linalg.solve(*self._linearize()), np.float64)
                except np.linalg.LinAlgError:
                    break
                rest = self._take(step)
            if rest <= ENOUGH:
                break
            if not rest < begin:
                self.gamma, self.u, rest = gamma, u, begin
            sweeps *= 2
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
        for i, mu in enumerate(self.mu):
            k, t = 3 * i + 2, slice(3 * i, 3 * i + 2)
            self._move(k, max(gamma[k] + u[k] / W[k, k], 0.0))
            bound = mu * gamma[k]
            z = gamma[t] + np.linalg.solve(W[t, t], u[t])
            if not z @ z <= bound * bound:
                z = gamma[t] + u[t] / np.trace(W[t, t])
                size = np.sqrt(z @ z)
                z = z * (bound / size if size > bound else 1.0)
            for r in range(2):
                self._move(3 * i + r, z[r])

    def _linearize(self) -> tuple[Array, Array]:
        """Newton's system at gamma, and its right hand side, s (map(gamma) - gamma)."""
        m, gamma, u = len(self.u), self.gamma, self.u
        diagonal = np.diag(self.W)
        system = np.column_stack((self.W, u))

        for i, mu in enumerate(self.mu):
            k, t = 3 * i + 2, slice(3 * i, 3 * i + 2)
            s = diagonal[k - 2] + diagonal[k - 1]
            if not gamma[k] + u[k] / diagonal[k] > 0.0:
                for r, s_r in enumerate((s, s, diagonal[k])):
                    j = 3 * i + r
                    system[j] = 0.0
                    system[j, j], system[j, m] = s_r, -s_r * gamma[j]
                continue
            z, bound = gamma[t] + u[t] / s, mu * gamma[k]
            size = np.sqrt(z @ z)
            if size > bound:
                direction = z / size
                across = bound / size * (np.eye(2) - np.outer(direction, direction))
                system[t, :m] = across @ self.W[t]
                system[t, t] += s * (np.eye(2) - across)
                system[t, k] -= s * mu * direction
                system[t, m] = s * (bound * direction - gamma[t])
        return system[:, :m], system[:, m]


def fits(objective: Objective) -> bool:
    """Whether the island is small, with contacts under the disk law and clamped rows alone."""
    plain = isinstance(objective.pools[0], DiskPool) and len(objective.contacts) == 1
    n = len(objective.pools[0].R)
    nv = objective.nv
    few = 3 * n <= nv or (n <= FEW_CONTACTS and nv > FEW_SCALARS)
    return plain and 0 < n <= MOST_CONTACTS and few and nv <= MOST_SCALARS


def impulse_direction(objective: Objective, point: Point) -> tuple[Array, float]:
    """dv, and what `Impulses.find` returns; raises LinAlgError where there is none."""
    disks, part = objective.pools[0], point.parts[0]
    assert isinstance(disks, DiskPool)
    none = [np.zeros_like(gamma) for gamma in point.gamma[1:]]
    J = np.column_stack([objective.times_J(e)[0].ravel() for e in np.eye(objective.nv)])
    b = -point.gradient - objective.times_J_transposed([part.state.gamma, *none])
    L = np.linalg.cholesky(objective.hessian([np.zeros_like(part.state.G), *point.G[1:]]))
    Y, y = np.linalg.solve(L, J.T), np.linalg.solve(L, b)
    u = (disks.v_hat - part.v_c).ravel() - Y.T @ y
    impulses = Impulses(Y.T @ Y + np.diag(disks.R.ravel()), u, disks.mu)
    rest = impulses.find()
    return np.linalg.solve(L.T, y + Y @ impulses.gamma), rest

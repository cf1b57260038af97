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

LEAST_SCALARS, MOST_SCALARS, MOST_CONTACTS = 13, 64, 8
ROUNDS, SWEEPS, STEPS, ENOUGH = 3, 4, 4, 1e-11


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
            system, begin = self._linearize()
            rest = begin
            for k in range(STEPS):
                if rest <= ENOUGH or (k >= 2 and rest >= begin):
                    break
                try:
                    step = np.linalg.solve(system[:, :-1], system[:, -1])
                except np.linalg.LinAlgError:
                    break
                self.gamma, self.u = self.gamma + step, self.u - self.W @ step
                system, rest = self._linearize()
            if rest <= ENOUGH:
                break
            if not rest < begin:
                self.gamma, self.u, rest = gamma, u, begin
            sweeps *= 2
        return rest

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

    def _linearize(self) -> tuple[Array, float]:
        """Newton's system (m, m + 1) at gamma, and what `find` returns."""
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
        rest, most = np.abs(system[:, m]).max(), (diagonal * np.abs(gamma)).max()
        return system, (rest / most if most > 0.0 else np.inf) if rest > 0.0 else 0.0


def fits(objective: Objective) -> bool:
    """Whether the island is small, with contacts under the disk law and clamped rows alone."""
    plain = isinstance(objective.pools[0], DiskPool) and len(objective.contacts) == 1
    n = len(objective.pools[0].R)
    return plain and 0 < n <= MOST_CONTACTS and LEAST_SCALARS <= objective.nv <= MOST_SCALARS


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

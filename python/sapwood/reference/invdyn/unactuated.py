"""Inverse dynamics on the unactuated coordinates, after elimination of the joints.

With the velocities sorted into unactuated (b) and actuated (q) ones, M = [A B; B^T C], and the
joints held to v_q+ = v_q*, the constrained inverse inertia is K = diag(A^-1, 0). One Cholesky
factorization A = L L^T does for all of it: y = L^T v_b measures base velocities so that |y|^2 is
v_b^T A v_b.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class System:
    """A system in contact at one instant.

    Attributes
    ----------
    M : (m, m) array
        Mass matrix.
    h : (m) array
        Bias force: M a + h = S^T tau + J^T f. Gravity and Coriolis forces, less other applied ones.
    v : (m) array
        Velocity.
    qdd : (n_q) array
        Desired accelerations of the actuated velocities.
    J_n : (n, m) array
        Jacobian of the normal velocities, positive where the contacts open.
    J_t : (n, 2, m) array
        Jacobian of the tangential velocities.
    mu : (n) array
        Friction coefficients.
    phi : (n) array
        Gaps, m; 0 asks that nothing approaches.
    dt : float
        Time step, s.
    actuated : (n_q) array of int
        Velocities with a motor, in the order of `qdd` and of torques.
    """

    M: Array
    h: Array
    v: Array
    qdd: Array
    J_n: Array
    J_t: Array
    mu: Array
    phi: Array
    dt: float
    actuated: NDArray[np.intp]


class Reduction:
    """The reduced problem: v_b+ = v_free,b + A^-1 R_b z, v_q+ = v_q*.

    Raises
    ------
    numpy.linalg.LinAlgError
        If A is not positive definite.
    """

    def __init__(self, system: System) -> None:
        M, q = system.M, np.asarray(system.actuated, dtype=np.intp)
        b = np.setdiff1d(np.arange(len(M)), q)
        self.system, self.b, self.q = system, b, q
        self.A, self.B, self.C = M[np.ix_(b, b)], M[np.ix_(b, q)], M[np.ix_(q, q)]
        self.c = M @ system.v - system.dt * system.h
        #: round-off of momenta, N s
        self.no_impulse = 1e-12 * float(np.abs(self.c[b]).max(initial=0.0))
        self.v_q = system.v[q] + system.dt * system.qdd
        self.L = np.linalg.cholesky(self.A)
        condition = np.diag(self.A) * np.sum(np.linalg.inv(self.L) ** 2, axis=0)
        if condition.max(initial=0.0) >= 1e10:
            raise np.linalg.LinAlgError("A is nearly singular")
        #: rows (n, 3, m) of each contact: two tangents, then the normal
        self.J = np.concatenate([system.J_t, system.J_n[:, None, :]], axis=1)
        self.gap_rate = system.phi / system.dt
        #: rows in base space, whitened: J_b L^-T
        n = len(self.J)
        J_b = self.J[:, :, b].reshape(3 * n, len(b))
        self.J_y = np.linalg.solve(self.L, J_b.T).T.reshape(n, 3, len(b))
        self.J_q = self.J[:, :, q]
        self.y_c = np.linalg.solve(self.L, self.c[b])
        self.B_y = np.linalg.solve(self.L, self.B)

    @property
    def y_free(self) -> Array:
        """Whitened base velocity without contact: L^-1 (c_b - B v_q*)."""
        return self.y_c - self.B_y @ self.v_q

    def contact_velocity(self, y: Array) -> Array:
        """Velocities (n, 3) of the contacts where the base moves with y, the joints with v_q*."""
        return np.asarray(self.J_y @ y + self.J_q @ self.v_q)

    @property
    def free_scale(self) -> float:
        """Typical velocity of the contacts without impulses, m/s."""
        return float(np.abs(self.contact_velocity(self.y_free)).max(initial=0.0))

    @property
    def given_scale(self) -> float:
        """Typical contribution of joints and gaps to it, m/s."""
        parts = (self.J_q @ self.v_q, self.gap_rate)
        return float(sum(np.abs(part).max(initial=0.0) for part in parts))

    @property
    def velocity_scale(self) -> float:
        """Typical velocity of the contacts, m/s."""
        return self.free_scale + self.given_scale

    def allowed_velocity(self, u: Array) -> float:
        """Tolerance for velocities u (n, 3) of the contacts, m/s."""
        fastest = float(np.abs(u).max(initial=0.0))
        return 1e-6 * (fastest + self.given_scale) + 1e-8 * min(self.free_scale, 1e3)

    def base_change(self, z: Array) -> Array:
        """Change L^-1 R_b z of y by impulses z (n, 3)."""
        return np.asarray(np.einsum("cij,ci->j", self.J_y, z))

    def recover(self, z: Array) -> tuple[Array, Array]:
        """Next velocity (m) and the motors' impulses (n_q) that go with contact impulses (n, 3).

        lambda_tau = B^T v_b+ + C v_q* - c_q - R_q z
        """
        y = self.y_free + self.base_change(z)
        v = np.zeros(len(self.c))
        v[self.b] = np.linalg.solve(self.L.T, y)
        v[self.q] = self.v_q
        motors = self.B_y.T @ y + self.C @ self.v_q - self.c[self.q]
        return v, motors - np.einsum("cij,ci->j", self.J_q, z)

    def motor_map(self) -> tuple[Array, Array]:
        """Motors' impulses as an affine function of contact impulses.

        Returns
        -------
        offset : (n_q) array
        X : (n, 3, n_q) array
            lambda_tau = offset - sum_ci X_ci z_ci, with v_b+ following from z.
        """
        offset = self.B_y.T @ self.y_free + self.C @ self.v_q - self.c[self.q]
        return offset, self.J_q - self.J_y @ self.B_y

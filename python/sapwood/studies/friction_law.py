"""Residuals of Coulomb's law of impulses and velocities, with NumPy alone, for any solver.

For compliant contact, with the slip and the gap velocity

    g = v_c - v_hat + R gamma

the law is 0 <= gamma_n perp g_n >= 0, |gamma_t| <= mu gamma_n, and friction that takes as much of
the slip's energy as it can: g_t . gamma_t = -mu gamma_n |g_t|. Momentum balances where A (v - v*) =
J^T gamma.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sapwood import ContactProblem

Array = NDArray[np.float64]


@dataclass(frozen=True)
class CoulombErrors:
    """The violation of each condition; 0 where it holds."""

    momentum: float
    """|D (A (v - v*) - J^T gamma)| over the larger of |D A v| and |D J^T gamma|, D = diag(A)^-1/2,
    over trees that a contact touches."""
    normal: float
    """|min(gamma_n, g_n/R_n)| over the largest gamma_n."""
    cone: float
    """|gamma_t| - mu gamma_n over the largest gamma_n."""
    dissipation: float
    """g_t . gamma_t + mu gamma_n |g_t| over the largest gamma_n and the largest |v_t|."""

    @property
    def law(self) -> float:
        """The largest of those of the law."""
        return max(self.normal, self.cone, self.dissipation)


def coulomb_errors(problem: ContactProblem, v: Array, gamma: Array) -> CoulombErrors:
    """Check momentum and law.

    Parameters
    ----------
    problem
        Contacts alone, without rigid cores.
    v
        Velocities (nv,).
    gamma
        Impulses (n_contacts, 3), rows (t1, t2, n), N s.

    Raises
    ------
    ValueError
        There is more than compliant contacts.
    """
    A, J = _dense(problem)
    v_c = (J @ v).reshape(-1, 3)
    g = slip(problem, v_c, gamma)
    push = J.T @ gamma.ravel()
    # trees move together, so that a velocity is touched where its tree is
    touched = np.repeat(_touched(problem), problem.tree_nv)
    D = touched / np.sqrt(np.diag(A))
    error = _norm(D * (A @ (v - problem.v_star) - push))
    normal, friction = gamma[:, 2], np.hypot(gamma[:, 0], gamma[:, 1])
    limit, speed = problem.mu * normal, np.hypot(g[:, 0], g[:, 1])
    most = np.abs(normal).max(initial=0.0)
    fastest = np.hypot(v_c[:, 0], v_c[:, 1]).max(initial=0.0)
    return CoulombErrors(
        momentum=_ratio(error, max(_norm(D * (A @ v)), _norm(D * push))),
        normal=_largest(np.abs(np.minimum(normal, g[:, 2] / problem.R_n)), most),
        cone=_largest(friction - limit, most),
        dissipation=_largest(
            np.sum(g[:, :2] * gamma[:, :2], axis=1) + limit * speed, most * fastest
        ),
    )


def slip(problem: ContactProblem, v_c: Array, gamma: Array) -> Array:
    """g = v_c - v_hat + R gamma (n_contacts, 3): g_n > 0 with an impulse is gliding, m/s."""
    R = np.column_stack([problem.R_t, problem.R_t, problem.R_n])
    v_hat = np.zeros_like(v_c)
    v_hat[:, 2] = problem.v_hat_n
    if problem.v_hat_t is not None:
        v_hat[:, :2] = problem.v_hat_t
    g: Array = v_c - v_hat + R * gamma
    return g


def _dense(problem: ContactProblem) -> tuple[Array, Array]:
    if problem.constraints or problem.core is not None:
        raise ValueError("Coulomb's law is checked of compliant contacts alone, and there is more")
    return problem.to_dense()


def _touched(problem: ContactProblem) -> NDArray[np.bool_]:
    """Whether a contact touches a tree (n_trees,)."""
    touched = np.zeros(problem.n_trees, dtype=bool)
    touched[problem.tree_a] = True
    touched[problem.tree_b[problem.tree_b >= 0]] = True
    return touched


def _norm(x: Array) -> float:
    return float(np.linalg.norm(x))


def _largest(violations: Array, scale: float) -> float:
    return _ratio(float(np.max(violations, initial=0.0)), float(scale))


def _ratio(error: float, scale: float) -> float:
    """Error over scale; 0 without an error, infinite where nothing measures the one there is."""
    if error == 0.0:
        return 0.0
    return error / scale if scale > 0.0 else float("inf")

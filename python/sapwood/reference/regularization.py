"""From physical parameters to regularization and stabilization velocity (sections VII and IX)."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood.problem import ContactProblem

from .cholesky import factor_dense, solve_lower

Array = NDArray[np.float64]


def delassus_block(
    problem: ContactProblem, i: int, delassus: Literal["block", "diagonal"] = "block"
) -> Array:
    """W_ii (3, 3) of contact i, 1/kg: the sum over its trees of J_it A_t^-1 J_it^T (section IX-A).

    "diagonal" puts diag(A_t)^-1 in place of A_t^-1.
    """
    W = np.zeros((3, 3))
    trees = (int(problem.tree_a[i]), int(problem.tree_b[i]))
    for tree, J in zip(trees, problem.J_blocks(i), strict=True):
        if J is None:
            continue
        A = problem.A_block(tree)
        if delassus == "block":
            L_inv_J = solve_lower(factor_dense(A), J.T)
            W += L_inv_J.T @ L_inv_J
        else:
            W += (J / np.diag(A)) @ J.T
    return W


def effective_inverse_mass(
    problem: ContactProblem, delassus: Literal["block", "diagonal"] = "block"
) -> Array:
    """w_i = |W_ii|_F / 3 of every contact, (n_contacts), 1/kg."""
    blocks = [delassus_block(problem, i, delassus) for i in range(problem.n_contacts)]
    return np.array([np.linalg.norm(W) / 3.0 for W in blocks])


def regularize(
    problem: ContactProblem,
    *,
    dt: float,
    phi0: ArrayLike,
    k: ArrayLike,
    tau_d: ArrayLike,
    sigma: float = 1e-3,
    beta: float = 1.0,
    delassus: Literal["block", "diagonal"] = "block",
) -> tuple[Array, Array, Array]:
    """R_t, R_n (1/kg) and v_hat_n (m/s) of every contact.

    Parameters
    ----------
    problem : ContactProblem
        Only its trees, A and J are read.
    dt : float
        Time step, s.
    phi0, k, tau_d : (n_contacts) arrays
        Signed distance (m), stiffness (N/m) and dissipation time (s).
    sigma, beta : float
        Tangential regularization and near-rigid parameter, dimensionless.
    delassus : "block" or "diagonal"
        Estimate of the inverse effective mass.
    """
    phi0, k, tau_d = (np.asarray(x, dtype=float) for x in (phi0, k, tau_d))
    w = effective_inverse_mass(problem, delassus)
    near_rigid = beta**2 / (4.0 * np.pi**2) * w
    compliant = 1.0 / (dt * k * (dt + tau_d))
    R_n = np.maximum(near_rigid, compliant)  # (21)
    R_t = sigma * w  # (22)
    v_hat_n = -phi0 / (dt + tau_d)  # section VII
    return R_t, R_n, v_hat_n

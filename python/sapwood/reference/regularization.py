"""From physical parameters to regularization and stabilization velocity (sections VII and IX)."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood.problem.contact_problem import ContactProblem

from .cholesky import factor_dense, solve_lower

Array = NDArray[np.float64]


def delassus_block(
    problem: ContactProblem, i: int, delassus: Literal["block", "diagonal"] = "block"
) -> Array:
    """W_ii (3, 3) of contact i, 1/kg: the sum over its trees of J_it A_t^-1 J_it^T (section IX-A).

    "diagonal" puts diag(A_t)^-1 in place of A_t^-1.

    >>> problem = ContactProblem.from_dense(4.0 * np.eye(3), np.zeros(3), np.eye(3), 0.0, k=1e5,
    ...                                     tau_d=0.01, mu=0.5, dt=0.01)
    >>> delassus_block(problem, 0).tolist()
    [[0.25, 0.0, 0.0], [0.0, 0.25, 0.0], [0.0, 0.0, 0.25]]
    """
    trees = (int(problem.tree_a[i]), int(problem.tree_b[i]))
    return _delassus(problem, trees, problem.J_blocks(i), delassus)


def _delassus(
    problem: ContactProblem,
    trees: tuple[int, int],
    blocks: tuple[Array, Array | None],
    delassus: Literal["block", "diagonal"],
) -> Array:
    W = np.zeros((len(blocks[0]), len(blocks[0])))
    for tree, J in zip(trees, blocks, strict=True):
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
    release: ArrayLike = np.inf,
    release_w: ArrayLike = 0.0,
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
    release : float or (n_contacts) array
        Most speed, m/s, at which a violation is corrected where k is infinite.
    release_w : float or (n_contacts) array
        The least inverse mass, 1/kg, that such a contact is held back with.
    """
    phi0, k, tau_d, release = (np.asarray(x, dtype=float) for x in (phi0, k, tau_d, release))
    w = effective_inverse_mass(problem, delassus)
    near_rigid = beta**2 / (4.0 * np.pi**2) * w
    R_n = np.maximum(near_rigid, 1.0 / (dt * k * (dt + tau_d)))  # (21)
    R_t = sigma * w  # (22)
    v_hat_n = -phi0 / (dt + tau_d)  # section VII
    held = np.isinf(k) & (v_hat_n > release)
    w = np.maximum(w, release_w)
    R_n, v_hat_n = _hold_back(held, release, w, near_rigid, R_n, v_hat_n)
    return R_t, R_n, v_hat_n


def release_speed(
    depth: ArrayLike,
    full: ArrayLike,
    growth: ArrayLike,
    *,
    K: ArrayLike,
    B: ArrayLike,
    speed: float = 0.1,
    driven: ArrayLike = False,
) -> Array:
    """Most speed at which violated rows of a simulated model are released.

    Parameters
    ----------
    depth : array_like
        Of the violations, m or rad.
    full : array_like
        Speed of their full correction, depth/(dt + tau_d).
    growth : array_like
        How fast they grow, by the velocities at the start of the step.
    K, B : array_like
        Stiffness (1/s^2) and damping (1/s) of the engine's own correction.
    speed : float
        Up to which rows are free, V.
    driven : array_like of bool
        Rows that a mocap body drives.

    Returns
    -------
    ndarray
        max(V/2, depth/T) with T = B/K + 1/sqrt(K), infinite where full <= max(V, 2 growth).
    """
    depth, full, growth, K, B = (np.asarray(x, dtype=float) for x in (depth, full, growth, K, B))
    V = np.where(driven, max(speed, DRIVEN_SPEED), speed)
    u = np.where(driven, np.abs(growth), growth)
    released = np.maximum(V / 2.0, depth / (B / K + 1.0 / np.sqrt(K)))
    return np.where(full <= np.maximum(V, 2.0 * u), np.inf, released)


def driven_force(*, dt: float, D: ArrayLike, impedance: ArrayLike, speed: float = 0.1) -> Array:
    """Most force of rows that a mocap body drives, N or N m.

    Parameters
    ----------
    dt : float
        Time step, s.
    D, impedance : array_like
        ``efc_D`` of the engine's rows, kg or kg m^2, and the impedance in their ``efc_KBIP``.
    speed : float
        As of :func:`release_speed`, V.

    Returns
    -------
    ndarray
        4 pi^2 V/(w dt) with the inverse mass w = I/((1 - I) D): what a contact carries that is
        V (dt + tau_d) deep.
    """
    impedance = np.asarray(impedance, dtype=float)
    w: Array = impedance / ((1.0 - impedance) * np.asarray(D, dtype=float))
    return np.asarray(4.0 * np.pi**2 * speed / (w * dt))


# up to which rows of a mocap body are free, m/s and rad/s
DRIVEN_SPEED = 0.35

# a row that is held back gives at rest at most the impulse of this speed of full correction, m/s
RELEASE_LOAD = 0.5


def _hold_back(
    held: NDArray[np.bool_], release: Array, w: Array, near_rigid: Array, R: Array, v_hat: Array
) -> tuple[Array, Array]:
    """R and v_hat of rows that are corrected no faster than `release`, where `held`."""
    R_1 = np.maximum(near_rigid, w / (4.0 * np.pi**2))
    slow = R_1 * release / np.minimum(np.abs(v_hat), RELEASE_LOAD, where=held, out=np.ones_like(R))
    return np.where(held, slow, R), np.where(held, np.copysign(release, v_hat), v_hat)


def constraint_inverse_mass(
    problem: ContactProblem, k: int, delassus: Literal["block", "diagonal"] = "block"
) -> Array:
    """w of each row in group k, (n_rows), 1/kg or 1/(kg m^2).

    |W_ii|_F / n of the n rows of a constraint; where it has more than three, of the first three and
    of the others by themselves: the translations and the rotations of a weld.
    """
    group = problem.constraints[k]
    w = [np.zeros(0)]
    for i, trees in enumerate(zip(group.tree_a.tolist(), group.tree_b.tolist(), strict=True)):
        J_a, J_b = problem.constraint_blocks(k, i)
        for rows in (slice(0, 3), slice(3, None)):
            blocks = (J_a[rows], None if J_b is None else J_b[rows])
            W = _delassus(problem, trees, blocks, delassus)
            w.append(np.full(len(W), np.linalg.norm(W) / max(len(W), 1)))
    return np.concatenate(w)


def regularize_group(
    problem: ContactProblem,
    k: int,
    *,
    dt: float,
    sigma: float = 1e-3,
    delassus: Literal["block", "diagonal"] = "block",
    release: ArrayLike = np.inf,
    release_w: ArrayLike = 0.0,
) -> tuple[Array, Array, Array, Array]:
    """R, v_hat, lower and upper (n_rows) of group k from its physical parameters.

    Parameters
    ----------
    problem : ContactProblem
        Its trees and A are read, and of the group what was given to it.
    k : int
        Which group.
    dt : float
        Time step, s.
    sigma : float
        Regularization of dry friction, dimensionless.
    delassus : "block" or "diagonal"
        Estimate of the inverse effective mass.
    release : float or (n_rows) array
        Most speed at which violations of limits and bilateral constraints are corrected where k is
        infinite, m/s or rad/s.
    release_w : float or (n_rows) array
        The least inverse mass that such a row is held back with, 1/kg or 1/(kg m^2).
    """
    group = problem.constraints[k]
    w = constraint_inverse_mass(problem, k, delassus)
    near_rigid = group.beta**2 / (4.0 * np.pi**2) * w
    physical = group.parameters
    if "tau_d" in physical and physical["tau_d"] is None:
        physical["tau_d"] = np.full(group.n_rows, dt)
    x = {name: np.asarray(value) for name, value in physical.items()}

    if group.kind == "limit" or group.kind == "bilateral":
        phi0 = x["phi0"] if group.kind == "limit" else x["g"]
        time = dt + x["tau_d"]
        release = np.asarray(release, dtype=float)
        R = np.maximum(near_rigid, 1.0 / (dt * x["k"] * time))  # (21)
        v_hat = -phi0 / time  # section VII
        held = np.isinf(x["k"]) & (np.abs(v_hat) > release)
        held &= (v_hat > 0.0) | (group.kind == "bilateral")
        R, v_hat = _hold_back(held, release, np.maximum(w, release_w), near_rigid, R, v_hat)
        if group.kind == "limit":
            return R, v_hat, np.zeros(group.n_rows), np.full(group.n_rows, np.inf)
        return R, v_hat, dt * x["force_lower"], dt * x["force_upper"]

    if group.kind == "controller":
        gain = dt * x["Kp"] + x["Kd"]
        R = np.maximum(near_rigid, 1.0 / (dt * gain))
        # gains times 1/(dt gain R) where near-rigid, which u_ff is not
        v_hat = (x["Kp"] * (x["q_d"] - x["q_0"]) + x["Kd"] * x["v_d"]) / gain + dt * R * x["u_ff"]
        return R, v_hat, -dt * x["effort"], dt * x["effort"]

    return sigma * w, np.zeros_like(w), -dt * x["f"], dt * x["f"]

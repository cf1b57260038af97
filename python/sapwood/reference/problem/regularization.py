"""Regularization and stabilization velocity from physical parameters (sections VII and IX)."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood.problem.contact_problem import ContactProblem

from ..linalg.cholesky import factor_dense, solve_lower

Array = NDArray[np.float64]

# ratio of R_n of an impact to its near-rigid value
IMPACT_SHARE = 0.01


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


def contact_loads(
    problem: ContactProblem,
    *,
    phi0: ArrayLike,
    free_change: ArrayLike,
    body_w: ArrayLike = 0.0,
    delassus: Literal["block", "diagonal"] = "block",
) -> Array:
    """The impulse P (n_contacts), N s, that the free motion presses the island of a contact with.

    P_i is the largest max(0, -J_n dv)/w of the sides of a contact, with w = max(|W|_F/3, body_w/2)
    of the side. Contacts with phi0 <= 0 join trees to islands. P is the largest P_i of an island;
    for an open contact, the largest of its own and of the islands of its trees.

    Parameters
    ----------
    problem : ContactProblem
        Only its trees, A and J are read.
    phi0 : (n_contacts) array
        Signed distance, m.
    free_change : (nv) array
        Change of the velocity in the step, dv, by all forces except constraints.
    body_w : float or (n_contacts, 2) array
        Inverse masses of the bodies of the two sides, 1/kg.
    delassus : "block" or "diagonal"
        Estimate of the inverse effective mass.
    """
    phi0, dv = np.asarray(phi0, dtype=float), np.asarray(free_change, dtype=float)
    n = problem.n_contacts
    w_body = np.broadcast_to(np.asarray(body_w, dtype=float), (n, 2))
    start = np.concatenate([[0], np.cumsum(problem.tree_nv)])
    own = np.zeros(n)
    pairs = zip(problem.tree_a.tolist(), problem.tree_b.tolist(), strict=True)
    trees = [[t for t in pair if t >= 0] for pair in pairs]
    for i in range(n):
        for side, tree in enumerate(trees[i]):
            J = problem.J_blocks(i)[side]
            assert J is not None
            W = _delassus(problem, (tree, -1), (J, None), delassus)
            w = max(float(np.linalg.norm(W)) / 3.0, w_body[i, side] / 2.0)
            approach = -float(J[2] @ dv[start[tree] : start[tree + 1]])
            own[i] = max(own[i], approach / w if w > 0.0 else 0.0)
    islands = [{t} for t in range(len(problem.tree_nv))]
    closed = np.flatnonzero(phi0 <= 0.0).tolist()
    for i in closed:
        joined = set().union(*(islands[t] for t in trees[i]))
        for t in joined:
            islands[t] = joined
    loads = own.copy()
    for i in range(n):
        joined = set().union(*(islands[t] for t in trees[i]))
        loads[i] = max([own[i], *(own[j] for j in closed if trees[j][0] in joined)])
    return loads


def impact_loads(problem: ContactProblem, v_hat_n: ArrayLike, w: Array) -> Array:
    """The impulse max(0, min(0, v_hat_n) - J_n v*)/w (n_contacts), N s, of impacts.

    Parameters
    ----------
    problem : ContactProblem
        Only its trees, v* and J are read.
    v_hat_n : (n_contacts) array
        Speed by which gaps close, -phi0/(dt + tau_d), m/s.
    w : (n_contacts) array
        Inverse effective masses, 1/kg.
    """
    start = np.concatenate([[0], np.cumsum(problem.tree_nv)])
    approach = np.zeros(problem.n_contacts)
    for i in range(problem.n_contacts):
        pair = (problem.tree_a[i], problem.tree_b[i])
        for tree, J in zip(pair, problem.J_blocks(i), strict=True):
            if J is not None:
                approach[i] -= float(J[2] @ problem.v_star[start[tree] : start[tree + 1]])
    return np.asarray(np.maximum(np.minimum(v_hat_n, 0.0) + approach, 0.0) / w)


# least sigma of the rule by slip
LEAST_SIGMA = 1e-6


def sigma_of_slip(sigma: float, slip_ratio: ArrayLike) -> Array:
    """Sigma of contacts, or of rows of dry friction, by their slip.

    Parameters
    ----------
    sigma : float
        Tangential regularization, dimensionless.
    slip_ratio : array_like
        Slip speed at the start of the step over V_s, >= 0.

    Returns
    -------
    ndarray
        max(1e-6, min(sigma, sigma slip_ratio)), or sigma if that is below 1e-6.

    Examples
    --------
    >>> sigma_of_slip(1e-3, [0.0, 0.5, 2.0]).tolist()
    [1e-06, 0.0005, 0.001]
    """
    share = np.minimum(np.asarray(slip_ratio, dtype=float), 1.0)
    return np.asarray(np.maximum(min(LEAST_SIGMA, sigma), sigma * share))


# ratio of V_s to the creep under a load from which on sigma grows more slowly with the slip
CREEP_MARGIN = 4.0


def creep_share(creep: ArrayLike, slip_speed: ArrayLike) -> Array:
    """Share f of the slip that counts for sigma: min(1, V_s/(4 creep)).

    Parameters
    ----------
    creep : array_like
        Largest speed at which what sticks would creep with sigma, sigma w mu P, m/s or rad/s.
    slip_speed : float or array_like
        V_s, m/s or rad/s; 0 for none.

    Returns
    -------
    ndarray
        The shares.

    Examples
    --------
    >>> creep_share([0.125, 1.0, 4.0], 1.0).tolist()
    [1.0, 0.25, 0.0625]
    """
    most = CREEP_MARGIN * np.asarray(creep, dtype=float)
    speed = np.asarray(slip_speed, dtype=float)
    loaded = (most > speed) & (speed > 0.0)
    return np.asarray(np.where(loaded, speed / np.where(loaded, most, 1.0), 1.0))


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
    slip_ratio: ArrayLike = np.inf,
    release: ArrayLike = np.inf,
    free_change: ArrayLike | None = None,
    load_speed: float = np.inf,
    slip_speed: float = 0.0,
    body_w: ArrayLike = 0.0,
    rebound: ArrayLike = 0.0,
) -> tuple[Array, Array, Array]:
    """R_t, R_n (1/kg) and v_hat_n (m/s) of every contact.

    Parameters
    ----------
    problem : ContactProblem
        Only its trees, A and J are read, and its v* and mu where loads are known.
    dt : float
        Time step, s.
    phi0, k, tau_d : (n_contacts) arrays
        Signed distance (m), stiffness (N/m) and dissipation time (s).
    sigma, beta : float
        Tangential regularization and near-rigid parameter, dimensionless.
    delassus : "block" or "diagonal"
        Estimate of the inverse effective mass.
    slip_ratio : float or (n_contacts) array
        Slip speed at the start of the step over V_s, see :func:`sigma_of_slip`.
    release : float or (n_contacts) array
        Most speed, m/s, at which a violation is corrected where k is infinite.
    free_change : (nv) array, optional
        Change of the velocity in the step by all forces except constraints: contacts are stiffer
        for the load P of :func:`contact_loads`. Without it no contact is.
    load_speed : float
        V_1, m/s: R_n = R_nr min(1, x^(-0.98)) with x = R_nr P/V_1 and the larger P of
        :func:`contact_loads` and :func:`impact_loads`.
    slip_speed : float
        V_s, m/s, of the slip ratio: under P sigma is max(1e-6 f, min(sigma, sigma f slip_ratio))
        with f of :func:`creep_share`; 0 for no dependence on loads.
    body_w : float or (n_contacts, 2) array
        Inverse masses of the bodies of the two sides, 1/kg: a contact is held back by no less than
        their sum.
    rebound : float or (n_contacts) array
        Speed at which an impact opens a contact where k is infinite, m/s: v_hat_n is at least
        that, then with R_n = 0.01 R_nr.
    """
    phi0, k, tau_d, release = (np.asarray(x, dtype=float) for x in (phi0, k, tau_d, release))
    w = effective_inverse_mass(problem, delassus)
    near_rigid = beta**2 / (4.0 * np.pi**2) * w
    stiff, share = near_rigid, np.ones(problem.n_contacts)
    if free_change is not None:
        loads = contact_loads(
            problem, phi0=phi0, free_change=free_change, body_w=body_w, delassus=delassus
        )
        most = np.maximum(loads, impact_loads(problem, -phi0 / (dt + tau_d), w))
        stiff = near_rigid * np.maximum(near_rigid * most / load_speed, 1.0) ** (0.02 - 1.0)
        share = creep_share(sigma * w * problem.mu * loads, slip_speed)
    R_n = np.maximum(stiff, 1.0 / (dt * k * (dt + tau_d)))  # (21)
    least = min(LEAST_SIGMA, sigma) * share
    R_t = np.maximum(least, sigma * np.minimum(np.multiply(slip_ratio, share), 1.0)) * w  # (22)
    v_hat_n = -phi0 / (dt + tau_d)  # section VII
    held = np.isinf(k) & (v_hat_n > release)
    heavy = np.broadcast_to(np.asarray(body_w, dtype=float), (problem.n_contacts, 2)).sum(axis=1)
    R_n, v_hat_n = _hold_back(held, release, np.inf, R_n * np.maximum(1.0, heavy / w), R_n, v_hat_n)
    impact = np.isinf(k) & (np.asarray(rebound) > np.maximum(v_hat_n, 0.0))
    R_n = np.where(impact, IMPACT_SHARE * near_rigid, R_n)
    return R_t, R_n, np.where(impact, rebound, v_hat_n)


def release_speed(
    depth: ArrayLike,
    full: ArrayLike,
    growth: ArrayLike,
    *,
    K: ArrayLike,
    B: ArrayLike,
    speed: float = 0.1,
    one_sided: ArrayLike = False,
    driven: ArrayLike = False,
) -> Array:
    """Most speed at which violated rows of a simulated model are released.

    Parameters
    ----------
    depth : array_like
        Depth of the violations, m or rad.
    full : array_like
        Speed of their full correction, depth/(dt + tau_d).
    growth : array_like
        Their rates, by the velocities at the start of the step.
    K, B : array_like
        Stiffness (1/s^2) and damping (1/s) of the engine's own correction.
    speed : float
        Up to which rows are free, V.
    one_sided : array_like of bool
        Rows of contacts and limits.
    driven : array_like of bool
        Rows that a mocap body drives.

    Returns
    -------
    ndarray
        max(V/2, depth/T) with T = B/K + 1/sqrt(K), infinite where full <= max(V, 2 growth). There
        one-sided rows that nothing drives have max(V, growth) if that is less than `full`.
    """
    depth, full, growth, K, B = (np.asarray(x, dtype=float) for x in (depth, full, growth, K, B))
    V = np.where(driven, DRIVEN * speed, speed)
    u = np.where(driven, np.abs(growth), growth)
    released = np.maximum(V / 2.0, depth / (B / K + 1.0 / np.sqrt(K)))
    late = np.logical_and(one_sided, np.logical_not(driven)) & (full > np.maximum(V, u))
    free = np.where(late, np.maximum(V, u), np.inf)
    return np.where(full <= np.maximum(V, 2.0 * u), free, released)


def driven_force(*, dt: float, D: ArrayLike, impedance: ArrayLike, speed: float = 0.1) -> Array:
    """Most force of rows that a mocap body drives, N or N m.

    Parameters
    ----------
    dt : float
        Time step, s.
    D, impedance : array_like
        ``efc_D`` of the engine's rows, kg or kg m^2, and the impedance in their ``efc_KBIP``.
    speed : float
        The same as for :func:`release_speed`, V.

    Returns
    -------
    ndarray
        4 pi^2 V/(w dt) with the inverse mass w = I/((1 - I) D): the load of a contact that is
        V (dt + tau_d) deep.
    """
    impedance = np.asarray(impedance, dtype=float)
    w: Array = impedance / ((1.0 - impedance) * np.asarray(D, dtype=float))
    return np.asarray(4.0 * np.pi**2 * speed / (w * dt))


# V of rows that a mocap body drives, and the full correction up to which rows of what is damped
# implicitly get stronger, in V
DRIVEN, HELD = 3.5, 5.0


def _hold_back(
    held: NDArray[np.bool_], release: Array, most: ArrayLike, R_1: Array, R: Array, v_hat: Array
) -> tuple[Array, Array]:
    """R and v_hat of rows that are corrected no faster than `release`, where `held`.

    At rest they carry the same as without it, up to the impulse `most`.
    """
    speed, full = np.where(held, release, 1.0), np.where(held, np.abs(v_hat), 1.0)
    slow = np.maximum(R_1 * speed / full, speed / np.asarray(most, dtype=float))
    return np.where(held, slow, R), np.where(held, np.copysign(speed, v_hat), v_hat)


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
    release_impulse: ArrayLike = np.inf,
    slip_speed: ArrayLike = 0.0,
) -> tuple[Array, Array, Array, Array]:
    """R, v_hat, lower and upper (n_rows) of group k from its physical parameters.

    Parameters
    ----------
    problem : ContactProblem
        The problem; its trees, its A, and the given parameters of the group are read.
    k : int
        Index of the group.
    dt : float
        Time step, s.
    sigma : float
        Regularization of dry friction, dimensionless.
    delassus : "block" or "diagonal"
        Estimate of the inverse effective mass.
    release : float or (n_rows) array
        Most speed at which violations of limits and bilateral constraints are corrected where k is
        infinite, m/s or rad/s.
    release_impulse : float or (n_rows) array
        Most impulse at rest of such a row, N s or N m s.
    slip_speed : float or (n_rows) array
        V_s of dry friction, m/s or rad/s: f of :func:`creep_share` times the slip counts, with the
        creep under its whole force; 0 for none.
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
        R, v_hat = _hold_back(held, release, release_impulse, R, R, v_hat)
        if group.kind == "limit":
            return R, v_hat, np.zeros(group.n_rows), np.full(group.n_rows, np.inf)
        return R, v_hat, dt * x["force_lower"], dt * x["force_upper"]

    if group.kind == "controller":
        gain = dt * x["Kp"] + x["Kd"]
        R = np.maximum(near_rigid, 1.0 / (dt * gain))
        # gains times 1/(dt gain R) where near-rigid, which u_ff is not
        v_hat = (x["Kp"] * (x["q_d"] - x["q_0"]) + x["Kd"] * x["v_d"]) / gain + dt * R * x["u_ff"]
        return R, v_hat, -dt * x["effort"], dt * x["effort"]

    share = creep_share(sigma * w * dt * x["f"], slip_speed)
    R = sigma_of_slip(sigma, share * x["slip_ratio"]) * w
    return R, np.zeros_like(w), -dt * x["f"], dt * x["f"]

"""Torsional and rolling friction by formulas that share no code with the package.

Rows of contacts that resist turning are (t1, t2, n) in m/s and those about (n, t1, t2) in rad/s, as
they are given; a component with mu_k = 0 is left out. In units of sqrt(R), R_k = R_t (mu/mu_k)^2,
the cone is circular and the projection Euclidean. Extended precision.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import helpers
from friction import momentum
from helpers import WIDE

FRICTIONS = ("convex", "lagged", "coulomb")


class Balance(NamedTuple):
    """Impulses of contacts at a velocity, and the residual of momentum."""

    gamma: np.ndarray  # (n_contacts, 3)
    spin_gamma: np.ndarray  # (n_spins, 3)
    cost: np.longdouble
    gradient: np.ndarray  # (nv)
    error: float  # e_m


def impulse(z, mu, lengths, R_t, R_n, bound=None):
    """Impulses (6) for z = v_hat - v_c (6) of one contact, in the cone or of size `bound`."""
    acts = np.array([True, True, True, *(lengths > 0)])
    R = np.array([R_t, R_t, R_n, *[R_t * (mu / x) ** 2 if x > 0 else WIDE(1) for x in lengths]])
    x = np.where(acts, z / np.sqrt(R), 0)
    tangential = np.array([True, True, False, True, True, True])
    radial, axial = np.sqrt(np.sum(x[tangential] ** 2)), x[2]
    direction = np.where(tangential, x, 0) / (radial if radial > 0 else 1)
    if bound is not None:
        size = min(radial, bound * np.sqrt(R_t))
        x = size * direction
        x[2] = max(axial, 0)
    elif not (axial >= 0 and radial <= mu * np.sqrt(R_t / R_n) * axial):
        # the nearest point of the ray along f in the plane of axis and point
        f = np.array([mu * np.sqrt(R_t / R_n), 1]) / np.sqrt(1 + mu**2 * R_t / R_n)
        along = max(f[0] * radial + f[1] * axial, WIDE(0))
        x = along * f[0] * direction
        x[2] = along * f[1]
    return np.where(acts, x / np.sqrt(R), 0), np.where(acts, R, 0)


def blocks_of(problem, i):
    """[(tree, J (6, n))] of contact i; the last three rows are zero where it does not resist."""
    blocks = [
        (t, np.vstack([J, np.zeros_like(J)])) for t, J in helpers.contact_jacobian(problem, i)
    ]
    contacts = [] if problem.spin_contact is None else problem.spin_contact.tolist()
    if i in contacts:
        spin = [J for J in problem.spin_blocks(contacts.index(i)) if J is not None]
        for (_, J), J_spin in zip(blocks, spin, strict=True):
            J[3:] = J_spin
    return [(t, J.astype(WIDE)) for t, J in blocks]


def balance(problem, v, friction="convex") -> Balance:
    """At v with friction in the cone, bounded by friction_bound, or by mu gamma_n."""
    v, at = np.asarray(v, dtype=WIDE), helpers.sections(problem)
    contacts = [] if problem.spin_contact is None else problem.spin_contact.tolist()
    gamma = np.zeros((problem.n_contacts, 6), dtype=WIDE)
    j_c, cost = np.zeros_like(v), WIDE(0)
    for i in range(problem.n_contacts):
        blocks = blocks_of(problem, i)
        z = np.array([*helpers.bias(problem)[i], 0, 0, 0]) - sum(J @ v[at[t]] for t, J in blocks)
        R_t, R_n, mu = (WIDE(x[i]) for x in (problem.R_t, problem.R_n, problem.mu))
        bound = {
            "convex": None,
            "lagged": None if problem.friction_bound is None else problem.friction_bound[i],
            "coulomb": mu * max(z[2] / R_n, WIDE(0)),
        }[friction]
        lengths = problem.spin_mu[contacts.index(i)] if i in contacts else np.zeros(3)
        gamma[i], R = impulse(z, mu, lengths.astype(WIDE), R_t, R_n, bound)
        cost += gamma[i] @ z - np.sum(R * gamma[i] ** 2) / 2
        for t, J in blocks:
            j_c[at[t]] += J.T @ gamma[i]
    for k in range(len(problem.constraints)):
        _, cost_k, j_c_k = helpers.rows_wide(problem, k, v)
        cost, j_c = cost + cost_k, j_c + j_c_k
    difference, gradient = v - problem.v_star, np.zeros_like(v)
    for t, here in enumerate(at):
        gradient[here] = problem.A_block(t).astype(WIDE) @ difference[here]
    cost += difference @ gradient / 2
    residual, scale = momentum(problem, v, j_c)
    spin_gamma = gamma[contacts, 3:]
    return Balance(gamma[:, :3], spin_gamma, cost, gradient - j_c, residual / scale)


def spinning_problem(seed, *, mu=None, **options):
    """A random problem with bounds of several sizes, 0 among them; and its generator."""
    rng = np.random.default_rng(seed)
    problem = helpers.random_spinning_problem(rng, **options)
    n = problem.n_contacts
    bound = rng.choice([0.0, 0.1, 1.0, 5.0], n) * rng.uniform(0.5, 2.0, n)
    # with much friction Coulomb's law has several solutions at times
    mu = problem.mu if mu is None else np.minimum(problem.mu, mu)
    return helpers.rebuild(problem, friction_bound=bound, mu=mu), rng

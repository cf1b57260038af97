"""The accuracy of impulses for a problem of Coulomb friction, from any solver.

With De Saxcé's augmented velocity u + mu |u_t| e_n the law of `problems` is complementarity on the
friction cone K, and its residual the natural map

    F(r) = r - P_K(r - (u + mu |u_t| e_n)),   u = W r + q

P_K is the Euclidean projection. F is 0 at a solution. It adds impulses and velocities as they are,
so its size elsewhere depends on the units, and on the masses.
"""

from __future__ import annotations

import math

import numpy as np

from sapwood.studies.fclib.problems import Array, LocalProblem


def natural_map(problem: LocalProblem, r: Array) -> Array:
    """F(r) of each contact (n_contacts, 3), rows (n, t1, t2)."""
    u = (problem.W @ r + problem.q).reshape(-1, 3)
    impulse = r.reshape(-1, 3)
    augmented = u.copy()
    augmented[:, 0] += problem.mu * np.hypot(u[:, 1], u[:, 2])
    projected: Array = impulse - project(impulse - augmented, problem.mu)
    return projected


def project(z: Array, mu: Array) -> Array:
    """The nearest points of cones |z_t| <= mu z_n, row by row (n_contacts, 3)."""
    normal, radial = z[:, 0], np.hypot(z[:, 1], z[:, 2])
    # on the surface, and at the apex where that lies below
    surface = np.maximum((mu * radial + normal) / (mu * mu + 1.0), 0.0)
    inside = radial <= mu * normal
    scale = np.divide(mu * surface, radial, out=np.zeros_like(radial), where=radial > 0.0)
    nearest = np.column_stack([surface, scale[:, None] * z[:, 1:]])
    return np.where(inside[:, None], z, nearest)


def merit(problem: LocalProblem, r: Array) -> float:
    """MERIT_1 of FCLIB, |F(r)|/(1 + sqrt(|q|)), as `fclib_merit_local` has it.

    FCLIB has none for problems in global form, which are measured by their local one. Where |q| is
    small this is an absolute residual, see `relative_residual`.
    """
    size = 1.0 + math.sqrt(float(np.linalg.norm(problem.q)))
    return float(np.linalg.norm(natural_map(problem, r))) / size


def relative_residual(problem: LocalProblem, r: Array) -> float:
    """|F(r)|/|q|, by which Siconos stops; infinite where q is 0 and F is not."""
    residual = float(np.linalg.norm(natural_map(problem, r)))
    size = float(np.linalg.norm(problem.q))
    if residual == 0.0:
        return 0.0
    return residual / size if size > 0.0 else math.inf

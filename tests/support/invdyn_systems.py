"""Systems in contact for tests of inverse dynamics, as plain arrays."""

from __future__ import annotations

import dataclasses

import numpy as np


@dataclasses.dataclass
class Case:
    """Arguments of `InverseDynamics.solve`, and what the controller is made with."""

    M: np.ndarray
    h: np.ndarray
    v: np.ndarray
    qdd_desired: np.ndarray
    J_n: np.ndarray
    J_t: np.ndarray
    mu: np.ndarray
    phi: np.ndarray
    actuated: np.ndarray
    dt: float = 1e-3

    def arguments(self) -> dict:
        names = "M h v qdd_desired J_n J_t mu phi".split()
        return {name: getattr(self, name) for name in names}

    @property
    def J(self) -> np.ndarray:
        return np.concatenate([self.J_t, self.J_n[:, None]], axis=1)


def cross(p):
    return np.array([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]])


def frames(normals):
    """Rows t1, t2, n of each contact."""
    found = []
    for n in normals:
        t = np.cross(n, np.eye(3)[np.argmin(np.abs(n))])
        t /= np.linalg.norm(t)
        found.append([t, np.cross(n, t), n])
    return np.array(found)


def feet_on_flat_ground(n):
    """Foot points (n, 3) spread around a base 0.3 m above the ground."""
    angle = 2 * np.pi * np.arange(n) / n + 0.3
    return np.stack([0.25 * np.cos(angle), 0.15 * np.sin(angle), np.full(n, -0.3)], axis=1)


def legged(rng, n=4, *, points=None, normals=None, joints=3, mu=0.7, moving=0.1):
    """A base with a leg of `joints` joints for each contact, v and accelerations consistent.

    The mass matrix is that of random bodies; gravity acts on the base. Desired accelerations are
    those of a motion in which contacts neither slip nor open.
    """
    points = feet_on_flat_ground(n) if points is None else np.asarray(points, dtype=float)
    normals = np.tile([0.0, 0.0, 1.0], (n, 1)) if normals is None else np.asarray(normals, float)
    m = 6 + joints * n
    X = 0.1 * rng.normal(size=(m, m))
    M = X @ X.T / m + np.diag(np.r_[np.full(3, 5.0), np.full(3, 0.2), np.full(m - 6, 0.02)])
    J = np.zeros((n, 3, m))
    for i, (p, frame) in enumerate(zip(points, frames(normals), strict=True)):
        leg = slice(6 + joints * i, 6 + joints * (i + 1))
        J[i][:, :3] = frame
        J[i][:, 3:6] = frame @ -cross(p)
        J[i][:, leg] = frame @ (rng.normal(size=(3, joints)) * 0.1 + 0.2 * np.eye(3, joints))
    flat = J.reshape(3 * n, m)
    # a motion that the contacts allow
    free = np.eye(m) - np.linalg.pinv(flat) @ flat
    v = moving * free @ rng.normal(size=m)
    dt = 1e-3
    a = free @ rng.normal(size=m)
    h = 0.1 * rng.normal(size=m)
    h[2] += 9.81 * M[2, 2]
    return Case(M, h, v, a[6:], J[:, 2], J[:, :2], np.full(n, mu), np.zeros(n), np.arange(6, m), dt)


def splayed(rng):
    """Two legs asked to part along the line of their feet, which contacts that hold cannot do."""
    case = legged(rng, 2)
    line = np.subtract(*feet_on_flat_ground(2))
    line /= np.linalg.norm(line)
    # the tangents of level ground are y and -x
    along = line[1] * case.J_t[:, 0] - line[0] * case.J_t[:, 1]
    rows = np.vstack([along[0] - along[1], case.J_n])[:, case.actuated]
    case.qdd_desired = case.qdd_desired + np.linalg.pinv(rows) @ [5.0, 0.0, 0.0]
    return case


def random_case(rng, n, n_b, n_q, mu=None):
    """A system without any meaning; contacts leave it free to move where 3 n < n_b + n_q."""
    m = n_b + n_q
    X = rng.normal(size=(m, m))
    J = rng.normal(size=(n, 3, m))
    order = rng.permutation(m)
    if 3 * n <= n_b:  # what contacts do to the base is well conditioned
        base = np.linalg.qr(rng.normal(size=(n_b, 3 * n)))[0].T.reshape(n, 3, n_b)
        J[:, :, np.sort(order[n_q:])] = base
    return Case(
        X @ X.T / m + 0.5 * np.eye(m), rng.normal(size=m), rng.normal(size=m), rng.normal(size=n_q),
        J[:, 2], J[:, :2], rng.uniform(0.1, 1.0, n) if mu is None else np.full(n, mu),
        0.1 * rng.uniform(size=n), order[:n_q], 0.1,
    )  # fmt: skip

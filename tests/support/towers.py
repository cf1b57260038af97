"""Towers of bodies on more near-rigid contacts than they have velocities."""

from __future__ import annotations

import numpy as np

import sapwood


def moments(r):
    """Rows (3, 6) of J of forces along the axes at r."""
    x, y, z = r
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.hstack([np.eye(3), -cross])


def tower(n, per_body, seed, share=5e-5):
    """Bodies that slide on each other with random velocities, all R = share w."""
    rng = np.random.default_rng(seed)
    masses = 10.0 ** rng.uniform(-0.5, 1.0, n)
    A = [m * np.diag([1.0, 1.0, 1.0, *(0.01 * rng.uniform(0.3, 1.0, 3))]) for m in masses]
    blocks, w = [], []
    for b in np.repeat(np.arange(n), per_body):
        x, y = rng.uniform(-0.1, 0.1, 2)
        sides = [(b, moments([x, y, -0.1]))] + [(b - 1, -moments([x, y, 0.1]))] * int(b > 0)
        W = sum(J @ np.linalg.solve(A[body], J.T) for body, J in sides)
        blocks += [J.ravel() for _, J in sides]
        w.append(np.linalg.norm(W) / 3.0)
    tree_a = np.repeat(np.arange(n, dtype=np.int32), per_body)
    v = rng.standard_normal((n, 6)) * [1.0, 1.0, 0.0, 0.5, 0.5, 0.5]
    v[:, 2] = -0.05 - rng.uniform(0.0, 0.05, n)
    R = share * np.array(w)
    return sapwood.ContactProblem(
        [6] * n, np.ravel(A), v.ravel(), tree_a, tree_a - 1, np.concatenate(blocks),
        np.full(len(R), 0.7), R_t=R, R_n=R, v_hat_n=np.zeros(len(R)), dt=0.005,
    )  # fmt: skip

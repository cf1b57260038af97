"""Complementarity problems for the tests: generators, files, and what a solution has to obey."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

KINDS = ("full rank", "rank deficient", "degenerate", "infeasible")


def murty(n):
    """Exponential for least-index rules (Murty 1978); the solution is e_1."""
    M = np.tril(np.full((n, n), 2.0), -1) + np.eye(n)
    return M, -np.ones(n)


def fathi(n):
    """The same with a symmetric positive definite matrix (Fathi 1979)."""
    M, q = murty(n)
    return M @ M.T, q


def csizmadia(n):
    """A P-matrix (Csizmadia): ones on the diagonal, -1 below; the solution is (1, 2, 4, ...)."""
    M = np.eye(n) + np.tril(np.full((n, n), -1.0), -1)
    return M, -np.ones(n)


def random_contacts(rng, kind, n_contacts):
    """Normals N, edges F of the pyramids, inverse inertia K, coefficients and velocities of a body.

    Rows of N and F are in base space (6). Of ``infeasible`` ones the first two contacts push
    against each other with gaps that ask both to separate.
    """
    A = rng.normal(size=(6, 6))
    K = np.linalg.inv(A @ A.T + np.eye(6))
    N = rng.normal(size=(n_contacts, 6))
    tangents = rng.normal(size=(2, n_contacts, 6))
    mu = rng.uniform(0.0, 1.0, n_contacts)
    v = rng.normal(size=6)
    phi = rng.uniform(0.0, 0.1, n_contacts)
    if kind == "rank deficient":
        plane = rng.normal(size=(3, 6))
        N = rng.normal(size=(n_contacts, 3)) @ plane
        tangents = rng.normal(size=(2, n_contacts, 3)) @ plane
    elif kind == "degenerate":
        copies = rng.integers(n_contacts, size=n_contacts)
        N, tangents = N[copies], tangents[:, copies]
        mu[rng.random(n_contacts) < 0.5] = 0.0
        phi[rng.random(n_contacts) < 0.7] = 0.0
        v *= rng.integers(2)
    elif kind == "infeasible":
        N[1] = -N[0]
        phi[:2] = -0.1
    F = np.vstack([np.vstack([tangents[0], tangents[1]]), -np.vstack([tangents[0], tangents[1]])])
    return N, F, K, mu, v, phi


def normal_problem(N, _F, K, _mu, v, phi):
    """Contacts without friction: w = N K N^T z + N v + phi."""
    return N @ K @ N.T, N @ v + phi


def friction_problem(N, F, K, mu, v, phi):
    """The pyramid of Anitescu and Potra, unknowns (f_N, f_F, lambda)."""
    n, m = len(N), len(F)
    E = np.vstack([np.eye(n)] * (m // n))
    M = np.block(
        [
            [N @ K @ N.T, N @ K @ F.T, np.zeros((n, n))],
            [F @ K @ N.T, F @ K @ F.T, E],
            [np.diag(mu), -E.T, np.zeros((n, n))],
        ]
    )
    return M, np.concatenate([N @ v + phi, F @ v, np.zeros(n)])


def error_of(M, q, z):
    """max |min(z, M z + q)|, which is 0 of solutions alone."""
    return float(np.abs(np.minimum(z, M @ z + q)).max(initial=0.0))


def read_file(path):
    """M and q of a file: n, five more integers, M by rows, q, and perhaps remarks."""
    words = path.read_text(encoding="utf-8").split()
    n = int(words[0])
    numbers = np.array(words[6 : 6 + n * n + n], dtype=float)
    return numbers[: n * n].reshape(n, n), numbers[n * n :]


def files():
    """Parameters: the files in the folder lcp of that which SAPWOOD_DATA names."""
    folder = os.environ.get("SAPWOOD_DATA")
    if folder is None:
        reason = "SAPWOOD_DATA names no folder with lcp/*.dat"
        return [pytest.param(None, id="files", marks=pytest.mark.skip(reason=reason))]
    return [pytest.param(path, id=path.stem) for path in sorted(Path(folder, "lcp").glob("*.dat"))]

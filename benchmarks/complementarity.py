"""Complementarity problems: what is solved, and how often not.

Problems are files of a folder, and random contacts of a body in four classes. What comes out is
held against the conditions themselves, computed here, and against another solver: velocities after
contact are the nearest point of a polyhedron, which Lawson and Hanson find by least squares.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import scipy.optimize

import sapwood

Problem = tuple[np.ndarray, np.ndarray]
KINDS = ("full rank", "rank deficient", "degenerate", "infeasible")
# residuals and velocities that agree, beside the largest number of the problem
AGREES = 1e-6


@dataclasses.dataclass(frozen=True)
class Contacts:
    """Contacts of one body: rows in its base space."""

    N: np.ndarray
    F: np.ndarray
    K: np.ndarray
    mu: np.ndarray
    v: np.ndarray
    phi: np.ndarray


def draw(rng: np.random.Generator, kind: str, n: int) -> Contacts:
    """Random contacts of a class; see `KINDS`."""
    A = rng.normal(size=(6, 6))
    rank = 3 if kind == "rank deficient" else 6
    plane = rng.normal(size=(rank, 6)) if rank < 6 else np.eye(6)
    N, S, T = (rng.normal(size=(n, rank)) @ plane for _ in range(3))
    mu, v = rng.uniform(0.0, 1.0, n), rng.normal(size=6)
    phi = rng.uniform(0.0, 0.1, n)
    if kind == "degenerate":
        copies = rng.integers(n, size=n)
        N, S, T = N[copies], S[copies], T[copies]
        mu[rng.random(n) < 0.5], phi[rng.random(n) < 0.7] = 0.0, 0.0
        v *= rng.integers(2)
    if kind == "infeasible":
        N[1], phi[:2] = -N[0], -0.1
    return Contacts(N, np.vstack([S, T, -S, -T]), np.linalg.inv(A @ A.T + np.eye(6)), mu, v, phi)


def normal(c: Contacts) -> Problem:
    """Contact without friction."""
    return c.N @ c.K @ c.N.T, c.N @ c.v + c.phi


def friction(c: Contacts) -> Problem:
    """Contact with pyramids of four edges, (f_N, f_F, lambda)."""
    n, E = len(c.N), np.vstack([np.eye(len(c.N))] * 4)
    rows = np.vstack([c.N, c.F])
    M = np.zeros((6 * n, 6 * n))
    M[: 5 * n, : 5 * n] = rows @ c.K @ rows.T
    M[n : 5 * n, 5 * n :], M[5 * n :, n : 5 * n], M[5 * n :, :n] = E, -E.T, np.diag(c.mu)
    return M, np.concatenate([rows @ c.v + np.r_[c.phi, np.zeros(4 * n)], np.zeros(n)])


def program(c: Contacts) -> dict[str, Any]:
    """The same, convex: impulses z >= 0 (5 n), pyramids and normal velocities as rows."""
    n, rows = len(c.N), np.vstack([c.N, c.F])
    cone = np.hstack([np.diag(c.mu), -np.hstack([np.eye(n)] * 4)])
    velocity = c.N @ c.K @ rows.T
    C, d = np.vstack([cone, velocity]), np.concatenate([np.zeros(n), -c.N @ c.v - c.phi])
    return {"H": rows @ c.K @ rows.T, "g": rows @ c.v, "C": C, "d": d, "lower": np.zeros(5 * n)}


def read(path: Path) -> Problem:
    """M and q of a file."""
    words = path.read_text(encoding="utf-8").split()
    n = int(words[0])
    numbers = np.array(words[6 : 6 + n * n + n], dtype=float)
    return numbers[: n * n].reshape(n, n), numbers[n * n :]


# ---- what is solved ----------------------------------------------------------------------------


def of_files(folder: Path) -> list[str]:
    """A line per file: how each method ends."""
    lines = [f"{'file':24} {'n':>3}  {'lemke':>22} {'ppm':>22} {'auto':>22}"]
    for path in sorted(folder.glob("*.dat")):
        M, q = read(path)
        ends = []
        for method in ("lemke", "ppm", "auto"):
            s = sapwood.lcp.solve(M, q, method)  # type: ignore[arg-type]
            ends.append(f"{s.status.name.lower()} {s.pivots:>3} {s.residual:.0e}")
        lines.append(f"{path.stem:24} {len(q):>3} " + "".join(f" {end:>22}" for end in ends))
    return lines


def velocity_after(c: Contacts) -> np.ndarray | None:
    """The velocity without friction by another solver, least distance programming; None for none.

    It is the v next to c.v, in the norm of K^-1, with N v >= -phi (Lawson and Hanson 1974, 23.4).
    """
    L = np.linalg.cholesky(c.K)
    E = np.vstack([(c.N @ L).T, -(c.N @ c.v + c.phi)])
    u, _ = scipy.optimize.nnls(E, np.eye(7)[6], maxiter=1000)
    rest = E @ u - np.eye(7)[6]
    return c.v - L @ (rest[:6] / rest[6]) if np.abs(rest).max() > 1e-9 else None


def judged(c: Contacts, problem: Problem, s: Any, expected: np.ndarray | None) -> str:
    """The end of a solve, in words: wrong where it disagrees with conditions or `expected`."""
    (M, q), name = problem, s.status.name.lower()
    if not s.solved:
        return name if expected is None else f"failed: {name}"
    size = 1.0 + np.abs(q).max() + np.abs(M).max() * np.abs(s.z).max()
    if np.abs(np.minimum(s.z, M @ s.z + q)).max() > AGREES * size:
        return "wrong residual"
    if expected is None:
        return "wrong: there is no solution"
    n = len(c.N)
    if len(q) == n and np.abs(c.v + c.K @ c.N.T @ s.z - expected).max() > AGREES * size:
        return "wrong velocity"
    return name


def failure_rates(count: int) -> list[str]:
    """A line per class and method: how solves of so many random problems end."""
    lines = []
    for kind in KINDS:
        rng = np.random.default_rng(0)
        ends: dict[str, Counter[str]] = {}
        for _ in range(count):
            contacts = draw(rng, kind, int(rng.integers(2, 11)))
            expected = velocity_after(contacts)
            for name, problem, methods in (
                ("normal", normal(contacts), ("lemke", "ppm")),
                ("friction", friction(contacts), ("lemke",)),
            ):
                for method in methods:
                    s = sapwood.lcp.solve(*problem, method)  # type: ignore[arg-type]
                    end = judged(contacts, problem, s, expected)
                    ends.setdefault(f"{name} {method}", Counter())[end] += 1
        for name, counter in sorted(ends.items()):
            failed = sum(n for end, n in counter.items() if end.startswith(("failed", "wrong")))
            found = ", ".join(f"{end} {n}" for end, n in counter.most_common())
            lines.append(f"{kind:16} {name:16} failure rate {failed / count:7.2%}   {found}")
    return lines

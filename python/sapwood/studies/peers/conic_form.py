"""The primal conic form (15), as interior-point and splitting solvers take it.

    min_{v, s} 1/2 |v - v*|_A^2 + 1/2 |s|^2   with   g = J v - v_hat + R^(1/2) s in F*

F* is the product of the dual cones mu_i |g_t,i| <= g_n,i, and s = R^(1/2) gamma at the solution:
with impulses scaled so, near-rigid contact is no worse conditioned than soft one. Without friction
the cone is a half-line, and the tangential impulses are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from sapwood import ContactProblem
from sapwood.studies.peers.base import Answer
from sapwood.studies.peers.sparse import SparseProblem

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ConicForm:
    """min 1/2 x^T P x + q^T x with b - C x in half-lines, then in cones |z_2, z_3| <= z_1."""

    P: sparse.csc_matrix
    """Upper triangle."""
    q: Array
    C: sparse.csc_matrix
    b: Array
    n_lines: int
    n_cones: int
    rows: NDArray[np.intp]
    """Rows (t1, t2, n) of all contacts that s belongs to."""
    problem: SparseProblem

    @classmethod
    def from_problem(cls, problem: ContactProblem) -> ConicForm:
        """Convert; x = (v of the touched trees, s)."""
        s = SparseProblem.from_problem(problem)
        frictional = s.mu > 0.0

        # rows g_n of the half-lines, then (g_n, mu g_t1, mu g_t2) of the cones
        rows = np.arange(s.R.size).reshape(-1, 3)[:, [2, 0, 1]]
        order = np.concatenate([rows[~frictional, 0], rows[frictional].ravel()])
        weight = np.ones_like(s.R)
        weight[:, :2] = s.mu[:, None]
        kept = np.sort(order)
        impulses = sparse.diags_array(np.sqrt(s.R).ravel(), format="csc")[:, kept]
        g = sparse.hstack([s.J, impulses], format="csr")
        C = -(sparse.diags_array(weight.ravel()) @ g)[order]

        P = sparse.block_diag([sparse.triu(s.A), sparse.eye_array(len(order))])
        q = np.concatenate([-(s.A @ s.v_star), np.zeros(len(order))])
        b = -(weight * s.v_hat).ravel()[order]
        n_cones = int(frictional.sum())
        return cls(compressed(P), q, compressed(C), b, len(s.mu) - n_cones, n_cones, kept, s)

    def answer(self, x: Array, status: str, iterations: int) -> Answer:
        """The velocity and impulses of a solution (v, s, ...); the impulses are R^(-1/2) s."""
        n, m = len(self.problem.v_star), len(self.b)
        x = np.array(x[: n + m], dtype=float)
        gamma = np.zeros_like(self.problem.R)
        gamma.flat[self.rows] = x[n:] / np.sqrt(self.problem.R.flat[self.rows])
        return Answer(self.problem.whole(x[:n]), status, iterations, iterations, gamma)


def compressed(matrix: sparse.sparray) -> sparse.csc_matrix:
    """Compressed columns with sorted 32-bit indices, in the class that these solvers take."""
    out = sparse.csc_matrix(matrix)
    out.sort_indices()
    out.indices, out.indptr = out.indices.astype(np.int32), out.indptr.astype(np.int32)
    return out

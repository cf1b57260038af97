"""Clarabel, an interior-point solver, on the primal conic form (15).

    min_{v, sigma} 1/2 |v - v*|_A^2 + 1/2 |sigma|_R^2   with   g = J v - v_hat + R sigma in F*

F* is the product of the dual cones mu_i |g_t,i| <= g_n,i, and sigma = gamma at the solution. The
second unknown is R^(1/2) sigma, which makes the result better scaled in near-rigid contact;
Clarabel's own equilibration stays on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import clarabel
import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from benchmarks.peers.base import Answer, Peer
from benchmarks.sparse import SparseProblem
from sapwood import ContactProblem

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ConicForm:
    """min 1/2 x^T P x + q^T x with b - C x in a product of second-order cones of size 3."""

    P: sparse.csc_matrix
    q: Array
    C: sparse.csc_matrix
    b: Array
    cones: list[Any]
    problem: SparseProblem


class ClarabelConic(Peer):
    """See the module. Tolerances on gap and feasibility are set alike; one thread."""

    name = "clarabel"

    def tolerances(self, target: float) -> tuple[float, ...]:  # noqa: ARG002
        """See Peer; e_m is not what the solver stops by, so all are tried."""
        return tuple(10.0**-k for k in range(2, 16))

    def form(self, problem: ContactProblem) -> ConicForm:
        """See Peer."""
        s = SparseProblem.from_problem(problem)
        m = s.R.size
        P = sparse.block_diag([sparse.triu(s.A), sparse.eye_array(m)], format="csc")
        q = np.concatenate([-(s.A @ s.v_star), np.zeros(m)])

        # rows of each contact: (g_n, mu g_t1, mu g_t2)
        weight = np.ones_like(s.R)
        weight[:, :2] = s.mu[:, None]
        normal_first = np.arange(m).reshape(-1, 3)[:, [2, 0, 1]].ravel()
        g = sparse.hstack([s.J, sparse.diags_array(np.sqrt(s.R).ravel())], format="csr")
        C = -(sparse.diags_array(weight.ravel()) @ g)[normal_first]
        b = -(weight * s.v_hat).ravel()[normal_first]
        cones = [clarabel.SecondOrderConeT(3)] * problem.n_contacts
        # the old matrix classes are what Clarabel takes
        return ConicForm(sparse.csc_matrix(P), q, sparse.csc_matrix(C), b, cones, s)

    def solve(self, form: ConicForm, tolerance: float, mode: str) -> Callable[[], Any]:  # noqa: ARG002
        """See Peer."""
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.max_threads = 1
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance

        def run() -> Any:
            solver = clarabel.DefaultSolver(form.P, form.q, form.C, form.b, form.cones, settings)
            return solver.solve()

        return run

    def answer(self, form: ConicForm, result: Any) -> Answer:
        """See Peer."""
        v = np.array(result.x)[: len(form.problem.v_star)]
        iterations = int(result.iterations)
        return Answer(form.problem.whole(v), str(result.status), iterations, iterations)

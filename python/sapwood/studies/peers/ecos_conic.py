"""ECOS, an interior-point solver for linear objectives, on the primal conic form (15).

The quadratic cost of `conic_form` becomes a sum of epigraphs |z|^2/2 <= t, which are the cones

    | (2^(1/2) z, t - 1) | <= t + 1

of z = L_t^T (v_t - v*_t) with A_t = L_t L_t^T, and of the scaled impulses: one cone for each tree
and each contact, or a single one for them all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import ecos
import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from sapwood import ContactProblem
from sapwood.studies.peers.base import Answer, Peer, powers_of_ten
from sapwood.studies.peers.conic_form import ConicForm, compressed

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LinearForm:
    """min c^T x with h - G x in half-lines, then in second-order cones of sizes q."""

    c: Array
    G: sparse.csc_matrix
    h: Array
    dims: dict[str, Any]
    conic: ConicForm


class EcosConic(Peer):
    """Tolerances on gap and feasibility are set alike."""

    name = "ecos"
    default_tolerance = 1e-8
    grid = powers_of_ten(2, 13)
    epigraphs = "many"

    def variants(self, problem: ContactProblem) -> Sequence[Peer]:  # noqa: ARG002
        """See Peer."""
        return (
            self.varied("an epigraph each", epigraphs="many"),
            self.varied("one epigraph", epigraphs="one"),
        )

    def describe(self) -> str:
        """See Peer."""
        return (
            f"ECOS {version('ecos')}: primal conic form, quadratic cost as one epigraph or one "
            "each for trees and contacts; abstol = reltol = feastol swept; default settings "
            "otherwise"
        )

    def form(self, problem: ContactProblem) -> LinearForm:
        """See Peer."""
        conic = ConicForm.from_problem(problem)
        s, m = conic.problem, len(conic.b)
        n = len(s.v_star)

        # z = F x - d, grouped by tree and contact
        tree = np.searchsorted(problem.tree_offsets, s.velocities, side="right")
        L = _factor(s.A, tree)
        F = sparse.block_diag([L.T, sparse.eye_array(m)], format="csr")
        d = np.concatenate([L.T @ s.v_star, np.zeros(m)])
        contact = np.repeat(np.arange(len(s.mu)), np.where(s.mu > 0.0, 3, 1))
        group = np.concatenate([tree, problem.n_trees + 1 + contact])
        group = np.unique(group, return_inverse=True)[1]
        if self.epigraphs == "one":
            group = np.zeros_like(group)

        # rows of each group: t + 1, t - 1, 2^(1/2) z
        members = np.argsort(group, kind="stable")
        sizes = np.bincount(group)
        k = np.arange(len(sizes))
        begin = np.cumsum(sizes + 2) - (sizes + 2)
        place = np.arange(n + m) + 2 * (group[members] + 1)
        ends = np.concatenate([begin, begin + 1])
        shape = (n + m + 2 * len(k), len(k))
        G_t = sparse.csr_array((np.full(len(ends), -1.0), (ends, np.tile(k, 2))), shape=shape)
        spread = sparse.csr_array(
            (np.full(n + m, -np.sqrt(2.0)), (place, members)), shape=(shape[0], n + m)
        )
        h = spread @ d
        h[begin], h[begin + 1] = 1.0, -1.0

        G = sparse.block_array([[conic.C, None], [spread @ F, G_t]])
        dims = {"l": conic.n_lines, "q": [3] * conic.n_cones + (sizes + 2).tolist(), "e": 0}
        c = np.concatenate([np.zeros(n + m), np.ones(len(k))])
        return LinearForm(c, compressed(G), np.concatenate([conic.b, h]), dims, conic)

    def solve(self, form: LinearForm, tolerance: float, mode: str) -> Callable[[], Any]:  # noqa: ARG002
        """See Peer."""
        return lambda: ecos.solve(
            form.c, form.G, form.h, form.dims,
            verbose=False, abstol=tolerance, reltol=tolerance, feastol=tolerance,
        )  # fmt: skip

    def answer(self, form: LinearForm, result: Any) -> Answer:
        """See Peer."""
        info = result["info"]
        return form.conic.answer(result["x"], info["infostring"], int(info["iter"]))


def _factor(A: sparse.csc_array, tree: NDArray[np.intp]) -> sparse.csr_array:
    """L of A = L L^T, whose diagonal blocks are the runs of equal numbers in tree (n,)."""
    ends = np.flatnonzero(np.diff(tree)) + 1
    runs = np.split(np.arange(len(tree)), ends)
    blocks = [np.linalg.cholesky(A[rows][:, rows].toarray()) for rows in runs if rows.size]
    return sparse.csr_array(sparse.block_diag(blocks, format="csr")) if blocks else A.tocsr()

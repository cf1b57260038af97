"""An FCLIB problem as a :class:`sapwood.ContactProblem`, whose contacts are rigid.

The unknown is the change of velocity: v* = 0, and what contacts approach with is in v_hat = -q.
So impulses are those of

    r = law((v_hat - J A^-1 J^T r)/R)

with J A^-1 J^T = W where W is symmetric and positive semidefinite. What W has beside that, and R
itself where it is not 0, are put right by v_hat = -q - (W - J A^-1 J^T) gamma + R gamma with the
impulses gamma of an earlier solve: the spring of a contact then has its rest position where it is
needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from sapwood import ContactProblem
from sapwood.studies.fclib.problems import Array, GlobalProblem, LocalProblem

# components (t1, t2, n), as here, of (n, t1, t2), as in the files; and the other way round
_OURS, _THEIRS = [1, 2, 0], [2, 0, 1]
# eigenvalues of a block of W below this, relative to its largest, are left to `rest`
_RANK = 1e-12


class Trees(NamedTuple):
    """Arrays of a ContactProblem."""

    tree_nv: NDArray[np.int32]
    A: Array
    tree_a: NDArray[np.int32]
    tree_b: NDArray[np.int32]
    J: Array


@dataclass(frozen=True, eq=False)
class Posed:
    """A problem in our form, for any R."""

    trees: Trees
    local: LocalProblem
    rest: sparse.csr_array
    """W - J A^-1 J^T, rows (n, t1, t2) of each contact."""
    scale: Array
    """w = |W_ii|_F/3 of each contact (n_contacts,), 1/kg."""

    def at(self, sigma_t: float, sigma_n: float, gamma: Array | None = None) -> ContactProblem:
        """The problem with R_t = sigma_t w and R_n = sigma_n w, beside earlier impulses.

        Parameters
        ----------
        sigma_t, sigma_n
            Dimensionless, >= 0; with 0 contacts are rigid.
        gamma
            Impulses (n_contacts, 3), rows (t1, t2, n), N s; by default none. If they are the
            solution again, it has no error of R and of what W has beside J A^-1 J^T.
        """
        R_t, R_n = sigma_t * self.scale, sigma_n * self.scale
        u = self.local.q
        if gamma is not None:
            u = u + self.rest @ self.impulses(gamma)
        v_hat = -u.reshape(-1, 3)[:, _OURS]
        if gamma is not None:
            v_hat = v_hat + np.column_stack([R_t, R_t, R_n]) * gamma
        tree_nv, A, tree_a, tree_b, J = self.trees
        return ContactProblem(
            tree_nv, A, np.zeros(tree_nv.sum()), tree_a, tree_b, J, self.local.mu, dt=1.0,
            R_t=R_t, R_n=R_n, v_hat_n=v_hat[:, 2], v_hat_t=v_hat[:, :2],
            source=f"FCLIB: {self.local.title}",
        )  # fmt: skip

    def impulses(self, gamma: Array) -> Array:
        """r (3 n_contacts,) of impulses (n_contacts, 3), rows (t1, t2, n)."""
        return np.ravel(gamma[:, _THEIRS])


def pose(problem: GlobalProblem | LocalProblem) -> Posed:
    """Convert a problem.

    In global form the velocities are cut into trees of equal size, as small as M and contacts that
    touch two trees at most allow: 6 for most rigid bodies. In local form, which knows no bodies,
    contacts that W couples, directly or not, share one tree: A = I and J J^T = W there.

    Parameters
    ----------
    problem
        As read from the file.

    Raises
    ------
    ValueError
        A contact that moves nothing; the text names it.
    """
    local = problem.local
    scale = np.linalg.norm(_diagonal_blocks(local.W), axis=(1, 2)) / 3.0
    for i in np.flatnonzero(scale == 0.0):
        raise ValueError(f"contact {i} moves nothing: its block of W is 0")
    if isinstance(problem, GlobalProblem):
        return Posed(_trees_of_bodies(problem), local, sparse.csr_array(local.W.shape), scale)
    return Posed(*_trees_of_islands(local), scale)


def _trees_of_bodies(problem: GlobalProblem) -> Trees:
    """The smallest trees of one size."""
    nv = problem.M.shape[0]
    for size in (size for size in range(1, nv + 1) if nv % size == 0):
        A = sparse.bsr_array(problem.M, blocksize=(size, size))
        J = sparse.bsr_array(problem.H.T, blocksize=(3, size))
        touched = np.diff(J.indptr)
        if np.array_equal(A.indices, np.arange(nv // size)) and touched.max(initial=0) <= 2:
            break
    first = J.indptr[:-1]
    # a second tree is where the next block is of the same contact
    second = np.where(touched == 2, J.indices[np.minimum(first + 1, len(J.indices) - 1)], -1)
    return Trees(
        tree_nv=np.full(nv // size, size, np.int32),
        A=np.ravel(A.data),
        tree_a=J.indices[first],
        tree_b=second.astype(np.int32),
        J=np.ravel(J.data[:, _OURS]),
    )


def _trees_of_islands(local: LocalProblem) -> tuple[Trees, LocalProblem, sparse.csr_array]:
    """Trees with A = I, the problem, and what J J^T lacks of W."""
    n = len(local.mu)
    blocks = sparse.bsr_array(local.W, blocksize=(3, 3))
    graph = sparse.csr_array((np.ones(len(blocks.indices)), blocks.indices, blocks.indptr), (n, n))
    count, island = connected_components(graph, directed=False)
    J: list[Array] = [np.zeros((3, 0))] * n
    rest = sparse.lil_array(local.W.shape)
    sizes = []
    for which in range(count):
        contacts = np.flatnonzero(island == which)
        rows = np.ravel(3 * contacts[:, None] + np.arange(3))
        W = local.W[rows][:, rows].toarray()
        values, vectors = np.linalg.eigh((W + W.T) / 2.0)
        kept = values > _RANK * values[-1]
        factor = vectors[:, kept] * np.sqrt(values[kept])
        rest[np.ix_(rows, rows)] = W - factor @ factor.T
        sizes.append(int(kept.sum()))
        for k, contact in enumerate(contacts):
            J[contact] = factor[3 * k : 3 * k + 3][_OURS]
    trees = Trees(
        tree_nv=np.array(sizes, np.int32),
        A=np.concatenate([np.eye(size).ravel() for size in sizes]),
        tree_a=island.astype(np.int32),
        tree_b=np.full(n, -1, np.int32),
        J=np.concatenate([block.ravel() for block in J]),
    )
    return trees, local, sparse.csr_array(rest)


def _diagonal_blocks(W: sparse.csr_array) -> Array:
    """W_ii (n_contacts, 3, 3)."""
    n = W.shape[0] // 3
    blocks = sparse.bsr_array(W, blocksize=(3, 3))
    row = np.repeat(np.arange(n), np.diff(blocks.indptr))
    on_diagonal = blocks.indices == row
    W_ii = np.zeros((n, 3, 3))
    W_ii[row[on_diagonal]] = blocks.data[on_diagonal]
    return W_ii

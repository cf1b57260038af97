"""An FCLIB problem as a :class:`sapwood.ContactProblem`, whose contacts are as good as rigid.

The unknown is the change of velocity: v* = 0, and what contacts approach with is in v_hat = -q.
So impulses are those of

    u = W r + q,   r = law((J A^-1 J^T r - u)/R)

with W = J A^-1 J^T where W is symmetric and positive semidefinite. What a file's W has beside that,
and R itself, are put right by `shifted`: with v_hat moved by R gamma of an earlier solve, the
spring of a contact has its rest position where it is needed. That is the method of multipliers,
and at its fixed point R has no influence.
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
# eigenvalues of a block of W below this, relative to its largest, are left to `shifted`
_RANK = 1e-12


@dataclass(frozen=True, eq=False)
class Posed:
    """A problem, and what its solutions mean for the file's."""

    problem: ContactProblem
    local: LocalProblem
    rest: sparse.csr_array
    """W - J A^-1 J^T, rows (n, t1, t2) of each contact."""

    def impulses(self, gamma: Array) -> Array:
        """r (3 n_contacts,) of impulses (n_contacts, 3), rows (t1, t2, n)."""
        return np.ravel(gamma[:, _THEIRS])

    def shifted(self, gamma: Array) -> ContactProblem:
        """The problem whose solution has no error of R and `rest`, should it be gamma again."""
        R = np.column_stack([self.problem.R_t, self.problem.R_t, self.problem.R_n])
        v_hat = (-self.local.q - self.rest @ self.impulses(gamma)).reshape(-1, 3)[:, _OURS]
        return _with_bias(self.problem, v_hat + R * gamma)


def pose(problem: GlobalProblem | LocalProblem, regularization: float) -> Posed:
    """Convert a problem.

    In global form the velocities are cut into trees of equal size, as small as M and contacts that
    touch two trees at most allow: 6 for most rigid bodies. In local form, which knows no bodies,
    contacts that W couples, directly or not, share one tree: A = I and J J^T = W there.

    Parameters
    ----------
    problem
        As read from the file.
    regularization
        R_n and R_t of each contact over |W_ii|_F/3.

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
        trees, rest = _trees_of_bodies(problem), sparse.csr_array(local.W.shape)
    else:
        trees, rest = _trees_of_islands(local)
    R = regularization * scale
    v_hat = -local.q.reshape(-1, 3)[:, _OURS]
    posed = ContactProblem(
        trees.tree_nv, trees.A, np.zeros(trees.tree_nv.sum()), trees.tree_a, trees.tree_b, trees.J,
        local.mu, dt=1.0, R_t=R, R_n=R, v_hat_n=v_hat[:, 2], v_hat_t=v_hat[:, :2],
        source=f"FCLIB: {local.title}",
    )  # fmt: skip
    return Posed(posed, local, rest)


class _Trees(NamedTuple):
    """Arrays of a ContactProblem."""

    tree_nv: NDArray[np.int32]
    A: Array
    tree_a: NDArray[np.int32]
    tree_b: NDArray[np.int32]
    J: Array


def _trees_of_bodies(problem: GlobalProblem) -> _Trees:
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
    return _Trees(
        tree_nv=np.full(nv // size, size, np.int32),
        A=np.ravel(A.data),
        tree_a=J.indices[first],
        tree_b=second.astype(np.int32),
        J=np.ravel(J.data[:, _OURS]),
    )


def _trees_of_islands(local: LocalProblem) -> tuple[_Trees, sparse.csr_array]:
    """Trees with A = I, and what J J^T lacks of W."""
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
    trees = _Trees(
        tree_nv=np.array(sizes, np.int32),
        A=np.concatenate([np.eye(size).ravel() for size in sizes]),
        tree_a=island.astype(np.int32),
        tree_b=np.full(n, -1, np.int32),
        J=np.concatenate([block.ravel() for block in J]),
    )
    return trees, sparse.csr_array(rest)


def _diagonal_blocks(W: sparse.csr_array) -> Array:
    """W_ii (n_contacts, 3, 3)."""
    n = W.shape[0] // 3
    blocks = sparse.bsr_array(W, blocksize=(3, 3))
    row = np.repeat(np.arange(n), np.diff(blocks.indptr))
    on_diagonal = blocks.indices == row
    W_ii = np.zeros((n, 3, 3))
    W_ii[row[on_diagonal]] = blocks.data[on_diagonal]
    return W_ii


def _with_bias(problem: ContactProblem, v_hat: Array) -> ContactProblem:
    """The same problem with another v_hat (n_contacts, 3)."""
    return ContactProblem(
        problem.tree_nv, problem.A, problem.v_star, problem.tree_a, problem.tree_b, problem.J,
        problem.mu, dt=problem.dt, R_t=problem.R_t, R_n=problem.R_n, v_hat_n=v_hat[:, 2],
        v_hat_t=v_hat[:, :2], source=problem.source,
    )  # fmt: skip

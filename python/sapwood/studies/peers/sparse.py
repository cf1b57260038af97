"""A contact problem as SciPy sparse matrices: the form that general solvers take.

Only trees that a contact touches are kept; the others move with v*, whatever the solver.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from sapwood import ContactProblem
from sapwood.studies.peers.accuracy import touched_trees
from sapwood.studies.peers.base import contacts_alone

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SparseProblem:
    """The arrays of (17) on the n velocities of touched trees, for m contacts."""

    A: sparse.csc_array  # (n, n)
    J: sparse.csr_array  # (3 m, n), rows (t1, t2, n) of each contact
    v_star: Array  # (n)
    v_guess: Array  # (n)
    mu: Array  # (m)
    R: Array  # (m, 3)
    v_hat: Array  # (m, 3)
    velocities: NDArray[np.intp]  # (n) where these velocities lie in the problem
    v_free: Array  # (nv) v* of all trees

    @classmethod
    def from_problem(cls, problem: ContactProblem) -> SparseProblem:
        """Convert; explicit zeros of the blocks are dropped.

        Raises
        ------
        PeerError
            There is more than compliant contacts.
        """
        contacts_alone(problem)
        touched = touched_trees(problem)
        offsets = problem.tree_offsets
        velocities = ranges(offsets[touched], offsets[touched + 1])
        A, J = matrices(problem)
        A, J = A[velocities][:, velocities].tocsc(), J[:, velocities].tocsr()
        A.eliminate_zeros()
        J.eliminate_zeros()

        v_guess = problem.v_star if problem.v_guess is None else problem.v_guess
        return cls(
            A=A,
            J=J,
            v_star=problem.v_star[velocities],
            v_guess=v_guess[velocities],
            mu=np.array(problem.mu),
            R=np.stack([problem.R_t, problem.R_t, problem.R_n], axis=1),
            v_hat=bias(problem),
            velocities=velocities,
            v_free=np.array(problem.v_star),
        )

    def whole(self, v: Array) -> Array:
        """Velocities of all trees (nv,) from those of the touched ones (n,)."""
        out = self.v_free.copy()
        out[self.velocities] = v
        return out


def matrices(problem: ContactProblem) -> tuple[sparse.csr_array, sparse.csr_array]:
    """A (nv, nv) and J (3 n_contacts, nv) of the whole problem, explicit zeros included."""
    offsets = problem.tree_offsets

    # A: one square block per tree
    rows, columns = _block_entries(problem.tree_nv, problem.tree_nv)
    shift = np.repeat(offsets[:-1], np.square(problem.tree_nv.astype(np.intp)))
    A = sparse.csr_array(
        (problem.A, (rows + shift, columns + shift)), shape=(problem.nv, problem.nv)
    )

    # J: one or two blocks of three rows per contact, in the order of the flat array
    pairs = np.stack([problem.tree_a, problem.tree_b], axis=1)
    contact, side = np.nonzero(pairs >= 0)
    tree = pairs[contact, side]
    width = problem.tree_nv[tree].astype(np.intp)
    rows, columns = _block_entries(np.full_like(width, 3), width)
    rows += np.repeat(3 * contact, 3 * width)
    columns += np.repeat(offsets[tree], 3 * width)
    J = sparse.csr_array((problem.J, (rows, columns)), shape=(3 * problem.n_contacts, problem.nv))
    return A, J


def bias(problem: ContactProblem) -> Array:
    """v_hat (n_contacts, 3), rows (t1, t2, n)."""
    v_hat = np.zeros((problem.n_contacts, 3))
    v_hat[:, 2] = problem.v_hat_n
    if problem.v_hat_t is not None:
        v_hat[:, :2] = problem.v_hat_t
    return v_hat


def ranges(begin: NDArray[np.intp], end: NDArray[np.intp]) -> NDArray[np.intp]:
    """Concatenation of arange(begin[i], end[i])."""
    length = end - begin
    first = np.cumsum(length) - length
    places: NDArray[np.intp] = np.arange(length.sum()) + np.repeat(begin - first, length)
    return places


def _block_entries(
    height: NDArray[np.integer], width: NDArray[np.integer]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Row and column, within its block, of each entry of row-major blocks one after the other."""
    size = height.astype(np.intp) * width
    within = ranges(np.zeros_like(size), size)
    divisor = np.repeat(width, size)
    return within // divisor, within % divisor

"""Kinematic parents, read from the zeros of a contact problem.

A problem file holds blocks A_t and Jacobians, no mechanism. In a mechanism each velocity has a
parent (the one before it on the way to the world), A couples a velocity with its ancestors and
descendants alone, and a contact on a body moves with one chain: a velocity and all its ancestors.
The elimination tree of A_t, last row first, is the sparsest such forest that A_t allows; where the
velocities of a contact do not lie on a chain (the mass matrix of a free body may be diagonal), they
are made one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sapwood import ContactProblem

WORLD = -1


@dataclass(frozen=True)
class Forest:
    """Parents of all velocities, and what each contact is fixed to."""

    parent: NDArray[np.intp]
    """(nv,) velocity before this one, `WORLD` for none; always a smaller number."""
    ends: NDArray[np.intp]
    """(n_contacts, 2) the last velocity of the chain on either side, `WORLD` for none."""

    @classmethod
    def from_problem(cls, problem: ContactProblem) -> Forest:
        """Read the forest from the zeros of A and J."""
        offsets = problem.tree_offsets
        squares = np.concatenate([[0], np.cumsum(np.square(problem.tree_nv, dtype=np.intp))])
        moved: list[list[tuple[int, int, NDArray[np.intp]]]] = [[] for _ in problem.tree_nv]
        begin = 0
        for i, pair in enumerate(zip(problem.tree_a, problem.tree_b, strict=True)):
            for side, tree in enumerate(pair):
                if tree < 0:
                    continue
                end = begin + 3 * problem.tree_nv[tree]
                block = problem.J[begin:end].reshape(3, -1)
                moved[tree].append((i, side, np.flatnonzero(block.any(axis=0))))
                begin = end

        parent = np.full(problem.nv, WORLD, dtype=np.intp)
        ends = np.full((problem.n_contacts, 2), WORLD, dtype=np.intp)
        for tree, n in enumerate(problem.tree_nv):
            coupled = problem.A[squares[tree] : squares[tree + 1]].reshape(n, n) != 0.0
            first = offsets[tree]
            groups = [(v, bool(problem.tree_b[i] < 0)) for i, _, v in moved[tree]]
            local = _parents(coupled, groups)
            parent[first : first + n] = np.where(local == WORLD, WORLD, local + first)
            for i, side, velocities in moved[tree]:
                last = _last(local, velocities)
                ends[i, side : side + len(last)] = first + np.array(last, dtype=np.intp)
        return cls(parent, ends)


def _parents(
    coupled: NDArray[np.bool_], groups: list[tuple[NDArray[np.intp], bool]]
) -> NDArray[np.intp]:
    """Elimination tree of a pattern, last row first, in which contacts move with chains.

    Parameters
    ----------
    coupled
        (n, n) symmetric pattern.
    groups
        Velocities of each contact, and whether both its bodies may lie on this tree.
    """
    coupled = coupled.copy()
    while True:
        parent = _elimination_tree(coupled)
        apart = [v for v, two_bodies in groups if not _on_chains(parent, v, two_bodies)]
        if not apart:
            return parent
        for velocities in apart:
            coupled[np.ix_(velocities, velocities)] = True


def _on_chains(parent: NDArray[np.intp], velocities: NDArray[np.intp], two_bodies: bool) -> bool:
    """Whether velocities lie on one chain, or on two without what these share."""
    last = _last(parent, velocities)
    if len(last) < 2:
        return True
    if len(last) > 2 or not two_bodies:
        return False
    shared = set(_chain(parent, last[0])) & set(_chain(parent, last[1]))
    return shared.isdisjoint(velocities.tolist())


def _elimination_tree(coupled: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Parent of each row, the largest of the smaller rows that it fills in."""
    fill = np.tril(coupled, -1)
    parent = np.full(len(coupled), WORLD, dtype=np.intp)
    for j in range(len(coupled) - 1, 0, -1):
        before = np.flatnonzero(fill[j])
        if before.size:
            parent[j] = before[-1]
            fill[before[-1], before[:-1]] = True
    return parent


def _last(parent: NDArray[np.intp], velocities: NDArray[np.intp]) -> list[int]:
    """Velocities that are ancestors of no other one."""
    above: set[int] = set()
    last = []
    for j in velocities[::-1].tolist():
        if j not in above:
            last.append(j)
            above.update(_chain(parent, j))
    return last[::-1]


def _chain(parent: NDArray[np.intp], j: int) -> list[int]:
    """A velocity and its ancestors."""
    chain = []
    while j != WORLD:
        chain.append(j)
        j = int(parent[j])
    return chain

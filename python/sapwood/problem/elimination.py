"""Elimination of velocities that no constraint moves, from a sparse mass matrix.

Let t be the velocities that constraints move, u the others:

    S = A_tt - A_tu A_uu^-1 A_ut,    v_u = v*_u - A_uu^-1 A_ut (v_t - v*_t)

A is factored with t last, component by component of its graph, in blocks of three velocities that
follow each other, such as those of a vertex. S is the last part of that factor. Components are
dissected by the distances in their graph from three nodes far from each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sapwood import _core

from .sparse_matrix import SparseMatrix, components

_Float = NDArray[np.float64]
_Integers = NDArray[np.int64]


class Component:
    """The factor of one component of A.

    Parameters
    ----------
    rows, columns : ndarray of int (n_entries,)
        Places of the entries, by number within the component.
    data : ndarray (n_entries,)
        Entries.
    is_touched : ndarray of bool (n,)
        Velocities that constraints move.

    Attributes
    ----------
    last : ndarray of int (n_last,)
        Velocities that come last: blocks with touched ones.

    Raises
    ------
    NotPositiveDefinite
        If A is not.
    """

    def __init__(
        self, rows: _Integers, columns: _Integers, data: _Float, is_touched: NDArray[np.bool_]
    ) -> None:
        self._n = len(is_touched)
        self._n_blocks = n = -(-self._n // 3)
        block, place = rows // 3, (rows % 3, columns % 3)
        second = columns // 3
        K = np.zeros((n, 3, 3))
        filling = np.arange(self._n - 3 * (n - 1), 3)
        K[-1, filling, filling] = 1.0
        diagonal, above = block == second, block < second
        K[(block[diagonal], *(i[diagonal] for i in place))] = data[diagonal]
        keys, pair = np.unique(block[above] * n + second[above], return_inverse=True)
        K_pairs = np.zeros((len(keys), 3, 3))
        K_pairs[(pair, *(i[above] for i in place))] = data[above]
        pairs = np.column_stack(np.divmod(keys, n)).astype(np.int32)

        touched = np.flatnonzero(np.bincount(np.arange(self._n) // 3, is_touched, n))
        last = (3 * touched[:, None] + np.arange(3)).ravel()
        self._is_real = last < self._n
        self.last = last[self._is_real]
        none = (np.zeros((0, k), np.int32) for k in (3, 3, 4, 6))
        # a flex without elements is a graph
        graph = _core.fem_flex(_distances(n, pairs[:, 0], pairs[:, 1]), 0, pairs, *none)
        self._system = _core.fem_system(graph)
        _core.fem_order(self._system, touched.astype(np.int32))
        blocks = (1.0, K, K_pairs, 0.0, np.zeros(n), np.zeros(len(keys)))
        try:
            _core.fem_factor(self._system, blocks, None, np.zeros((n, 3)))
        except ValueError as error:
            vertex: int | None = getattr(error, "vertex", None)
            if vertex is None:
                raise
            raise NotPositiveDefinite(3 * vertex) from error

    def schur(self) -> _Float:
        """S (n_last, n_last)."""
        S = _core.fem_schur(self._system)
        return S if self._is_real.all() else S[np.ix_(self._is_real, self._is_real)]

    def solve(self, x: _Float) -> _Float:
        """A^-1 x (n,)."""
        whole = np.zeros(3 * self._n_blocks)
        whole[: self._n] = x
        return _core.fem_solve(self._system, whole.reshape(-1, 3)).ravel()[: self._n]

    def extend(self, x_last: _Float) -> _Float:
        """How all velocities (n,) follow a change of those that come last."""
        whole = np.zeros(len(self._is_real))
        whole[self._is_real] = x_last
        return _core.fem_extend(self._system, whole.reshape(-1, 3)).ravel()[: self._n]


class NotPositiveDefinite(Exception):
    """A pivot is not positive; the argument is a velocity of its block."""


class Elimination:
    """A with the velocities that constraints move eliminated last.

    Parameters
    ----------
    A : SparseMatrix (nv, nv)
        Symmetric mass matrix.
    is_touched : ndarray of bool (nv,)
        Velocities that constraints move.

    Attributes
    ----------
    component : ndarray of int (nv,)
        Component of each velocity.
    touched : list of ndarray of int
        Velocities that come last, of each component.

    Raises
    ------
    ValueError
        If A is not positive definite.
    """

    def __init__(self, A: SparseMatrix, is_touched: NDArray[np.bool_]) -> None:
        self.A = A
        rows, columns = A.rows, A.indices
        self.component = components(A.shape[0], rows, columns)
        n = int(self.component.max(initial=-1)) + 1
        self._velocities = _split(self.component, n)
        number = np.empty(A.shape[0], np.int64)
        for own in self._velocities:
            number[own] = np.arange(len(own))
        self._parts: list[Component] = []
        for own, entries in zip(self._velocities, _split(self.component[rows], n), strict=True):
            places = number[rows[entries]], number[columns[entries]]
            try:
                part = Component(*places, A.data[entries], is_touched[own])
            except NotPositiveDefinite as error:
                i = own[error.args[0]]
                text = f"A: must be positive definite, which it is not at row {i} or the next two"
                raise ValueError(text) from error
            self._parts.append(part)
        self.touched = [
            own[part.last] for own, part in zip(self._velocities, self._parts, strict=True)
        ]

    def schur(self, c: int) -> _Float:
        """S of a component (n_last, n_last)."""
        return self._parts[c].schur()

    def extend(self, change: _Float) -> _Float:
        """How all velocities (nv,) follow a change of the last ones, given in all places (nv,)."""
        found = np.zeros_like(change)
        for part, own, touched in zip(self._parts, self._velocities, self.touched, strict=True):
            if len(touched):
                found[own] = part.extend(change[touched])
                found[touched] = change[touched]
        return found

    def solve(self, x: _Float) -> _Float:
        """A^-1 x (nv,)."""
        found = np.empty_like(x)
        for part, own in zip(self._parts, self._velocities, strict=True):
            found[own] = part.solve(x[own])
        return found


def _split(label: NDArray[np.integer[Any]], n: int) -> list[_Integers]:
    """Places of each of n labels, ascending."""
    order = np.argsort(label, kind="stable")
    return np.split(order, np.cumsum(np.bincount(label, minlength=n))[:-1]) if n else []


def _distances(n: int, a: NDArray[np.int32], b: NDArray[np.int32]) -> _Float:
    """Edges (n, 3) between each node of a connected graph and three nodes that are far apart."""
    ends = np.concatenate([a, b])
    order = np.argsort(ends, kind="stable")
    neighbours = np.concatenate([b, a])[order]
    first = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=n))])
    # the last node reached from anywhere is at a rim
    start = int(_levels(0, first, neighbours).argmax())
    found = np.empty((n, 3))
    for k in range(3):
        found[:, k] = _levels(start, first, neighbours)
        start = int(found[:, : k + 1].min(axis=1).argmax())
    return found


def _levels(start: int, first: _Integers, neighbours: NDArray[np.int32]) -> _Integers:
    """Edges between a node and each node."""
    level = np.full(len(first) - 1, -1)
    front, distance = np.array([start]), 0
    while len(front):
        level[front] = distance
        counts = first[front + 1] - first[front]
        places = np.repeat(first[front] - np.r_[0, np.cumsum(counts)[:-1]], counts)
        reached = neighbours[places + np.arange(counts.sum())]
        front, distance = np.unique(reached[level[reached] < 0]), distance + 1
    return level

"""Deformable bodies whose elasticity is that of lengths of edges, as MuJoCo's flexes."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sapwood import _core

from .mesh import spread_vertices

_Float = NDArray[np.float64]
_Index = NDArray[np.int32]

# vertices of the pairs of a hinge, by which the core names them
_HINGE_PAIRS = np.array([[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]])


@dataclass(frozen=True)
class FlexNumbers:
    """Numbers of a flex, see ``sapwood/fem.h``.

    Attributes
    ----------
    stiffness : ndarray (n_elements, m)
        Upper triangles of the matrices M of the elements, J/m^4; further columns are not read.
    bending : ndarray (n_hinges, 4, 4)
        Matrices B of the hinges, N/m.
    rest : ndarray (n_edges,)
        Lengths at rest, m.
    edge_stiffness : float
        Stiffness of the springs of edges, N/m.
    damping, edge_damping : float
        Damping time of elements and hinges, s, and damping of edges, N s/m.
    """

    stiffness: _Float
    bending: _Float
    rest: _Float
    edge_stiffness: float
    damping: float
    edge_damping: float


class FlexMesh:
    """Edges, elements and hinges between vertices.

    Parameters
    ----------
    vertices : ndarray (n, 3)
        Positions at rest, m.
    edges : ndarray of int32 (n_edges, 2)
        Vertices of each edge.
    elements : ndarray of int32 (n_elements, 3 or 4)
        Corners of triangles or tetrahedra.
    element_edges : ndarray of int32 (n_elements, 3 or 6)
        Edges between corners 12, 20, 01 of triangles; 01, 12, 20, 23, 03, 13 of tetrahedra.
    hinges : ndarray of int32 (n_hinges, 4)
        Vertices of an edge between two triangles, and the two across it.

    Attributes
    ----------
    vertices : ndarray (n, 3)
        Positions at rest, m.
    edges : ndarray of int32 (n_edges, 2)
        The edges.
    pairs : ndarray of int32 (n_pairs, 2)
        Vertices that the stiffness couples: the edges, then vertices across hinges.
    graph : object
        The flex of the core.

    Raises
    ------
    ValueError
        For tables that do not fit; the text names one, and its row.
    """

    def __init__(
        self,
        vertices: _Float,
        edges: _Index,
        elements: _Index,
        element_edges: _Index,
        hinges: _Index,
    ) -> None:
        self._tables = vertices, edges, elements, element_edges, hinges
        between = hinges[:, _HINGE_PAIRS]
        keys = _keys(between)
        across = np.setdiff1d(keys, _keys(edges))
        self.vertices, self.edges = vertices, edges
        self.pairs: _Index = np.concatenate(
            [edges, np.column_stack([across >> 32, across & 0xFFFFFFFF]).astype(np.int32)]
        )
        keys_of_pairs = _keys(self.pairs)
        self._order = np.argsort(keys_of_pairs)
        self._sorted_keys = keys_of_pairs[self._order]
        hinge_pairs = self.find_pairs(between).astype(np.int32)
        self.graph = _core.fem_flex(
            vertices, len(edges), self.pairs, elements, element_edges, hinges, hinge_pairs
        )

    def find_pairs(self, vertices: NDArray[np.integer]) -> NDArray[np.intp]:
        """Find pairs by their vertices.

        Parameters
        ----------
        vertices : ndarray of int (..., 2)
            Vertices of pairs, in any order.

        Returns
        -------
        ndarray of int (...)
            The numbers of the pairs.
        """
        found: NDArray[np.intp] = self._order[np.searchsorted(self._sorted_keys, _keys(vertices))]
        return found

    @functools.cached_property
    def spread(self) -> _Index:
        """Sets of vertices that no vertex is a neighbour of twice, as of :class:`Mesh`."""
        return spread_vertices(len(self.vertices), self.pairs)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), self._tables

    def evaluate(
        self,
        numbers: FlexNumbers,
        last: tuple[_Float, _Float, float],
        x: _Float,
        outputs: tuple[_Float, _Float, _Float | None, _Float | None],
    ) -> None:
        """Evaluate forces and stiffness.

        Parameters
        ----------
        numbers : FlexNumbers
            Numbers of the flex.
        last : tuple of ndarray (n, 3), ndarray (n_edges,) and float
            Positions and lengths of edges a time step ago, m, and the time step, s.
        x : ndarray (n, 3)
            Positions, m.
        outputs : tuple
            Arrays to fill: tensions (n_edges,), N/m, forces (n, 3), N, and K (n, 3, 3) and its
            blocks (n_pairs, 3, 3), N/m, or None.
        """
        positions, lengths, dt = last
        _core.fem_evaluate_flex(
            self.graph,
            (numbers.stiffness, numbers.bending, numbers.rest, numbers.edge_stiffness),
            (positions, lengths, numbers.damping / dt, numbers.edge_damping / dt),
            x,
            outputs,
        )


def _keys(pairs: NDArray[np.integer]) -> NDArray[np.int64]:
    """One number for each pair (..., 2), whichever vertex comes first."""
    low, high = pairs.min(axis=-1).astype(np.int64), pairs.max(axis=-1)
    keys: NDArray[np.int64] = (low << 32) + high
    return keys

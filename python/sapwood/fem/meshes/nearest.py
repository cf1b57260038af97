"""The nearest tetrahedra of points, by a tree of boxes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sapwood.geometry.meshes import distances_to_triangles

from .mesh import FACES, Mesh

_Float = NDArray[np.float64]
_Int = NDArray[np.int64]

_LEAF = 16  # tetrahedra of a leaf: a larger one saves calls and takes more distances
_CHUNK = 4096  # points of a call at a leaf, which bounds the memory


def weights_in(mesh: Mesh, tetrahedra: NDArray[np.integer], points: _Float) -> _Float:
    """Find the barycentric weights of points in tetrahedra at rest.

    Parameters
    ----------
    mesh : Mesh
        The mesh.
    tetrahedra : ndarray of int (..., )
        A tetrahedron for each point.
    points : ndarray (..., 3)
        The points, m.

    Returns
    -------
    ndarray (..., 4)
        Weights of the corners, of sum 1; all >= 0 for a point inside.
    """
    first = mesh.vertices[mesh.tetrahedra[tetrahedra, 0]]
    others = np.einsum("...aj,...j->...a", mesh.gradients[tetrahedra], points - first)
    return np.concatenate([1 - others.sum(axis=-1, keepdims=True), others], axis=-1)


def find_tetrahedra(mesh: Mesh, points: _Float) -> _Int:
    """Find the tetrahedron at rest that contains each point, or one near it.

    For a point outside it is one of those around the corners of the nearest tetrahedron: that whose
    lowest weight is the greatest. A flat tetrahedron would move the point by many times its strain.

    Parameters
    ----------
    mesh : Mesh
        The mesh.
    points : ndarray (n, 3)
        The points, m.

    Returns
    -------
    ndarray of int (n,)
        The tetrahedra.
    """
    search = _Search(mesh, points)
    search.descend(0, len(mesh.tetrahedra), np.arange(len(points)))
    found = search.found
    lowest = weights_in(mesh, found, points).min(axis=1)
    for corner in mesh.tetrahedra[found].T:
        outside = np.flatnonzero(lowest < 0)
        point, cell = _around(mesh, corner[outside], outside)
        least = weights_in(mesh, cell, points[point]).min(axis=1)
        # the best of each point is the last of its rows, and counts where it beats the one so far
        order = np.lexsort((least, point))
        last = order[np.flatnonzero(np.diff(point[order], append=-1))]
        last = last[least[last] > lowest[point[last]]]
        found[point[last]], lowest[point[last]] = cell[last], least[last]
    return found


def _around(mesh: Mesh, vertices: NDArray[np.int32], points: _Int) -> tuple[_Int, _Int]:
    """Pairs of a point and a tetrahedron around its vertex."""
    corners = mesh.tetrahedra.ravel()
    order = np.argsort(corners, kind="stable")
    starts = np.searchsorted(corners[order], np.arange(len(mesh.vertices) + 1))
    counts = np.diff(starts)[vertices]
    ends = np.cumsum(counts)
    place = np.arange(counts.sum()) + np.repeat(starts[vertices] - ends + counts, counts)
    return np.repeat(points, counts), order[place] // 4


class _Search:
    """The tetrahedra in the order of the tree, and the nearest ones so far."""

    def __init__(self, mesh: Mesh, points: _Float) -> None:
        self._mesh, self._points, self._order = mesh, points, mesh.balls[0]
        corners = mesh.vertices[mesh.tetrahedra[self._order]]
        self._low, self._high = corners.min(axis=1), corners.max(axis=1)
        self._boxes: dict[tuple[int, int], tuple[_Float, _Float]] = {}
        self._distance = np.full(len(points), np.inf)
        self.found = np.zeros(len(points), np.int64)

    def descend(self, start: int, end: int, listed: _Int) -> None:
        """Try the tetrahedra of a node for the points that may be nearer to it than so far."""
        listed = listed[self._to_box(start, end, listed) < self._distance[listed]]
        if not listed.size:
            return
        if end - start <= _LEAF:
            for part in np.array_split(listed, -(-len(listed) // _CHUNK)):
                self._try(self._order[start:end], part)
            return
        half = start + (end - start) // 2
        is_left = self._to_box(start, half, listed) <= self._to_box(half, end, listed)
        # the nearer half of each point first: it mostly rules out the other one
        for left in (True, False):
            self.descend(start, half, listed[is_left == left])
            self.descend(half, end, listed[is_left != left])

    def _to_box(self, start: int, end: int, listed: _Int) -> _Float:
        """Distances of points from the box of a node, m."""
        if (start, end) not in self._boxes:
            part = slice(start, end)
            self._boxes[start, end] = self._low[part].min(axis=0), self._high[part].max(axis=0)
        low, high = self._boxes[start, end]
        x = self._points[listed]
        away: _Float = np.linalg.norm(np.maximum(np.maximum(low - x, x - high), 0), axis=1)
        return away

    def _try(self, tetrahedra: NDArray[np.int32], listed: _Int) -> None:
        """Take tetrahedra of a leaf where they are nearer than those so far."""
        x = self._points[listed]
        weights = weights_in(self._mesh, tetrahedra[None], x[:, None])
        away = np.where(weights.min(axis=2) >= 0, 0.0, np.inf)
        point, cell = np.nonzero((away > 0) & (away.min(axis=1, keepdims=True) > 0))
        corners = self._mesh.vertices[self._mesh.tetrahedra[tetrahedra]][:, FACES]
        if point.size:
            to_faces = [distances_to_triangles(x[point], corners[cell, face]) for face in range(4)]
            away[point, cell] = np.min(to_faces, axis=0)
        nearest = np.argmin(away, axis=1)
        distance = away[np.arange(len(x)), nearest]
        is_nearer = distance < self._distance[listed]
        self._distance[listed[is_nearer]] = distance[is_nearer]
        self.found[listed[is_nearer]] = tetrahedra[nearest[is_nearer]]

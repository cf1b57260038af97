"""Meshes of tetrahedra."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.checks import boolean, integers
from sapwood.base.hints import counted, warn_caller
from sapwood.geometry.meshes import distances_to_triangles

_Float = NDArray[np.float64]
_Index = NDArray[np.int32]

#: Faces of a tetrahedron, outward by the right hand; face k is opposite corner k.
FACES = np.array([[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]])


class Mesh:
    """Tetrahedra with their boundary: checked, and never changed.

    Parameters
    ----------
    vertices : array_like (n, 3)
        Reference positions, m.
    tetrahedra : array_like of int (m, 4)
        Corners of each tetrahedron, with (x1 - x0) x (x2 - x0) . (x3 - x0) > 0.
    orient : bool, optional
        Whether to swap two corners of tetrahedra of negative volume; by default they are errors.
    prune : bool, optional
        Whether to leave out vertices in no tetrahedron; by default they are errors.

    Attributes
    ----------
    vertices : ndarray (n, 3)
        Reference positions, m.
    tetrahedra : ndarray of int32 (m, 4)
        Corners of each tetrahedron.
    gradients : ndarray (m, 3, 3)
        Gradients of the shape functions of corners 1 to 3, 1/m; that of corner 0 is minus their
        sum.
    volumes : ndarray (m,)
        Reference volumes, m^3.
    pairs : ndarray of int32 (p, 2)
        Pairs of vertices that share a tetrahedron, the lower one first, sorted.
    faces : ndarray of int32 (f, 3)
        Triangles of the boundary, outward by the right hand.
    face_tetrahedra : ndarray of int32 (f,)
        Tetrahedron behind each face.
    n_swapped : int
        Number of tetrahedra that `orient` has swapped.
    kept : ndarray of int32 (n,)
        Number of each vertex in the given array.

    Raises
    ------
    TypeError, ValueError
        For arrays of wrong type or shape, values that are not finite, corners out of range or
        repeated, a tetrahedron that is flat or of negative volume, a vertex in no tetrahedron, a
        face shared by three tetrahedra or by two that overlap; the text names the row and the rule.

    Warns
    -----
    UserWarning
        If two vertices have the same position.
    """

    vertices: _Float
    tetrahedra: _Index
    gradients: _Float
    volumes: _Float
    pairs: _Index
    faces: _Index
    face_tetrahedra: _Index
    n_swapped: int
    kept: _Index

    def __init__(
        self,
        vertices: ArrayLike,
        tetrahedra: ArrayLike,
        *,
        orient: bool = False,
        prune: bool = False,
    ) -> None:
        x = _core.as_float64(vertices, "vertices", (-1, 3))
        cells = integers(tetrahedra, "tetrahedra", 4)
        kept = np.arange(len(x), dtype=np.int32)
        self.n_swapped = 0
        if boolean(prune, "prune"):
            x, cells, kept = _pruned(x, cells)
        if boolean(orient, "orient"):
            cells, self.n_swapped = _oriented(x, cells)
        self._mesh = _core.fem_mesh(x, cells.ravel())
        self.vertices, self.tetrahedra, self.kept = x.copy(), cells.copy(), kept
        self.gradients, self.volumes, self.pairs = _core.fem_arrays(self._mesh)
        self.faces, self.face_tetrahedra = _boundary(self.tetrahedra)
        for array in (self.vertices, self.tetrahedra, self.kept, self.faces, self.face_tetrahedra):
            array.setflags(write=False)
        _, first = np.unique(x, axis=0, return_index=True)
        if len(first) < len(x):
            twin = np.setdiff1d(np.arange(len(x)), first)[0]
            warn_caller(
                f"vertices[{twin}]: has the position of another vertex, and so have "
                f"{counted(len(x) - len(first) - 1, 'more vertex')}: cracks in the mesh?"
            )

    @functools.cached_property
    def boundary_vertices(self) -> _Index:
        """Vertices of the boundary, ascending."""
        found = np.unique(self.faces)
        found.setflags(write=False)
        return found

    @functools.cached_property
    def depths(self) -> _Float:
        """Distances (n,) of the vertices from the boundary, m; found when they are first read."""
        depths = np.zeros(len(self.vertices))
        triangles = self.vertices[self.faces]
        centres = triangles.mean(axis=1)
        reach = np.max(np.linalg.norm(triangles - centres[:, None], axis=2))
        for vertex in np.setdiff1d(np.arange(len(depths)), self.boundary_vertices):
            x = self.vertices[vertex]
            away = np.linalg.norm(centres - x, axis=1)
            near = triangles[away <= away.min() + reach]
            depths[vertex] = distances_to_triangles(x, near).min()
        depths.setflags(write=False)
        return depths

    @functools.cached_property
    def balls(self) -> tuple[_Index, _Float, _Float]:
        """Order (m,) of the tetrahedra in space, and the centres (m, 3) and radii (m,) of balls, m.

        The ball of a tetrahedron is about its centroid, by its mean edge larger than the one that
        has its corners. Two of them are apart at rest if the distance between their tetrahedra is
        more than twice the mean of their edges.
        """
        corners = self.vertices[self.tetrahedra]
        centres = corners.mean(axis=1)
        radii = np.linalg.norm(corners - centres[:, None], axis=2).max(axis=1)
        edges = corners[:, [0, 0, 0, 1, 1, 2]] - corners[:, [1, 2, 3, 2, 3, 3]]
        radii += np.linalg.norm(edges, axis=2).mean(axis=1)
        found = _halved(centres, np.arange(len(centres), dtype=np.int32)), centres, radii
        for array in found:
            array.setflags(write=False)
        return found

    @functools.cached_property
    def spread(self) -> _Index:
        """Sets of vertices that are so far apart that no vertex has two of one set around it.

        By set and vertex (sets, n), the one vertex of the set that is the vertex itself or shares
        a tetrahedron with it, or -1.
        """
        return spread_vertices(len(self.vertices), self.pairs)

    @property
    def volume(self) -> float:
        """Volume of all tetrahedra, m^3."""
        return float(np.sum(self.volumes))

    def __repr__(self) -> str:
        return f"Mesh({len(self.vertices)} vertices, {len(self.tetrahedra)} tetrahedra)"

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.vertices, self.tetrahedra))


def spread_vertices(n: int, pairs: _Index) -> _Index:
    """Find sets of vertices, as :attr:`Mesh.spread` has them.

    Parameters
    ----------
    n : int
        Number of vertices.
    pairs : ndarray of int32 (n_pairs, 2)
        Neighbours.

    Returns
    -------
    ndarray of int32 (sets, n)
        By set and vertex the one vertex of the set that is the vertex or a neighbour, or -1.
    """
    around = [[v] for v in range(n)]
    for a, b in pairs.tolist():
        around[a].append(b)
        around[b].append(a)
    set_of: list[int] = []
    for v in range(n):
        taken = {set_of[w] for u in around[v] for w in around[u] if w < v}
        set_of.append(next(s for s in range(n) if s not in taken))
    found = np.full((max(set_of) + 1, n), -1, np.int32)
    for v, s in enumerate(set_of):
        found[s, around[v]] = v
    found.setflags(write=False)
    return found


def spread_corners(
    n: int, groups: NDArray[np.int64], vertices: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Find sets of vertices of which no group, such as the corners of a contact, has two.

    Parameters
    ----------
    n : int
        Number of vertices.
    groups, vertices : ndarray of int64 (n_pairs,)
        Pairs of a group and a vertex in it.

    Returns
    -------
    ndarray of int64 (n,)
        The set of each vertex, from 0 on; -1 for vertices in no group.
    """
    around: dict[int, set[int]] = {}
    order = np.argsort(groups, kind="stable")
    for group in np.split(vertices[order], np.flatnonzero(np.diff(groups[order])) + 1):
        for v in group.tolist():
            around.setdefault(v, set()).update(group.tolist())
    set_of = np.full(n, -1)
    for v, others in around.items():
        taken = set(set_of[list(others)].tolist())
        set_of[v] = next(k for k in range(n) if k not in taken)
    return set_of


def _pruned(x: _Float, cells: _Index) -> tuple[_Float, _Index, _Index]:
    """Leave out vertices in no tetrahedron; also the former numbers of the others."""
    is_valid = (cells >= 0) & (cells < len(x))
    used = np.unique(cells[is_valid])
    number = np.full(len(x), -1, np.int32)
    number[used] = np.arange(len(used), dtype=np.int32)
    # corners out of range stay out of range, for the check that follows
    renumbered = np.where(is_valid, number[np.where(is_valid, cells, 0)], np.int32(2**31 - 1))
    return x[used], renumbered.astype(np.int32), used.astype(np.int32)


def _oriented(x: _Float, cells: _Index) -> tuple[_Index, int]:
    """Swap two corners of tetrahedra of negative volume; also their number."""
    if len(x) == 0:
        return cells, 0
    corner = x[np.clip(cells, 0, len(x) - 1)]
    with np.errstate(all="ignore"):
        negative = np.linalg.det(corner[:, 1:] - corner[:, :1]) < 0
    swapped = np.where(negative[:, None], cells[:, [0, 1, 3, 2]], cells)
    return swapped, int(np.sum(negative))


def _halved(x: _Float, listed: _Index) -> _Index:
    """Order listed points by halves along the longest axis of each part."""
    half = len(listed) // 2
    if half < 2:
        return listed
    axis = np.argmax(np.ptp(x[listed], axis=0))
    parts = listed[np.argpartition(x[listed, axis], half)]
    return np.concatenate([_halved(x, parts[:half]), _halved(x, parts[half:])])


def _boundary(tetrahedra: _Index) -> tuple[_Index, _Index]:
    """Faces of one tetrahedron only, and those tetrahedra; refuse meshes that overlap."""
    faces = tetrahedra[:, FACES].reshape(-1, 3)
    owner = np.repeat(np.arange(len(tetrahedra), dtype=np.int32), 4)
    order = np.argsort(faces, axis=1)
    key = np.take_along_axis(faces, order, axis=1)
    # an even permutation sorts the corners of a face seen from one side, an odd one from the other
    even = np.isin(order @ np.array([9, 3, 1]), [5, 15, 19])  # 0 1 2, 1 2 0, 2 0 1
    place = np.lexsort((even, key[:, 2], key[:, 1], key[:, 0]))
    same = np.all(key[place[1:]] == key[place[:-1]], axis=1)
    third = np.flatnonzero(same[1:] & same[:-1])
    if third.size:
        i = owner[np.sort(place[third[0] : third[0] + 3])[-1]]
        raise ValueError(f"tetrahedra[{i}]: has a face that two others have")
    twin = np.flatnonzero(same & (even[place[1:]] == even[place[:-1]]))
    if twin.size:
        i, j = sorted(owner[place[twin[0] : twin[0] + 2]])
        raise ValueError(f"tetrahedra[{j}]: lies on the same side of a face as tetrahedron {i}")
    alone = np.ones(len(faces), bool)
    alone[place[1:][same]] = alone[place[:-1][same]] = False
    return np.ascontiguousarray(faces[alone]), owner[alone]


def check_manifold(faces: _Index) -> None:
    """Refuse boundaries on which an edge or a vertex joins two parts.

    Parameters
    ----------
    faces : ndarray of int32 (f, 3)
        Triangles.

    Raises
    ------
    ValueError
        If an edge has other than two faces, or the faces around a vertex are not one fan; the text
        names a face.
    """
    ends = faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    key = np.sort(ends, axis=1)
    place = np.lexsort((key[:, 1], key[:, 0]))
    first = np.r_[True, np.any(key[place[1:]] != key[place[:-1]], axis=1)]
    count = np.diff(np.r_[np.flatnonzero(first), len(place)])
    if np.any(count != 2):
        edge = place[np.flatnonzero(first)[np.flatnonzero(count != 2)[0]]]
        a, b = key[edge]
        raise ValueError(
            f"faces[{edge // 3}]: its edge ({a}, {b}) has {np.max(count)} faces: joins two parts"
        )
    # label the corners of faces: two that share a vertex and an edge there are in one fan
    label = np.arange(faces.size).reshape(-1, 3)
    one, other = place[::2], place[1::2]
    links = []
    for e, f in ((one, other), (other, one)):
        start = faces[e // 3, e % 3]
        at_start = faces[f // 3, (f % 3 + 1) % 3] == start
        links.append((3 * (e // 3) + e % 3, 3 * (f // 3) + (f % 3 + at_start) % 3))
    flat = label.ravel()
    while True:
        before = flat.copy()
        for a, b in links:
            low = np.minimum(flat[a], flat[b])
            np.minimum.at(flat, a, low)
            np.minimum.at(flat, b, low)
        if np.array_equal(before, flat):
            break
    fans = np.unique(np.column_stack([faces.ravel(), flat]), axis=0)
    twice = np.flatnonzero(fans[1:, 0] == fans[:-1, 0])
    if twice.size:
        vertex, corner = fans[twice[0] + 1]
        raise ValueError(f"faces[{corner // 3}]: its vertex {vertex} joins two parts")

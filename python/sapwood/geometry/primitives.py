"""Meshes of primitive shapes whose edges follow the medial set, and the extent at their vertices.

The extent is 0 on the surface of a shape and 1 at its core, where it is deepest; it is linear in
every tetrahedron only if the core is made of their faces, edges and vertices. A shape with a margin
is inflated by it, and the extent is 0 that deep below its surface: e = (depth - d)/(H - d).
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .splitting import Cells, oriented, split_prisms, split_pyramids

Points = NDArray[np.float64]


#: Tetrahedra of a mesh of a curved shape at most; it takes about a second to become a shape.
MOST_CELLS = 1 << 17
# of which the triangles of a subdivided octahedron, cylinders and capsules make up as many
_MOST_LEVELS, _MOST_ON_RIM, _MOST_AROUND = 7, MOST_CELLS // 9, 255


def _refuse(resolution: float, least: float) -> None:
    # the printed number is rounded, and must not be refused
    raise ValueError(
        f"resolution = {resolution:g}: must be >= {1.001 * least:.4g} for this shape, so that it "
        f"has no more than {MOST_CELLS} cells"
    )


class FieldMesh(NamedTuple):
    """A mesh with its extent."""

    vertices: Points
    """(n, 3)"""
    tetrahedra: Cells
    """(m, 4)"""
    extent: NDArray[np.float64]
    """(n,) at the vertices, 0 on the surface and 1 at the core."""


def _field(vertices: Points, tetrahedra: Cells, depth: Points, margin: float) -> FieldMesh:
    """The depth below the inflated surface as an extent."""
    greatest = depth.max()
    return FieldMesh(
        vertices, oriented(vertices, tetrahedra), (depth - margin) / (greatest - margin)
    )


# ---- spheres -------------------------------------------------------------------------------------


def _unit_sphere(levels: int) -> tuple[Points, Cells]:
    """An octahedron subdivided so many times: points on the unit sphere, and triangles."""
    points = np.concatenate([np.eye(3), -np.eye(3)])
    triangles = np.array(
        [[x, y, z] for x, y, z in itertools.product((0, 3), (1, 4), (2, 5))], dtype=np.int64
    )
    for _ in range(levels):
        edges = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
        unique, which = np.unique(edges, axis=0, return_inverse=True)
        middles = points[unique].sum(axis=1)
        middle = len(points) + which.reshape(-1, 3)
        points = np.concatenate([points, middles / np.linalg.norm(middles, axis=1)[:, None]])
        a, b, c = triangles.T
        ab, bc, ca = middle.T
        parts = [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]
        triangles = np.concatenate([np.stack(part, axis=1) for part in parts])
    return points, triangles


def ellipsoid(semi_axes: Points, resolution: float, margin: float = 0.0) -> FieldMesh:
    """Mesh an ellipsoid: the triangles of its surface, joined to the centre.

    Parameters
    ----------
    semi_axes : ndarray (3,)
        Along x, y and z, m.
    resolution : float
        Length of edges on the surface, m, for the largest semi-axis.
    margin : float, optional
        m.

    Returns
    -------
    FieldMesh
        4^(L + 1) + 3 vertices.

    Raises
    ------
    ValueError
        If the resolution is so fine that the mesh has more than MOST_CELLS tetrahedra.
    """
    axes = semi_axes + margin
    largest = float(axes.max())
    angle = math.asin(min(resolution / largest, 2.0) / 2)
    least_angle = math.pi / 2 ** (_MOST_LEVELS + 2)
    if angle < least_angle:
        _refuse(resolution, 2 * largest * math.sin(least_angle))
    surface, triangles = _unit_sphere(max(math.ceil(math.log2(math.pi / angle)) - 2, 0))
    vertices = np.concatenate([np.zeros((1, 3)), surface * axes])
    cells = np.column_stack([np.zeros(len(triangles), dtype=np.int64), triangles + 1])
    depth = np.zeros(len(vertices))
    depth[0] = axes.min()
    return _field(vertices, cells, depth, margin)


# ---- boxes ---------------------------------------------------------------------------------------


def box(edges: Points, margin: float = 0.0) -> FieldMesh:
    """Mesh a box: the centres of its faces, joined to what separates faces from each other.

    That is one polygon at every edge of the box, from the edge to the medial set, and the medial
    rectangle between the two faces that are nearest to each other.

    Parameters
    ----------
    edges : ndarray (3,)
        Their lengths, m.
    margin : float, optional
        m.

    Returns
    -------
    FieldMesh
        15, 17 or 18 vertices, where the three edges, or the two shortest, or neither, are equal.
    """
    half = edges / 2 + margin
    # nearly equal counts as equal: of a medial set thin in two directions, 5e-7 each, cells would
    # be as flat as those that are refused
    core = np.where(half - half.min() > 1e-6 * half.max(), half - half.min(), 0.0)
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
    centres = np.concatenate([-np.diag(half), np.diag(half)])
    medial, of_corner = np.unique(signs * core + 0.0, axis=0, return_inverse=True)
    if len(medial) == 2:
        medial = np.insert(medial, 1, 0.0, axis=0)
        of_corner = 2 * of_corner
    first_medial = 6 + len(signs)
    of_corner = first_medial + of_corner.ravel()
    vertices = np.concatenate([centres, signs * half, medial])
    cells: list[tuple[int, ...]] = []
    for i, j in itertools.combinations(range(8), 2):
        differ = np.flatnonzero(signs[i] != signs[j])
        if len(differ) != 1:
            continue
        faces = [axis + (3 if signs[i, axis] > 0 else 0) for axis in range(3) if axis != differ[0]]
        # from corner to corner, by way of the medial set
        inner = _between(int(of_corner[i]), int(of_corner[j]), len(medial) == 3)
        polygon = [6 + i, *inner, 6 + j]
        cells += [
            (face, polygon[-1], polygon[k], polygon[k + 1])
            for face in faces
            for k in range(len(polygon) - 2)
        ]
    if len(medial) == 4:
        thin = int(np.argmin(half))
        rectangle = first_medial + np.array([0, 1, 3, 2])
        cells += [
            (face, *rectangle[corners])
            for face in (thin, thin + 3)
            for corners in ([0, 1, 2], [0, 2, 3])
        ]
    depth = (half - np.abs(vertices)).min(axis=1)
    return _field(vertices, np.array(cells, dtype=np.int64), depth, margin)


def _between(first: int, last: int, all_of_them: bool) -> list[int]:
    """Medial vertices from that of one corner to that of another."""
    return list(range(first, last + 1)) if all_of_them else sorted({first, last})


# ---- cylinders and capsules ----------------------------------------------------------------------


def _circle(n: int, radius: float, height: float) -> Points:
    angle = 2 * math.pi * np.arange(n) / n
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), np.full(n, height)])


def cylinder(radius: float, length: float, resolution: float, margin: float = 0.0) -> FieldMesh:
    """Mesh a cylinder about the z axis.

    Its core is a segment of the axis where it is long, the centre, or a disk where it is short.

    Parameters
    ----------
    radius, length : float
        m.
    resolution : float
        Length of edges on the rims, m.
    margin : float, optional
        m.

    Returns
    -------
    FieldMesh
        2 n + 4, 2 n + 3 or 3 n + 3 vertices, for n on a rim.

    Raises
    ------
    ValueError
        If the resolution is so fine that the mesh has more than MOST_CELLS tetrahedra.
    """
    r, half = radius + margin, length / 2 + margin
    around = 2 * math.pi * r
    if around / resolution > _MOST_ON_RIM:
        _refuse(resolution, around / _MOST_ON_RIM)
    n = max(3, math.ceil(around / resolution))
    i = np.arange(n)
    j = (i + 1) % n
    bottom, top, low, high = i, n + i, 2 * n, 2 * n + 1
    next_bottom, next_top = j, n + j
    rims = [_circle(n, r, -half), _circle(n, r, half), [[0, 0, -half], [0, 0, half]]]
    same = abs(half - r) <= 1e-9 * r
    core = np.full(n, 2 * n + 2)
    if same:
        rims.append([[0, 0, 0]])
        cells = [
            np.column_stack([np.full(n, low), bottom, next_bottom, core]),
            np.column_stack([np.full(n, high), top, next_top, core]),
            split_pyramids(np.column_stack([bottom, next_bottom, next_top, top, core])),
        ]
    elif half > r:
        rims.append([[0, 0, r - half], [0, 0, half - r]])
        cells = [
            np.column_stack([np.full(n, low), bottom, next_bottom, core]),
            np.column_stack([np.full(n, high), top, next_top, core + 1]),
            split_prisms(np.column_stack([bottom, next_bottom, core, top, next_top, core + 1])),
        ]
    else:
        rims += [[[0, 0, 0]], _circle(n, r - half, 0.0)]
        ring, next_ring = 2 * n + 3 + i, 2 * n + 3 + j
        ends = [(np.full(n, low), bottom, next_bottom), (np.full(n, high), top, next_top)]
        cells = [
            *(split_prisms(np.column_stack([*end, core, ring, next_ring])) for end in ends),
            split_prisms(np.column_stack([bottom, top, ring, next_bottom, next_top, next_ring])),
        ]
    vertices = np.concatenate([np.asarray(part, dtype=np.float64) for part in rims])
    rho = np.hypot(vertices[:, 0], vertices[:, 1])
    # on the rims to the last bit, where the depth is 0
    rho[: 2 * n] = r
    depth = np.minimum(r - rho, half - np.abs(vertices[:, 2]))
    return _field(vertices, np.concatenate(cells), depth, margin)


def capsule(radius: float, length: float, resolution: float, margin: float = 0.0) -> FieldMesh:
    """Mesh a capsule about the z axis: its core is the axis of its cylinder.

    Parameters
    ----------
    radius, length : float
        Of the cylinder between the caps, m.
    resolution : float
        Length of edges around it, m.
    margin : float, optional
        m.

    Returns
    -------
    FieldMesh
        2 n m + 4 vertices, for m circles of n on each cap.

    Raises
    ------
    ValueError
        If the resolution is so fine that the mesh has more than MOST_CELLS tetrahedra.
    """
    r, half = radius + margin, length / 2
    around = 2 * math.pi * r
    if around / resolution >= _MOST_AROUND + 1:
        _refuse(resolution, around / _MOST_AROUND)
    n = max(math.floor(around / resolution), 3)
    m = n // 2
    latitude = 0.5 * math.pi * np.arange(m) / m
    rings = [
        _circle(n, r * math.cos(a), sign * (half + r * math.sin(a)))
        for sign in (-1, 1)
        for a in latitude
    ]
    core = np.array([[0, 0, -half], [0, 0, half], [0, 0, -half - r], [0, 0, half + r]])
    vertices = np.concatenate([*rings, core])
    i = np.arange(n)
    j = (i + 1) % n
    first = 2 * n * m
    cells = []
    for cap in range(2):
        ring = cap * n * m
        end, pole = np.full(n, first + cap), np.full(n, first + 2 + cap)
        cells += [
            split_pyramids(np.column_stack([at + i, at + j, at + n + j, at + n + i, end]))
            for at in range(ring, ring + n * (m - 1), n)
        ]
        last = ring + n * (m - 1)
        cells.append(np.column_stack([last + i, last + j, pole, end]))
    other = n * m
    ends = np.full(n, first), np.full(n, first + 1)
    cells.append(split_prisms(np.column_stack([i, j, ends[0], other + i, other + j, ends[1]])))
    depth = np.zeros(len(vertices))
    depth[first : first + 2] = r
    return _field(vertices, np.concatenate(cells), depth, margin)

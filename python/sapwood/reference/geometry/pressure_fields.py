"""Contact surfaces of pressure fields, one pair of cells after the other, as the formulas stand.

Every cell of A is tried against every cell of B whose box it meets; a polygon is cut out by the
planes of faces. Where a surface runs along a face that two cells share, round-off decides here
whether both, one or none of them has it: the core counts it once.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood.base.equality import compared_by_value
from sapwood.geometry import ContactSurface, FieldShape, ShapeKind

# arrays of any precision: float64, or longdouble to measure its round-off
_Real = NDArray[Any]

FAR_SIDE = math.cos(5 * math.pi / 8)
LEAST_AREA = 1e-14
LEAST_SLOPE = 1e-14
MERGED = 1e-14


@compared_by_value
class Face(NamedTuple):
    """One face of a contact surface, in the frame of the world."""

    cell_a: int
    """Cell of A, -1 of a half space."""
    cell_b: int
    """Cell of B."""
    polygon: _Real
    """(m, 3) vertices, right-handed about the normal."""
    normal: _Real
    """(3,) out of B into A."""
    area: float
    """m^2."""
    centroid: _Real
    """(3,)"""
    p0: float
    """Pa, at the centroid."""
    g_a: float
    """Pa/m, up A's field along the normal."""
    g_b: float
    """Pa/m, down B's."""
    steepness: float
    """Pa/m, G: the gradients of both in series."""
    k: float
    """N/m, 0 where the face makes no contact."""
    phi0: float
    """m, 0 where the face makes no contact."""


class _Cell(NamedTuple):
    """A tetrahedron, a triangle, or a half space in the frame of the world."""

    number: int
    vertices: _Real  # (4, 3), (3, 3) or none
    planes: list[tuple[_Real, Any]]  # outward: n.x <= offset inside; none of a triangle
    slope: _Real | None  # p = slope.x + base; None where rigid
    base: Any


def contact_faces(
    a: FieldShape,
    pose_a: ArrayLike | None,
    b: FieldShape,
    pose_b: ArrayLike | None,
    dtype: type[np.floating[Any]] = np.float64,
) -> list[Face]:
    """Find the faces on which two shapes meet.

    Parameters
    ----------
    a, b : FieldShape
        At least one of them compliant.
    pose_a, pose_b : array_like (4, 4) or None
        Pose of each shape in the world.
    dtype : type, optional
        ``numpy.longdouble`` computes with more digits than the core.

    Returns
    -------
    list of Face
        The faces, by cell of A, then cell of B.
    """
    cells_a, cells_b = _cells(a, pose_a, dtype), _cells(b, pose_b, dtype)
    low_a, high_a = _boxes(cells_a)
    low_b, high_b = _boxes(cells_b)
    apart = (low_a[:, None] > high_b) | (low_b > high_a[:, None])
    faces = [_meet(cells_a[i], cells_b[j]) for i, j in np.argwhere(~apart.any(axis=2))]
    return [face for face in faces if face is not None]


def limit_depth(
    surface: ContactSurface, tau_d: ArrayLike, dt: float, release_speed: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Stiffness and distance of the kept faces, as a step takes them.

    Parameters
    ----------
    surface : ContactSurface
        The faces; n of them make a contact.
    tau_d : array_like (n,) or float
        Dissipation times, s.
    dt : float
        The time step, s.
    release_speed : float
        V, m/s; infinite leaves all faces as they are.

    Returns
    -------
    k, phi0 : ndarray (n,)
        N/m and m. Where g < G/min(sqrt(2), 1 + tau_d/dt) and p0 > 0, phi0 is at least
        -max(p0/G, V (dt + tau_d)), with the same load.
    """
    kept = surface.kept
    k, phi0 = surface.k[kept].copy(), surface.phi0[kept].copy()
    depth = surface.pressures[kept] / surface.steepness[kept]
    tau_d = np.asarray(tau_d, dtype=float)
    lean = np.minimum(math.sqrt(2), 1 + tau_d / dt)
    most = np.maximum(depth, release_speed * (dt + tau_d))
    limited = (depth > 0) & (-phi0 > lean * depth) & (-phi0 > most)
    phi0[limited] = -most[limited]
    k[limited] = surface.loads[kept][limited] / most[limited]
    return k, phi0


# ---- cells ---------------------------------------------------------------------------------------


def _cells(shape: FieldShape, pose: ArrayLike | None, dtype: type[np.floating[Any]]) -> list[_Cell]:
    X = np.eye(4, dtype=dtype) if pose is None else np.asarray(pose, dtype=dtype)
    R, t = X[:3, :3], X[:3, 3]
    if shape.kind in (ShapeKind.HALF_SPACE, ShapeKind.COMPLIANT_HALF_SPACE):
        n = R[:, 2]
        height = n @ t
        slope = None if shape.rigid else -dtype(shape.slope) * n
        base = dtype(shape.slope) * height
        return [_Cell(-1, np.empty((0, 3), dtype), [(n, height + shape.margin)], slope, base)]
    vertices = shape.vertices.astype(dtype) @ R.T + t
    if shape.kind is ShapeKind.TRIANGLES:
        return [_Cell(i, vertices[c], [], None, dtype(0)) for i, c in enumerate(shape.cells)]
    return [
        _Cell(i, v, _planes(v), *_field(v, shape.pressure[c].astype(dtype)))
        for i, (c, v) in enumerate((c, vertices[c]) for c in shape.cells)
        if np.ptp(shape.pressure[c]) > 0
    ]


def _planes(v: _Real) -> list[tuple[_Real, Any]]:
    """Planes of the faces opposite to each vertex."""
    planes = []
    for k, (i, j, m) in enumerate([(1, 2, 3), (0, 3, 2), (0, 1, 3), (0, 2, 1)]):
        n = _unit(np.cross(v[j] - v[i], v[m] - v[i]))
        assert n @ (v[k] - v[i]) < 0
        planes.append((n, n @ v[i]))
    return planes


def _field(v: _Real, p: _Real) -> tuple[_Real, Any]:
    """Slope and base of the linear function with these values at the vertices."""
    e1, e2, e3 = v[1:] - v[0]
    d1, d2, d3 = p[1:] - p[0]
    turned = d1 * np.cross(e2, e3) + d2 * np.cross(e3, e1) + d3 * np.cross(e1, e2)
    slope = turned / (np.cross(e1, e2) @ e3)
    return slope, p[0] - slope @ v[0]


def _unit(a: _Real) -> _Real:
    unit: _Real = a / np.sqrt(a @ a)
    return unit


def _boxes(cells: list[_Cell]) -> tuple[_Real, _Real]:
    """Least and greatest coordinates of each; of a half space, infinite ones."""
    low = [c.vertices.min(axis=0) if len(c.vertices) else np.full(3, -np.inf) for c in cells]
    high = [c.vertices.max(axis=0) if len(c.vertices) else np.full(3, np.inf) for c in cells]
    return np.reshape(low, (-1, 3)), np.reshape(high, (-1, 3))


# ---- polygons ------------------------------------------------------------------------------------


def _meet(a: _Cell, b: _Cell) -> Face | None:
    """The face of two cells, if they have one."""
    if a.slope is None:
        swapped = _meet(b, a)
        return None if swapped is None else _swap(swapped)
    if b.slope is None:
        if len(b.vertices):
            v = b.vertices
            n = _unit(np.cross(v[1] - v[0], v[2] - v[0]))
            polygon = v if _on_near_side(n, a.slope) else v[:0]
        else:
            ((n, height),) = b.planes
            polygon = _cut(a, n, height)
        planes = a.planes
    else:
        difference = a.slope - b.slope
        steepness = np.sqrt(difference @ difference)
        if steepness == 0:
            return None
        n = difference / steepness
        if not (_on_near_side(n, a.slope) and _on_near_side(-n, b.slope)):
            return None
        polygon = _cut(a, n, (b.base - a.base) / steepness)
        planes = b.planes
    for wall in planes:
        polygon = _clip(polygon, *wall)
    return _face(a, b, n, _tidy(polygon))


def _on_near_side(n: _Real, slope: _Real) -> bool:
    return bool(n @ slope > FAR_SIDE * np.sqrt(slope @ slope))


def _cut(cell: _Cell, n: _Real, offset: Any) -> _Real:
    """Corners of the plane n.x = offset in a tetrahedron, counter-clockwise about n."""
    s = cell.vertices @ n - offset
    corners = [
        cell.vertices[i] + s[i] / (s[i] - s[j]) * (cell.vertices[j] - cell.vertices[i])
        for i in range(4)
        for j in range(4)
        if s[i] <= 0 < s[j]
    ]
    if not corners:
        return cell.vertices[:0]
    polygon = np.array(corners)
    seen = polygon - polygon.mean(axis=0)
    u = _unit(np.cross(n, np.eye(3, dtype=n.dtype)[np.argmin(np.abs(n))]))
    order = np.argsort(np.arctan2(seen @ np.cross(n, u), seen @ u))
    return polygon[order]


def _clip(polygon: _Real, n: _Real, offset: Any) -> _Real:
    """The part of the polygon behind the plane n.x = offset."""
    d = polygon @ n - offset
    corners = []
    for k in range(len(polygon)):
        next_ = (k + 1) % len(polygon)
        if d[k] <= 0:
            corners.append(polygon[k])
        if (d[k] <= 0) != (d[next_] <= 0):
            part = d[k] / (d[k] - d[next_])
            corners.append(polygon[k] + part * (polygon[next_] - polygon[k]))
    return np.array(corners) if corners else polygon[:0]


def _tidy(polygon: _Real) -> _Real:
    apart = [
        k for k in range(len(polygon)) if np.sum((polygon[k] - polygon[k - 1]) ** 2) > MERGED**2
    ]
    return polygon[apart] if len(apart) >= 3 else polygon[:0]


# ---- contacts ------------------------------------------------------------------------------------


def _face(a: _Cell, b: _Cell, n: _Real, polygon: _Real) -> Face | None:
    """Area, centroid and constants of the contact."""
    if len(polygon) == 0 or a.slope is None:
        return None
    u, w = polygon[1:-1] - polygon[0], polygon[2:] - polygon[0]
    parts = np.cross(u, w) @ n
    if not parts.sum() > 0:
        return None
    area: Any = parts.sum() / 2
    centroid = polygon[0] + parts @ (u + w) / (3 * parts.sum())
    p0: Any = a.slope @ centroid + a.base
    g_a: Any = a.slope @ n
    g_b: Any = math.inf if b.slope is None else -b.slope @ n
    G = math.inf
    for slope in (a.slope, b.slope):
        G = G if slope is None else 1 / (1 / G + 1 / np.sqrt(slope @ slope))
    k = phi0 = 0.0
    if area > LEAST_AREA and min(g_a, g_b) >= LEAST_SLOPE:
        g = 1 / (1 / g_a + 1 / g_b)
        k, phi0 = g * area, -p0 / g
    return Face(a.number, b.number, polygon, n, area, centroid, p0, g_a, g_b, G, k, phi0)


def _swap(face: Face) -> Face:
    """The same face with A and B exchanged."""
    return face._replace(
        cell_a=face.cell_b,
        cell_b=face.cell_a,
        polygon=face.polygon[::-1],
        normal=-face.normal,
        g_a=face.g_b,
        g_b=face.g_a,
    )

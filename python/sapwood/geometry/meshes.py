"""Meshes of convex hulls and of tetrahedra that were made elsewhere, with their extent."""

from __future__ import annotations

import os
import warnings

import numpy as np
from numpy.typing import ArrayLike

from sapwood import _core
from sapwood.base.checks import regular_file
from sapwood.base.foreign_mesh import read_foreign
from sapwood.base.optional import imported_for

from .primitives import FieldMesh, Points
from .splitting import Cells, boundary, oriented, volumes


def convex(points: ArrayLike, margin: float = 0.0) -> FieldMesh:
    """Mesh the hull of points: its triangles, joined to the centroid of its volume.

    Parameters
    ----------
    points : array_like (n, 3)
        m; those inside of the hull are left out.
    margin : float, optional
        Distance that its faces are moved outward, m.

    Returns
    -------
    FieldMesh
        Extent 1 at the centroid.

    Raises
    ------
    ValueError
        If the points have no volume.
    """
    with imported_for("FieldShape.convex", "geometry"):
        from scipy.spatial import ConvexHull, HalfspaceIntersection, QhullError

    given = _core.as_float64(points, "points", (-1, 3), "finite")
    try:
        hull = ConvexHull(given)
        if margin > 0:
            inside = given[hull.vertices].mean(axis=0)
            moved = hull.equations - [0, 0, 0, margin]
            given = HalfspaceIntersection(np.unique(moved, axis=0), inside).intersections
            hull = ConvexHull(given)
    except QhullError as error:
        raise ValueError(
            f"points: have no convex hull with a volume ({len(given)} points)"
        ) from error
    number = np.zeros(len(given), dtype=np.int64)
    number[hull.vertices] = 1 + np.arange(len(hull.vertices))
    surface = given[hull.vertices]
    triangles = number[hull.simplices]
    cells = np.column_stack([np.zeros(len(triangles), dtype=np.int64), triangles])
    vertices = np.concatenate([surface.mean(axis=0)[None], surface])
    cells = oriented(vertices, cells)
    weight = volumes(vertices, cells)
    vertices[0] = weight @ vertices[cells].mean(axis=1) / weight.sum()
    depth = np.zeros(len(vertices))
    depth[0] = -np.max(hull.equations @ np.append(vertices[0], 1.0))
    extent = (depth - margin) / (depth[0] - margin)
    return FieldMesh(vertices, oriented(vertices, cells), extent)


def tetrahedral(vertices: ArrayLike, tetrahedra: ArrayLike, margin: float = 0.0) -> FieldMesh:
    """Give a mesh of tetrahedra its extent: distance to the boundary over the greatest such.

    Parameters
    ----------
    vertices : array_like (n, 3)
        m.
    tetrahedra : array_like of int (m, 4)
        Tetrahedra of positive volume.
    margin : float, optional
        Distance that its boundary is moved outward, m; vertices inside stay.

    Returns
    -------
    FieldMesh
        The mesh.

    Raises
    ------
    ValueError
        If no vertex is inside of the mesh, or the faces at one cannot all be moved outward.
    """
    points = _core.as_float64(vertices, "vertices", (-1, 3), "finite")
    cells = _core.as_int32(np.ravel(tetrahedra), "tetrahedra").reshape(-1, 4).astype(np.int64)
    wrong = np.flatnonzero(np.any((cells < 0) | (cells >= len(points)), axis=1))
    if len(wrong):
        raise ValueError(f"tetrahedra[{wrong[0]}]: names a vertex that is not there")
    surface = boundary(cells)
    inner = np.setdiff1d(np.unique(cells), surface)
    if len(inner) == 0:
        raise ValueError("vertices: at least one must be inside of the mesh, to carry pressure")
    if margin > 0:
        points = _inflated(points, surface, margin)
    depth = np.zeros(len(points))
    for vertex in inner:
        depth[vertex] = distances_to_triangles(points[vertex], points[surface]).min()
    return FieldMesh(points, cells, (depth - margin) / (depth.max() - margin))


def _inflated(points: Points, surface: Cells, margin: float) -> Points:
    """Move each vertex of a surface by the least that takes its faces outward by the margin.

    The least u with N u >= margin, by non-negative least squares (Lawson and Hanson, 23.27).
    """
    with imported_for("a mesh with a margin", "geometry"):
        from scipy.optimize import lsq_linear

    edge = points[surface[:, 1:]] - points[surface[:, :1]]
    normal = np.cross(edge[:, 0], edge[:, 1])
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    moved = points.copy()
    for vertex in np.unique(surface):
        faces = normal[np.any(surface == vertex, axis=1)]
        rows = np.vstack([faces.T, np.ones(len(faces))])
        # scipy's nnls ends too early at some vertices whose faces lie in symmetry
        weight = lsq_linear(rows, [0.0, 0.0, 0.0, 1.0], (0.0, np.inf), "bvls", 1e-15).x
        residual = rows @ weight - [0.0, 0.0, 0.0, 1.0]
        if residual[3] > -1e-9:
            raise ValueError(f"vertices[{vertex}]: its faces cannot all be moved outward")
        moved[vertex] -= margin * residual[:3] / residual[3]
    return moved


def distances_to_triangles(points: Points, triangles: Points) -> Points:
    """Distances of points from triangles.

    Parameters
    ----------
    points : ndarray (3,) or (n, 3)
        One point, or one for each triangle.
    triangles : ndarray (n, 3, 3)
        Corners of the triangles.

    Returns
    -------
    ndarray (n,)
        Inside the prism over a triangle, the height; else the distance to its edges.
    """
    start, end = triangles, np.roll(triangles, -1, axis=1)
    edge, seen = end - start, points[..., None, :] - start
    along = np.sum(seen * edge, axis=2) / np.sum(edge * edge, axis=2)
    foot = np.clip(along, 0.0, 1.0)[..., None] * edge
    to_edges = np.linalg.norm(seen - foot, axis=2).min(axis=1)
    normal = np.cross(edge[:, 0], edge[:, 1])
    unit = normal / np.linalg.norm(normal, axis=1)[:, None]
    height = np.abs(np.sum(unit * seen[:, 0], axis=1))
    sides = np.sum(np.cross(edge, seen) * unit[:, None], axis=2)
    above = np.all(sides >= 0, axis=1)
    found: Points = np.where(above, height, to_edges)
    return found


def read_tetrahedra(path: str | os.PathLike[str]) -> tuple[Points, Cells]:
    """Read the tetrahedra of a mesh file, of any format that meshio knows: .vtk, .msh and more.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    vertices : ndarray (n, 3)
        m.
    tetrahedra : ndarray of int (m, 4)
        Tetrahedra in the order of the file, turned to positive volume.

    Raises
    ------
    ImportError
        Without meshio, which the extra ``geometry`` installs.
    OSError
        If the file cannot be opened.
    ValueError
        If meshio cannot read the file, it has no tetrahedra, or one of them names a vertex that
        is not there; the text names the file.
    """
    vertices, blocks = _read(path)
    if not blocks:
        raise ValueError(f"{os.fspath(path)}: has no tetrahedra")
    tetrahedra = np.concatenate(blocks)
    if np.any((tetrahedra < 0) | (tetrahedra >= len(vertices))):
        raise ValueError(f"{os.fspath(path)}: a tetrahedron names a vertex that is not there")
    return vertices, oriented(vertices, tetrahedra)


def read_points(path: str | os.PathLike[str]) -> Points:
    """Read the vertices of a mesh file, .obj among others.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    ndarray (n, 3)
        m.

    Raises
    ------
    ImportError
        Without meshio.
    OSError
        If the file cannot be opened.
    ValueError
        If meshio cannot read the file; the message names it.
    """
    return _read(path)[0]


def _read(path: str | os.PathLike[str]) -> tuple[Points, list[Cells]]:
    """Vertices and blocks of tetrahedra, with every failure as an OSError or a ValueError."""
    name = regular_file(path, "path")
    try:
        mesh, told = read_foreign(name, "reading a mesh file")
        points = np.asarray(mesh.points, dtype=np.float64)
        blocks = [
            np.asarray(block.data, dtype=np.int64) for block in mesh.cells if block.type == "tetra"
        ]
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: {error}") from error
    if points.shape != (len(points), 3) or any(b.shape != (len(b), 4) for b in blocks):
        raise ValueError(f"{name}: its vertices or tetrahedra have a wrong number of columns")
    if not np.all(np.isfinite(points)):
        raise ValueError(f"{name}: vertices must be finite")
    if told:
        warnings.warn(f"{name}: {told}", stacklevel=4)
    return points, blocks

"""Surfaces of triangles, and tetrahedra inside of them by the mesher fTetWild."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.checks import integers, real, regular_file
from sapwood.base.foreign_mesh import read_foreign
from sapwood.base.optional import imported_for

from .mesh import Mesh

_LEFT_BEHIND = Path("__tracked_surface.stl")  # the mesher writes it to the working directory


def fill_surface(
    vertices: ArrayLike,
    triangles: ArrayLike,
    edge: float | None = None,
    *,
    tolerance: float | None = None,
) -> Mesh:
    """Fill a closed surface with tetrahedra.

    The mesher (Hu et al. 2020) mends gaps, overlaps and triangles that lie on each other; the
    boundary is within the tolerance of the surface.

    Parameters
    ----------
    vertices : array_like (n, 3)
        Points of the surface, m.
    triangles : array_like of int (m, 3)
        Its triangles.
    edge : float, optional
        Length of edges to aim at, m, > 0; by default a tenth of the diagonal of its box.
    tolerance : float, optional
        Largest distance from the surface, m, > 0; by default a thousandth of the diagonal of its
        box.

    Returns
    -------
    Mesh
        The tetrahedra.

    Raises
    ------
    ValueError
        If an array is wrong, or if the surface encloses nothing.
    ImportError
        Without pytetwild, the extra ``mesher``.
    """
    x, corners = checked_surface(vertices, triangles)
    diagonal = float(np.linalg.norm(np.ptp(x[corners.ravel()], axis=0)))
    if diagonal == 0:
        raise ValueError("vertices: the triangles are one point")
    epsilon = 1e-3 if tolerance is None else _positive(tolerance, "tolerance") / diagonal
    length = diagonal / 10 if edge is None else _positive(edge, "edge")
    with imported_for("sapwood.fem.fill_surface", "mesher"):
        import pytetwild
    arrays = np.array(x), np.array(corners)  # it takes no read-only ones
    was_there = _LEFT_BEHIND.exists()
    try:
        points, cells = pytetwild.tetrahedralize(
            *arrays, edge_length_abs=length, epsilon=epsilon, num_threads=1, quiet=True
        )
    except RuntimeError as error:
        raise ValueError(f"the surface encloses nothing: {error}") from error
    finally:
        if not was_there:
            _LEFT_BEHIND.unlink(missing_ok=True)
    if not len(cells):
        raise ValueError("the surface encloses nothing")
    return Mesh(points, cells, orient=True, prune=True)


def read_surface(
    path: str | PathLike[str],
    edge: float | None = None,
    *,
    scale: float = 1.0,
    tolerance: float | None = None,
) -> Mesh:
    """Read a closed surface from a file, and fill it with tetrahedra.

    Parameters
    ----------
    path : str or path
        A file of triangles, or of polygons of four corners, that meshio reads: STL, OBJ, PLY ...
    edge : float, optional
        As of :func:`fill_surface`.
    scale : float, optional
        Metres in a unit of the file, > 0: 0.001 for millimetres.
    tolerance : float, optional
        As of :func:`fill_surface`.

    Returns
    -------
    Mesh
        The tetrahedra.

    Raises
    ------
    ValueError
        If the file has no triangles, or as of :func:`fill_surface`; the text has its name.
    ImportError
        Without meshio (extra ``geometry``) or pytetwild (extra ``mesher``).
    """
    points, triangles = read_triangles(path, scale, "sapwood.fem.read_surface")
    try:
        return fill_surface(points, triangles, edge, tolerance=tolerance)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def checked_surface(
    vertices: ArrayLike, triangles: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Check the arrays of a surface.

    Parameters
    ----------
    vertices : array_like (n, 3)
        Points of the surface, m.
    triangles : array_like of int (m, 3)
        Its triangles.

    Returns
    -------
    vertices : ndarray (n, 3)
        The points.
    triangles : ndarray of int32 (m, 3)
        The triangles.

    Raises
    ------
    TypeError, ValueError
        If an array is wrong; the text names the entry and the rule.
    """
    x = _core.as_float64(vertices, "vertices", (-1, 3), "finite")
    corners = integers(triangles, "triangles", 3)
    if not len(corners):
        raise ValueError("triangles has shape (0, 3), expected (m, 3) with m > 0")
    wrong = np.argwhere((corners < 0) | (corners >= len(x)))
    if len(wrong):
        i, j = wrong[0]
        raise ValueError(f"triangles[{i}, {j}] = {corners[i, j]}: names a vertex that is not there")
    return x, corners


def read_triangles(
    path: str | PathLike[str], scale: float, user: str
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Read the triangles of a file; polygons of four corners are two each.

    Parameters
    ----------
    path : str or path
        A file that meshio reads.
    scale : float
        Metres in a unit of the file, > 0.
    user : str
        The function that needs it, for errors.

    Returns
    -------
    vertices : ndarray (n, 3)
        Points of the file, m.
    triangles : ndarray of int (m, 3)
        Its triangles.

    Raises
    ------
    ValueError
        If the file has no triangles; the text has its name.
    ImportError
        Without meshio, the extra ``geometry``.
    """
    name, unit = regular_file(path, "path"), _positive(scale, "scale")
    try:
        found, _ = read_foreign(name, user)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    triangles = [np.zeros((0, 3), np.int64)]
    for block in found.cells:
        if block.type == "triangle":
            triangles.append(block.data)
        elif block.type == "quad":
            triangles += [block.data[:, [0, 1, 2]], block.data[:, [0, 2, 3]]]
        elif block.type == "polygon":
            raise ValueError(f"{name}: has polygons of {block.data.shape[1]} corners: split them")
    listed = np.concatenate(triangles)
    if not len(listed):
        raise ValueError(f"{name}: has no triangles")
    return unit * np.asarray(found.points, float), listed


def _positive(value: object, name: str) -> float:
    number = real(value, name)
    if not 0 < number < float("inf"):
        raise ValueError(f"{name} = {number}: must be finite and > 0")
    return number

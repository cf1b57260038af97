"""Surfaces that follow a mesh of tetrahedra, to be looked at."""

from __future__ import annotations

from os import PathLike

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core

from .mesh import Mesh
from .nearest import find_tetrahedra, weights_in
from .surfaces import checked_surface, read_triangles

_Float = NDArray[np.float64]


class RenderMesh:
    """A surface that follows a mesh: finer than its boundary, to be looked at.

    Each vertex moves with the tetrahedron that it lies in at rest, by barycentric weights. Outside
    it extrapolates the motion of one near it, so close to the boundary it should be. It neither
    touches nor weighs anything. ``SoftBody(..., render_mesh=)`` lets the viewer and the files of
    :class:`SeriesWriter` show it.

    Parameters
    ----------
    mesh : Mesh
        The mesh that it follows.
    vertices : array_like (n, 3)
        Its points, m, in the frame of the mesh at rest.
    triangles : array_like of int (m, 3)
        Its triangles.

    Attributes
    ----------
    mesh : Mesh
        The mesh.
    vertices : ndarray (n, 3)
        Points at rest, m.
    triangles : ndarray of int32 (m, 3)
        Triangles.
    tetrahedra : ndarray of int (n,)
        Tetrahedron of each point.
    weights : ndarray (n, 4)
        Weights of its corners, of sum 1; some are negative for points outside.

    Raises
    ------
    TypeError, ValueError
        If an argument is wrong, or a point farther from the mesh than that is long; the text names
        the entry and the rule.

    Examples
    --------
    A fine ball inside a coarse one of the same radius, stretched by a tenth:

    >>> from sapwood import fem
    >>> mesh, fine = fem.ball(0.1, cells=2), fem.ball(0.1, cells=6)
    >>> skin = fem.RenderMesh(mesh, fine.vertices, fine.faces)
    >>> x = skin.interpolate([1.0, 1.0, 1.1] * mesh.vertices)
    >>> bool(np.allclose(x, [1.0, 1.0, 1.1] * fine.vertices))
    True
    """

    def __init__(self, mesh: Mesh, vertices: ArrayLike, triangles: ArrayLike) -> None:
        if not isinstance(mesh, Mesh):
            raise TypeError(f"mesh must be a Mesh, not {type(mesh).__name__}")
        x, corners = checked_surface(vertices, triangles)
        _check_near(mesh, x)
        self.mesh, self.vertices, self.triangles = mesh, x.copy(), corners.copy()
        self.tetrahedra: NDArray[np.int64] = find_tetrahedra(mesh, x)
        self.weights: _Float = weights_in(mesh, self.tetrahedra, x)
        for array in (self.vertices, self.triangles, self.tetrahedra, self.weights):
            array.setflags(write=False)

    @classmethod
    def from_file(cls, mesh: Mesh, path: str | PathLike[str], *, scale: float = 1.0) -> RenderMesh:
        """Read a surface that follows a mesh.

        Parameters
        ----------
        mesh : Mesh
            The mesh that it follows.
        path : str or path
            As of :func:`read_surface`.
        scale : float, optional
            Metres in a unit of the file, > 0.

        Returns
        -------
        RenderMesh
            The surface.

        Raises
        ------
        ValueError
            If the file has no triangles, or wrong ones; the text has its name.
        ImportError
            Without meshio, the extra ``geometry``.
        """
        vertices, triangles = read_triangles(path, scale, "sapwood.fem.RenderMesh.from_file")
        try:
            return cls(mesh, vertices, triangles)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error

    def interpolate(self, values: ArrayLike) -> _Float:
        """Find values at the points from those at the vertices of the mesh.

        Parameters
        ----------
        values : array_like (n_mesh, 3)
            Positions or velocities of the mesh, such as ``body.positions``.

        Returns
        -------
        ndarray (n, 3)
            Positions or velocities of the surface.

        Raises
        ------
        TypeError, ValueError
            For an array of wrong type or shape.
        """
        given = _core.as_float64(values, "values", (len(self.mesh.vertices), 3))
        corners = self.mesh.tetrahedra[self.tetrahedra]
        found: _Float = np.einsum("na,naj->nj", self.weights, given[corners])
        return found

    def average(self, values: _Float) -> _Float:
        """Find values of the triangles from those of the tetrahedra.

        Parameters
        ----------
        values : ndarray (n_tetrahedra,)
            A value of each tetrahedron, such as von Mises' stress.

        Returns
        -------
        ndarray (m,)
            Means over the tetrahedra of the corners.
        """
        found: _Float = values[self.tetrahedra[self.triangles]].mean(axis=1)
        return found

    def __repr__(self) -> str:
        return f"RenderMesh({len(self.vertices)} vertices, {len(self.triangles)} triangles)"


def _check_near(mesh: Mesh, x: _Float) -> None:
    """Refuse points that are farther from the box of the mesh than its longest side."""
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    away = np.maximum(low - x, x - high).max(axis=1)
    size = float(np.max(high - low))
    far = np.flatnonzero(away > size)
    if far.size:
        raise ValueError(
            f"vertices[{far[0]}]: is {away[far[0]]:.3g} m away from the mesh, of {size:.3g} m: "
            "another scale?"
        )

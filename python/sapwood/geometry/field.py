"""What a pressure field is, whatever the shape: stiffness, fineness, margin."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sapwood import _core
from sapwood.base.checks import real

from . import meshes, primitives
from .shape import FieldShape
from .splitting import boundary


@dataclass(frozen=True)
class PressureField:
    """Pressure field of a body: the pressure is `modulus` times the extent of its shape.

    Its methods make shapes with such a field, each in the frame that the shape defines: boxes and
    spheres about their centre, cylinders and capsules along z, half spaces below z = 0.

    Attributes
    ----------
    modulus : float
        Pressure at the core, Pa; ``math.inf`` makes rigid shapes.
    resolution : float, optional
        Length of edges on curved surfaces, m, such that a shape has no more than 131072 cells.
        Boxes, hulls and meshes need none.
    margin : float, optional
        What the shape is inflated by, m: with p < 0 there, contacts are known before they begin.
        Not of rigid shapes.
    thickness : float, optional
        Depth of a compliant half space at which the pressure is the modulus, m.

    Raises
    ------
    TypeError, ValueError
        For a wrong number; the message names it.

    Examples
    --------
    >>> soft = PressureField(modulus=1e5, resolution=0.02)
    >>> soft.sphere(0.05)
    FieldShape(67 vertices, 128 tetrahedra)
    >>> PressureField(math.inf).box([0.1, 0.1, 0.2])
    FieldShape(14 vertices, 24 triangles)
    """

    modulus: float
    resolution: float | None = None
    margin: float = 0.0
    thickness: float | None = None

    def __post_init__(self) -> None:
        if not real(self.modulus, "modulus") > 0:
            raise ValueError(f"modulus = {self.modulus}: must be > 0")
        for name in ("resolution", "thickness"):
            if getattr(self, name) is not None:
                _positive(getattr(self, name), name)
        if not 0 <= real(self.margin, "margin") < math.inf:
            raise ValueError(f"margin = {self.margin}: must be finite and >= 0")
        if self.margin > 0 and math.isinf(self.modulus):
            raise ValueError(f"margin = {self.margin}: rigid shapes have none")

    # ---- shapes ----------------------------------------------------------------------------------

    def sphere(self, radius: float) -> FieldShape:
        """Make a sphere: p = E (1 - abs(x)/r) at vertices.

        Parameters
        ----------
        radius : float
            m.

        Returns
        -------
        FieldShape
            A subdivided octahedron, joined to the centre.
        """
        return self.ellipsoid([_positive(radius, "radius")] * 3)

    def ellipsoid(self, semi_axes: ArrayLike) -> FieldShape:
        """Make an ellipsoid, the image of a sphere.

        Parameters
        ----------
        semi_axes : array_like (3,)
            Along x, y and z, m.

        Returns
        -------
        FieldShape
            The largest semi-axis takes the resolution.
        """
        axes = _core.as_float64(semi_axes, "semi_axes", (3,), "positive")
        return self._shape(primitives.ellipsoid(axes, self._resolution(), self.margin))

    def box(self, edges: ArrayLike) -> FieldShape:
        """Make a box: p = E times the distance to the nearest face over the greatest such.

        Parameters
        ----------
        edges : array_like (3,)
            Their lengths, m.

        Returns
        -------
        FieldShape
            Of 24, 40 or 44 tetrahedra.
        """
        return self._shape(
            primitives.box(_core.as_float64(edges, "edges", (3,), "positive"), self.margin)
        )

    def cylinder(self, radius: float, length: float) -> FieldShape:
        """Make a cylinder.

        Parameters
        ----------
        radius, length : float
            m.

        Returns
        -------
        FieldShape
            With the resolution along its rims.
        """
        return self._shape(
            primitives.cylinder(
                _positive(radius, "radius"),
                _positive(length, "length"),
                self._resolution(),
                self.margin,
            )
        )

    def capsule(self, radius: float, length: float) -> FieldShape:
        """Make a capsule: p = E (1 - distance from the axis over r) at vertices.

        Parameters
        ----------
        radius, length : float
            Of the cylinder between the caps, m.

        Returns
        -------
        FieldShape
            With the resolution around it.
        """
        return self._shape(
            primitives.capsule(
                _positive(radius, "radius"),
                _positive(length, "length"),
                self._resolution(),
                self.margin,
            )
        )

    def convex(self, points: ArrayLike | str | os.PathLike[str]) -> FieldShape:
        """Make the convex hull of points, by SciPy.

        Parameters
        ----------
        points : array_like (n, 3) or path-like
            m; or a mesh file, whose vertices are taken (.obj, by meshio).

        Returns
        -------
        FieldShape
            p = E at the centroid of its volume.

        Raises
        ------
        ImportError
            Without SciPy, or meshio for a file: the extra ``geometry`` installs both.
        ValueError
            If the hull has no volume.
        """
        if isinstance(points, (str, os.PathLike)):
            points = meshes.read_points(points)
        return self._shape(meshes.convex(points, self.margin))

    def mesh(
        self,
        vertices: ArrayLike | str | os.PathLike[str],
        tetrahedra: ArrayLike | None = None,
    ) -> FieldShape:
        """Make a shape of tetrahedra: p = E times the distance to the boundary over the greatest.

        Parameters
        ----------
        vertices : array_like (n, 3) or path-like
            m; or a mesh file (.vtk or .msh, by meshio).
        tetrahedra : array_like of int (m, 4), optional
            Of positive volume; not with a file.

        Returns
        -------
        FieldShape
            The mesh, or its boundary where rigid.

        Raises
        ------
        ValueError
            For a mesh without inner vertices, a wrong tetrahedron, or a margin that turns one over.
        """
        if isinstance(vertices, (str, os.PathLike)):
            vertices, tetrahedra = meshes.read_tetrahedra(vertices)
        elif tetrahedra is None:
            raise TypeError("tetrahedra: must be given with vertices")
        return self._shape(meshes.tetrahedral(vertices, tetrahedra, self.margin))

    def half_space(self) -> FieldShape:
        """Make the half space z <= 0.

        Returns
        -------
        FieldShape
            Rigid, or with p = E depth/thickness.
        """
        if math.isinf(self.modulus):
            return FieldShape.half_space()
        if self.thickness is None:
            raise ValueError("thickness: must be given for a compliant half space")
        return FieldShape.half_space(self.modulus / self.thickness, self.margin)

    # ---- helpers ---------------------------------------------------------------------------------

    def _resolution(self) -> float:
        if self.resolution is None:
            raise ValueError("resolution: must be given for a curved shape")
        return self.resolution

    def _shape(self, mesh: primitives.FieldMesh) -> FieldShape:
        if not math.isinf(self.modulus):
            return FieldShape.tetrahedra(mesh.vertices, mesh.tetrahedra, self.modulus * mesh.extent)
        triangles = boundary(mesh.tetrahedra)
        used, numbers = np.unique(triangles, return_inverse=True)
        return FieldShape.triangles(mesh.vertices[used], numbers.reshape(-1, 3))


def _positive(value: float, name: str) -> float:
    if not 0 < real(value, name) < math.inf:
        raise ValueError(f"{name} = {value}: must be finite and > 0")
    return float(value)

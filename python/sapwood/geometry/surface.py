"""Surfaces on which two shapes meet."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core

from .plot import plot_faces
from .shape import FieldShape

if TYPE_CHECKING:
    from mpl_toolkits.mplot3d.axes3d import Axes3D

Faces = Literal["polygons", "triangles"]
Pair = tuple[FieldShape, ArrayLike | None, FieldShape, ArrayLike | None]

_Float = NDArray[np.float64]
_Int = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class ContactSurface:
    """The surface on which two shapes press against each other, in the frame of the world.

    Each face acts as one contact between the bodies, with its normal, which by the convention of
    contacts points from A to B, opposite to `normals`. Not every face does: see `kept`.

    Attributes
    ----------
    face_starts : ndarray of int (n + 1,)
        Index of the first vertex of each face, and the end.
    vertices : ndarray (m, 3)
        Vertices of one face after another, counterclockwise about its normal, m.
    vertex_pressures : ndarray (m,)
        Pa.
    cells_a, cells_b : ndarray of int (n,)
        Tetrahedron or triangle of each shape that a face is of; -1 of a half space.
    areas : ndarray (n,)
        m^2.
    centroids : ndarray (n, 3)
        m.
    normals : ndarray (n, 3)
        Out of B into A.
    pressures : ndarray (n,)
        p0, at the centroids, Pa.
    g_a, g_b : ndarray (n,)
        Slopes of the fields along the normal, up A's and down B's, Pa/m; infinite where rigid.
    steepness : ndarray (n,)
        G with 1/G = 1/|grad p_A| + 1/|grad p_B|, Pa/m, at least as large as g.
    k : ndarray (n,)
        Stiffness g A with 1/g = 1/g_a + 1/g_b, N/m; 0 where the face makes no contact.
    phi0 : ndarray (n,)
        Distance -p0/g, m; 0 where the face makes no contact.
    loads : ndarray (n,)
        A p0, N: the force of a face, which is -k phi0 where it is kept. The smaller g is the larger
        is phi0, without bound; loads are not affected.
    force, torque : ndarray (3,)
        Force and torque on A: the sum of loads along the normals of all faces, and its torque about
        the world's origin, N and N m.

    Examples
    --------
    A soft ball is pressed 5 mm deep into the rigid floor; it becomes contacts of a problem:

    >>> from sapwood.geometry import PressureField
    >>> ball = PressureField(1e6, resolution=0.02).sphere(0.05)
    >>> raised = np.eye(4)
    >>> raised[2, 3] = 0.045
    >>> surface = contact_surface(ball, raised, PressureField(np.inf).half_space(), None)
    >>> k, phi0 = surface.k[surface.kept], surface.phi0[surface.kept]
    >>> bool(np.isclose(-k @ phi0, surface.force[2]))
    True
    """

    face_starts: _Int
    vertices: _Float
    vertex_pressures: _Float
    cells_a: _Int
    cells_b: _Int
    areas: _Float
    centroids: _Float
    normals: _Float
    pressures: _Float
    g_a: _Float
    g_b: _Float
    steepness: _Float
    k: _Float
    phi0: _Float
    loads: _Float
    force: _Float
    torque: _Float

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NDArray[Any]:
            """Make the arrays from the block of the core, when one of them is first read."""
            state = self.__dict__
            block = state.get("_block")
            if block is not None and name in _FIELDS:
                state.update(zip(_FIELDS, _core.surface_columns(*block), strict=True))
                state.pop("_block", None)
            if name not in state:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            return state[name]

    def __getstate__(self) -> dict[str, NDArray[Any]]:
        return {name: getattr(self, name) for name in _FIELDS}

    def __len__(self) -> int:
        return len(self.areas)

    @property
    def polygons(self) -> list[_Float]:
        """Vertices of each face, (3 or more, 3)."""
        return np.split(self.vertices, self.face_starts[1:-1]) if len(self) else []

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Faces that make a contact, (n,): of an area above 1e-14 m^2, with rising pressure."""
        return self.k > 0

    @property
    def kept_force(self) -> _Float:
        """Force on A of the faces that make a contact, N: a solver at rest finds it."""
        force: _Float = self.loads[self.kept] @ self.normals[self.kept]
        return force

    def plot(self, ax: Axes3D | None = None) -> Axes3D:
        """Draw the faces, coloured by pressure, with Matplotlib.

        Parameters
        ----------
        ax : Axes3D, optional
            The axes to draw on; by default new ones.

        Returns
        -------
        Axes3D
            The axes, with a colour bar; ``ax.figure.savefig`` writes it.
        """
        return plot_faces(self.polygons, self.pressures, ax)


_FIELDS = tuple(field.name for field in dataclasses.fields(ContactSurface))


def contact_surface(
    a: FieldShape,
    pose_a: ArrayLike | None,
    b: FieldShape,
    pose_b: ArrayLike | None,
    *,
    faces: Faces = "polygons",
) -> ContactSurface:
    """Find the surface on which two shapes meet.

    Parameters
    ----------
    a, b : FieldShape
        At least one of them compliant; a compliant half space meets rigid meshes alone.
    pose_a, pose_b : array_like (4, 4) or None
        Pose of each in the world: a rotation and a translation in m; None is the identity.
    faces : {"polygons", "triangles"}, optional
        Triangles are fans about the centroids of the polygons: three and more times as many, of
        the same area, force and stiffness in sum.

    Returns
    -------
    ContactSurface
        Without faces where they are apart.

    Raises
    ------
    TypeError, ValueError
        For a pose that is no rigid motion, or two shapes that have no surface; the text says why.

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood.geometry import PressureField
    >>> ball = PressureField(1e6, resolution=0.02).sphere(0.05)
    >>> floor = PressureField(float("inf")).half_space()
    >>> raised = np.eye(4)
    >>> raised[2, 3] = 0.045
    >>> surface = contact_surface(ball, raised, floor, None)
    >>> bool(surface.force[2] > 0), float(surface.areas.sum()) < 1.5e-3
    (True, True)
    """
    (surface,) = contact_surfaces([(a, pose_a, b, pose_b)], faces=faces)
    return surface


def contact_surfaces(pairs: Iterable[Pair], *, faces: Faces = "polygons") -> list[ContactSurface]:
    """Find the surfaces of many pairs in one call.

    Parameters
    ----------
    pairs : iterable of (FieldShape, array_like or None, FieldShape, array_like or None)
        Shape and pose of A, shape and pose of B, as for :func:`contact_surface`.
    faces : {"polygons", "triangles"}, optional
        The same as for :func:`contact_surface`.

    Returns
    -------
    list of ContactSurface
        One for each pair, in their order.

    Raises
    ------
    TypeError, ValueError
        The same as for :func:`contact_surface`, with the number of the pair.
    """
    if faces not in ("polygons", "triangles"):
        raise ValueError(f"faces must be one of polygons, triangles, not {faces!r}")
    listed = []
    for a, pose_a, b, pose_b in pairs:
        for name, shape in (("a", a), ("b", b)):
            if not isinstance(shape, FieldShape):
                raise TypeError(f"{name} must be a FieldShape, not {type(shape).__name__}")
        listed.append((a._shape, pose_a, b._shape, pose_b))
    return [_surface(block) for block in _core.contact_surfaces(listed, faces == "triangles")]


def _surface(block: tuple[_Float, _Int]) -> ContactSurface:
    """A surface that makes its arrays when it is asked for one of them."""
    surface = object.__new__(ContactSurface)
    surface.__dict__["_block"] = block
    return surface

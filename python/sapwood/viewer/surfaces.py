"""Triangle meshes of MuJoCo's geoms, in the frame of the geom."""

from __future__ import annotations

import dataclasses
import math

import mujoco
import numpy as np
from numpy.typing import NDArray

_Float = NDArray[np.float64]
_Int = NDArray[np.int32]

_TYPE = mujoco.mjtGeom

# sides of round shapes
_AROUND = 36


@dataclasses.dataclass(frozen=True, eq=False)
class Surface:
    """Triangles of one geom.

    Corners that several faces share are shaded smoothly; at a sharp edge each side has its own.

    Attributes
    ----------
    vertices : ndarray (n, 3)
        Corners in the frame of the geom, m.
    faces : ndarray of int (m, 3)
        Counter-clockwise seen from outside.
    uv : ndarray (n, 2) or None
        Coordinates in the texture, from the lower left; None where there are none.
    """

    vertices: _Float
    faces: _Int
    uv: _Float | None = None


def geom_surface(model: mujoco.MjModel, geom: int, infinity: float) -> Surface | None:
    """The surface of a geom.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    geom : int
        Number of the geom.
    infinity : float
        Half the side of planes that have no end, m.

    Returns
    -------
    Surface or None
        None for a geom without a surface, such as a mesh without data.
    """
    kind, size = _TYPE(int(model.geom_type[geom])), model.geom_size[geom]
    data = int(model.geom_dataid[geom])
    if kind in (_TYPE.mjGEOM_MESH, _TYPE.mjGEOM_SDF):
        return None if data < 0 else _mesh(model, data)
    if kind == _TYPE.mjGEOM_HFIELD:
        return None if data < 0 else _height_field(model, data)
    if kind == _TYPE.mjGEOM_PLANE:
        return _plane(np.where(size[:2] > 0.0, size[:2], infinity))
    if kind == _TYPE.mjGEOM_BOX:
        return _box(size)
    if kind == _TYPE.mjGEOM_SPHERE:
        return _round(_arc(), np.full(3, size[0]))
    if kind == _TYPE.mjGEOM_ELLIPSOID:
        return _round(_arc(), size)
    if kind == _TYPE.mjGEOM_CAPSULE:
        return _capsule(size[0], size[1])
    if kind == _TYPE.mjGEOM_CYLINDER:
        return cylinder(size[0], size[1])
    return None


# ---- shapes of their own -------------------------------------------------------------------------


def _plane(half: _Float) -> Surface:
    corners = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]], dtype=float)
    faces = np.array([[0, 1, 2], [0, 2, 3]], dtype=np.int32)
    return Surface(corners * [half[0], half[1], 0.0], faces, (corners[:, :2] + 1.0) / 2.0)


def _box(half: _Float) -> Surface:
    """The six sides of a box, each with its own corners."""
    vertices = []
    for axis in range(3):
        for sign in (1.0, -1.0):
            n, (u, w) = sign * np.eye(3)[axis], _tangents(axis, sign)
            vertices += [n - u - w, n + u - w, n + u + w, n - u + w]
    first = 4 * np.arange(6)[:, None, None]
    faces = (first + np.array([[0, 1, 2], [0, 2, 3]])).reshape(-1, 3)
    uv = np.tile([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], (6, 1))
    return Surface(np.array(vertices) * half, faces.astype(np.int32), uv)


def _tangents(axis: int, sign: float) -> tuple[_Float, _Float]:
    """u and w of a right-handed (u, w, sign axis)."""
    u, w = np.eye(3)[(axis + 1) % 3], np.eye(3)[(axis + 2) % 3]
    return (u, w) if sign > 0.0 else (w, u)


def _arc() -> _Float:
    """Half a unit circle from the lower pole to the upper one, (r, z) each."""
    angle = np.linspace(-math.pi / 2, math.pi / 2, _AROUND // 2 + 1)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _capsule(radius: float, half: float) -> Surface:
    arc = radius * _arc()
    middle = len(arc) // 2 + 1
    profile = np.concatenate([arc[:middle] - [0.0, half], arc[middle - 1 :] + [0.0, half]])
    return _round(profile, np.ones(3))


def cylinder(radius: float, half: float, sides: int = _AROUND) -> Surface:
    """A wall and two lids, with edges between them.

    Parameters
    ----------
    radius : float
        m.
    half : float
        Half its height, along z, m.
    sides : int
        Sides of the wall.

    Returns
    -------
    Surface
        Around the origin.
    """
    below, above = [radius, -half], [radius, half]
    return _swept([[[0.0, -half], below], [below, above], [above, [0.0, half]]], sides)


def cone(sides: int) -> Surface:
    """A cone of radius 1 on the plane z = 0, with its tip at z = 1.

    Parameters
    ----------
    sides : int
        Around the tip.

    Returns
    -------
    Surface
        A side and a lid.
    """
    return _swept([[[0.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]], sides)


def _swept(profiles: list[list[list[float]]], sides: int) -> Surface:
    """The surface that these profiles sweep around the z axis, with edges between them."""
    parts = [_round(np.array(profile), np.ones(3), sides) for profile in profiles]
    starts = np.cumsum([0] + [len(part.vertices) for part in parts[:-1]])
    return Surface(
        np.concatenate([part.vertices for part in parts]),
        np.concatenate([part.faces + start for part, start in zip(parts, starts, strict=True)]),
        np.concatenate([part.uv for part in parts if part.uv is not None]),
    )


def _round(profile: _Float, scale: _Float, sides: int = _AROUND) -> Surface:
    """The surface that a profile (r, z), from below, sweeps around the z axis."""
    around, along = sides + 1, len(profile)
    angle = np.linspace(0.0, 2.0 * math.pi, around)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    vertices = np.empty((along, around, 3))
    vertices[:, :, :2] = profile[:, None, :1] * circle
    vertices[:, :, 2] = profile[:, None, 1]
    uv = np.stack(np.meshgrid(np.linspace(0.0, 1.0, around), np.linspace(0.0, 1.0, along)), axis=-1)
    return Surface(vertices.reshape(-1, 3) * scale, _grid_faces(along, around), uv.reshape(-1, 2))


def _grid_faces(rows: int, columns: int) -> _Int:
    """Two triangles for each cell of a grid whose points are numbered row by row."""
    corner = (columns * np.arange(rows - 1)[:, None] + np.arange(columns - 1)).reshape(-1, 1)
    faces = np.concatenate(
        [corner + [0, 1, columns + 1], corner + [0, columns + 1, columns]], axis=1
    )
    return faces.reshape(-1, 3).astype(np.int32)


# ---- shapes of the model's data ------------------------------------------------------------------


def _height_field(model: mujoco.MjModel, number: int) -> Surface:
    """The heights, and the ground that they stand on."""
    rows, columns = int(model.hfield_nrow[number]), int(model.hfield_ncol[number])
    start = model.hfield_adr[number]
    x, y, top, _ = model.hfield_size[number]
    vertices = np.empty((rows, columns, 3))
    vertices[:, :, 0] = np.linspace(-x, x, columns)
    vertices[:, :, 1] = np.linspace(-y, y, rows)[:, None]
    heights = model.hfield_data[start : start + rows * columns]
    vertices[:, :, 2] = top * heights.reshape(rows, columns)
    uv = vertices[:, :, :2] / (2.0 * np.array([x, y])) + 0.5
    return Surface(vertices.reshape(-1, 3), _grid_faces(rows, columns), uv.reshape(-1, 2))


def _mesh(model: mujoco.MjModel, number: int) -> Surface:
    """The model's mesh, with an edge wherever two faces have different normals in a corner."""

    def rows(name: str, first: str, count: str) -> NDArray[np.generic]:
        start = int(getattr(model, first)[number])
        found: NDArray[np.generic] = getattr(model, name)[
            start : start + int(getattr(model, count)[number])
        ]
        return found

    points = rows("mesh_vert", "mesh_vertadr", "mesh_vertnum")
    corners = [
        rows("mesh_face", "mesh_faceadr", "mesh_facenum"),
        rows("mesh_facenormal", "mesh_faceadr", "mesh_facenum"),
    ]
    textured = int(model.mesh_texcoordadr[number]) >= 0
    if textured:
        corners.append(rows("mesh_facetexcoord", "mesh_faceadr", "mesh_facenum"))
    # a corner of a face is told by its point, its normal and its place in the texture
    told = np.stack([each.reshape(-1) for each in corners], axis=1)
    distinct, faces = np.unique(told, axis=0, return_inverse=True)
    uv = None
    if textured:
        uv = rows("mesh_texcoord", "mesh_texcoordadr", "mesh_texcoordnum")[distinct[:, 2]]
        # MuJoCo counts from above
        uv = np.column_stack([uv[:, 0], 1.0 - uv[:, 1]])
    return Surface(points[distinct[:, 0]].astype(float), faces.reshape(-1, 3).astype(np.int32), uv)

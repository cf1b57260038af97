"""Contacts of boundary faces of soft bodies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.base.equality import compared_by_value
from sapwood.geometry import FieldShape, contact_surface

from .bodies import SoftBody
from .vectors import cross

_Float = NDArray[np.float64]
_Index = NDArray[np.int32]

# smaller faces make no contact, m^2
_LEAST_AREA = 1e-14
# slopes below this part of the gradient are round-off of parallel faces
_LEAST_SLOPE = 1e-8


@compared_by_value
@dataclass(frozen=True, eq=False)
class SoftContacts:
    """Contacts of a soft body with one other body.

    Attributes
    ----------
    faces : ndarray of int32 (n,)
        Boundary face of each contact; -1 for contacts of vertices, and between two soft bodies.
    vertices : ndarray of int32 (n, m)
        Vertices that a contact point moves with.
    weights : ndarray (n, m)
        Their shares in its velocity; they add up to 1.
    points : ndarray (n, 3)
        Contact points in the world, m.
    normals : ndarray (n, 3)
        Normals, into the soft body.
    k : ndarray (n,)
        Stiffnesses, N/m.
    phi0 : ndarray (n,)
        Signed distances, m.
    other_vertices : ndarray of int32 (n, m) or None
        Vertices of the other body, if it is soft.
    other_weights : ndarray (n, m) or None
        Their weights.
    """

    faces: _Index
    vertices: _Index
    weights: _Float
    points: _Float
    normals: _Float
    k: _Float
    phi0: _Float
    other_vertices: _Index | None = None
    other_weights: _Float | None = None


def pair_friction(a: float, b: float) -> float:
    """Friction of two surfaces, 2 a b/(a + b); no valid one of numbers that are not."""
    product = 2 * a * b
    return product / (a + b) if product > 0 else product


def contacts_with_plane(body: SoftBody, normal: _Float, offset: float) -> SoftContacts:
    """Find the contacts of a body with a half space.

    Each face is clipped by the plane; the contact is at the centroid of the part below. Its normal
    is that of the plane, phi0 = -depth, and k = C times the area projected onto the plane: the
    pressure C depth of a half space without modulus, which sliding does not change. The point moves
    with the corners that have a share of a hundredth or more in it.

    Parameters
    ----------
    body : SoftBody
        The body.
    normal : ndarray (3,)
        Direction out of the half space, of unit length.
    offset : float
        Distance of its surface from the origin along the normal, m.

    Returns
    -------
    SoftContacts
        The contacts, by ascending face; a face whose tetrahedron is turned over has none.
    """
    mesh = body.mesh
    faces, corners, shares, points, k, phi0 = _core.fem_plane_contacts(
        mesh._mesh,
        mesh.faces,
        mesh.face_tetrahedra,
        body.positions,
        normal,
        offset,
        body.contact_stiffness,
    )
    normals = np.broadcast_to(normal, (len(k), 3))
    return SoftContacts(faces, corners, shares, points, normals, k, phi0)


def contacts_with_shape(
    body: SoftBody,
    shape: FieldShape,
    pose: _Float,
    *,
    is_depth: bool = False,
) -> SoftContacts:
    """Find the contacts of a body with the pressure field of a rigid body.

    With g_r the slope of the pressure along the face normal, g = C g_r/(C + g_r), k = g area and
    phi0 = -p/g (Masterjohn et al. 2021; Drake's rule for deformable bodies). A shape that only
    tells depths has the pressure C depth: k = C area g_r/abs(grad p) and phi0 = -p/g_r. Its
    contacts on one face are merged.

    Parameters
    ----------
    body : SoftBody
        The soft body.
    shape : FieldShape
        Tetrahedra with pressures.
    pose : ndarray (4, 4)
        Pose of the shape.
    is_depth : bool, optional
        Whether the pressures of the shape only tell depths, in any unit.

    Returns
    -------
    SoftContacts
        The contacts.
    """
    x, corners = body.positions, body.mesh.faces
    listed = _near(x, corners, shape, pose)
    listed = listed[_is_upright(body, listed)]
    if not listed.size:
        return no_contacts(3)
    used, local = np.unique(corners[listed], return_inverse=True)
    skin = FieldShape.triangles(x[used], local.reshape(-1, 3))
    found = contact_surface(shape, pose, skin, None)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope, steep, C = found.g_a, found.steepness, body.contact_stiffness
        if is_depth:
            g, unit = slope, C / steep
        else:
            g, unit = C * slope / (C + slope), np.ones_like(slope)
        kept = (found.areas >= _LEAST_AREA) & (slope >= np.maximum(1e-14, _LEAST_SLOPE * steep))
    g = g[kept]
    faces, points = listed[found.cells_b[kept]].astype(np.int32), found.centroids[kept]
    k, phi0 = unit[kept] * g * found.areas[kept], -found.pressures[kept] / g
    if is_depth:
        faces, points, k, phi0 = _merged(faces, points, k, phi0)
    return SoftContacts(
        faces,
        corners[faces],
        _barycentric(x[corners[faces]], points),
        points,
        -_outward(x[corners[faces]]),
        k,
        phi0,
    )


def _merged(
    faces: _Index, points: _Float, k: _Float, phi0: _Float
) -> tuple[_Index, _Float, _Float, _Float]:
    """One contact for each face: of the same load, stiffness and torque in sum."""
    used, place = np.unique(faces, return_inverse=True)
    n, load = len(used), -k * phi0
    total, stiffness, moment = np.zeros(n), np.zeros(n), np.zeros((n, 3))
    np.add.at(total, place, load)
    np.add.at(stiffness, place, k)
    np.add.at(moment, place, load[:, None] * points)
    on = total > 0  # a face may just touch
    total, stiffness = total[on], stiffness[on]
    return used[on], moment[on] / total[:, None], stiffness, -total / stiffness


def _near(x: _Float, corners: _Index, shape: FieldShape, pose: _Float) -> NDArray[np.int64]:
    """Faces whose box, in the frame of the rigid body, meets the box of its shape."""
    local = (x - pose[:3, 3]) @ pose[:3, :3]
    low, high = shape.vertices.min(axis=0), shape.vertices.max(axis=0)
    if np.any(local.min(axis=0) > high) or np.any(local.max(axis=0) < low):
        return np.empty(0, np.int64)
    triangles = local[corners]
    meets = np.all((triangles.min(axis=1) <= high) & (triangles.max(axis=1) >= low), axis=1)
    return np.flatnonzero(meets)


def _is_upright(body: SoftBody, faces: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether the tetrahedra behind faces are not turned over."""
    mesh = body.mesh
    corners = body.positions[mesh.tetrahedra[mesh.face_tetrahedra[faces]]]
    upright: NDArray[np.bool_] = np.linalg.det(corners[:, 1:] - corners[:, :1]) > 0
    return upright


def no_contacts(m: int) -> SoftContacts:
    """Make contacts of m vertices each, of which there are none.

    Parameters
    ----------
    m : int
        Vertices of a contact.

    Returns
    -------
    SoftContacts
        Empty arrays.
    """
    none, empty, numbers = np.empty((0, m), np.int32), np.empty((0, 3)), np.empty(0)
    return SoftContacts(none[:, 0], none, np.empty((0, m)), empty, empty, numbers, numbers)


def _outward(triangles: _Float) -> _Float:
    area = cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    normal: _Float = area / np.linalg.norm(area, axis=1, keepdims=True)
    return normal


def _barycentric(triangles: _Float, points: _Float) -> _Float:
    a, b, c = np.swapaxes(triangles, 0, 1)
    normal = cross(b - a, c - a)
    square = np.sum(normal * normal, axis=1)
    second = np.sum(cross(points - a, c - a) * normal, axis=1) / square
    third = np.sum(cross(b - a, points - a) * normal, axis=1) / square
    return np.stack([1 - second - third, second, third], axis=1)

"""Contacts of boundary faces of soft bodies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sapwood.geometry import FieldShape, contact_surface

from .bodies import SoftBody
from .vectors import cross

_Float = NDArray[np.float64]

# smaller faces make no contact, m^2
_LEAST_AREA = 1e-14
# slopes below this part of the gradient are round-off of parallel faces
_LEAST_SLOPE = 1e-8


@dataclass(frozen=True)
class FaceContacts:
    """Contacts of the faces of one soft body with one plane or rigid body.

    Attributes
    ----------
    faces : ndarray of int (n,)
        Boundary face of each contact.
    weights : ndarray (n, 3)
        Barycentric coordinates of the contact point in its face.
    points : ndarray (n, 3)
        Contact points in the world, m.
    normals : ndarray (n, 3)
        Normals, into the soft body.
    k : ndarray (n,)
        Stiffnesses, N/m.
    phi0 : ndarray (n,)
        Signed distances, m.
    """

    faces: NDArray[np.int64]
    weights: _Float
    points: _Float
    normals: _Float
    k: _Float
    phi0: _Float


def usable_faces(body: SoftBody) -> NDArray[np.bool_]:
    """Faces (f,) whose tetrahedra are not turned over."""
    mesh = body.mesh
    corners = body.positions[mesh.tetrahedra[mesh.face_tetrahedra]]
    usable: NDArray[np.bool_] = np.linalg.det(corners[:, 1:] - corners[:, :1]) > 0
    return usable


def pair_friction(a: float, b: float) -> float:
    """Friction of two surfaces, 2 a b/(a + b)."""
    return 2 * a * b / (a + b) if a + b > 0 else 0.0


def contacts_with_plane(
    body: SoftBody, normal: _Float, offset: float, usable: NDArray[np.bool_]
) -> FaceContacts:
    """Find the contacts of a body with a half space.

    Each face is clipped by the plane; the contact is at the centroid of the part below. Its normal
    is that of the plane, phi0 = -depth, and k = C times the area projected onto the plane: the
    pressure C depth of a half space without modulus, which sliding does not change.

    Parameters
    ----------
    body : SoftBody
        The body.
    normal : ndarray (3,)
        Direction out of the half space, of unit length.
    offset : float
        Distance of its surface from the origin along the normal, m.
    usable : ndarray of bool (f,)
        Whether a face may make a contact.

    Returns
    -------
    FaceContacts
        The contacts, by ascending face.
    """
    x, corners = body.positions, body.mesh.faces
    height = x @ normal - offset
    below = height < 0
    n_below = below[corners].sum(axis=1)
    hit = np.flatnonzero((n_below > 0) & usable)
    corner, d, n_below = corners[hit], height[corners[hit]], n_below[hit]
    # the odd corner, alone on its side of the plane, comes first
    odd = np.argmax(np.where(n_below[:, None] == 1, d < 0, d >= 0), axis=1)
    turn = (odd[:, None] + np.arange(3)) % 3
    d = np.take_along_axis(d, turn, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        t, u = d[:, 0] / (d[:, 0] - d[:, 1]), d[:, 0] / (d[:, 0] - d[:, 2])
    whole = n_below == 3
    t, u = np.where(whole, 0, t), np.where(whole, 0, u)
    # the triangle that the plane cuts off at the odd corner
    share = t * u
    cut = np.stack([1 - (t + u) / 3, t / 3, u / 3], axis=1)
    rest = (1 / 3 - share[:, None] * cut) / np.maximum(1 - share, 1e-300)[:, None]
    is_cut = n_below == 1
    turned = np.where(is_cut[:, None], cut, rest)
    part = np.where(is_cut, share, 1 - share)
    weights = np.empty_like(turned)
    np.put_along_axis(weights, turn, turned, axis=1)
    a, b, c = x[corner[:, 0]], x[corner[:, 1]], x[corner[:, 2]]
    # area of the part below, as the plane sees it
    area = -part * (cross(b - a, c - a) @ normal) / 2
    points = np.einsum("ij,ijk->ik", weights, x[corner])
    depth = offset - points @ normal
    kept = (area >= _LEAST_AREA) & (depth > 0)
    k = body.contact_stiffness * area[kept]
    normals = np.broadcast_to(normal, (len(k), 3))
    return FaceContacts(hit[kept], weights[kept], points[kept], normals, k, -depth[kept])


def contacts_with_shape(
    body: SoftBody,
    shape: FieldShape,
    pose: _Float,
    usable: NDArray[np.bool_],
    *,
    is_depth: bool = False,
) -> FaceContacts:
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
    usable : ndarray of bool (f,)
        Whether a face may make a contact.
    is_depth : bool, optional
        Whether the pressures of the shape only tell depths, in any unit.

    Returns
    -------
    FaceContacts
        The contacts.
    """
    x = body.positions
    listed = np.flatnonzero(usable)
    corners = body.mesh.faces
    reach = float(np.max(np.linalg.norm(shape.vertices, axis=1)))
    lowest = np.min(x[corners[listed]], axis=1) - pose[:3, 3]
    highest = np.max(x[corners[listed]], axis=1) - pose[:3, 3]
    listed = listed[np.all((lowest < reach) & (highest > -reach), axis=1)]
    listed = _near(x, corners, listed, shape, pose)
    if not listed.size:
        return _no_contacts()
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
    faces, points = listed[found.cells_b[kept]], found.centroids[kept]
    k, phi0 = unit[kept] * g * found.areas[kept], -found.pressures[kept] / g
    if is_depth:
        faces, points, k, phi0 = _merged(faces, points, k, phi0)
    return FaceContacts(
        faces,
        _barycentric(x[corners[faces]], points),
        points,
        -_outward(x[corners[faces]]),
        k,
        phi0,
    )


def _merged(
    faces: NDArray[np.int64], points: _Float, k: _Float, phi0: _Float
) -> tuple[NDArray[np.int64], _Float, _Float, _Float]:
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


def _near(
    x: _Float,
    corners: NDArray[np.int32],
    listed: NDArray[np.int64],
    shape: FieldShape,
    pose: _Float,
) -> NDArray[np.int64]:
    """Faces whose box, in the frame of the rigid body, meets the box of its shape."""
    local = (x[corners[listed]] - pose[:3, 3]) @ pose[:3, :3]
    low, high = shape.vertices.min(axis=0), shape.vertices.max(axis=0)
    meets = np.all((local.min(axis=1) <= high) & (local.max(axis=1) >= low), axis=1)
    return listed[meets]


def _no_contacts() -> FaceContacts:
    empty = np.empty((0, 3))
    return FaceContacts(np.empty(0, np.int64), empty, empty, empty, np.empty(0), np.empty(0))


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

"""Contacts of boundary faces of soft bodies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sapwood.geometry import FieldShape, contact_surface

from .bodies import HalfSpace, RigidBody, SoftBody

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


def contacts_with_plane(
    body: SoftBody, plane: HalfSpace, usable: NDArray[np.bool_]
) -> FaceContacts:
    """Find the contacts of a body with a half space.

    Each face is clipped by the plane; the contact is at the centroid of the part below. Its normal
    is that of the plane, phi0 = -depth, and k = C times the area projected onto the plane: the
    pressure C depth of a half space without modulus, which sliding does not change.

    Parameters
    ----------
    body : SoftBody
        The body.
    plane : HalfSpace
        The half space.
    usable : ndarray of bool (f,)
        Whether a face may make a contact.

    Returns
    -------
    FaceContacts
        The contacts, by ascending face.
    """
    x, corners = body.positions, body.mesh.faces
    height = x @ plane.normal - plane.offset
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
    area = -part * (np.cross(b - a, c - a) @ plane.normal) / 2
    points = np.einsum("ij,ijk->ik", weights, x[corner])
    depth = plane.offset - points @ plane.normal
    kept = (area >= _LEAST_AREA) & (depth > 0)
    k = body.contact_stiffness * area[kept]
    normals = np.broadcast_to(plane.normal, (len(k), 3))
    return FaceContacts(hit[kept], weights[kept], points[kept], normals, k, -depth[kept])


def contacts_with_rigid(
    body: SoftBody, rigid: RigidBody, usable: NDArray[np.bool_]
) -> FaceContacts:
    """Find the contacts of a body with the pressure field of a rigid body.

    With g_r the slope of the pressure along the face normal, g = C g_r/(C + g_r), k = g area and
    phi0 = -p/g (Masterjohn et al. 2021; Drake's rule for deformable bodies).

    Parameters
    ----------
    body : SoftBody
        The soft body.
    rigid : RigidBody
        The rigid body.
    usable : ndarray of bool (f,)
        Whether a face may make a contact.

    Returns
    -------
    FaceContacts
        The contacts.
    """
    x, pose = body.positions, rigid.pose
    listed = np.flatnonzero(usable)
    corners = body.mesh.faces
    reach = float(np.max(np.linalg.norm(rigid.shape.vertices, axis=1)))
    lowest = np.min(x[corners[listed]], axis=1) - pose[:3, 3]
    highest = np.max(x[corners[listed]], axis=1) - pose[:3, 3]
    listed = listed[np.all((lowest < reach) & (highest > -reach), axis=1)]
    listed = _near(x, corners, listed, rigid)
    if not listed.size:
        return _no_contacts()
    used, local = np.unique(corners[listed], return_inverse=True)
    skin = FieldShape.triangles(x[used], local.reshape(-1, 3))
    found = contact_surface(rigid.shape, pose, skin, None)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = found.g_a
        g = body.contact_stiffness * slope / (body.contact_stiffness + slope)
        steep = found.steepness
        kept = (found.areas >= _LEAST_AREA) & (slope >= np.maximum(1e-14, _LEAST_SLOPE * steep))
    slope, g = slope[kept], g[kept]
    faces = listed[found.cells_b[kept]]
    points = found.centroids[kept]
    return FaceContacts(
        faces,
        _barycentric(x[corners[faces]], points),
        points,
        -_outward(x[corners[faces]]),
        g * found.areas[kept],
        -found.pressures[kept] / g,
    )


def _near(
    x: _Float, corners: NDArray[np.int32], listed: NDArray[np.int64], rigid: RigidBody
) -> NDArray[np.int64]:
    """Faces whose box, in the frame of the rigid body, meets the box of its shape."""
    pose = rigid.pose
    local = (x[corners[listed]] - pose[:3, 3]) @ pose[:3, :3]
    low, high = rigid.shape.vertices.min(axis=0), rigid.shape.vertices.max(axis=0)
    meets = np.all((local.min(axis=1) <= high) & (local.max(axis=1) >= low), axis=1)
    return listed[meets]


def _no_contacts() -> FaceContacts:
    empty = np.empty((0, 3))
    return FaceContacts(np.empty(0, np.int64), empty, empty, empty, np.empty(0), np.empty(0))


def _outward(triangles: _Float) -> _Float:
    cross = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    normal: _Float = cross / np.linalg.norm(cross, axis=1, keepdims=True)
    return normal


def _barycentric(triangles: _Float, points: _Float) -> _Float:
    a, b, c = np.swapaxes(triangles, 0, 1)
    normal = np.cross(b - a, c - a)
    square = np.sum(normal * normal, axis=1)
    second = np.sum(np.cross(points - a, c - a) * normal, axis=1) / square
    third = np.sum(np.cross(b - a, points - a) * normal, axis=1) / square
    return np.stack([1 - second - third, second, third], axis=1)

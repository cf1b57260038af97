"""Contacts of boundary faces with rigid bodies, and the rows of contacts: mirror of fem.h."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sapwood.geometry import FieldShape
from sapwood.reference.geometry.pressure_fields import contact_faces

_Float = NDArray[np.float64]
_Index = NDArray[np.int32]

# smaller faces make no contact, m^2
_LEAST_AREA = 1e-14
# smaller slopes make none, Pa/m, nor do those below this part of the gradient
_LEAST_SLOPE, _LEAST_SHARE_OF_GRADIENT = 1e-14, 1e-8
# corners with a smaller share in the velocity of a contact do not move it
_LEAST_SHARE = 1e-2


def plane_contacts(
    triangles: _Float, usable: NDArray[np.bool_], normal: _Float, offset: float, stiffness: float
) -> tuple[NDArray[np.intp], NDArray[np.intp], _Float, _Float, _Float, _Float]:
    """Find the contacts of triangles with a half space.

    Parameters
    ----------
    triangles : ndarray (f, 3, 3)
        Corners, outward by the right hand, m.
    usable : ndarray of bool (f,)
        Whether a triangle may make a contact.
    normal : ndarray (3,)
        Direction out of the half space, of unit length.
    offset : float
        Distance of its surface from the origin along the normal, m.
    stiffness : float
        Stiffness of the triangles per area, Pa/m.

    Returns
    -------
    faces : ndarray of int (n,)
        Triangles with a contact.
    movers : ndarray of int (n, 3)
        Corners that the contact points move with.
    weights : ndarray (n, 3)
        Their shares.
    points : ndarray (n, 3)
        Contact points, m.
    k, phi0 : ndarray (n,)
        Stiffnesses, N/m, and signed distances, m.
    """
    height = triangles @ normal - offset
    below = height < 0
    hit = np.flatnonzero(below.any(axis=1) & usable)
    d, n_below, corners = height[hit], below[hit].sum(axis=1), triangles[hit]
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
    a, b, c = np.swapaxes(corners, 0, 1)
    # area of the part below, as the plane sees it
    area = -part * (np.cross(b - a, c - a) @ normal) / 2
    points = np.einsum("ij,ijk->ik", weights, corners)
    depth = offset - points @ normal
    kept = (area >= _LEAST_AREA) & (depth > 0)
    weights, movers = weights[kept], np.tile(np.arange(3), (int(kept.sum()), 1))
    small = weights < _LEAST_SHARE
    movers = np.where(small, weights.argmax(axis=1)[:, None], movers)
    weights = np.where(small, 0, weights)
    weights /= weights.sum(axis=1, keepdims=True)
    moving = np.take_along_axis(corners[kept], movers[:, :, None], axis=1)
    points = np.einsum("ij,ijk->ik", weights, moving)
    return hit[kept], movers, weights, points, stiffness * area[kept], -depth[kept]


def shape_contacts(
    triangles: _Float,
    usable: NDArray[np.bool_],
    shape: FieldShape,
    pose: _Float,
    stiffness: float,
    *,
    is_depth: bool = False,
) -> tuple[NDArray[np.intp], _Float, _Float, _Float, _Float, _Float]:
    """Find the contacts of triangles with a pressure field.

    Parameters
    ----------
    triangles, usable, stiffness
        As of :func:`plane_contacts`.
    shape : FieldShape
        Tetrahedra with pressures.
    pose : ndarray (4, 4)
        Pose of the shape.
    is_depth : bool, optional
        Whether the pressures only tell depths, in any unit.

    Returns
    -------
    faces : ndarray of int (n,)
        Triangles with a contact, by ascending triangle.
    weights : ndarray (n, 3)
        Shares of their corners.
    points, normals : ndarray (n, 3)
        Contact points, m, and normals against those of the triangles.
    k, phi0 : ndarray (n,)
        Stiffnesses, N/m, and signed distances, m.
    """
    corners = np.arange(3 * len(triangles)).reshape(-1, 3)
    skin = FieldShape.triangles(triangles.reshape(-1, 3), corners)
    C, listed = stiffness, []
    for face in contact_faces(shape, pose, skin, None):
        slope, steep, f = face.g_a, face.steepness, face.cell_b
        least = max(_LEAST_SLOPE, _LEAST_SHARE_OF_GRADIENT * steep)
        if usable[f] and face.area >= _LEAST_AREA and slope >= least:
            g, unit = (slope, C / steep) if is_depth else (C * slope / (C + slope), 1.0)
            listed.append((f, face.centroid, unit * g * face.area, -face.p0 / g))
    listed.sort(key=lambda contact: contact[0])
    if is_depth:
        listed = _one_by_face(listed)
    faces = np.array([contact[0] for contact in listed], np.intp)
    points = np.reshape([contact[1] for contact in listed], (-1, 3))
    k, phi0 = (np.array([contact[i] for contact in listed], float) for i in (2, 3))
    at = triangles[faces]
    edges = np.concatenate([np.swapaxes(at, 1, 2), np.ones((len(faces), 1, 3))], axis=1)
    ones = np.concatenate([points, np.ones((len(faces), 1))], axis=1)
    # points in the planes of their triangles: four equations, three shares that add up to 1
    weights = np.reshape(
        [np.linalg.lstsq(a, b, rcond=None)[0] for a, b in zip(edges, ones, strict=True)], (-1, 3)
    )
    areas = np.cross(at[:, 1] - at[:, 0], at[:, 2] - at[:, 0])
    return faces, weights, points, -areas / np.linalg.norm(areas, axis=1)[:, None], k, phi0


def _one_by_face(
    contacts: list[tuple[int, _Float, float, float]],
) -> list[tuple[int, _Float, float, float]]:
    """Contacts of the same load, stiffness and torque as those of each face."""
    found = []
    for f in dict.fromkeys(contact[0] for contact in contacts):
        _, points, k, phi0 = map(np.array, zip(*(c for c in contacts if c[0] == f), strict=True))
        loads = -k * phi0
        if loads.sum() > 0:
            found.append((f, loads @ points / loads.sum(), k.sum(), -loads.sum() / k.sum()))
    return found


def contact_axes(normals: _Float) -> _Float:
    """Make right-handed frames for normals.

    Parameters
    ----------
    normals : ndarray (n, 3)
        Normals, of unit length.

    Returns
    -------
    ndarray (n, 3, 3)
        Rows t1, t2, n of each frame.
    """
    axis = np.zeros_like(normals)
    axis[np.arange(len(normals)), np.where(np.abs(normals[:, 0]) < 0.7, 0, 1)] = 1
    first = np.cross(axis, normals)
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    return np.stack([first, np.cross(normals, first), normals], axis=1)


def contact_rows(columns: _Index, weights: _Float, normals: _Float, n_last: int) -> _Float:
    """Write the Jacobian of contacts that move with weighted vertices.

    Parameters
    ----------
    columns : ndarray of int (n, m)
        Places of the vertices among the columns.
    weights : ndarray (n, m)
        Their weights.
    normals : ndarray (n, 3)
        Normals, of unit length.
    n_last : int
        Number of places.

    Returns
    -------
    ndarray (n, 3, 3 n_last)
        Velocities along t1, t2, n by those of the vertices.
    """
    J = np.zeros((len(weights), n_last, 3, 3))
    blocks = weights[:, :, None, None] * contact_axes(normals)[:, None]
    np.add.at(J, (np.arange(len(weights))[:, None], columns), blocks)
    return np.moveaxis(J, 1, 2).reshape(len(weights), 3, 3 * n_last)

"""Contacts of boundary faces with a half space, and the rows of contacts: mirror of fem.h."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_Float = NDArray[np.float64]
_Index = NDArray[np.int32]

# smaller faces make no contact, m^2
_LEAST_AREA = 1e-14
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

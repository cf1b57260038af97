"""Contacts of boundary vertices of soft bodies with half spaces and convex rigid bodies."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sapwood.geometry import FieldShape
from sapwood.geometry.splitting import boundary

from .bodies import SoftBody
from .contacts import SoftContacts

_Float = NDArray[np.float64]

# a vertex makes a contact if it may close it within this many steps
_STEPS = 1.5


def contacts_of_vertices(
    body: SoftBody,
    normals: _Float,
    offsets: _Float,
    dt: float,
    surface_velocity: Callable[[_Float], _Float] | None = None,
) -> SoftContacts:
    """Find the contacts of boundary vertices with a convex polyhedron, such as a half space.

    The distance is that from the plane which is farthest below the vertex, and the normal is its
    normal. Vertices that come near enough to close their distance within a step and a half make
    contacts, too, so that these act before bodies overlap. Outside of the polyhedron only vertices
    over a face count. k = C times a third of the areas of the faces around.

    Parameters
    ----------
    body : SoftBody
        The body.
    normals : ndarray (m, 3)
        Normals of the planes, outward, of unit length, in the world.
    offsets : ndarray (m,)
        Distances of the planes from the origin along the normals, m.
    dt : float
        Time step, s.
    surface_velocity : callable, optional
        Velocities (n, 3) of the polyhedron at points (n, 3); by default 0.

    Returns
    -------
    SoftContacts
        The contacts, by ascending vertex.
    """
    vertices = body.mesh.boundary_vertices
    x = body.positions[vertices]
    heights = x @ normals.T - offsets
    nearest = np.argmax(heights, axis=1)
    phi = heights[np.arange(len(x)), nearest]
    velocities = body.velocities[vertices]
    if surface_velocity is not None:
        velocities = velocities - surface_velocity(x)
    closing = -np.sum(velocities * normals[nearest], axis=1)
    hit = np.flatnonzero(phi < np.maximum(0.0, _STEPS * dt * closing))
    outside = hit[phi[hit] > 0]
    feet = x[outside] - phi[outside, None] * normals[nearest[outside]]
    slack = 1e-9 * np.ptp(x)
    is_over = np.all(feet @ normals.T - offsets <= slack, axis=1)
    hit = np.setdiff1d(hit, outside[~is_over])
    listed = vertices[hit]
    return SoftContacts(
        np.full(len(hit), -1, np.int32),
        listed[:, None],
        np.ones((len(hit), 1)),
        x[hit],
        normals[nearest[hit]],
        body.contact_stiffness * _areas(body)[listed],
        phi[hit],
    )


def _areas(body: SoftBody) -> _Float:
    """A third of the areas of the faces around each vertex (n,), m^2."""
    faces = body.mesh.faces
    a, b, c = np.swapaxes(body.positions[faces], 0, 1)
    thirds = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 6
    areas = np.zeros(len(body.positions))
    np.add.at(areas, faces, thirds[:, None])
    return areas


def hull_planes(shape: FieldShape) -> tuple[_Float, _Float]:
    """Find the planes of the boundary of a convex shape, in its frame.

    Parameters
    ----------
    shape : FieldShape
        Tetrahedra whose union is convex.

    Returns
    -------
    normals : ndarray (m, 3)
        Outward normals.
    offsets : ndarray (m,)
        Distances from the origin along them, m.
    """
    corners = shape.vertices[boundary(shape.cells.astype(np.int64))]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    offsets = np.sum(normals * corners[:, 0], axis=1)
    size = float(np.max(np.abs(shape.vertices)))
    # triangles of one face have one plane
    key = np.round(np.column_stack([normals, offsets / size]), 9)
    _, first = np.unique(key, axis=0, return_index=True)
    return normals[first], offsets[first]

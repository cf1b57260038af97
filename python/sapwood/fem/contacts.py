"""Contacts of boundary faces of soft bodies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.base.equality import compared_by_value
from sapwood.geometry import FieldShape

from .bodies import SoftBody

_Float = NDArray[np.float64]
_Index = NDArray[np.int32]


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
    return SoftContacts(
        *_core.fem_plane_contacts(
            mesh._mesh,
            mesh.faces,
            mesh.face_tetrahedra,
            body.positions,
            normal,
            offset,
            body.contact_stiffness,
        )
    )


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
    mesh = body.mesh
    return SoftContacts(
        *_core.fem_shape_contacts(
            mesh._mesh,
            mesh.faces,
            mesh.face_tetrahedra,
            body.positions,
            shape._shape,
            pose,
            body.contact_stiffness,
            is_depth,
        )
    )


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

"""Contacts of two soft bodies, and of a soft body with itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.geometry import FieldShape, contact_surface

from .bodies import SoftBody
from .contacts import SoftContacts, no_contacts

_Float = NDArray[np.float64]
_Index = NDArray[np.int32]

# smaller polygons make no contact, m^2
_LEAST_AREA = 1e-14
# flatter tetrahedra make no contact: volume over the cube of the longest edge
_FLAT = 1e-9


def contacts_between(body: SoftBody, other: SoftBody) -> SoftContacts:
    """Find the contacts of two soft bodies.

    The depth of a point is the distance from the boundary of its body at rest, linear within
    tetrahedra. Bodies press on the surface on which both depths are equal. A polygon of it is a
    contact at its centroid, which moves with the corners of both tetrahedra: phi0 = -depth, half of
    the overlap, and k = C area with C = 2 C_a C_b/(C_a + C_b).

    Parameters
    ----------
    body, other : SoftBody
        The bodies.

    Returns
    -------
    SoftContacts
        The contacts, with normals into `body`. Tetrahedra that are turned over make none.
    """
    low = np.maximum(body.positions.min(axis=0), other.positions.min(axis=0))
    high = np.minimum(body.positions.max(axis=0), other.positions.max(axis=0))
    if np.any(low > high):
        return no_contacts(4)
    cells = [_cells_within(each, low, high) for each in (body, other)]
    return _contacts((body, other), cells, None)


def contacts_within(body: SoftBody) -> SoftContacts:
    """Find the contacts of a soft body with itself.

    They are as those of two bodies, between tetrahedra that are farther apart at rest than twice
    the mean of their edges, see ``Mesh.balls``: nearer ones meet where the body is only bent.

    Parameters
    ----------
    body : SoftBody
        The body.

    Returns
    -------
    SoftContacts
        The contacts, between the tetrahedra of `vertices` and of `other_vertices`.
    """
    mesh = body.mesh
    pairs = _core.fem_far_pairs(mesh._mesh, *mesh.balls, body.positions)
    cells = [_upright(body, np.unique(side).astype(np.int64)) for side in pairs.T]
    return _contacts((body, body), cells, pairs)


def _contacts(
    bodies: tuple[SoftBody, SoftBody], cells: list[NDArray[np.int64]], pairs: _Index | None
) -> SoftContacts:
    """Contacts of tetrahedra of one body with tetrahedra of the other, or of these pairs alone."""
    if not all(each.size for each in cells):
        return no_contacts(4)
    shapes = [_shape(each, listed) for each, listed in zip(bodies, cells, strict=True)]
    found = contact_surface(shapes[0], None, shapes[1], None)
    met = [listed[of] for listed, of in zip(cells, (found.cells_a, found.cells_b), strict=True)]
    kept = found.kept & (found.areas >= _LEAST_AREA) & (found.pressures > 0)
    if pairs is not None:
        n = len(bodies[0].mesh.tetrahedra)
        kept &= np.isin(met[0] * n + met[1], pairs.astype(np.int64) @ [n, 1])
    points = found.centroids[kept]
    corners = [each.mesh.tetrahedra[listed[kept]] for each, listed in zip(bodies, met, strict=True)]
    weights = [
        _barycentric(each.positions[corner], points)
        for each, corner in zip(bodies, corners, strict=True)
    ]
    a, b = (each.contact_stiffness for each in bodies)
    return SoftContacts(
        np.full(len(points), -1, np.int32),
        corners[0],
        weights[0],
        points,
        found.normals[kept],
        2 * a * b / (a + b) * found.areas[kept],
        -found.pressures[kept],
        corners[1],
        weights[1],
    )


def check_depths(bodies: Sequence[SoftBody], name: str) -> None:
    """Refuse meshes without a vertex inside of the boundary that soft bodies may touch.

    Parameters
    ----------
    bodies : sequence of SoftBody
        Bodies that may touch each other.
    name : str
        Name of the argument in the error.

    Raises
    ------
    ValueError
        If such a body has no depth that another, or itself, could feel.
    """
    touching = [i for i, body in enumerate(bodies) if body.contact != "none"]
    for i in touching:
        mesh, meets_others = bodies[i].mesh, len(touching) > 1
        is_hollow = len(mesh.boundary_vertices) == len(mesh.vertices)
        if is_hollow and (meets_others or bodies[i].self_contact):
            toucher = "no other soft body" if meets_others else "not even itself"
            raise ValueError(
                f"{name}[{i}]: its mesh has no vertex inside of the boundary, so that {toucher} "
                "could touch it; use a finer mesh"
            )


def _cells_within(body: SoftBody, low: _Float, high: _Float) -> NDArray[np.int64]:
    """Tetrahedra whose boxes meet a box, without those that are flat or turned over."""
    corners = body.positions[body.mesh.tetrahedra]
    meets = np.all((corners.min(axis=1) <= high) & (corners.max(axis=1) >= low), axis=1)
    return _upright(body, np.flatnonzero(meets))


def _upright(body: SoftBody, listed: NDArray[np.int64]) -> NDArray[np.int64]:
    """The listed tetrahedra that are neither flat nor turned over."""
    corners = body.positions[body.mesh.tetrahedra[listed]]
    edges = corners[:, [0, 0, 0, 1, 1, 2]] - corners[:, [1, 2, 3, 2, 3, 3]]
    longest = np.sqrt(np.max(np.sum(edges * edges, axis=2), axis=1))
    volumes = np.linalg.det(corners[:, 1:] - corners[:, :1]) / 6
    upright: NDArray[np.bool_] = volumes > _FLAT * longest**3
    return listed[upright]


def _shape(body: SoftBody, cells: NDArray[np.int64]) -> FieldShape:
    """The depths of some tetrahedra at the present positions."""
    used, local = np.unique(body.mesh.tetrahedra[cells], return_inverse=True)
    return FieldShape.tetrahedra(body.positions[used], local.reshape(-1, 4), body.mesh.depths[used])


def _barycentric(corners: _Float, points: _Float) -> _Float:
    """Coordinates (n, 4) of points in tetrahedra (n, 4, 3)."""
    edges = np.swapaxes(corners[:, 1:] - corners[:, :1], 1, 2)
    others = np.linalg.solve(edges, (points - corners[:, 0])[:, :, None])[:, :, 0]
    return np.concatenate([1 - others.sum(axis=1, keepdims=True), others], axis=1)

"""Soft bodies as files show them: tetrahedra and render meshes, with their fields."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .bodies import SoftBody

_Float = NDArray[np.float64]


@dataclass(frozen=True)
class Piece:
    """Cells of one kind of one body, at one time.

    Attributes
    ----------
    kind : {"tetra", "triangle"}
        Kind of the cells.
    body : int
        Number of the body.
    points, velocities : ndarray (n, 3)
        m, m/s.
    cells : ndarray of int (m, 4) or (m, 3)
        Corners of the cells.
    fields : dict of ndarray (m,)
        Von Mises' stress (Pa), pressure (Pa) and det F of the cells, by their names in files.
    """

    kind: Literal["tetra", "triangle"]
    body: int
    points: _Float
    velocities: _Float
    cells: NDArray[np.int32]
    fields: dict[str, _Float]


def pieces_of(bodies: Iterable[SoftBody]) -> list[Piece]:
    """Show the present state of bodies.

    Parameters
    ----------
    bodies : iterable of SoftBody
        The bodies.

    Returns
    -------
    list of Piece
        The tetrahedra of all bodies, then the render meshes of those that have one.
    """
    volumes, surfaces = [], []
    for i, body in enumerate(bodies):
        found = body.evaluate()
        fields: dict[str, _Float] = {
            "von Mises": found.von_mises,
            "pressure": -found.stress.trace(axis1=1, axis2=2) / 3,
            "det F": np.linalg.det(found.deformation),
        }
        x, v, surface = body.positions, body.velocities, body.render_mesh
        volumes.append(Piece("tetra", i, x, v, body.mesh.tetrahedra, fields))
        if surface is not None:
            x, v = surface.interpolate(x), surface.interpolate(v)
            fields = {name: surface.average(values) for name, values in fields.items()}
            surfaces.append(Piece("triangle", i, x, v, surface.triangles, fields))
    return volumes + surfaces

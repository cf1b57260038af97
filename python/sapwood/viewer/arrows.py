"""Contacts as disks and their forces as arrows, coloured by the region of the contact law."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import viser
from numpy.typing import NDArray

from sapwood.solution import Region
from sapwood.viewer.frames import Frame
from sapwood.viewer.instances import Instances
from sapwood.viewer.surfaces import cone, cylinder

_Float = NDArray[np.floating[Any]]

COLOURS = {
    Region.stiction: (24, 92, 190),
    Region.sliding: (240, 110, 20),
    Region.none: (140, 140, 140),
}
"""Colours of a contact that sticks, one that slides, and one without a force."""

# relative to the size of the scene: radius of a disk, of a shaft, and the longest arrow
_DISK, _SHAFT, _LONGEST = 1e-2, 3.5e-3, 0.5

# width and length of a head, in radii of its shaft; of short arrows, most of the length
_HEAD_WIDTH, _HEAD_LENGTH, _HEAD_SHARE = 2.6, 7.0, 0.6

# meshes of disks, shafts and heads
_SIDES = 12

# length of an arrow as heavy as the tree of bodies in the middle, of the size of the scene
_TYPICAL = 0.3


class ContactArrows:
    """Disks and arrows of one scene.

    Parameters
    ----------
    scene : viser.SceneApi
        The scene to draw in.
    model : mujoco.MjModel
        The model; its size and weights scale the arrows.

    Attributes
    ----------
    shown : bool
        Whether contacts are drawn, from the next frame on.
    metres_per_newton : float
        Length of the arrow of a force of 1 N, m, from the next frame on.
    """

    def __init__(self, scene: viser.SceneApi, model: mujoco.MjModel) -> None:
        self.shown = True
        self._extent = float(model.stat.extent)
        self.metres_per_newton = _TYPICAL * self._extent / _typical_weight(model)
        disk, shaft, head = cylinder(1.0, 0.12, _SIDES), cylinder(1.0, 0.5, _SIDES), cone(_SIDES)
        self._disks = Instances(scene, "/contacts/points", disk.vertices, disk.faces)
        self._shafts = Instances(scene, "/contacts/shafts", shaft.vertices, shaft.faces)
        self._heads = Instances(scene, "/contacts/heads", head.vertices, head.faces)

    def draw(self, frame: Frame) -> None:
        """Show the contacts of a frame.

        Parameters
        ----------
        frame : Frame
            The frame to show.
        """
        n = len(frame.regions) if self.shown else 0
        colours = np.zeros((n, 3), dtype=np.uint8)
        for region, colour in COLOURS.items():
            colours[frame.regions[:n] == region] = colour
        points = frame.contact_points[:n].astype(float)
        disk = np.full((n, 3), _DISK * self._extent)
        self._disks.set(points, upright(frame.contact_normals[:n]), disk, colours)

        forces = frame.forces[:n].astype(float)
        size = np.linalg.norm(forces, axis=1, keepdims=True)
        along = np.divide(forces, size, out=np.zeros_like(forces), where=size > 0.0)
        length = np.minimum(self.metres_per_newton * size, _LONGEST * self._extent)
        radius = np.where(length > 0.0, _SHAFT * self._extent, 0.0)
        head = np.minimum(_HEAD_LENGTH * radius, _HEAD_SHARE * length)
        wxyz = upright(along)
        middle = points + (length - head) / 2.0 * along
        self._shafts.set(middle, wxyz, np.hstack([radius, radius, length - head]), colours)
        # heads that are cut short are as much narrower
        width = _HEAD_WIDTH / _HEAD_LENGTH * head
        base = points + (length - head) * along
        self._heads.set(base, wxyz, np.hstack([width, width, head]), colours)


def _typical_weight(model: mujoco.MjModel) -> float:
    """Median weight of the trees that move, N; of 1 kg without any, as on Earth without gravity."""
    roots = np.unique(model.body_treeid[model.body_treeid >= 0], return_index=True)[1]
    bodies = np.flatnonzero(model.body_treeid >= 0)[roots]
    masses = model.body_subtreemass[bodies]
    mass = float(np.median(masses)) if np.any(masses > 0.0) else 1.0
    return (mass or 1.0) * (float(np.linalg.norm(model.opt.gravity)) or 9.81)


def upright(directions: _Float) -> NDArray[np.float64]:
    """Rotations that take the z axis to each of these unit vectors.

    Parameters
    ----------
    directions : ndarray (n, 3)
        Unit vectors; zeros give some rotation.

    Returns
    -------
    ndarray (n, 4)
        Quaternions, w first.
    """
    x, y, z = np.asarray(directions, dtype=float).T
    # the axis halfway between z and the direction; for -z, half a turn about x
    wxyz = np.column_stack([1.0 + z, -y, x, np.zeros_like(x)])
    wxyz[1.0 + z < 1e-9] = (0.0, 1.0, 0.0, 0.0)
    unit: NDArray[np.float64] = wxyz / np.linalg.norm(wxyz, axis=1, keepdims=True)
    return unit

"""The state of one instant as it is drawn: bodies and contacts."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.fem import SoftBody
from sapwood.mujoco import StepContacts, StepPatch, Stepper
from sapwood.mujoco.gradients.state_copy import StateCopy
from sapwood.mujoco.results.drawing import LIFT

_Float = NDArray[np.float32]

# codes of mjData.wrap_obj
_PULLEY = -2


@dataclasses.dataclass(frozen=True, eq=False)
class Frame:
    """One instant, in single precision: a recording keeps many.

    Attributes
    ----------
    time : float
        Simulated time, s.
    positions : ndarray (nbody, 3)
        Origins of the bodies, m.
    quaternions : ndarray (nbody, 4)
        Their orientations, w first.
    flex_vertices : ndarray (nflexvert, 3)
        Points of deformable bodies, m.
    tendons : ndarray (n, 2, 3)
        Straight pieces of tendons, m.
    contact_points : ndarray (n, 3)
        Points of the contacts with a force in the step that led here, m.
    contact_normals : ndarray (n, 3)
        Their normals.
    forces : ndarray (n, 3)
        Mean forces over the step, N, in the world.
    regions : ndarray of int (n,)
        :class:`sapwood.Region` of each.
    patches : tuple of (ndarray (m, 3, 3), ndarray (m,))
        Triangles of contact surfaces, a little off the first geom, m, and their pressures, Pa.
    soft_faces : tuple of (ndarray (m, 3, 3), ndarray (m,))
        Boundary faces of soft bodies, or triangles of their render meshes, m, and von Mises'
        stresses behind them, Pa.
    """

    time: float
    positions: _Float
    quaternions: _Float
    flex_vertices: _Float
    tendons: _Float
    contact_points: _Float
    contact_normals: _Float
    forces: _Float
    regions: NDArray[np.int8]
    patches: tuple[_Float, _Float]
    soft_faces: tuple[_Float, _Float]


class Camera:
    """Takes frames of a simulation on its own data: the data of the simulation stay as they are.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    soft : iterable of SoftBody, optional
        Soft bodies beside it, which are drawn as they are.
    """

    def __init__(self, model: mujoco.MjModel, soft: Iterable[SoftBody] = ()) -> None:
        self._model, self._copy, self._soft = model, StateCopy(model), tuple(soft)

    def take(self, data: mujoco.MjData, stepper: Stepper | None = None) -> Frame:
        """The state as it is, with the contacts of the step that led to it.

        Parameters
        ----------
        data : mujoco.MjData
            The simulation.
        stepper : Stepper, optional
            The stepper of these data, for contacts; without one there are none.

        Returns
        -------
        Frame
            Copies of everything.
        """
        model, scratch = self._model, self._copy.take(data)
        mujoco.mj_kinematics(model, scratch)
        if model.nflex:
            mujoco.mj_comPos(model, scratch)
            mujoco.mj_flex(model, scratch)
        if model.ntendon:
            mujoco.mj_comPos(model, scratch)
            mujoco.mj_tendon(model, scratch)
        points, normals, forces, regions = _contacts(None if stepper is None else stepper.contacts)
        return Frame(
            time=float(data.time),
            positions=_single(scratch.xpos),
            quaternions=_single(scratch.xquat),
            flex_vertices=_single(scratch.flexvert_xpos),
            tendons=_tendons(scratch),
            contact_points=points,
            contact_normals=normals,
            forces=forces,
            regions=regions,
            patches=_triangles(() if stepper is None else stepper.patches),
            soft_faces=_soft_faces(self._soft),
        )


def _soft_faces(bodies: tuple[SoftBody, ...]) -> tuple[_Float, _Float]:
    """Boundary faces of all bodies, or their render meshes, and the stresses behind them."""
    corners, stresses = [np.zeros((0, 3, 3))], [np.zeros(0)]
    for body in bodies:
        stress, surface = body.evaluate().von_mises, body.render_mesh
        if surface is None:
            corners.append(body.positions[body.mesh.faces])
            stresses.append(stress[body.mesh.face_tetrahedra])
        else:
            corners.append(surface.interpolate(body.positions)[surface.triangles])
            stresses.append(surface.average(stress))
    return _single(np.concatenate(corners)), _single(np.concatenate(stresses))


def _single(array: NDArray[np.float64]) -> _Float:
    return np.array(array, dtype=np.float32)


def _contacts(
    contacts: StepContacts | None,
) -> tuple[_Float, _Float, _Float, NDArray[np.int8]]:
    """Points, normals, forces and regions of the contacts that act."""
    if contacts is None:
        none = np.zeros((0, 3), dtype=np.float32)
        return none, none, none, np.zeros(0, dtype=np.int8)
    acts = contacts.acts
    return (
        _single(contacts.position[acts]),
        _single(contacts.frame[acts, 2]),
        _single(contacts.world_force[acts]),
        np.asarray(contacts.region[acts], dtype=np.int8),
    )


def _tendons(data: mujoco.MjData) -> _Float:
    """The straight pieces of all tendons that have a path."""
    pieces = []
    points, objects = data.wrap_xpos.reshape(-1, 3), data.wrap_obj.reshape(-1)
    for first, count in zip(data.ten_wrapadr.tolist(), data.ten_wrapnum.tolist(), strict=True):
        path = points[first : first + count]
        # a pulley ends a path, and the next one begins
        whole = objects[first : first + count] != _PULLEY
        pieces.append(np.stack([path[:-1], path[1:]], axis=1)[whole[:-1] & whole[1:]])
    found = np.concatenate([np.zeros((0, 2, 3)), *pieces])
    return _single(found)


def _triangles(patches: tuple[StepPatch, ...]) -> tuple[_Float, _Float]:
    """Fans over the faces of all patches, with the mean pressures of their corners."""
    corners, pressures = [np.zeros((0, 3, 3))], [np.zeros(0)]
    for patch in patches:
        surface = patch.surface
        counts = np.diff(surface.face_starts) - 2
        first = np.repeat(surface.face_starts[:-1], counts)
        step = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        fan = np.stack([first, first + step + 1, first + step + 2], axis=1)
        # into the second geom: of a plane, the first one, the surface would be one with it
        normals = np.repeat(surface.normals, np.diff(surface.face_starts), axis=0)
        vertices = surface.vertices - LIFT * np.sqrt(patch.area) * normals
        corners.append(vertices[fan])
        pressures.append(surface.vertex_pressures[fan].mean(axis=1))
    return _single(np.concatenate(corners)), _single(np.concatenate(pressures))

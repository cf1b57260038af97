"""Pictures of models: patches coloured by pressure, and the choice of collision shapes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.mujoco.results.patches import StepPatch

_Float = NDArray[np.float64]

# dark blue, blue, green, yellow: even steps of Matplotlib's viridis
RAMP = np.array([[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]]) / 255

# distance of a drawn patch from its geoms, relative to its size
LIFT = 0.01

# groups of geoms that are drawn at first, as in MuJoCo's viewer; the others are collision shapes
SHOWN_GROUPS = 3


def needs_collision_shapes(model: mujoco.MjModel) -> bool:
    """Whether most moving bodies are invisible without their collision shapes.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.

    Returns
    -------
    bool
        True if less than half of the moving bodies with geoms have one that is drawn.
    """
    moves = model.body_weldid[model.geom_bodyid] > 0
    bodies = np.unique(model.geom_bodyid[moves])
    seen = np.unique(model.geom_bodyid[moves & (model.geom_group < SHOWN_GROUPS)])
    return 2 * len(seen) < len(bodies)


def add_patches(
    scene: mujoco.MjvScene,
    patches: Iterable[StepPatch],
    *,
    highest: float | None = None,
    opacity: float = 1.0,
) -> int:
    """Add the faces of patches to a scene, coloured by their pressure.

    With a :class:`mujoco.Renderer`::

        renderer.update_scene(data)
        add_patches(renderer.scene, stepper.patches)
        picture = renderer.render()

    With the passive viewer it is ``viewer.user_scn``, whose ``ngeom`` is set to 0 before. Geoms
    that hide the patch may be made transparent by ``model.geom_rgba``.

    Parameters
    ----------
    scene : mujoco.MjvScene
        The scene to add to; its geoms stay.
    patches : iterable of StepPatch
        ``stepper.patches``.
    highest : float, optional
        Pressure of the brightest colour, Pa; by default the highest of these patches.
    opacity : float
        Opacity of the faces, from 0 to 1.

    Returns
    -------
    int
        Triangles added: all of them, or as many as the scene had room for.
    """
    patches = list(patches)
    if highest is None:
        pressures = [patch.surface.vertex_pressures for patch in patches]
        highest = float(np.concatenate([np.zeros(1), *pressures]).max())
    added = 0
    for corners, pressure in _triangles(patches):
        if scene.ngeom >= scene.maxgeom:
            break
        share = min(max(pressure / highest, 0.0), 1.0) if highest > 0.0 else 0.0
        geom = scene.geoms[scene.ngeom]
        mujoco.mjv_initGeom(
            geom,
            mujoco.mjtGeom.mjGEOM_TRIANGLE,
            np.ones(3),
            corners[0],
            _frame(corners).ravel(),
            np.append(_colour(share), opacity).astype(np.float32),
        )
        geom.emission = 1.0  # the colour is the pressure, whatever the light
        scene.ngeom += 1
        added += 1
    return added


def _triangles(patches: Iterable[StepPatch]) -> Iterator[tuple[_Float, float]]:
    """Corners (3, 3) and mean pressure of fans over all faces, both sides a little apart."""
    for patch in patches:
        surface = patch.surface
        lift = LIFT * np.sqrt(patch.area)
        starts = surface.face_starts.tolist()
        for first, end in itertools.pairwise(starts):
            for i in range(first + 1, end - 1):
                corners = [first, i, i + 1]
                pressure = float(surface.vertex_pressures[corners].mean())
                for side in (corners, corners[::-1]):
                    points = surface.vertices[side]
                    normal = np.cross(points[1] - points[0], points[2] - points[0])
                    length = float(np.linalg.norm(normal))
                    if length > 0.0:
                        yield points + lift / length * normal, pressure


def _frame(corners: _Float) -> _Float:
    """The linear map that takes (1, 0, 0) and (0, 1, 0) to the sides of a triangle."""
    u, w = corners[1] - corners[0], corners[2] - corners[0]
    return np.column_stack([u, w, np.cross(u, w)])


def _colour(share: float) -> _Float:
    at = np.linspace(0.0, 1.0, len(RAMP))
    return np.array([np.interp(share, at, channel) for channel in RAMP.T])

"""The soft gripper with the patches of its pads, coloured by pressure: Figure 16."""

from __future__ import annotations

import tempfile
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.rendering import render_scene
from sapwood.studies.plotting.slip_control import draw_patches
from sapwood.studies.plotting.style import save_figure
from sapwood.studies.plotting.tables import rows_of, select
from sapwood.studies.slip_control.scene import XML

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Rows = NDArray[np.void]

_SIZE = (960, 440)
# half of the thickness that a patch is drawn with, m, and classes of pressure
_THICKNESS, _CLASSES = 4e-4, 12
_HANDLE_QUATERNION = (np.cos(1.0), np.sin(1.0), 0.0, 0.0)


def picture_model(faces: Rows, most: float) -> mujoco.MjModel:
    """Make the scene to be looked at: with pads of glass, fingers, a blade, and patches.

    Parameters
    ----------
    faces
        Corners of the faces of both patches: ``side``, ``face``, ``x``, ``y``, ``z`` (m) and
        ``pressure`` (Pa).
    most
        Pressure of the last colour, Pa.

    Returns
    -------
    mujoco.MjModel
        With the joints of the scene, and a camera.
    """
    from matplotlib import colormaps

    spec = mujoco.MjSpec.from_string(XML)
    spec.worldbody.add_camera(
        pos=[0.36, -0.4, 0.42], xyaxes=[0.94, 0.34, 0.0, -0.14, 0.38, 0.91], fovy=24
    )
    spec.visual.headlight.ambient = [0.5, 0.5, 0.5]
    for geom in spec.geoms:
        geom.rgba = [0.35, 0.6, 0.85, 0.3] if "pad" in geom.name else [0.25, 0.25, 0.25, 0.5]
    parts = {
        "gripper": [((0.0, 0.0, -0.02), (0.03, 0.1, 0.045))],
        "left finger": [((0.0, -0.088, -0.15), (0.02, 0.005, 0.09))],
        "right finger": [((0.0, 0.088, -0.15), (0.02, 0.005, 0.09))],
        "spatula": [((0.0, 0.03, 0.004), (0.04, 0.002, 0.055))],
    }
    for body, boxes in parts.items():
        for pos, size in boxes:
            geom = spec.body(body).add_geom(
                type=mujoco.mjtGeom.mjGEOM_BOX, pos=pos, size=size, contype=0, conaffinity=0,
                rgba=[0.55, 0.55, 0.55, 1.0],
            )  # fmt: skip
            if body == "left finger":
                geom.rgba = [0.55, 0.55, 0.55, 0.25]  # the patch is behind it
            if body == "spatula":
                geom.quat = _HANDLE_QUATERNION
    classes = np.minimum(_CLASSES * faces["pressure"] / most, _CLASSES - 1).astype(int)
    for c in range(_CLASSES):
        vertices, triangles = _prisms(faces, classes, c)
        if len(triangles) == 0:
            continue
        mesh = spec.add_mesh(name=f"patch {c}")
        mesh.uservert, mesh.userface = vertices.ravel().tolist(), triangles.ravel().tolist()
        mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
        colour = colormaps["viridis"]((c + 0.5) / _CLASSES)
        spec.worldbody.add_geom(
            type=mujoco.mjtGeom.mjGEOM_MESH, meshname=mesh.name, contype=0, conaffinity=0,
            rgba=list(colour),
        )  # fmt: skip
    model: mujoco.MjModel = spec.compile()
    return model


def _prisms(
    faces: Rows, classes: NDArray[np.int64], wanted: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Vertices and triangles of the faces whose mean class is this one, thick along y."""
    vertices: list[NDArray[np.float64]] = []
    triangles: list[list[int]] = []
    for side in ("left", "right"):
        for face in np.unique(faces["face"][faces["side"] == side]):
            chosen = (faces["side"] == side) & (faces["face"] == face)
            if round(classes[chosen].mean()) != wanted:
                continue
            corners = np.stack([faces[chosen][name] for name in "xyz"], axis=1)
            n, first = len(corners), sum(map(len, vertices))
            shift = np.array([0.0, _THICKNESS, 0.0])
            vertices.append(np.vstack([corners - shift, corners + shift]))
            for i in range(1, n - 1):
                triangles.append([first, first + i, first + i + 1])
                triangles.append([first + n, first + n + i + 1, first + n + i])
            for i in range(n):
                j = (i + 1) % n
                triangles.append([first + i, first + n + i, first + n + j])
                triangles.append([first + i, first + n + j, first + j])
    if not triangles:
        return np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64)
    return np.vstack(vertices), np.array(triangles, dtype=np.int64)


def gripper_figure(
    patches: str | PathLike[str], scenes: str | PathLike[str], path: str | PathLike[str]
) -> Figure:
    """Draw the gripper at both grips, and the patch of a pad below, coloured by pressure: Fig. 16.

    Parameters
    ----------
    patches, scenes
        Files with the rows of `sapwood.studies.slip_control.run.patches` and of ``configuration``
        there.
    path
        As of all figures.

    Raises
    ------
    sapwood.rendering.RenderingError
        Nothing can be drawn off screen on this machine.
    """
    from matplotlib.figure import Figure
    from matplotlib.image import imread

    rows, places = rows_of(patches), rows_of(scenes)
    instants = np.unique(rows["seconds"])
    figure = Figure(figsize=(4.8 * len(instants), 4.9), layout="constrained")
    grid = figure.subplots(2, len(instants), squeeze=False, height_ratios=(1.0, 1.0))
    for axes, seconds in zip(grid[0], instants, strict=True):
        model = picture_model(select(rows, seconds=seconds), float(rows["pressure"].max()))
        with tempfile.TemporaryDirectory(prefix="sapwood-") as folder:
            picture = Path(folder, "gripper.png")
            qpos = select(places, seconds=seconds)["qpos"]
            render_scene(model, qpos, picture, width=_SIZE[0], height=_SIZE[1])
            axes.imshow(imread(picture))
        axes.set_axis_off()
    for axes in grid[1, 1:]:
        axes.sharex(grid[1, 0])
        axes.sharey(grid[1, 0])
    draw_patches(figure, rows, grid[1])
    save_figure(figure, path)
    return figure

"""Figure 8: the bodies of the clutter, drawn from their positions and rotations.

A parallel projection, painted from back to front: a sphere is a disc, a box its three faces that
look at the viewer.
"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sapwood.studies.plotting.style import COLOURS, save_figure
from sapwood.studies.plotting.tables import rows_of, select

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_Float = NDArray[np.float64]

#: Side of the box and height of its walls, m.
_BOX, _HEIGHT = 0.8, 0.8
#: Lower edge of the view, m.
_BOTTOM = -0.4
_AZIMUTH, _ELEVATION = np.radians(-55.0), np.radians(22.0)


def clutter_scenes_figure(csv: str | PathLike[str], path: str | PathLike[str]) -> Figure:
    """The clutter at the beginning and later, with and without walls: Fig. 8.

    File with the columns ``walls`` (0 or 1), ``time`` (s), ``kind`` (sphere or box), ``size``
    (radius or half side, m), ``x``, ``y``, ``z`` (m) and the quaternion ``q_w``, ``q_x``, ``q_y``,
    ``q_z``.
    """
    from matplotlib.figure import Figure

    rows = rows_of(csv)
    times = np.unique(rows["time"])
    # the view is on the box: bodies that roll far away leave it
    highest = [max(_HEIGHT, float(rows["z"][rows["time"] == time].max())) for time in times]
    tops = [np.cos(_ELEVATION) * z + 0.25 for z in highest]
    heights = [top - _BOTTOM for top in tops]
    width = 4.5
    figure = Figure(figsize=(2 * width, sum(heights) * width / 2 + 0.6), layout="constrained")
    grid = figure.subplots(len(times), 2, squeeze=False, height_ratios=heights)
    for line, time, top in zip(grid, times, tops, strict=True):
        for axes, walls in zip(line, (1, 0), strict=True):
            state = select(rows, walls=walls, time=time)
            _draw_scene(axes, state, bool(walls))
            place = "with walls" if walls else "without walls"
            axes.set_title(f"{place}, t = {time:.3g} s", fontsize="medium")
            axes.set_aspect("equal")
            axes.set_xlim(-1.0, 1.0)
            axes.set_ylim(_BOTTOM, top)
    save_figure(figure, path)
    return figure


def _view() -> _Float:
    """Rows: right, up and towards the viewer, in world coordinates."""
    towards = np.array(
        [
            np.cos(_ELEVATION) * np.cos(_AZIMUTH),
            np.cos(_ELEVATION) * np.sin(_AZIMUTH),
            np.sin(_ELEVATION),
        ]
    )
    right = np.array([-np.sin(_AZIMUTH), np.cos(_AZIMUTH), 0.0])
    return np.stack([right, np.cross(towards, right), towards])


def _draw_scene(axes: Axes, state: NDArray[np.void], walls: bool) -> None:
    """Draw floor, walls and bodies, the farthest first."""
    view = _view()
    axes.set_axis_off()
    half = _BOX / 2
    corners = np.array([[-half, -half, 0], [half, -half, 0], [half, half, 0], [-half, half, 0]])
    axes.fill(*(50 * corners @ view.T)[:, :2].T, color="0.96", zorder=0)
    axes.fill(*(corners @ view.T)[:, :2].T, color="0.88", zorder=0)
    if walls:
        _draw_walls(axes, corners, view)
    centres = np.stack([state["x"], state["y"], state["z"]], axis=1) @ view.T
    for order, i in enumerate(np.argsort(centres[:, 2], kind="stable")):
        colour = np.array(_rgb(COLOURS[i % len(COLOURS)]))
        zorder = 2 + order / len(state)
        size = float(state["size"][i])
        if state["kind"][i] == "sphere":
            _draw_sphere(axes, centres[i, :2], size, colour, zorder)
        else:
            q = np.array([state[name][i] for name in ("q_w", "q_x", "q_y", "q_z")])
            _draw_box(axes, centres[i], size, view @ _rotation(q), colour, zorder)


def _draw_walls(axes: Axes, corners: _Float, view: _Float) -> None:
    """Edges of the walls; those in front of the bodies are drawn over them."""
    top = corners + [0, 0, _HEIGHT]
    for i in range(4):
        j = (i + 1) % 4
        front = ((corners[i] + corners[j]) @ view.T)[2] > 0
        face = np.stack([corners[i], corners[j], top[j], top[i], corners[i]]) @ view.T
        axes.plot(face[:, 0], face[:, 1], color="0.55", linewidth=0.8, zorder=4 if front else 1)


def _draw_sphere(axes: Axes, centre: _Float, radius: float, colour: _Float, zorder: float) -> None:
    from matplotlib.patches import Circle

    axes.add_patch(
        Circle(tuple(centre), radius, facecolor=colour, edgecolor="0.2", lw=0.5, zorder=zorder)
    )
    # a lighter spot, where the light comes from
    spot = tuple(centre + 0.3 * radius * np.array([-1.0, 1.0]))
    light = 0.45 * colour + 0.55
    axes.add_patch(Circle(spot, 0.35 * radius, facecolor=light, lw=0, zorder=zorder))


def _draw_box(
    axes: Axes, centre: _Float, half: float, rotation: _Float, colour: _Float, zorder: float
) -> None:
    """Fill the faces that look at the viewer, brighter where they look up."""
    for axis in range(3):
        for sign in (1.0, -1.0):
            normal = sign * rotation[:, axis]
            if normal[2] <= 0:
                continue
            u, w = rotation[:, (axis + 1) % 3], rotation[:, (axis + 2) % 3]
            face = centre + half * np.stack(
                [normal + u + w, normal + u - w, normal - u - w, normal - u + w]
            )
            shade = 0.62 + 0.38 * max(0.0, 0.8 * normal[1] + 0.3 * normal[2] - 0.2 * normal[0])
            axes.fill(
                face[:, 0], face[:, 1],
                facecolor=np.clip(shade * colour, 0, 1), edgecolor="0.2", lw=0.5, zorder=zorder,
            )  # fmt: skip


def _rotation(q: _Float) -> _Float:
    """Matrix of a unit quaternion (w, x, y, z)."""
    w, x, y, z = q / np.linalg.norm(q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def _rgb(colour: str) -> tuple[float, float, float]:
    from matplotlib.colors import to_rgb

    return to_rgb(colour)

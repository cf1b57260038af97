"""The task of two arms: what happens in time, and pictures of its keyframes."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sapwood.rendering import render_scene
from sapwood.studies.plotting.style import COLOURS, draw_grid, save_figure
from sapwood.studies.plotting.tables import rows_of

if TYPE_CHECKING:
    import mujoco
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE = (800, 600)


def task_figure(csv: str | PathLike[str], path: str | PathLike[str]) -> Figure:
    """Contacts, iterations and grip forces against time, with the phases of the task: Fig. 18.

    Rows of `sapwood.studies.dual_arm.run`.
    """
    from matplotlib.figure import Figure

    rows = rows_of(csv)
    time = rows["time"]
    figure = Figure(figsize=(9.0, 7.5), layout="constrained")
    above, middle, below = figure.subplots(3, 1, sharex=True, height_ratios=(1.6, 1.0, 1.0))
    above.plot(time, rows["contacts"], color=COLOURS[0], linewidth=0.9)
    above.set_ylabel("contacts")
    middle.plot(time, rows["iterations"], color=COLOURS[0], linewidth=0.7)
    middle.set_ylabel("iterations")
    middle.yaxis.get_major_locator().set_params(integer=True)
    for name, colour, label in (
        ("right_grip", COLOURS[1], "right hand on the jar"),
        ("left_grip", COLOURS[2], "left hand on the lid"),
    ):
        below.plot(time, rows[name], color=colour, linewidth=0.9, label=label)
    below.set_ylabel("sum of normal forces [N]")
    below.set_xlabel("simulated time [s]")
    below.legend(loc="upper right", fontsize="small", frameon=False)
    for axes in (above, middle, below):
        axes.set_ylim(bottom=0)
        axes.margins(x=0.0)
        draw_grid(axes)
        _draw_phases(axes, rows, named=axes is above)
    save_figure(figure, path)
    return figure


def _draw_phases(axes: Axes, rows: NDArray[np.void], named: bool) -> None:
    """A line where each phase begins, and its name."""
    changes = np.flatnonzero(rows["phase"][1:] != rows["phase"][:-1]) + 1
    for i in (0, *changes.tolist()):
        begin = float(rows["time"][i])
        if i:
            axes.axvline(begin, color="0.6", linewidth=0.6, linestyle=":")
        if named:
            axes.annotate(
                str(rows["phase"][i]), (begin, 1.0), xycoords=("data", "axes fraction"),
                xytext=(3, -3), textcoords="offset points", rotation=90, fontsize=7, color="0.25",
                ha="left", va="top",
            )  # fmt: skip
    if named:
        # room for the names
        axes.set_ylim(top=1.45 * float(rows["contacts"].max()))


def keyframes_figure(
    model: mujoco.MjModel,
    frames: Sequence[tuple[str, NDArray[np.float64]]],
    path: str | PathLike[str],
) -> Figure:
    """Pictures of some configurations: Fig. 1.

    Parameters
    ----------
    model
        The scene.
    frames
        Title of each picture and its configuration (nq,).
    path
        As of all figures.

    Raises
    ------
    sapwood.rendering.RenderingError
        Nothing can be drawn off screen on this machine.
    """
    from matplotlib.figure import Figure
    from matplotlib.image import imread

    columns = min(3, len(frames))
    lines = -(-len(frames) // columns)
    figure = Figure(figsize=(4.0 * columns, 3.4 * lines), layout="constrained")
    grid = figure.subplots(lines, columns, squeeze=False).ravel()
    for axes in grid:
        axes.set_axis_off()
    with tempfile.TemporaryDirectory(prefix="sapwood-") as folder:
        picture = Path(folder, "frame.png")
        for axes, (title, qpos) in zip(grid, frames, strict=False):
            render_scene(model, qpos, picture, width=_SIZE[0], height=_SIZE[1])
            axes.imshow(imread(picture))
            axes.set_title(title, fontsize="medium")
    save_figure(figure, path)
    return figure

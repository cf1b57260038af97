"""Friction coefficients that three ways find from several starts."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING

from sapwood.studies.plotting.style import COLOURS, draw_grid, save_figure
from sapwood.studies.plotting.tables import read_steps, select

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TITLES = {
    "block by mujoco": "a pushed block, simulated by MuJoCo",
    "block by sapwood": "a pushed block, simulated by sapwood",
    "tosses": "real tosses of a cube",
}
_MARKS = ("x", "o", "+")


def identification_figure(
    csv: str | PathLike[str], truth: Mapping[str, float], path: str | PathLike[str]
) -> Figure:
    """Draw friction and residual at the end of each fit, against the friction at its start.

    Parameters
    ----------
    csv
        File with the columns ``scene``, ``way``, ``start``, ``friction`` and ``cost``.
    truth
        Friction coefficient of each scene.
    path
        As of all figures.
    """
    from matplotlib.figure import Figure

    rows = read_steps(csv)
    if rows.size == 0:
        raise ValueError(f"nothing to draw: no rows in {csv}")
    scenes = list(dict.fromkeys(rows["scene"].tolist()))
    ways = list(dict.fromkeys(rows["way"].tolist()))
    figure = Figure(figsize=(4.2 * len(scenes), 6.0), layout="constrained")
    panels = figure.subplots(2, len(scenes), squeeze=False, sharex=True, sharey="row")
    for (above, below), scene in zip(panels.T, scenes, strict=True):
        for way, colour, mark in zip(ways, COLOURS, _MARKS, strict=False):
            mine = select(rows, scene=scene, way=way)
            style = {"linestyle": "", "marker": mark, "markersize": 9, "color": colour}
            above.plot(mine["start"], mine["friction"], fillstyle="none", label=way, **style)
            below.plot(mine["start"], mine["cost"], fillstyle="none", **style)
        above.axhline(truth[scene], color="0.4", linewidth=1.0, linestyle="--")
        above.set_title(_TITLES[scene], fontsize="medium")
        below.set_yscale("log")
        below.set_xlabel("friction at the start")
        for panel in (above, below):
            draw_grid(panel)
    panels[0, 0].set_ylim(0.0, None)
    panels[0, 0].set_ylabel("friction found")
    panels[1, 0].set_ylabel("mean square residual over noise")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3)
    save_figure(figure, path)
    return figure

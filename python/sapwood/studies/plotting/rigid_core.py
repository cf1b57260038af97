"""Rigid cores: penetration against load, a tower, an impact, and iterations."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sapwood.studies.plotting.style import COLOURS, draw_grid, save_figure
from sapwood.studies.plotting.tables import read_steps, select

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_Rows = NDArray[np.void]

#: Colour, line and name of every kind of core.
_CORES = {
    "none": ("0.35", "--", "compliant"),
    "log": (COLOURS[0], "-", "log"),
    "exp": (COLOURS[1], "-.", r"exp, $\lambda = 5$"),
}
_SCENES = ("load", "tower", "impact")
_DELTA = 1.0  # mm


def rigid_core_figure(csv: str | PathLike[str], path: str | PathLike[str]) -> Figure:
    """Draw the scenes of `sapwood.studies.experiments.rigid_core`, and their iterations.

    File with the columns ``scene``, ``core``, ``time`` (s), ``load`` (N), ``penetration`` (m),
    ``height`` (m) and ``iterations``. Raises ValueError if the file holds no rows of one of the
    scenes.
    """
    from matplotlib.figure import Figure

    rows = read_steps(csv)
    runs = {}
    for scene in _SCENES:
        for core in _CORES:
            run = select(rows, scene=scene, core=core)
            if run.size == 0:
                raise ValueError(f"nothing to draw: no rows of scene {scene}, core {core} in {csv}")
            runs[scene, core] = run
    figure = Figure(figsize=(10.0, 7.5), layout="constrained")
    (load, tower), (impact, iterations) = figure.subplots(2, 2)
    for core, (colour, line, name) in _CORES.items():
        style = {"color": colour, "linestyle": line, "label": name}
        run = runs["load", core]
        deep = run["penetration"] > 0.0
        load.plot(run["load"][deep], 1e3 * run["penetration"][deep], **style)
        run = runs["tower", core]
        tower.plot(run["time"], 1e3 * run["penetration"], **style)
        run = runs["impact", core]
        impact.plot(run["time"], 1e3 * run["penetration"], marker=".", **style)
    _finish_depth(load, "force on the ball [N]", "A ball pressed into its layer")
    load.set_xscale("log")
    _finish_depth(tower, "time [s]", "Tower of 20 boxes, mass ratio 1:1000")
    _finish_depth(impact, "time [s]", "Sphere into a wall at 50 m/s")
    impact.set_xlim(0.0, 0.1)
    _draw_iterations(iterations, runs)
    save_figure(figure, path)
    return figure


def _finish_depth(axes: Axes, label: str, title: str) -> None:
    axes.axhline(_DELTA, color="0.2", linewidth=0.8, linestyle=":", label=r"$\delta$ = 1 mm")
    axes.set_yscale("log")
    axes.set_ylim(bottom=1e-2)
    axes.set_xlabel(label)
    axes.set_ylabel("penetration [mm]")
    axes.set_title(title, fontsize="medium")
    axes.legend(frameon=False, fontsize="small")
    draw_grid(axes)


def _draw_iterations(axes: Axes, runs: dict[tuple[str, str], _Rows]) -> None:
    """Mean iterations of the steps that take any, and the most of a step."""
    width = 0.25
    for k, (core, (colour, _, name)) in enumerate(_CORES.items()):
        at = np.arange(len(_SCENES)) + (k - 1) * width
        taken = [runs[scene, core]["iterations"] for scene in _SCENES]
        means = [np.mean(n[n > 0]) if np.any(n > 0) else 0.0 for n in taken]
        most = [n.max() for n in taken]
        axes.bar(at, means, width, color=colour, label=name)
        axes.plot(at, most, "_", color=colour, markersize=12)
    axes.set_xticks(np.arange(len(_SCENES)), ["ball", "tower", "sphere"])
    axes.set_ylabel("iterations per step: mean, and most")
    axes.set_title("Newton iterations", fontsize="medium")
    axes.legend(frameon=False, fontsize="small")
    draw_grid(axes)

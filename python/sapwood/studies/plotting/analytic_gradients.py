"""Gradients of motions with contact beside closed forms."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sapwood.studies.plotting.style import COLOURS, draw_grid, draw_slope, save_figure
from sapwood.studies.plotting.tables import read_steps, select

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_Rows = NDArray[np.void]

#: What the gradient in the upper row is by, the title and the name of what is along.
_TASKS = {
    "bounce": ("gap", "A ball meets a wall", "initial gap / (speed x time step)"),
    "collision": ("gap", "A ball meets another", "initial gap / (speed x time step)"),
    "slide": ("mu", "A block slides, and stops", r"friction coefficient $\mu$"),
}
_NAMES = {"gap": "gap", "mu": r"$\mu$", "speed": "speed"}


def analytic_gradients_figure(csv: str | PathLike[str], path: str | PathLike[str]) -> Figure:
    """Draw gradients from many starts, and their relative errors against the time step.

    File with the columns ``task``, ``dt`` (s), ``by``, ``start``, ``found`` and ``exact`` of
    `sapwood.studies.experiments.analytic_gradients`. Raises ValueError if the file holds no rows of
    one of the tasks.
    """
    from matplotlib.figure import Figure

    rows = read_steps(csv)
    figure = Figure(figsize=(11.0, 6.5), layout="constrained")
    upper, lower = figure.subplots(2, 3)
    for (task, (by, title, along)), gradients, errors in zip(
        _TASKS.items(), upper, lower, strict=True
    ):
        mine = select(rows, task=task)
        if mine.size == 0:
            raise ValueError(f"nothing to draw: no rows of task {task} in {csv}")
        _draw_gradients(gradients, select(mine, by=by))
        gradients.set_title(title, fontsize="medium")
        gradients.set_xlabel(along)
        gradients.set_ylabel(f"d(final position)/d({_NAMES[by]})")
        _draw_errors(errors, mine)
    upper[0].legend(frameon=False, fontsize="small")
    for axes in (lower[0], lower[2]):
        axes.legend(frameon=False, fontsize="small", loc="lower right")
    save_figure(figure, path)
    return figure


def _draw_gradients(axes: Axes, rows: _Rows) -> None:
    """Gradients from every start, at all time steps but the longest, which sees no bounce."""
    steps = np.unique(rows["dt"])[-2::-1]
    jumps = rows["by"][0] == "gap"
    for dt, colour, marker in zip(steps, COLOURS, "os^D", strict=False):
        run = select(rows, dt=dt)
        axes.plot(
            run["start"], run["found"], color=colour, marker=marker, markersize=4, linewidth=1.0,
            drawstyle="steps-mid" if jumps else "default", label=rf"$\delta t$ = {1e3 * dt:g} ms",
        )  # fmt: skip
    axes.plot(run["start"], run["exact"], color="0.1", linestyle="--", label="closed form")
    draw_grid(axes)


def _draw_errors(axes: Axes, rows: _Rows) -> None:
    """Largest error of a start, and error of the mean of all starts, of both gradients."""
    steps = np.unique(rows["dt"])
    for by, colour in zip(dict.fromkeys(rows["by"].tolist()), COLOURS, strict=False):
        runs = [select(rows, by=by, dt=dt) for dt in steps]
        off = [run["found"] / run["exact"] - 1.0 for run in runs]
        for line, name, values in (
            ("-", "largest", [np.abs(x).max() for x in off]),
            (":", "of the mean", [abs(x.mean()) for x in off]),
        ):
            label = f"by {_NAMES[by]}, {name}"
            axes.loglog(steps, values, color=colour, linestyle=line, marker=".", label=label)
    least, most = axes.get_ylim()
    draw_slope(axes, steps, (steps[0], 0.5 * least), 1.0, r"$\propto \delta t$")
    # room for a legend
    axes.set_ylim(least * (least / most) ** 0.5, most)
    axes.set_xlabel(r"time step $\delta t$ [s]")
    axes.set_ylabel("relative error")
    draw_grid(axes)

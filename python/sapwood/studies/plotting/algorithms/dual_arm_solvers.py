"""Solvers on the task of two arms, against their tolerances: Figs. 19 to 21."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sapwood.studies.plotting.algorithms.solvers import SOLVERS
from sapwood.studies.plotting.style import SOLVER_COLOURS, draw_grid, save_figure
from sapwood.studies.plotting.tables import read_steps, rows_of, select

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Columns of errors, and what they are called.
ERRORS = {"e_m": "momentum error $e_m$", "e_mu": "complementarity error $e_\\mu$"}

# round-off of what is 0, for logarithmic axes
_FLOOR = 1e-18
# marks of a whole task, by whether it is done
_MARKS = {True: ("o", "whole task done"), False: ("x", "whole task not done")}


def errors_figure(
    problems: str | PathLike[str], tasks: str | PathLike[str], path: str | PathLike[str], error: str
) -> Figure:
    """Draw an error against the tolerance: means, medians, and from the least to the most.

    Parameters
    ----------
    problems, tasks
        Files of the recorded problems and of the simulated tasks, see
        `sapwood.studies.experiments.dual_arm`.
    path
        As of all figures.
    error
        Of `ERRORS`.
    """

    def draw(axes: Axes, rows: NDArray[np.void], colour: str) -> None:
        mean, median, least, most = (
            np.maximum(rows[f"{error}_{name}"], _FLOOR)
            for name in ("mean", "median", "least", "most")
        )
        x = rows["tolerance"]
        axes.fill_between(
            x, least, most, color=colour, alpha=0.15, linewidth=0, label="least to most"
        )
        axes.plot(x, mean, color=colour, marker=".", label="mean")
        axes.plot(x, median, color=colour, linestyle="--", label="median")
        axes.plot(x, x, color="0.35", linewidth=0.9, linestyle=":", label="the tolerance")

    figure = _panels(problems, tasks, draw, f"{error}_mean")
    for axes in figure.axes:
        axes.set_yscale("log")
        axes.set_ylim(bottom=max(_FLOOR, axes.get_ylim()[0]))
    figure.supylabel(ERRORS[error])
    save_figure(figure, path)
    return figure


def iterations_figure(
    problems: str | PathLike[str], tasks: str | PathLike[str], path: str | PathLike[str]
) -> Figure:
    """Draw mean iterations against the tolerance, from the files of `errors_figure`."""

    def draw(axes: Axes, rows: NDArray[np.void], colour: str) -> None:
        axes.plot(rows["tolerance"], rows["iterations"], color=colour, marker=".", label="mean")

    figure = _panels(problems, tasks, draw, "iterations")
    for axes in figure.axes:
        axes.set_yscale("log")
    figure.supylabel("iterations per step")
    save_figure(figure, path)
    return figure


def _panels(
    problems: str | PathLike[str],
    tasks: str | PathLike[str],
    draw: Callable[[Axes, NDArray[np.void], str], None],
    marked: str,
) -> Figure:
    """A panel per solver: lines of the problems; a dot for a task that is done, a cross for not."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    rows, runs = rows_of(problems), read_steps(tasks)
    # one tolerance makes no curve
    solvers = [
        name
        for name in dict.fromkeys(rows["solver"].tolist())
        if np.unique(select(rows, solver=name)["tolerance"]).size > 1
    ]
    figure = Figure(figsize=(10.0, 6.0), layout="constrained")
    lines = -(-len(solvers) // 3)
    grid = figure.subplots(lines, 3, sharex=True, sharey=True, squeeze=False).ravel()
    for unused in grid[len(solvers) :]:
        unused.remove()
    for axes, solver in zip(grid, solvers, strict=False):
        colour = SOLVER_COLOURS[solver]
        draw(axes, select(rows, solver=solver), colour)
        for run in select(runs, solver=solver) if runs.size else ():
            if np.isfinite(run[marked]):
                marker, label = _MARKS[bool(run["done"])]
                axes.plot(
                    run["tolerance"], run[marked], color="0.15", linestyle="", marker=marker,
                    fillstyle="none", markersize=7, label=label,
                )  # fmt: skip
        axes.set_title(SOLVERS[solver][0], fontsize="medium")
        axes.set_xscale("log")
        draw_grid(axes)
    figure.supxlabel("tolerance")
    named = {
        label: line
        for axes in reversed(figure.axes)
        for line, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    legend = figure.legend(
        list(named.values()), list(named), loc="outside upper center", ncols=len(named),
        fontsize="small", frameon=False,
    )  # fmt: skip
    # every panel has a colour of its own
    for handle in legend.legend_handles:
        if handle is not None:
            handle.set(color="0.2" if isinstance(handle, Line2D) else "0.85")
    return figure

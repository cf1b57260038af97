"""Iterations and wall-clock time per step of one run or several."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sapwood.studies.plotting.style import COLOURS, save_figure
from sapwood.studies.plotting.tables import read_steps

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def step_figure(
    files: Mapping[str, str | PathLike[str]],
    path: str | PathLike[str],
    *,
    title: str | None = None,
) -> Figure:
    """Draw iterations and wall-clock time per step against simulated time, as in Fig. 9.

    Parameters
    ----------
    files
        Label of a run to its CSV file, with the columns ``time`` (s), ``contacts``, ``iterations``,
        ``solver_time`` (s) and ``total_time`` (s).
    path
        As of all figures.
    title
        Line above the figure.

    Raises
    ------
    ValueError
        No file holds a single step.
    """
    from matplotlib.figure import Figure

    runs = {label: read_steps(file) for label, file in files.items()}
    if not any(steps.size for steps in runs.values()):
        raise ValueError("nothing to draw: no steps in " + ", ".join(map(str, files.values())))

    figure = Figure(figsize=(8.0, 6.0), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    for (label, steps), colour in zip(runs.items(), COLOURS, strict=False):
        _draw_iterations(above, label, steps, colour)
        _draw_times(below, label, steps, colour)
    above.set_ylabel("iterations per step")
    above.set_ylim(bottom=0)
    above.yaxis.get_major_locator().set_params(integer=True)
    below.set_ylabel("wall-clock time per step [ms]")
    below.set_yscale("log")
    below.set_xlabel("simulated time [s]")
    for axes in (above, below):
        axes.grid(True, which="major", linewidth=0.5, alpha=0.4)
        axes.margins(x=0.01)
        axes.legend(
            loc="lower right",
            bbox_to_anchor=(1.0, 1.0),
            ncols=2 * len(runs),
            frameon=False,
            fontsize="small",
        )
    if title is not None:
        figure.suptitle(title, fontsize="medium")
    save_figure(figure, path)
    return figure


def _draw_iterations(axes: Axes, label: str, steps: NDArray[np.void], colour: str) -> None:
    axes.plot(steps["time"], steps["iterations"], color=colour, linewidth=0.9, label=label)


def _draw_times(axes: Axes, label: str, steps: NDArray[np.void], colour: str) -> None:
    """Solver as a line, the whole step (collision, kinematics, solver) as a paler one."""
    # a step without contacts asks nothing of the solver
    solver_time = np.where(steps["contacts"] > 0, steps["solver_time"], np.nan)
    for seconds, name, alpha in (
        (steps["total_time"], "whole step", 0.4),
        (solver_time, "solver", 1.0),
    ):
        axes.plot(
            steps["time"],
            1e3 * seconds,
            color=colour,
            alpha=alpha,
            linewidth=0.9,
            label=f"{label}, {name}",
        )

"""The arm with a box in its hand: tracking error and grip force by every controller."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sapwood.studies.plotting.controllers import controller_style
from sapwood.studies.plotting.style import draw_grid, save_figure
from sapwood.studies.plotting.tables import rows_of, select

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: What is drawn in a row of panels: whose torques the fingers have, column, label.
_PANELS = (
    ("dynamics", "position_error", "mean error of the arm [rad]"),
    ("dynamics", "normal_force", "sum of normal forces [N]"),
    ("feedback", "position_error", "mean error of the arm [rad]"),
)
_FINGERS = {"dynamics": "fingers by inverse dynamics", "feedback": "fingers by feedback alone"}


def dropped_at(run: NDArray[np.void]) -> float | None:
    """When the box began to fall for good.

    Parameters
    ----------
    run
        Rows of one run, with ``time`` and ``touching``.

    Returns
    -------
    float or None
        End of the last row in which a fingertip touched it, s; None where one does at the end.
    """
    touched = np.flatnonzero(run["touching"] > 0.0)
    if touched.size and touched[-1] == run.size - 1:
        return None
    return float(run["time"][touched[-1]]) if touched.size else 0.0


def grasp_figure(csv: str | PathLike[str], path: str | PathLike[str]) -> Figure:
    """Draw the error of the arm's joints and the grip force against time, as Fig. 18.

    Rows of `sapwood.studies.grasping`. A dot is where the box is dropped, a cross where the arm is
    lost.
    """
    from matplotlib.figure import Figure

    rows = rows_of(csv)
    coefficients = np.unique(rows["mu"])
    figure = Figure(figsize=(11.0, 10.5), layout="constrained")
    grid = figure.subplots(len(_PANELS), len(coefficients), sharex=True, sharey="row")
    for line, (fingers, column, label) in zip(grid, _PANELS, strict=True):
        for axes, mu in zip(line, coefficients, strict=True):
            _draw(axes, select(rows, mu=mu, fingers=fingers), column)
            axes.set_title(rf"$\mu$ = {mu:g}, {_FINGERS[fingers]}", fontsize="medium")
        line[0].set_ylabel(label)
    for axes in grid[-1]:
        axes.set_xlabel("time [s]")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
    figure.suptitle(
        "An arm swings with a box between its fingertips (dot: dropped, cross: arm lost)",
        fontsize="medium",
    )
    save_figure(figure, path)
    return figure


def _draw(axes: Axes, rows: NDArray[np.void], column: str) -> None:
    end = rows["time"].max()
    for controller in dict.fromkeys(rows["controller"].tolist()):
        run = select(rows, controller=controller)
        style = controller_style(controller)
        shown = np.where(run[column] > 0.0, run[column], np.nan)
        axes.plot(run["time"], shown, **style | {"markevery": max(1, run.size // 10)})
        drop = dropped_at(run)
        if drop is not None:
            at = np.searchsorted(run["time"], drop)
            axes.plot(drop, shown[at], "o", color=style["color"], markersize=5)
        if run["time"][-1] < end - 1e-9:
            axes.plot(run["time"][-1], shown[-1], "x", color=style["color"], markersize=6)
    axes.set_yscale("log")
    draw_grid(axes)

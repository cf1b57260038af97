"""Exact line search against backtracking, on the steps of the clutter."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from sapwood.studies.plotting.style import draw_grid, save_figure
from sapwood.studies.plotting.tables import rows_of, select

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SEARCHES = {"exact": ("#0072b2", "-", "exact"), "backtracking": ("#d55e00", "--", "backtracking")}


def line_search_figure(csv: str | PathLike[str], path: str | PathLike[str]) -> Figure:
    """Draw iterations of every step and the time that all steps until then took.

    Rows of `sapwood.studies.experiments.algorithms.line_search.searches`.
    """
    from matplotlib.figure import Figure

    rows = rows_of(csv)
    figure = Figure(figsize=(9.5, 5.6), layout="constrained")
    grid = figure.subplots(2, 2, sharex=True, sharey="row")
    for column, (walls, place) in enumerate(((1, "with walls"), (0, "without walls"))):
        run = select(rows, walls=walls)
        for name, (colour, line, label) in _SEARCHES.items():
            style = {"color": colour, "linestyle": line, "label": label, "linewidth": 1.2}
            grid[0, column].plot(run["time"], run[f"iterations_{name}"], **style)
            grid[1, column].plot(run["time"], 1e3 * np.cumsum(run[f"seconds_{name}"]), **style)
        grid[0, column].set_title(place, fontsize="medium")
        grid[1, column].set_xlabel("simulated time [s]")
        for axes in grid[:, column]:
            draw_grid(axes)
    grid[0, 0].set_ylabel("iterations of Algorithm 1")
    grid[1, 0].set_ylabel("time of all solves so far [ms]")
    grid[0, 1].legend(frameon=False)
    figure.suptitle(
        f"Clutter, {rows['bodies'][0]} bodies: Algorithm 1 with either line search",
        fontsize="medium",
    )
    save_figure(figure, path)
    return figure

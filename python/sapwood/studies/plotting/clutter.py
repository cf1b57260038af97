"""Figures 9 and 11: the clutter of section X-C in numbers."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from sapwood.studies.plotting.style import METHODS, PLACES, draw_grid, save_figure
from sapwood.studies.plotting.tables import median_over_seeds, rows_of, select

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def clutter_steps_figure(csv: str | PathLike[str], path: str | PathLike[str]) -> Figure:
    """Contacts, iterations and wall-clock time per step, with and without walls: Fig. 9.

    File with the columns ``walls`` (0 or 1), ``method``, ``bodies``, ``time`` (s), ``contacts``,
    ``iterations`` and ``solver_time`` (s).
    """
    from matplotlib.figure import Figure

    steps = rows_of(csv)
    figure = Figure(figsize=(10.0, 7.0), layout="constrained")
    grid = figure.subplots(3, 2, sharex=True, sharey="row")
    for column, walls in enumerate((1, 0)):
        # the methods find the same contacts for a while: the line on top is dashed
        for method, (colour, name) in reversed(METHODS.items()):
            line = "--" if method == "algorithm_1" else "-"
            run = select(steps, walls=walls, method=method)
            # a step without contacts asks nothing of the solver
            solver_time = np.where(run["contacts"] > 0, 1e3 * run["solver_time"], np.nan)
            for axes, y in zip(
                grid[:, column], (run["contacts"], run["iterations"], solver_time), strict=True
            ):
                axes.plot(run["time"], y, line, color=colour, linewidth=0.9, label=name)
                draw_grid(axes)
                axes.margins(x=0.01)
        grid[0, column].set_title("with walls" if walls else "without walls")
        grid[2, column].set_xlabel("simulated time [s]")
    grid[0, 0].set_ylabel("contacts")
    grid[1, 0].set_ylabel("iterations per step")
    grid[2, 0].set_ylabel("solver time per step [ms]")
    grid[2, 0].set_yscale("log")
    for axes in grid[:2, 0]:
        axes.set_ylim(bottom=0)
        axes.yaxis.get_major_locator().set_params(integer=True)
    grid[0, 1].legend(frameon=False)
    figure.suptitle(f"Clutter, {steps['bodies'][0]} bodies", fontsize="medium")
    save_figure(figure, path)
    return figure


def clutter_contacts_figure(csv: str | PathLike[str], path: str | PathLike[str]) -> Figure:
    """Contacts at rest against the number of bodies, with and without walls: Fig. 11.

    Lines are medians over the assortments of bodies, a line per method; small markers are the
    single runs.

    File with the columns ``bodies``, ``walls`` (0 or 1), ``method`` and ``contacts``.
    """
    from matplotlib.figure import Figure

    rows = rows_of(csv)
    figure = Figure(figsize=(6.0, 4.5), layout="constrained")
    axes = figure.subplots()
    for walls, (colour, place) in PLACES.items():
        for method, (line, marker) in {"sapwood": ("-", "o"), "algorithm_1": (":", "s")}.items():
            runs = select(rows, walls=walls, method=method)
            axes.plot(
                runs["bodies"], runs["contacts"], marker, color=colour, markersize=2.5, alpha=0.35
            )
            axes.plot(
                *median_over_seeds(runs, "bodies", "contacts"), line, color=colour, marker=marker,
                markersize=5, markerfacecolor=colour if line == "-" else "white",
                label=f"{place}, {METHODS[method][1]}",
            )  # fmt: skip
    axes.plot([], [], "o", color="0.5", markersize=2.5, label="single run")
    axes.set_xlabel("bodies")
    axes.set_ylabel("contacts at rest")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    draw_grid(axes)
    axes.legend(frameon=False)
    save_figure(figure, path)
    return figure

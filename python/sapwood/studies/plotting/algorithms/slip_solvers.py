"""Solvers on the contact problems of slip control: iterations, momentum error and time."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from sapwood.studies.plotting.style import SOLVER_COLOURS, draw_grid, save_figure
from sapwood.studies.plotting.tables import rows_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NAMES = {"sapwood-plain": "Algorithm 1", "scipy": "Algorithm 1 in Python"}
# published numbers of the paper's solvers, by the solver in their place
_PUBLISHED = {
    "iterations": {"sapwood-plain": 0.62, "geodesic": 5.6, "clarabel": 10.1},
    "e_m_most": {"sapwood-plain": 9.99e-4, "geodesic": 2e-6, "clarabel": 2.6e-2},
}
_PANELS = {
    "iterations": "mean iterations per step",
    "e_m_most": "largest $e_m$",
    "solve_time": "mean time of a solve [s]",
}


def solvers_figure(csv: str | PathLike[str], path: str | PathLike[str]) -> Figure:
    """Draw iterations, largest momentum error and time of every solver, as bars.

    Rows of `sapwood.studies.slip_control.solvers.on_problems`. Crosses are the paper's numbers,
    Gurobi's beside Clarabel.
    """
    from matplotlib.figure import Figure

    rows = rows_of(csv)
    figure = Figure(figsize=(10.0, 3.8), layout="constrained")
    panels = figure.subplots(1, len(_PANELS), sharey=True)
    places = np.arange(rows.size)
    colours = [SOLVER_COLOURS[name] for name in rows["solver"].tolist()]
    for axes, (column, label) in zip(panels, _PANELS.items(), strict=True):
        axes.barh(places, rows[column], color=colours)
        for solver, value in _PUBLISHED.get(column, {}).items():
            (row,) = np.flatnonzero(rows["solver"] == solver)
            axes.plot(value, row, "x", color="black", markersize=7)
        axes.set_xlabel(label)
        if column != "iterations":
            axes.set_xscale("log")
        draw_grid(axes)
    names = [f"{_NAMES.get(row['solver'], row['solver'])}, {row['tolerance']:.0e}" for row in rows]
    panels[0].set_yticks(places, names)
    panels[0].invert_yaxis()
    figure.suptitle(
        "Slip control: solvers at the paper's tolerances; crosses: published, Gurobi at Clarabel",
        fontsize="medium",
    )
    save_figure(figure, path)
    return figure

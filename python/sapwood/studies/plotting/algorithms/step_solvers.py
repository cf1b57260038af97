"""Figure 9 with the other solvers: iterations, momentum error and time against simulated time."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from sapwood.studies.plotting.style import draw_grid, save_figure
from sapwood.studies.plotting.tables import rows_of, select

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# colours of Okabe and Ito, a line and a name of each solver
_SOLVERS = {
    "sapwood-plain": ("#d55e00", "-", "Algorithm 1"),
    "scipy": ("#e69f00", "--", "Algorithm 1 in Python"),
    "geodesic": ("#0072b2", "-.", "Geodesic, in Python"),
    "clarabel": ("#cc79a7", ":", "Clarabel"),
    "qoco": ("#009e73", (0, (3, 1, 1, 1, 1, 1)), "QOCO"),
}
_PANELS = {
    "iterations": ("iterations", 1.0, "linear"),
    "e_m": ("momentum error $e_m$", 1.0, "log"),
    "solve_time": ("time of a solve [ms]", 1e3, "log"),
}


def step_solvers_figure(csv: str | PathLike[str], path: str | PathLike[str]) -> Figure:
    """Draw iterations, momentum error and time of every solver, with and without walls.

    Rows of `sapwood.studies.experiments.algorithms.step_solvers.in_time`.
    """
    from matplotlib.figure import Figure

    rows = rows_of(csv)
    figure = Figure(figsize=(10.0, 7.6), layout="constrained")
    grid = figure.subplots(len(_PANELS), 2, sharex=True, sharey="row")
    for column, (walls, place) in enumerate(((1, "with walls"), (0, "without walls"))):
        for solver, (colour, line, name) in _SOLVERS.items():
            run = select(rows, walls=walls, solver=solver)
            for axes, (quantity, (label, factor, scale)) in zip(
                grid[:, column], _PANELS.items(), strict=True
            ):
                axes.plot(
                    run["time"], factor * run[quantity], color=colour, linestyle=line, label=name,
                    linewidth=1.2,
                )  # fmt: skip
                axes.set_yscale(scale)
                if column == 0:
                    axes.set_ylabel(label)
        for axes in grid[:, column]:
            draw_grid(axes)
        grid[0, column].set_title(place, fontsize="medium")
        grid[-1, column].set_xlabel("simulated time [s]")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
    figure.suptitle(f"Clutter, {rows['bodies'][0]} bodies, solver by solver", fontsize="medium")
    save_figure(figure, path)
    return figure

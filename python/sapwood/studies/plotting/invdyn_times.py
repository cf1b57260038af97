"""Time of inverse dynamics against the number of contacts."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from sapwood.studies.plotting.controllers import controller_style
from sapwood.studies.plotting.style import draw_grid, save_figure
from sapwood.studies.plotting.tables import rows_of, select

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# published medians, ms, of the original's own runs (without those of 2 ms and more)
_PUBLISHED_AT = (1, 4, 10, 20, 30, 40)
_PUBLISHED = {
    "lcp_noslip": (0.55, 0.57, 0.62, 0.73, 1.0, 0.90),
    "qp_coulomb": (0.26, 0.28, 0.38, 0.59, 0.99, 1.43),
    "one_stage": (0.22, 0.27, 0.37, 0.56, 0.91, 1.27),
    "qp_noslip": (0.25, 0.29, 0.34, 0.48, 0.84, 1.07),
    "lcp_coulomb": (0.39, 0.57, 4.0, 13.6, 31.0, 63.0),
}
_PANELS = {"median": 0.5, "99 % quantile": 0.99, "maximum": 1.0}


def invdyn_times_figure(csv: str | PathLike[str], path: str | PathLike[str]) -> Figure:
    """Draw median, 99 % quantile and maximum of the CPU time of a call, as Fig. 19.

    Rows of `experiments.invdyn_times`: ``controller``, ``contacts``, ``cpu_seconds``. The first
    panel has the published medians too, faintly.
    """
    from matplotlib.figure import Figure

    rows = rows_of(csv)
    figure = Figure(figsize=(11.0, 5.0), layout="constrained")
    panels = figure.subplots(1, 3, sharex=True, sharey=True)
    for axes, (title, share) in zip(panels, _PANELS.items(), strict=True):
        for controller in dict.fromkeys(rows["controller"].tolist()):
            run = select(rows, controller=controller)
            sizes = np.unique(run["contacts"])
            times = [
                1e3 * np.quantile(run["cpu_seconds"][run["contacts"] == n], share) for n in sizes
            ]
            axes.plot(sizes, times, **controller_style(controller) | {"markevery": 1})
            if share == 0.5:
                axes.plot(
                    _PUBLISHED_AT, _PUBLISHED[controller],
                    color=controller_style(controller)["color"], alpha=0.45, linewidth=0.8,
                    linestyle=":", marker="x", markersize=4,
                )  # fmt: skip
        axes.axhline(1.0, color="0.2", linewidth=0.8, linestyle=":")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks([1, 4, 10, 20, 40, 60], labels=["1", "4", "10", "20", "40", "60"])
        axes.set_xticks([], minor=True)
        axes.set_xlabel("number of contacts")
        axes.set_title(title, fontsize="medium")
        draw_grid(axes)
    panels[0].plot([], [], color="0.4", linestyle=":", marker="x", markersize=4, label="published")
    panels[0].set_ylabel("CPU time of a call [ms]")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False)
    figure.suptitle("Inverse dynamics: time of a call against contacts", fontsize="medium")
    save_figure(figure, path)
    return figure

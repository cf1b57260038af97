"""Operations of Stage I of inverse dynamics: step by step, and against the number of contacts."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from sapwood.studies.plotting.style import draw_grid, save_figure
from sapwood.studies.plotting.tables import rows_of, select

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Published sums by form and number of motors, with four contacts.
PUBLISHED = {
    ("printed", 16): 77729,
    ("simplified", 16): 73163,
    ("printed", 12): 62109,
    ("simplified", 12): 102457,
}
# name, colour and marker of each form
_FORMS = {
    "printed": ("as printed, by X", "#d55e00", "s"),
    "simplified": ("simplified, by Z", "#0072b2", "o"),
    "reduced": ("sapwood, by A alone", "#009e73", "^"),
}


def operations_figure(csv: str | PathLike[str], path: str | PathLike[str]) -> Figure:
    """Draw the operations of Stage I as printed, step by step, as Table 1.

    Rows of `sapwood.studies.counting.figure.count`.
    """
    from matplotlib.figure import Figure

    rows = select(rows_of(csv), form="printed", contacts=4)
    motors = np.unique(rows["motors"])[::-1]
    figure = Figure(figsize=(9.5, 4.6), layout="constrained")
    panels = figure.subplots(1, len(motors), sharey=True, sharex=True)
    for axes, n_q in zip(panels, motors, strict=True):
        run = select(rows, motors=n_q)
        y = np.arange(run.size)
        axes.barh(y - 0.2, run["formula"], 0.4, color="#d55e00", label="by the formula of Table 1")
        axes.barh(
            y + 0.2, run["counted"], 0.4, color="#56b4e9", hatch="///", edgecolor="white",
            label="counted",
        )  # fmt: skip
        axes.set_xscale("log")
        axes.set_xlabel("floating-point operations")
        total = f"{run['formula'].sum():,.0f} by formula, {run['counted'].sum():,.0f} counted"
        axes.set_title(f"{n_q} motors: {total}", fontsize="medium")
        draw_grid(axes)
    names = [str(name) for name in select(rows, motors=motors[0])["operation"]]
    panels[0].set_yticks(range(len(names)), names)
    panels[0].invert_yaxis()
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    figure.suptitle("Set-up of Stage I as printed: 18 velocities, 4 contacts", fontsize="medium")
    save_figure(figure, path)
    return figure


def totals_figure(csv: str | PathLike[str], path: str | PathLike[str]) -> Figure:
    """Draw the operations of three forms of Stage I against the number of contacts, as Table 2.

    Rows as for `operations_figure`. Crosses are the published sums.
    """
    from matplotlib.figure import Figure

    rows = rows_of(csv)
    motors = np.unique(rows["motors"])[::-1]
    figure = Figure(figsize=(9.5, 4.6), layout="constrained")
    panels = figure.subplots(1, len(motors), sharey=True)
    for axes, n_q in zip(panels, motors, strict=True):
        for form, (label, colour, marker) in _FORMS.items():
            run = select(rows, motors=n_q, form=form)
            sizes = np.unique(run["contacts"])
            totals = [select(run, contacts=n)["counted"].sum() for n in sizes]
            axes.plot(sizes, totals, color=colour, marker=marker, label=label)
            if (form, n_q) in PUBLISHED:
                axes.plot(4, PUBLISHED[form, n_q], "x", color=colour, markersize=9)
        axes.plot([], [], "x", color="0.3", markersize=9, linestyle="none", label="published")
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xticks([1, 2, 4, 8, 16], ["1", "2", "4", "8", "16"])
        axes.set_xlabel("number of contacts")
        axes.set_title(f"{n_q} motors, {18 - n_q} unactuated velocities", fontsize="medium")
        draw_grid(axes)
    panels[0].set_ylabel("floating-point operations, counted")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    figure.suptitle("Set-up of Stage I in three forms: 18 velocities", fontsize="medium")
    save_figure(figure, path)
    return figure

"""Lemma 3 and Theorem 1 of the paper on contact, beside what a solver does."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from sapwood.studies.plotting.style import COLOURS, draw_grid, save_figure
from sapwood.studies.plotting.tables import rows_of, select

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def theory_figure(
    rates: str | PathLike[str], values: str | PathLike[str], path: str | PathLike[str]
) -> Figure:
    """Draw cost against iteration beside Lemma 3's bound, and the gap of the dual programs.

    Parameters
    ----------
    rates, values
        Rows of `sapwood.studies.experiments.algorithms.theory.rates` and `values`.
    path
        As of all figures.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    rows = rows_of(rates)
    for regime, colour, marker in zip(
        dict.fromkeys(rows["regime"].tolist()), COLOURS, "os^", strict=False
    ):
        run = select(rows, regime=regime)
        k = run["iteration"]
        bound = (1.0 - run["share"]) ** k
        left.plot(k, bound, color=colour, linestyle="--", linewidth=1.2)
        seen = run[run["relative_gap"] > 0.0]
        left.plot(
            seen["iteration"], seen["relative_gap"], color=colour, marker=marker, markersize=4,
            linewidth=1.2, label=regime,
        )  # fmt: skip
    left.plot([], [], color="0.35", linestyle="--", label="bound of Lemma 3")
    left.set_yscale("log")
    left.set_xlabel("iteration of Algorithm 1")
    left.xaxis.get_major_locator().set_params(integer=True)
    left.set_ylabel(r"$(\ell - \ell_*) / (\ell^0 - \ell_*)$")

    rows = rows_of(values)
    for program, colour, marker in zip(("(5)", "(3)"), COLOURS, "os", strict=False):
        run = select(rows, program=program)
        apart = np.abs(run["dual"] / run["primal"] - 1.0)
        right.plot(
            run["tolerance"], apart, color=colour, marker=marker, markersize=4, linewidth=1.2,
            label=f"program {program} and its primal",
        )  # fmt: skip
    right.set_xscale("log")
    right.set_yscale("log")
    right.invert_xaxis()
    right.set_xlabel("tolerance of the conic solver")
    right.set_ylabel("difference of the values, relative")
    for axes in (left, right):
        draw_grid(axes)
        axes.legend(frameon=False, fontsize="small")
    save_figure(figure, path)
    return figure

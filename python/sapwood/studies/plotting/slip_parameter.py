"""Figures 14 and 15: slip, iterations and condition number against the slip parameter."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sapwood.studies.plotting.style import PLACES, draw_grid, draw_slope, save_figure
from sapwood.studies.plotting.tables import median_over_seeds, rows_of, select

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: A pile moves where its largest slip is above this times the estimate (23).
_MOVING = 100.0
#: Least slip of Fig. 14, m/s: below it, round-off and tolerance decide.
_LEAST_SLIP = 1e-10
#: Line, marker and name of every method.
_METHODS = {"algorithm_1": ("-", "o", "Algorithm 1"), "sapwood": (":", "s", "sapwood")}


def slip_figure(csv: str | PathLike[str], path: str | PathLike[str]) -> Figure:
    """Mean slip at rest against sigma, with and without walls, and its estimate (23): Fig. 14.

    Lines are medians over the assortments of bodies at rest, small markers the single runs. Piles
    that still move are crosses and count in no median; slip below 1e-10 m/s is an open marker at
    the lower edge, and no line goes there.

    File with the columns ``sigma``, ``walls`` (0 or 1), ``method``, ``mean_slip``, ``largest_slip``
    and ``slip_estimate`` (m/s).
    """
    from matplotlib.figure import Figure

    rows = rows_of(csv)
    figure = Figure(figsize=(7.0, 6.0), layout="constrained")
    axes = figure.subplots()
    _draw_runs(axes, rows, "mean_slip", floor=_LEAST_SLIP)
    estimate = np.unique(rows[["sigma", "slip_estimate"]])
    axes.plot(
        estimate["sigma"],
        estimate["slip_estimate"],
        color="0.2",
        linestyle="--",
        label=r"$v_s = \sigma \mu\, \delta t\, g$",
    )
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.5 * _LEAST_SLIP)
    axes.set_ylabel("mean slip velocity [m/s]")
    for marker, label in (("x", "pile that still moves"), ("v", "below the lower edge")):
        axes.plot([], [], marker, color="0.5", markerfacecolor="none", label=label)
    axes.plot([], [], "o", color="0.5", markersize=2.5, label="single run")
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize="small")
    figure.suptitle(f"Clutter at rest, {rows['bodies'][0]} bodies", fontsize="medium")
    save_figure(figure, path)
    return figure


def conditioning_figure(csv: str | PathLike[str], path: str | PathLike[str]) -> Figure:
    """Mean iterations per step and condition number of the Hessian against sigma: Fig. 15.

    Lines are medians over the assortments of bodies, small markers the single runs.

    File with the columns ``sigma``, ``walls`` (0 or 1), ``method``, ``iterations_mean`` and
    ``condition``.
    """
    from matplotlib.figure import Figure

    rows = rows_of(csv)
    figure = Figure(figsize=(10.0, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    _draw_runs(left, rows, "iterations_mean")
    left.set_ylabel("mean Newton iterations per step")
    left.set_ylim(bottom=0)
    left.legend(frameon=False, fontsize="small")

    _draw_runs(right, rows, "condition")
    right.set_yscale("log")
    right.set_ylabel(r"condition number of $H$")
    first = rows[rows["sigma"] == rows["sigma"].min()]
    at = (float(first["sigma"][0]), 0.3 * float(np.median(first["condition"])))
    ends = (rows["sigma"].min(), rows["sigma"].max())
    draw_slope(right, ends, at, -1, r"$\propto \sigma^{-1}$")
    right.legend(frameon=False, fontsize="small")
    figure.suptitle(f"Clutter, {rows['bodies'][0]} bodies", fontsize="medium")
    save_figure(figure, path)
    return figure


def moving(rows: NDArray[np.void]) -> NDArray[np.bool_]:
    """Piles with a contact that slips far more than any load makes it creep.

    Parameters
    ----------
    rows
        With the columns ``largest_slip`` and ``slip_estimate``, m/s.

    Returns
    -------
    ndarray of bool
        Whether the largest slip is above 100 times the estimate.
    """
    above: NDArray[np.bool_] = rows["largest_slip"] > _MOVING * rows["slip_estimate"]
    return above


def _draw_runs(axes: Axes, rows: NDArray[np.void], name: str, floor: float | None = None) -> None:
    """Draw one column against sigma: medians as lines, single runs as small markers.

    With a floor, smaller values are drawn on it, and piles that still move apart.
    """
    for walls, (colour, place) in PLACES.items():
        for method, (line, marker, label) in _METHODS.items():
            runs = select(rows, walls=walls, method=method)
            small: dict[str, Any] = {"color": colour, "linestyle": "none", "alpha": 0.5}
            if floor is not None:
                apart = runs[moving(runs)]
                axes.plot(apart["sigma"], apart[name], marker="x", markersize=5, **small)
                runs = runs[~moving(runs)]
                low = runs[runs[name] < floor]["sigma"]
                at = np.full(len(low), floor)
                axes.plot(low, at, marker="v", markersize=5, markerfacecolor="none", **small)
            shown = runs if floor is None else runs[runs[name] >= floor]
            axes.plot(shown["sigma"], shown[name], marker=marker, markersize=2.5, **small)
            sigma, medians = median_over_seeds(runs, "sigma", name)
            axes.plot(
                sigma,
                medians if floor is None else np.where(medians < floor, np.nan, medians),
                line,
                color=colour,
                marker=marker,
                markersize=5,
                markerfacecolor=colour if line == "-" else "white",
                label=f"{place}, {label}",
            )
    axes.set_xscale("log")
    axes.set_xlabel(r"slip parameter $\sigma$")
    draw_grid(axes)

"""Figures 5, 6 and 7: energy and position error of the spring-cylinder."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sapwood.studies.plotting.style import COLOURS, draw_grid, draw_slope, save_figure
from sapwood.studies.plotting.tables import rows_of, select

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# by scheme: name in the legend, colour and marker
_SCHEMES: dict[str, tuple[str, str, str]] = {
    "symplectic_euler": ("symplectic Euler", COLOURS[0], "s"),
    "midpoint": ("midpoint rule", COLOURS[1], "o"),
    "implicit_euler": ("implicit Euler", COLOURS[2], "^"),
}

_ONE_POINT: dict[str, Any] = {"linewidth": 2.6, "alpha": 0.45}
_MORE_POINTS: dict[str, Any] = {"linewidth": 1.1, "linestyle": "--", "zorder": 3}
_MARKERS = 7  # on a line, at equal distances in time
_SWING = 0.01  # runs that swing by more than this part of their energy are bands in the long term


def energy_figure(
    file: str | PathLike[str],
    path: str | PathLike[str],
    period: float,
    *,
    early: float = 3.0,
) -> Figure:
    """Draw total mechanical energy against time, first periods and whole run, as Figs. 5 and 6.

    In the whole run, energy that swings within a period is a band from the least to the most of
    each period, beneath the lines of the other runs.

    Parameters
    ----------
    file
        CSV file with the columns ``scheme``, ``n_contacts``, ``time`` (s) and ``energy`` (J).
    path
        As of all figures.
    period
        Period of the motion, s.
    early
        Time on the left, s.
    """
    from matplotlib.figure import Figure

    rows = rows_of(file)
    figure = Figure(figsize=(9.0, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True, gridspec_kw={"wspace": 0.06})
    inset = left.inset_axes((0.5, 0.16, 0.46, 0.3))
    for scheme, (name, colour, marker) in _SCHEMES.items():
        ours = select(rows, scheme=scheme)
        for n in np.unique(ours["n_contacts"]):
            run = select(ours, n_contacts=n)
            # broad and pale, so that the dashed line over it is seen where both agree
            style = (_ONE_POINT if n == 1 else _MORE_POINTS) | {"marker": marker}
            label = name if n == 1 else f"{name}, {n} contact points"
            first = run[run["time"] <= early]
            _draw_energy(left, first["time"], first["energy"], colour, style, label)
            time, least, most = _bands(run["time"], run["energy"], period)
            if np.median(most - least) > _SWING * run["energy"][0]:
                _draw_band(right, time, least, most, colour, n == 1)
            else:
                _draw_energy(right, run["time"], run["energy"], colour, style, label)
            if scheme == "midpoint":
                change = 100.0 * (first["energy"] / first["energy"][0] - 1.0)
                _draw_energy(inset, first["time"], change, colour, style, label)
    inset.set_title("midpoint rule: change [%]", fontsize="small")
    inset.tick_params(labelsize="small")
    left.set_ylabel("total mechanical energy [J]")
    left.set_ylim(bottom=0.0)
    for axes in (left, right):
        axes.set_xlabel("time [s]")
        axes.margins(x=0.0)
        draw_grid(axes)
    right.set_title("bands: least and most of each period", fontsize="small")
    figure.legend(handles=left.get_lines(), loc="outside upper center", ncols=3, frameon=False)
    save_figure(figure, path)
    return figure


def _bands(
    time: NDArray[np.float64], energy: NDArray[np.float64], period: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Middle, least and most energy of each period that a run has."""
    in_period = np.floor(time / period).astype(np.intp)
    starts = np.flatnonzero(np.diff(in_period, prepend=-1))
    least = np.minimum.reduceat(energy, starts)
    most = np.maximum.reduceat(energy, starts)
    return (np.arange(len(starts), dtype=np.float64) + 0.5) * period, least, most


def _draw_band(
    axes: Axes,
    time: NDArray[np.float64],
    least: NDArray[np.float64],
    most: NDArray[np.float64],
    colour: str,
    filled: bool,
) -> None:
    """Draw a band beneath all lines: filled, or by its dashed edges."""
    if filled:
        axes.fill_between(time, least, most, color=colour, alpha=0.3, linewidth=0.0, zorder=0)
        return
    for edge in (least, most):
        axes.plot(time, edge, color=colour, linewidth=1.1, linestyle="--", zorder=1)


def _draw_energy(
    axes: Axes,
    time: NDArray[np.float64],
    energy: NDArray[np.float64],
    colour: str,
    style: dict[str, Any],
    label: str,
) -> None:
    every = max(1, len(time) // _MARKERS)
    axes.plot(
        time, energy, color=colour, label=label, markersize=4.5, markevery=every, **style
    )  # fmt: skip


def position_error_figure(file: str | PathLike[str], path: str | PathLike[str]) -> Figure:
    """Draw the position error against the time step, as Fig. 7.

    CSV file with the columns ``scheme``, ``dt`` (s) and ``e_q`` (m).
    """
    from matplotlib.figure import Figure

    rows = rows_of(file)
    figure = Figure(figsize=(5.6, 4.6), layout="constrained")
    axes = figure.subplots()
    axes.set_xscale("log")
    axes.set_yscale("log")
    for scheme, (name, colour, marker) in _SCHEMES.items():
        run = select(rows, scheme=scheme)
        axes.plot(run["dt"], run["e_q"], color=colour, marker=marker, markersize=4, label=name)
    # through points a little below the curves that they are compared with
    ends = rows["dt"].min(), rows["dt"].max()
    for scheme, order, label in (
        ("symplectic_euler", 1, "orders 1 and 2"),
        ("midpoint", 2, "_nolegend_"),
    ):
        run = select(rows, scheme=scheme)
        if run.size:
            middle = run[run.size // 2]
            at = middle["dt"], 0.5 * middle["e_q"]
            draw_slope(axes, ends, at, order, label)
    axes.set_xlabel("time step [s]")
    axes.set_ylabel("position error $e_q$ [m]")
    draw_grid(axes)
    axes.legend(frameon=False)
    save_figure(figure, path)
    return figure

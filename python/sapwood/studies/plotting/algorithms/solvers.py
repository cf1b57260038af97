"""Figures 12 and 13: solvers side by side on the clutter."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sapwood.studies.experiments.algorithms.equal_accuracy import (
    BEST_CONIC,
    TARGET,
    geometric_mean,
    ratios,
    times_at,
)
from sapwood.studies.plotting.style import SOLVER_COLOURS, draw_grid, save_figure
from sapwood.studies.plotting.tables import read_steps

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Label, marker and line of every solver; conic ones have solid lines.
SOLVERS = {
    "sapwood": ("sapwood", "o", "-"),
    "sapwood-warm": ("sapwood, set-up kept", ".", ":"),
    "sapwood-plain": ("Algorithm 1", "v", "--"),
    "mujoco": ("MuJoCo Newton, order of the file", "s", "--"),
    "mujoco-mindeg": ("MuJoCo Newton, minimum degree", "D", "--"),
    "clarabel": ("Clarabel", "^", "-"),
    "qoco": ("QOCO", "P", "-"),
    "scs": ("SCS", "X", "-"),
    "ecos": ("ECOS", "*", "-"),
    "geodesic": ("geodesic IPM, SciPy", "h", ":"),
    "scipy": ("Algorithm 1, SciPy", "d", ":"),
}

_COLOUR = {name: SOLVER_COLOURS[name.removesuffix("-warm")] for name in SOLVERS}

# solvers whose speed-up over the best conic solver is drawn, as in the paper
_OVER_CONIC = ("sapwood", "sapwood-plain", "scipy", "geodesic")

# solvers whose solutions differ
_DISTINCT = [n for n in SOLVERS if n not in ("sapwood-warm", "mujoco-mindeg", "scipy")]


def speedup_figure(
    csv: str | PathLike[str], path: str | PathLike[str], *, target: float = TARGET
) -> Figure:
    """Speed-ups at equal e_m against the number of bodies, as Fig. 12.

    The first row has the speed-up over the conic solver that is the quickest on each problem, which
    stands for the paper's Gurobi; the second the times of all solvers over ours. A point is the
    geometric mean over the recorded steps; it is hollow where the solver does not reach the
    accuracy on all of them, and missing where on none.

    Parameters
    ----------
    csv
        Rows of `sapwood.studies.experiments.algorithms.solver_comparison`.
    path
        As of all figures.
    target
        The accuracy e_m at which times are read off.

    Raises
    ------
    ValueError
        Nothing in the file compares with us.
    """
    from matplotlib.figure import Figure

    rows = read_steps(csv)
    times = times_at(rows, target)
    others = [name for name in SOLVERS if name != "sapwood"]
    if not any(np.isfinite(ratios(times, name)).any() for name in others):
        raise ValueError(f"{csv}: no solver to compare with reaches e_m = {target:g}")
    figure = Figure(figsize=(10.0, 9.0), layout="constrained")
    grid = figure.subplots(2, 2, sharex=True, sharey="row")
    for column, walls in enumerate((1, 0)):
        over_conic, over_ours = grid[:, column]
        sizes = np.unique(rows["bodies"][rows["walls"] == walls])
        for name in _OVER_CONIC:
            _draw(over_conic, name, sizes, [
                ratios(times, BEST_CONIC, name, walls=walls, bodies=n) for n in sizes
            ])  # fmt: skip
        for name in others:
            over = [ratios(times, name, walls=walls, bodies=n) for n in sizes]
            _draw(over_ours, name, sizes, over)
        best = [geometric_mean(ratios(times, BEST_CONIC, walls=walls, bodies=n)) for n in sizes]
        if np.isfinite(best).any():
            over_ours.plot(
                sizes, best, color="black", linewidth=2.5, alpha=0.35, zorder=1,
                label="best conic solver",
            )  # fmt: skip
        over_conic.axhline(1.0, color="black", linewidth=2.5, alpha=0.35)
        over_ours.axhline(1.0, color=_COLOUR["sapwood"], linewidth=1.0)
        for axes in (over_conic, over_ours):
            axes.set_yscale("log")
            _dress(axes, walls, sizes)
        over_ours.set_title("")
        over_ours.set_xlabel("number of bodies")
    grid[0, 0].set_ylabel("speed-up over the best conic solver")
    grid[1, 0].set_ylabel("time over that of sapwood")
    known = {
        line.get_label(): line
        for axes in grid[:, 0]
        for line in axes.get_legend_handles_labels()[0]
    }
    figure.legend(handles=list(known.values()), loc="outside lower center", ncols=4, frameon=False)
    figure.suptitle(
        f"Clutter: solvers at equal momentum error, $e_m$ = {_power(target)} "
        "(hollow: not reached in all steps)",
        fontsize="medium",
    )
    save_figure(figure, path)
    return figure


def solver_error_figure(csv: str | PathLike[str], path: str | PathLike[str]) -> Figure:
    """Mean e_m and e_mu of every solver at its usual tolerance, as Fig. 13.

    Rows of `sapwood.studies.experiments.algorithms.solver_comparison`. Raises ValueError if the
    file has no row at a usual tolerance.
    """
    from matplotlib.figure import Figure

    rows = read_steps(csv)
    usual = rows[(rows["usual"] == 1) & (rows["status"] == "solved")]
    if not usual.size:
        raise ValueError(f"{csv}: no solver was run at its usual tolerance")
    figure = Figure(figsize=(10.0, 10.0), layout="constrained")
    grid = figure.subplots(3, 2, sharex=True, sharey="row")
    for column, walls in enumerate((1, 0)):
        here = usual[usual["walls"] == walls]
        sizes = np.unique(here["bodies"])
        for axes, error in zip(grid[:, column], ("e_m", "e_m_own", "e_mu"), strict=True):
            for name in _DISTINCT:
                own = here[here["solver"] == name]
                values = [own[error][own["bodies"] == n] for n in sizes]
                means = [value.mean() if value.size else np.nan for value in values]
                if own.size:
                    axes.plot(sizes, means, **_style(name, f", {_power(own['tolerance'][0])}"))
            axes.set_yscale("log")
            _dress(axes, walls, sizes)
        grid[2, column].set_xlabel("number of bodies")
    grid[0, 0].set_ylabel("$e_m$, impulses of the contact law")
    grid[1, 0].set_ylabel("$e_m$, the solver's impulses")
    grid[2, 0].set_ylabel(r"$e_\mu$, the solver's impulses")
    for axes in grid[1:].flat:
        axes.set_title("")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle("Clutter: mean errors of solvers at the tolerances named", fontsize="medium")
    save_figure(figure, path)
    return figure


def _draw(axes: Axes, name: str, sizes: NDArray[Any], over: list[NDArray[np.float64]]) -> None:
    """A curve of geometric means; hollow markers where some ratios are missing."""
    if not any(values.size for values in over):
        return
    means = np.array([geometric_mean(values) for values in over])
    axes.plot(sizes, means, **_style(name))
    some = np.array([bool(np.isnan(values).any()) for values in over]) & np.isfinite(means)
    if some.any():
        axes.plot(
            sizes[some], means[some], color=_COLOUR[name], marker=SOLVERS[name][1],
            markersize=5, markerfacecolor="white", linestyle="none",
        )  # fmt: skip


def _style(name: str, more: str = "") -> dict[str, Any]:
    label, marker, line = SOLVERS[name]
    return {
        "label": label + more,
        "color": _COLOUR[name],
        "marker": marker,
        "markersize": 5,
        "linestyle": line,
        "linewidth": 1.2,
    }


def _dress(axes: Axes, walls: int, sizes: NDArray[Any]) -> None:
    axes.set_xscale("log")
    shown = [int(n) for n in sizes if n in (4, 8, 12, 20, 40, 80, 120, 200)]
    axes.set_xticks(shown, labels=[str(n) for n in shown])
    axes.set_xticks([], minor=True)
    axes.set_title("with walls" if walls else "without walls")
    draw_grid(axes)


def _power(x: float) -> str:
    """A power of ten as mathematics."""
    return f"$10^{{{round(np.log10(x))}}}$"

"""Fitted exponents, tables and figures of the growth of cost, from the rows of the CSV files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.rows import aligned, digits
from benchmarks.scaling import Row
from sapwood.studies.plotting.style import PLACES, save_figure

_COLOURS = ("#1f5fa8", "#6fa8dc", "#d1661c", "#e8a878", "#3d8b4a", "#8a4fa3", "#555555")
_PLACES = {
    "open floor": PLACES[0][0],
    "open floor, settled": "#f0cf9a",
    "box": PLACES[1][0],
    "box, settled": "#8fa3b0",
}
_X = {
    "bodies": "bodies",
    "contacts": "contacts",
    "threads": "threads",
    "batch": "problems in the batch",
}
_Y = {
    "bodies": "time per step [ms]",
    "contacts": "time per solve [ms]",
    "threads": "wall time per call [ms]",
    "batch": "wall time per problem [ms]",
}
# exponents drawn for comparison
_SLOPES = {"bodies": (1.0, 1.5), "contacts": (1.0,), "threads": (-1.0,), "batch": ()}


class Fit(NamedTuple):
    """seconds = factor x^exponent, by least squares of the logarithms."""

    exponent: float
    error: float
    """Standard error of the exponent; nan for two points."""
    factor: float


def fit(x: Sequence[float], seconds: Sequence[float]) -> Fit:
    """Fit a power law.

    Raises
    ------
    ValueError
        Fewer than two different x.
    """
    if len(set(x)) < 2:
        raise ValueError("a power law needs two points")
    u, w = np.log(np.asarray(x, dtype=float)), np.log(np.asarray(seconds, dtype=float))
    spread = float(((u - u.mean()) ** 2).sum())
    exponent = float(((u - u.mean()) * (w - w.mean())).sum()) / spread
    residual = w - w.mean() - exponent * (u - u.mean())
    free = len(u) - 2
    error = math.sqrt(float((residual**2).sum()) / free / spread) if free > 0 else math.nan
    return Fit(exponent, error, math.exp(float(w.mean() - exponent * u.mean())))


def series_of(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows by series, in the order of the file."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.series, []).append(row)
    return found


def table(rows: Sequence[Row]) -> str:
    """Points, and the exponent of every series; for threads also the speed-up over one."""
    part = rows[0].part
    head = [part, _X[part], "contacts", "iterations", "ms", "solve ms"]
    lines = [head + (["speed-up"] if part == "threads" else [])]
    for series, points in series_of(rows).items():
        for row in points:
            numbers = (row.x, row.contacts, row.iterations, 1e3 * row.seconds, 1e3 * row.solve)
            line = [series, *(f"{n:g}" if n == int_or(n) else digits(n) for n in numbers)]
            if part == "threads":
                line.append(digits(points[0].seconds / row.seconds))
            lines.append(line)
    exponents = [["exponent of the time", "all points", "larger half"]]
    for series, points in series_of(rows).items():
        exponents.append([series, _exponent(points), _exponent(points[(len(points) - 1) // 2 :])])
    return aligned(lines) + "\n\n" + aligned(exponents)


def int_or(value: float) -> float:
    """The whole number that a value is, else nan."""
    return float(round(value)) if math.isfinite(value) and value == round(value) else math.nan


def _exponent(points: Sequence[Row]) -> str:
    if len({row.x for row in points}) < 2:
        return "-"
    found = fit([row.x for row in points], [row.seconds for row in points])
    error = "" if math.isnan(found.error) else f" ± {found.error:.2f}"
    return f"{found.exponent:.2f}{error}"


def figure(rows: Sequence[Row], path: Path) -> None:
    """Draw one part: times, fits, and lines of reference slopes.

    Raises
    ------
    ImportError
        matplotlib is not installed.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullLocator

    part = rows[0].part
    canvas = Figure(figsize=(7.5, 5.5), layout="constrained")
    axes = canvas.subplots()
    for k, (series, points) in enumerate(series_of(rows).items()):
        colour = _PLACES.get(series, _COLOURS[k % len(_COLOURS)])
        x = [row.x for row in points]
        label = f"{series}: exponent {_exponent(points)}"
        axes.plot(x, [1e3 * row.seconds for row in points], "o", color=colour, label=label)
        if len(set(x)) > 1:
            found = fit(x, [row.seconds for row in points])
            ends = [min(x), max(x)]
            fitted = [1e3 * found.factor * end**found.exponent for end in ends]
            axes.plot(ends, fitted, "-", color=colour, linewidth=1.0)
    # reference slopes through the lowest point at the left
    ends = [min(row.x for row in rows), max(row.x for row in rows)]
    first = min(row.seconds for row in rows if row.x == ends[0])
    for slope, style in zip(_SLOPES[part], ("--", ":"), strict=False):
        line = [1e3 * first * (end / ends[0]) ** slope for end in ends]
        axes.plot(ends, line, style, color="black", linewidth=0.8, label=f"slope {slope:g}")
    axes.set_xscale("log")
    axes.set_yscale("log")
    ticks = sorted({row.x for row in rows})
    if part != "contacts":
        axes.set_xticks(ticks, [f"{x:g}" for x in ticks])
        axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(_X[part])
    axes.set_ylabel(_Y[part])
    axes.grid(True, which="major", linewidth=0.5, alpha=0.4)
    axes.legend(
        loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, frameon=False, fontsize="small",
    )  # fmt: skip
    save_figure(canvas, path)

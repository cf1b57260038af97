"""Table and figure of the times of contact surfaces."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from benchmarks.rows import aligned, digits
from benchmarks.scaling_report import fit
from benchmarks.surfaces import BATCH, Row, mean_ratio
from sapwood.studies.plotting.style import SOLVER_COLOURS, save_figure

_SERIES = {
    "call": ("sapwood, a pair a call", SOLVER_COLOURS["sapwood"], "o"),
    "arrays": ("sapwood, its arrays read", "#8fb3de", "v"),
    "batch": (f"sapwood, {BATCH} pairs a call", "#123a6b", "s"),
    "drake": ("Drake", SOLVER_COLOURS["drake-sap"], "^"),
}


def table(rows: Sequence[Row]) -> str:
    """Microseconds per surface, ratios to Drake, and how times grow with the cells."""
    has_drake = not any(math.isnan(row.drake) for row in rows)
    lines = [
        ["pair", "cells", "faces", "a call", "arrays read", "in a batch", "Drake"]
        + ["ratio", "arrays read", "batched"]
    ]
    for row in rows:
        ours = (row.call, row.arrays, row.batch)
        times = [1e6 * x for x in (*ours, row.drake)]
        ratios = [row.drake / x for x in ours]
        lines.append(
            [row.name, str(row.cells), str(row.faces), *map(digits, times), *map(digits, ratios)]
        )
    text = ["Times in us per surface; ratios are Drake's time over ours.", "", aligned(lines), ""]
    pairs = [row for row in rows if row.part == "pairs"]
    if has_drake and pairs:
        call, arrays, batch = (digits(mean_ratio(pairs, x)) for x in ("call", "arrays", "batch"))
        text.append(
            f"Geometric mean of the ratios on {len(pairs)} pairs: {call} a pair a call, "
            f"{arrays} with all arrays read, {batch} in batches."
        )
    grown = [row for row in rows if row.part == "growth"]
    if len(grown) > 1:
        for name, (label, _, _) in _SERIES.items():
            if name != "drake" or has_drake:
                found = fit([row.cells for row in grown], [getattr(row, name) for row in grown])
                text.append(f"{label}: time grows as cells^{found.exponent:.2f}.")
    return "\n".join(text)


def figure(rows: Sequence[Row], path: Path) -> None:
    """Draw times over faces of the pairs, and over cells of the growing meshes.

    Raises
    ------
    ImportError
        matplotlib is not installed.
    """
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(9.0, 4.2), layout="constrained")
    axes = canvas.subplots(1, 2)
    for ax, part, x, label in (
        (axes[0], "pairs", "faces", "faces of the surface"),
        (axes[1], "growth", "cells", "tetrahedra of both meshes"),
    ):
        some = [row for row in rows if row.part == part]
        for name, (text, colour, marker) in _SERIES.items():
            known = [row for row in some if not math.isnan(getattr(row, name))]
            ax.plot(
                [getattr(row, x) for row in known],
                [1e6 * getattr(row, name) for row in known],
                marker + ("-" if part == "growth" else ""),
                color=colour, markersize=4, linewidth=1.0, label=text if known else None,
            )  # fmt: skip
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel(label)
        ax.grid(True, which="major", linewidth=0.5, alpha=0.4)
    axes[0].set_ylabel("time per surface [us]")
    axes[0].legend(frameon=False, fontsize="small")
    save_figure(canvas, path)

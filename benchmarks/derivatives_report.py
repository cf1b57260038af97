"""Tables and figure of what gradients cost, and how far they are from differences."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks import derivatives, differences
from benchmarks.derivatives import BATCH, CONTACTS
from benchmarks.differences import best_of
from sapwood.studies.plotting.style import COLOURS, draw_grid, draw_slope, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# decades of relative differences
EDGES = 10.0 ** np.arange(-13, -3)
# smaller steps are round-off
LEAST_STEP = 1e-7
REACHES = (0.0, 1e-3, 1e-2, 1e-1, 1.0, np.inf)


def table(rows: Sequence[derivatives.Row]) -> str:
    """Times in microseconds, the dearest gradients first."""
    lines = [f"{len(rows)} files with more than {CONTACTS} contacts; a gradient in iterations:"]
    for name, shares in _shares(rows).items():
        lines.append(
            f"  {name:<34} {np.median(shares):.2f} in the median, {shares.min():.2f} to "
            f"{shares.max():.2f}; at most 0.5 on {np.count_nonzero(shares <= 0.5)} files"
        )
    columns = "iteration phases gradient batch single factor".split()
    widths = "".join(f"{name:>10}" for name in columns)
    lines.append(f"{'file':<34}{'contacts':>9}{'nv':>6}{widths}{'share':>7}")
    for row in sorted(rows, key=lambda row: -row.share):
        seconds = (
            row.iteration, row.phases, row.gradient, row.batch, row.single, row.linearization,
        )  # fmt: skip
        us = "".join(f"{1e6 * x:>10.1f}" for x in seconds)
        lines.append(f"{row.file:<34}{row.contacts:>9}{row.velocities:>6}{us}{row.share:>7.2f}")
    return "\n".join(lines)


def _shares(rows: Sequence[derivatives.Row]) -> dict[str, np.ndarray]:
    """Times of a gradient over those of an iteration."""
    return {
        "in C": np.array([row.share for row in rows]),
        "in C, of the phases alone": np.array([row.gradient / row.phases for row in rows]),
        f"from Python, in a batch of {BATCH}": np.array([r.batch / r.iteration for r in rows]),
        "from Python, single": np.array([row.single / row.iteration for row in rows]),
    }


def histogram(rows: Sequence[differences.Row]) -> str:
    """Counts of relative differences by decades, of both modes, at the best step of each change."""
    best = best_of(rows)
    kept = [row for row in best if row is not None]
    worst = max((row.off for row in kept), default=0.0)
    lines = [
        f"central differences: {len(kept)} of {len(best)} changes kept their regions at a step;",
        f"relative differences of vjp and jvp are at most {worst:.1e}",
        f"{'below':>8}{'vjp':>7}{'jvp':>7}",
    ]
    counts = [
        np.histogram(np.clip(x, EDGES[0], EDGES[-1]), EDGES)[0]
        for x in ([row.vjp for row in kept], [row.jvp for row in kept])
    ]
    for edge, vjp, jvp in zip(EDGES[1:], *counts, strict=True):
        lines.append(f"{edge:>8.0e}{vjp:>7}{jvp:>7}  {'#' * (60 * jvp // max(len(kept), 1))}")
    return "\n".join(lines)


def reaches(rows: Sequence[differences.Row]) -> str:
    """Relative differences by how much of the way to a boundary a step goes."""
    lines = [
        (
            f"all differences with steps of {LEAST_STEP:g} at least, by the part of its way to the "
            "boundary of a region"
        ),
        "that the nearest contact goes:",
        f"{'from':>8}{'to':>8}{'number':>8}{'median':>10}{'largest':>10}{'> 1e-6':>8}",
    ]
    chosen = _above_round_off(rows)
    for begin, end in itertools.pairwise(REACHES):
        off = np.array([row.off for row in chosen if begin <= row.reach < end])
        if off.size:
            lines.append(
                f"{begin:>8g}{end:>8g}{off.size:>8}{np.median(off):>10.1e}{off.max():>10.1e}"
                f"{np.count_nonzero(off > 1e-6):>8}"
            )
    return "\n".join(lines)


def _above_round_off(rows: Sequence[differences.Row]) -> list[differences.Row]:
    return [row for row in rows if row.kept and row.step > 0.99 * LEAST_STEP]


def figure(rows: Sequence[derivatives.Row], found: Sequence[differences.Row], path: Path) -> None:
    """Cost over the number of contacts; differences over the step, and over its reach.

    Raises
    ------
    ImportError
        matplotlib is not installed.
    """
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(13.0, 4.5), layout="constrained")
    costs, steps, ways = canvas.subplots(1, 3)
    contacts = [row.contacts for row in rows]
    for (name, shares), colour in zip(_shares(rows).items(), COLOURS, strict=True):
        costs.loglog(contacts, shares, ".", color=colour, label=name)
    costs.axhline(0.5, color="0.2", linestyle="--", linewidth=1.0)
    costs.set_xlabel("contacts")
    costs.set_ylabel("time of a gradient over that of a Newton iteration")
    costs.legend(
        loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, frameon=False, fontsize="small"
    )
    _draw_steps(steps, found)
    chosen = _above_round_off(found)
    reaches, off = [row.reach for row in chosen], [row.off for row in chosen]
    ways.loglog(reaches, off, ".", color=COLOURS[0], markersize=3)
    draw_slope(ways, (1e-4, 1e1), (1e-4, 1e-11), 2.0, "square")
    ways.set_xlabel("way of a contact over that to its boundary")
    ways.set_ylabel("relative difference")
    ways.legend(frameon=False, fontsize="small")
    for axes in (costs, steps, ways):
        draw_grid(axes)
    save_figure(canvas, path)


def _draw_steps(axes: Axes, rows: Sequence[differences.Row]) -> None:
    """Median, nine of ten and largest of all changes, over the step."""
    steps = sorted({row.step for row in rows if row.kept})
    off = [[row.off for row in rows if row.kept and row.step == step] for step in steps]
    for name, part, colour in zip(("median", "9 of 10", "largest"), (50, 90, 100), COLOURS,
                                  strict=False):  # fmt: skip
        values = [np.percentile(x, part) for x in off]
        axes.loglog(steps, values, ".-", color=colour, label=name)
    axes.axhline(1e-6, color="0.2", linestyle="--", linewidth=1.0)
    axes.set_xlabel("step of the central difference")
    axes.set_ylabel("relative difference")
    axes.legend(frameon=False, fontsize="small")

"""Table and figure of the limit, from the rows of its CSV files."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import peaks as peak_rows
from benchmarks.limit import ALL, Row
from benchmarks.peaks import MEMORY, Peaks
from benchmarks.rows import aligned, digits
from benchmarks.work import PHASES
from sapwood.studies.plotting.style import COLOURS, PART_COLOURS, SOLVER_COLOURS, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# problems below are dominated by what a solve does once
ENOUGH_CONTACTS = 20


def table(rows: Sequence[Row], peaks: Peaks) -> str:
    """Peaks; phases over all problems of some size; every problem."""
    chosen = [row for row in rows if row.contacts >= ENOUGH_CONTACTS] or list(rows)
    return "\n\n".join([_peaks(peaks), _phases(chosen), _files(rows)])


def _peaks(peaks: Peaks) -> str:
    lines = [
        ["peak of this core", "", ""],
        ["multiply-adds", digits(1e-9 * peaks.flops), "Gflop/s"],
        ["roots and divisions", digits(1e-9 * peaks.roots), "G/s"],
    ]
    for size in (2**14, 2**18, 2**20, 2**22, 2**26):
        lines.append([f"memory, {_bytes(size)}", digits(1e-9 * peaks.bandwidth(size)), "Gbyte/s"])
    for row in peaks.rows:
        if row.kind == "multiply" or (row.kind == "factor" and row.rows == row.size):
            lines.append([f"{row.kind}, {row.size} wide", digits(1e-9 * row.rate), "Gflop/s"])
    return aligned(lines)


def _phases(rows: Sequence[Row]) -> str:
    """Ratios in geometric mean over the problems; shares of all time together."""
    n_files = len({row.file for row in rows})
    totals = [row for row in rows if row.phase == ALL]
    least, measured = sum(row.least for row in totals), sum(row.measured for row in totals)
    lines = [
        [
            f"{n_files} problems", "least, %", "measured, %", "measured/least", "least", "most",
            "bound by",
        ]
    ]  # fmt: skip
    for phase in (*PHASES, ALL):
        mine = [row for row in rows if row.phase == phase]
        bounds = Counter(row.bound for row in mine).most_common()
        lines.append(
            [
                phase.replace("_", " "),
                digits(100.0 * sum(row.least for row in mine) / least),
                digits(100.0 * sum(row.measured for row in mine) / measured),
                *_ratios([row.measured / row.least for row in mine if row.least > 0.0]),
                ", ".join(f"{bound} {count}" for bound, count in bounds),
            ]
        )
    kernels = [row for row in rows if row.kernels > 0.0 and row.measured > 0.0]
    lines.append(
        ["factorization / our kernels", "", "", *_ratios([r.measured / r.kernels for r in kernels])]
        + [""]
    )
    lines.append(
        ["whole solve", "", "", *_ratios([row.solve / row.least for row in totals if row.least])]
        + [""]
    )
    return aligned(lines)


def _files(rows: Sequence[Row]) -> str:
    lines = [
        [
            "microseconds", "contacts", "islands", "directions", "least", "phases", "solve",
            "solve/least",
        ]
    ]  # fmt: skip
    for row in rows:
        if row.phase == ALL:
            lines.append(
                [
                    row.file, str(row.contacts), str(row.islands), str(row.directions),
                    digits(row.least), digits(row.measured), digits(row.solve),
                    digits(row.solve / row.least if row.least else float("nan")),
                ]
            )  # fmt: skip
    return aligned(lines)


def _ratios(values: Sequence[float]) -> list[str]:
    """Geometric mean, least and most."""
    positive = [value for value in values if value > 0.0]
    if not positive:
        return ["-", "-", "-"]
    return [digits(f(positive)) for f in (statistics.geometric_mean, min, max)]


def _bytes(size: int) -> str:
    return f"{size // 2**20} MiB" if size >= 2**20 else f"{size // 2**10} KiB"


# ---- figure ------------------------------------------------------------------------------------


def figure(rows: Sequence[Row], peaks: Peaks, path: Path) -> None:
    """Ratios of phases and of whole solves to the limit; speed of the kernels; memory.

    Raises
    ------
    ImportError
        matplotlib is not installed.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullLocator

    canvas = Figure(figsize=(11.0, 8.0), layout="constrained")
    (phases, whole), (kernels, memory) = canvas.subplots(2, 2)
    _draw_phases(phases, rows)
    _draw_whole(whole, rows)
    _draw_kernels(kernels, peaks)
    _draw_memory(memory, peaks)
    for axes in (phases, whole, kernels, memory):
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.grid(True, which="major", linewidth=0.5, alpha=0.4)
        axes.legend(
            loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, frameon=False, fontsize="small"
        )
    widths = sorted({row.size for row in peaks.rows if row.kind == "multiply"})
    kernels.set_xticks(widths, [str(width) for width in widths])
    kernels.xaxis.set_minor_locator(NullLocator())
    save_figure(canvas, path)


def _draw_phases(axes: Axes, rows: Sequence[Row]) -> None:
    for phase in PHASES:
        mine = [row for row in rows if row.phase == phase and row.least > 0.0 < row.measured]
        axes.plot(
            [row.contacts for row in mine],
            [row.measured / row.least for row in mine],
            ".", color=PART_COLOURS[phase], label=phase.replace("_", " "),
        )  # fmt: skip
    axes.axhline(1.0, color="black", linewidth=0.8)
    axes.set_xlabel("contacts")
    axes.set_ylabel("time of a phase over its limit")


def _draw_whole(axes: Axes, rows: Sequence[Row]) -> None:
    mine = [row for row in rows if row.phase == ALL and row.least > 0.0]
    contacts = [row.contacts for row in mine]
    for label, values, colour in (
        ("solve", [row.solve for row in mine], SOLVER_COLOURS["sapwood"]),
        ("its phases", [row.measured for row in mine], "#9aa5b1"),
        ("limit", [row.least for row in mine], "black"),
    ):
        axes.plot(contacts, values, ".", color=colour, label=label)
    axes.set_xlabel("contacts")
    axes.set_ylabel("time [µs]")


def _draw_kernels(axes: Axes, peaks: Peaks) -> None:
    def curve(chosen: list[peak_rows.Row], label: str, colour: str) -> None:
        x, y = [row.size for row in chosen], [1e-9 * row.rate for row in chosen]
        axes.plot(x, y, "o-", color=colour, label=label, markersize=4)

    for below, colour in zip((1, 2, 5), COLOURS, strict=False):
        label = "Cholesky, square" if below == 1 else f"Cholesky, {below} times as high"
        mine = [r for r in peaks.rows if r.kind == "factor" and r.rows == below * r.size]
        curve(mine, label, colour)
    curve([r for r in peaks.rows if r.kind == "multiply"], "$B B^T$, lower half", COLOURS[3])
    axes.axhline(1e-9 * peaks.flops, color="black", linewidth=0.8, label="multiply-adds")
    axes.set_xlabel("columns of the panel")
    axes.set_ylabel("Gflop/s")


def _draw_memory(axes: Axes, peaks: Peaks) -> None:
    for kind, colour in zip(MEMORY, COLOURS, strict=False):
        mine = [row for row in peaks.rows if row.kind == kind]
        x, y = [row.size / 2**10 for row in mine], [1e-9 * row.rate for row in mine]
        axes.plot(x, y, "o-", color=colour, label=kind, markersize=4)
    axes.set_xlabel("working set [KiB]")
    axes.set_ylabel("Gbyte/s")

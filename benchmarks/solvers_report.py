"""Table and figure of the solver benchmark, from the rows of its CSV file."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.solvers import PARTS, REACHED, Row
from sapwood.studies.plotting.style import PART_COLOURS, SOLVER_COLOURS, save_figure

if TYPE_CHECKING:
    from matplotlib.figure import SubFigure

OURS = "sapwood"
MAIN_TARGET = 1e-6
"""The accuracy at which single problems are listed, where it was measured."""


# ---- table -------------------------------------------------------------------------------------


def table(rows: Sequence[Row]) -> str:
    """Readable summary: solvers over all problems, parts of our time, and every problem."""
    targets = targets_of(rows)
    blocks = [_summary(rows, target) for target in targets]
    blocks += [_parts(rows)] + ([_problems(rows, main_target(rows))] if targets else [])
    return "\n\n".join(block for block in blocks if block)


def _summary(rows: Sequence[Row], target: float) -> str:
    """Each solver over all problems at one accuracy."""
    chosen = [row for row in rows if row.target == target]
    ours = times_of(chosen, OURS, "cold")
    lines = [
        [
            f"e_m <= {target:g}", "reached", "solve", "iteration", "iterations",
            f"/ {OURS}", "least", "most",
        ]
    ]  # fmt: skip
    for solver, mode in entries_of(chosen):
        mine = [row for row in chosen if (row.solver, row.mode) == (solver, mode)]
        done = [row for row in mine if row.status == REACHED]
        counts = [row.iterations for row in done if row.iterations is not None]
        times = times_of(chosen, solver, mode)
        ratios = [times[file] / ours[file] for file in times if file in ours]
        lines.append(
            [
                f"{solver}, {mode}",
                f"{len(done)}/{len(mine)}",
                duration(geometric_mean(times.values())),
                duration(geometric_mean(row.iteration for row in done if row.iteration)),
                f"{statistics.mean(counts):.1f}" if counts else "-",
                ratio(geometric_mean(ratios)),
                ratio(min(ratios, default=None)),
                ratio(max(ratios, default=None)),
            ]
        )
    return aligned(lines)


def _parts(rows: Sequence[Row]) -> str:
    """Mean shares of the parts of a solve."""
    lines = [["share of a solve, %", *(part.replace("_", " ") for part in PARTS)]]
    for target in targets_of(rows):
        for solver, mode in entries_of(rows):
            shares = [
                _shares(row)
                for row in rows
                if (row.solver, row.mode, row.target) == (solver, mode, target)
                and row.rest is not None
            ]
            if shares:
                means = [100.0 * statistics.mean(column) for column in zip(*shares, strict=True)]
                label = f"{solver}, {mode}, {target:g}"
                lines.append([label, *(f"{mean:.1f}" for mean in means)])
    return aligned(lines) if len(lines) > 1 else ""


def _problems(rows: Sequence[Row], target: float) -> str:
    """Time of every solver on every problem."""
    chosen = [row for row in rows if row.target == target]
    entries = entries_of(chosen)
    times = {entry: times_of(chosen, *entry) for entry in entries}
    sizes = {row.file: (row.trees, row.nv, row.contacts) for row in chosen}
    names = [solver if mode == "cold" else f"{solver}, {mode}" for solver, mode in entries]
    lines = [[f"solve, e_m <= {target:g}", "trees", "nv", "contacts", *names]]
    for file, size in sizes.items():
        numbers = ["-" if number is None else str(number) for number in size]
        lines.append([file, *numbers, *(duration(times[e].get(file)) for e in entries)])
    return aligned(lines)


def geometric_mean(values: Iterable[float]) -> float | None:
    """Geometric mean, None of nothing."""
    values = list(values)
    return statistics.geometric_mean(values) if values else None


def targets_of(rows: Iterable[Row]) -> list[float]:
    """Accuracies, the loosest first."""
    return sorted({row.target for row in rows}, reverse=True)


def main_target(rows: Iterable[Row]) -> float:
    """`MAIN_TARGET`, or the tightest accuracy where that was not measured."""
    targets = targets_of(rows)
    return MAIN_TARGET if MAIN_TARGET in targets else targets[-1]


def entries_of(rows: Iterable[Row]) -> list[tuple[str, str]]:
    """Solver and mode, in the order of the file."""
    return list(dict.fromkeys((row.solver, row.mode) for row in rows))


def times_of(rows: Iterable[Row], solver: str, mode: str) -> dict[str, float]:
    """Least CPU time per solve, by problem, where the target was reached."""
    return {
        row.file: row.cpu_min
        for row in rows
        if (row.solver, row.mode, row.status) == (solver, mode, REACHED) and row.cpu_min is not None
    }


def _shares(row: Row) -> list[float]:
    """Parts of a solve over their sum."""
    parts = [getattr(row, part) for part in PARTS]
    total = sum(parts)
    return [part / total for part in parts]


def duration(seconds: float | None) -> str:
    """Three digits with a unit."""
    if seconds is None:
        return "-"
    for unit, name in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= unit:
            return f"{_three_digits(seconds / unit)} {name}"
    return f"{_three_digits(seconds / 1e-6)} us"


def ratio(value: float | None) -> str:
    """Three digits, a dash for nothing."""
    return "-" if value is None else _three_digits(value)


def _three_digits(value: float) -> str:
    decimals = max(0, 2 - math.floor(math.log10(value))) if value > 0.0 else 2
    return f"{value:.{decimals}f}"


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Columns padded to the widest entry; the first one to the left."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = (
        [line[0].ljust(widths[0])]
        + [word.rjust(width) for word, width in zip(line[1:], widths[1:], strict=True)]
        for line in lines
    )
    return "\n".join("  ".join(words) for words in padded)


# ---- figure ------------------------------------------------------------------------------------


def figure(rows: Sequence[Row], path: Path) -> None:
    """Draw performance profiles (above) and the parts of our time (below).

    Raises
    ------
    ImportError
        matplotlib is not installed.
    ValueError
        No solver reached any target.
    """
    from matplotlib.figure import Figure

    if not any(row.status == REACHED for row in rows):
        raise ValueError("nothing to draw: no solver reached any target")
    targets, target = targets_of(rows), main_target(rows)
    modes = [
        mode
        for solver, mode in entries_of(rows)
        if solver == OURS and _with_parts(rows, mode, target)
    ]
    heights = [0.6 + 3.2 * ((len(targets) + 1) // 2)] + ([3.75] if modes else [])
    canvas = Figure(figsize=(10.0, sum(heights)), layout="constrained")
    bands = canvas.subfigures(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    _draw_profiles(bands[0], rows, targets)
    if modes:
        _draw_parts(bands[1], rows, modes, target)
    save_figure(canvas, path)


def profile(rows: Sequence[Row], solvers: Sequence[str]) -> dict[str, list[float]]:
    """Time over that of the best solver, ascending, on the problems each solver solves (cold)."""
    times = {solver: times_of(rows, solver, "cold") for solver in solvers}
    files = {file for by_file in times.values() for file in by_file}
    best = {file: min(t[file] for t in times.values() if file in t) for file in files}
    return {s: sorted(t[file] / best[file] for file in t) for s, t in times.items()}


def _draw_profiles(band: SubFigure, rows: Sequence[Row], targets: Sequence[float]) -> None:
    """Fraction of all problems that a solver solves within x times the best, for each target."""
    solvers = [solver for solver, mode in entries_of(rows) if mode == "cold"]
    columns = min(len(targets), 2)
    panels = band.subplots(-(-len(targets) // columns), columns, squeeze=False, sharey=True)
    for axes in panels.flat[len(targets) :]:
        axes.remove()
    for axes, target in zip(panels.flat, targets, strict=False):
        chosen = [row for row in rows if row.target == target]
        n_problems = len({row.file for row in chosen})
        curves = profile(chosen, solvers)
        end = 1.3 * max((ratio for curve in curves.values() for ratio in curve), default=1.0)
        for solver, ratios in curves.items():
            x = [0.9, *ratios, end]
            y = [k / n_problems for k in range(len(ratios) + 1)]
            width = 2.5 if solver == OURS else 1.5
            axes.step(
                x, [*y, y[-1]], where="post", label=solver, color=SOLVER_COLOURS[solver], lw=width
            )
        axes.set_xscale("log")
        axes.set_xlim(0.9, end)
        axes.set_ylim(0.0, 1.03)
        axes.set_title(f"$e_m \\leq$ {target:g}, from the guess", fontsize="medium")
        axes.set_xlabel("time over that of the best solver")
        axes.grid(True, which="major", linewidth=0.5, alpha=0.4)
    for axes in panels[:, 0]:
        axes.set_ylabel("fraction of problems solved")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    columns = -(-len(labels) // 2) if len(labels) > 6 else len(labels)
    band.legend(handles, labels, loc="outside upper center", ncols=columns, frameon=False)


def _draw_parts(band: SubFigure, rows: Sequence[Row], modes: Sequence[str], target: float) -> None:
    """Shares of the parts of our time, one bar per problem, short solves to the left."""
    panels = band.subplots(1, len(modes), squeeze=False, sharey=True)[0]
    for axes, mode in zip(panels, modes, strict=True):
        ours = sorted(_with_parts(rows, mode, target), key=lambda row: row.cpu_min or 0.0)
        bottom = [0.0] * len(ours)
        for k, part in enumerate(PARTS):
            shares = [_shares(row)[k] for row in ours]
            label = part.replace("_", " ")
            axes.bar(range(len(ours)), shares, 1.0, bottom, color=PART_COLOURS[part], label=label)
            bottom = [b + share for b, share in zip(bottom, shares, strict=True)]
        ticks = sorted({round(k * (len(ours) - 1) / 4) for k in range(5)})
        axes.set_xticks(ticks, [duration(ours[k].cpu_min) for k in ticks])
        axes.set_xlabel("problems, by the time of a solve")
        axes.set_ylim(0.0, 1.0)
        axes.margins(x=0.0)
        axes.set_title(f"{OURS}, {mode}, $e_m \\leq$ {target:g}", fontsize="medium")
    panels[0].set_ylabel("share of a solve")
    handles, labels = panels[0].get_legend_handles_labels()
    band.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)


def _with_parts(rows: Sequence[Row], mode: str, target: float) -> list[Row]:
    """Our rows that tell the parts of a solve."""
    return [
        row
        for row in rows
        if (row.solver, row.mode, row.target) == (OURS, mode, target) and row.rest is not None
    ]

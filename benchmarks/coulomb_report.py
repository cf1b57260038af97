"""Tables and figure of the benchmark of Coulomb's friction, from the rows of its CSV files."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.coulomb import CASES, CONVEX, Row
from benchmarks.rows import aligned, digits
from sapwood.studies.plotting.style import COLOURS, save_figure

if TYPE_CHECKING:
    from benchmarks import coulomb_steps

_SETTINGS = [case for case in CASES if case[0] != CONVEX]
_CONVERGED = "converged"


def problem_table(rows: Sequence[Row]) -> str:
    """Every file, then over all files the ratios to the convex law."""
    files = _by_file(rows)
    lines = [
        [
            "problem", "contacts", "islands", "convex", *(f"e_c {x:g}" for _, x in _SETTINGS),
            "convex us", *(f"e_c {x:g} us" for _, x in _SETTINGS), "e_c", "law", "glide mm/s",
        ]
    ]  # fmt: skip
    for file, laws in files.items():
        convex, last = laws[CASES[0]], laws[CASES[-1]]
        cases = [laws[case] for case in CASES]
        marks = ["" if row.status == _CONVERGED else "!" for row in cases]
        lines.append(
            [
                file, str(convex.contacts), str(convex.islands),
                *(f"{row.total_iterations}{mark}" for row, mark in zip(cases, marks, strict=True)),
                *(digits(1e6 * row.cpu_min) for row in cases),
                f"{last.error:.1e}", f"{last.law_error:.1e}", digits(1e3 * convex.glide),
            ]
        )  # fmt: skip
    return f"{aligned(lines)}\n\n{_summary(files)}"


def _summary(files: dict[str, dict[tuple[str, float], Row]]) -> str:
    lines = [
        [
            "over the convex law", "files", "converged", "largest e_c", "iterations", "median",
            "most", "time", "median", "most",
        ]
    ]  # fmt: skip
    for case in _SETTINGS:
        rows = [laws[case] for laws in files.values()]
        base = [laws[CASES[0]] for laws in files.values()]
        lines.append(
            [
                f"e_c <= {case[1]:g}",
                str(len(rows)),
                str(sum(row.status == _CONVERGED for row in rows)),
                f"{max(row.error for row in rows):.1e}",
                # a guess that is good enough takes no iteration, and counts as one
                *_ratios(rows, base, lambda row: max(row.total_iterations, 1)),
                *_ratios(rows, base, lambda row: row.cpu_min),
            ]
        )
    return aligned(lines)


def _ratios(rows: Sequence[Row], base: Sequence[Row], value: Callable[[Row], float]) -> list[str]:
    """Geometric mean, median and largest of the ratios."""
    ratios = [value(row) / value(other) for row, other in zip(rows, base, strict=True)]
    mean = math.exp(statistics.fmean(math.log(ratio) for ratio in ratios))
    return [digits(x) for x in (mean, statistics.median(ratios), max(ratios))]


def step_table(rows: Sequence[coulomb_steps.Row]) -> str:
    """Iterations and time per step, and over those of the convex law with contacts so listed."""
    lines = [
        [
            "per step", "listed", "part", "law", "steps", "contacts", "islands", "iterations",
            "solve us", "step us",
            "iterations/convex", "solve/convex", "step/convex", "unconverged", "largest e_c",
        ]
    ]  # fmt: skip
    convex = {(row.scene, row.listed, row.part): row for row in rows if row.law == CONVEX}
    for row in rows:
        base = convex[row.scene, row.listed, row.part]
        lines.append(
            [
                row.scene, row.listed, row.part, row.law, str(row.steps), digits(row.contacts),
                digits(row.islands), digits(row.total_iterations), digits(1e6 * row.solve),
                digits(1e6 * row.step),
                digits(_over(row.total_iterations, base.total_iterations)),
                digits(_over(row.solve, base.solve)), digits(_over(row.step, base.step)),
                str(row.unconverged), "-" if math.isnan(row.error) else f"{row.error:.1e}",
            ]
        )  # fmt: skip
    return aligned(lines)


def figure(rows: Sequence[Row], path: Path) -> None:
    """Iterations of each law against those of the convex law, file by file.

    Raises
    ------
    ImportError
        matplotlib is not installed.
    """
    from matplotlib.figure import Figure

    files = _by_file(rows)
    canvas = Figure(figsize=(9.0, 4.2), layout="constrained")
    panels = canvas.subplots(1, 2)
    values: tuple[tuple[str, Callable[[Row], float]], ...] = (
        ("iterations", lambda row: max(row.total_iterations, 1)),
        ("time [µs]", lambda row: 1e6 * row.cpu_min),
    )
    for panel, (label, value) in zip(panels, values, strict=True):
        base = [value(laws[CASES[0]]) for laws in files.values()]
        for case, mark, colour in zip(_SETTINGS, ("o", "s"), COLOURS, strict=False):
            found = [value(laws[case]) for laws in files.values()]
            panel.plot(
                base, found, mark, color=colour, markersize=4, alpha=0.7, label=f"e_c ≤ {case[1]:g}"
            )
        ends = (min(base), max(base))
        panel.plot(ends, ends, color="0.3", linewidth=1.0)
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_xlabel(f"{label}, convex law")
        panel.set_ylabel(f"{label}, Coulomb's law")
        panel.grid(True, which="major", linewidth=0.5, alpha=0.4)
    panels[0].legend(frameon=False)
    save_figure(canvas, path)


def _by_file(rows: Sequence[Row]) -> dict[str, dict[tuple[str, float], Row]]:
    """Rows of each file by law and tolerance; files that were not finished are left out."""
    files: dict[str, dict[tuple[str, float], Row]] = {}
    for row in rows:
        files.setdefault(row.file, {})[row.law, row.tolerance] = row
    return {file: laws for file, laws in files.items() if len(laws) == len(CASES)}


def _over(value: float, base: float) -> float:
    return value / base if base > 0.0 else math.nan

"""Table and figure of the FCLIB benchmark, from the rows of its CSV file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from benchmarks.fclib import OURS, REACHED, Row
from benchmarks.rows import aligned, digits
from sapwood.studies.plotting.style import SOLVER_COLOURS, save_figure


def table(rows: Sequence[Row]) -> str:
    """Iterations and time of each solver, and its time over ours at the same target."""
    lines = [
        [
            "problem", "contacts", "target", "solver", "status", "residual", "merit", "solves",
            "iterations", "ms", "over ours",
        ]
    ]  # fmt: skip
    ours = {(row.file, row.target): row for row in rows if row.solver == OURS}
    for row in rows:
        mine = ours[row.file, row.target]
        fair = row.status == mine.status == REACHED
        ratio = row.cpu_min / mine.cpu_min if fair else math.nan
        lines.append(
            [
                row.file, str(row.contacts), f"{row.target:g}", row.solver, row.status,
                f"{row.residual:.1e}", f"{row.merit:.1e}", str(row.solves), str(row.iterations),
                digits(1e3 * row.cpu_min), digits(ratio),
            ]
        )  # fmt: skip
    return aligned(lines)


def figure(rows: Sequence[Row], path: Path) -> None:
    """Residual that was reached against time, solver by solver, a panel per problem.

    Raises
    ------
    ImportError
        matplotlib is not installed.
    """
    from matplotlib.figure import Figure

    files = list(dict.fromkeys(row.file for row in rows))
    solvers = list(dict.fromkeys(row.solver for row in rows))
    canvas = Figure(figsize=(4.0 * len(files), 3.6), layout="constrained")
    panels = canvas.subplots(1, len(files), squeeze=False, sharey=True)[0]
    for panel, file in zip(panels, files, strict=True):
        for solver in solvers:
            points = [
                (1e3 * row.cpu_min, row.residual)
                for row in rows
                if (row.file, row.solver, row.status) == (file, solver, REACHED)
            ]
            style = "o-" if solver == OURS else "s--"
            x, y = zip(*sorted(points), strict=True) if points else ([], [])
            panel.plot(x, y, style, color=SOLVER_COLOURS[solver])
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_xlabel("time [ms]")
        panel.set_title(file, fontsize="small")
        panel.grid(True, which="major", linewidth=0.5, alpha=0.4)
    panels[0].set_ylabel("|F(r)|/|q|")
    canvas.legend(panels[0].lines, solvers, loc="outside lower center", ncols=len(solvers))
    save_figure(canvas, path)

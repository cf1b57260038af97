"""Time of inverse dynamics against the number of contacts, for every controller.

The robot and the calls are those of `sapwood figure id-19`; times are on the wall clock.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.rows import Table
from sapwood.studies.experiments.invdyn_times import CONTROLLERS, measure
from sapwood.studies.plotting.controllers import controller_style
from sapwood.studies.plotting.style import save_figure

if TYPE_CHECKING:
    from sapwood.invdyn.options import Controller


@dataclasses.dataclass(frozen=True)
class Row:
    """Times of one controller at one number of contacts."""

    controller: str
    contacts: int
    samples: int
    median: float  # s
    p99: float  # s
    most: float  # s
    pivots: float  # mean
    solved: int  # samples with the status `solved`


def summary(controller: Controller, n: int, samples: int) -> Row:
    """Time `samples` calls at `n` contacts."""
    rows = measure(controller, n, samples)
    times = rows["wall_seconds"]
    return Row(
        controller, n, samples, float(np.median(times)), float(np.quantile(times, 0.99)),
        float(times.max()), float(rows["pivots"].mean()), int(rows["solved"].sum()),
    )  # fmt: skip


def run(
    contacts: Sequence[int], samples: int, path: Path, progress: Callable[[str], None]
) -> list[Row]:
    """Measure all controllers at all numbers of contacts; rows are written as they come."""
    rows = []
    with Table(path, Row) as table:
        for n in contacts:
            for controller in CONTROLLERS:
                row = summary(controller, n, samples)
                table.add(row)
                rows.append(row)
                progress(f"{controller} {n}")
    return rows


def table(rows: Sequence[Row]) -> str:
    """Median, 99 % and largest times in milliseconds, a line per controller and size."""
    lines = ["controller     contacts   median      p99      max   ms, pivots"]
    for row in rows:
        ms = [1e3 * value for value in (row.median, row.p99, row.most)]
        lines.append(
            f"{row.controller:<14}{row.contacts:>9}"
            + "".join(f"{value:>9.3f}" for value in ms)
            + f"{row.pivots:>13.1f}"
            + ("" if row.solved == row.samples else f"   {row.solved} of {row.samples} solved")
        )
    return "\n".join(lines)


def figure(rows: Sequence[Row], path: Path) -> None:
    """Medians with the band up to 99 %, against contacts, on logarithmic axes."""
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(6, 4), layout="constrained")
    axes = canvas.subplots()
    axes.set(xscale="log", yscale="log")
    for controller in CONTROLLERS:
        of = [row for row in rows if row.controller == controller]
        n = [row.contacts for row in of]
        style = controller_style(controller) | {"markevery": 1}
        axes.plot(n, [1e3 * row.median for row in of], **style)
        axes.fill_between(
            n, [1e3 * row.median for row in of], [1e3 * row.p99 for row in of],
            color=style["color"], alpha=0.15, linewidth=0,
        )  # fmt: skip
    axes.axhline(1.0, color="grey", linewidth=0.8)
    axes.set(xlabel="contacts", ylabel="time of a call, ms")
    axes.legend()
    save_figure(canvas, path)

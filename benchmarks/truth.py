"""Contact that holds: figures with bounds, by this build and by another one beside it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.revisions import Process
from benchmarks.rows import Table, aligned
from benchmarks.truth_scenes import Figure, Part


@dataclasses.dataclass(frozen=True)
class Row:
    """One figure."""

    point: str
    part: str
    figure: str
    unit: str
    bound: float
    """the largest value that holds"""
    before: float
    """the figure by A; nan where it has none"""
    after: float
    """the figure by B"""
    holds: bool
    """whether B is within the bound"""
    reason: str
    """the errors that A or B end with"""

    @property
    def held(self) -> bool:
        """Whether A is within the bound."""
        return self.before <= self.bound


def run(
    environments: Mapping[str, Mapping[str, str]],
    parts: Sequence[Part],
    quick: bool,
    path: Path,
    progress: Callable[[str], None] = lambda _text: None,
) -> None:
    """Let the builds measure all parts in turn, writing each row to a CSV file as it comes.

    Parameters
    ----------
    environments
        For B, and for A where there is one, the environment of its process.
    parts
        As `truth_scenes.parts` lists them.
    quick
        Whether they are the short ones.
    path
        CSV file to write.
    progress
        Called with the name of each part.

    Raises
    ------
    SideError
        A process died.
    """
    with Table(path, Row) as table, ExitStack() as stack:
        processes = {
            side: stack.enter_context(Process(side, "truth_sample.py", environment))
            for side, environment in environments.items()
        }
        for i, part in enumerate(parts):
            answers = {
                side: process.ask({"quick": quick, "part": i})
                for side, process in processes.items()
            }
            for row in rows_of(part, answers):
                table.add(row)
            progress(part.name)


def rows_of(part: Part, answers: Mapping[str, Mapping[str, Any]]) -> list[Row]:
    """A row for each figure of a part; a build that ends with an error has none."""
    found = {
        side: [Figure(*figure) for figure in answer.get("figures", [])]
        for side, answer in answers.items()
    }
    reason = "; ".join(f"{side}: {a['error']}" for side, a in answers.items() if "error" in a)
    named = found["B"] or found.get("A") or [Figure("", math.nan, math.nan)]
    before, after = ({figure.name: figure.value for figure in found.get(side, [])} for side in "AB")
    return [
        Row(
            part.point, part.name, figure.name, figure.unit, figure.bound,
            before.get(figure.name, math.nan), after.get(figure.name, math.nan),
            holds=after.get(figure.name, math.nan) <= figure.bound, reason=reason,
        )
        for figure in named
    ]  # fmt: skip


# ---- tables ------------------------------------------------------------------------------------


def text(rows: Sequence[Row], before: str | None) -> str:
    """Both tables, and the errors that a build ends with."""
    errors = [f"{row.part}: {row.reason}" for row in rows if row.reason]
    tables = [aligned(table(rows, before)), aligned(counts(rows, before)), *errors]
    return "\n\n".join(dict.fromkeys(tables))


def table(rows: Sequence[Row], before: str | None) -> list[list[str]]:
    """A line for each figure; `before` names A where there is one."""
    lines = [["point", "scene", "figure", "bound", *([before] if before else []), "now", ""]]
    for row in rows:
        values = [row.before, row.after] if before else [row.after]
        unit = f" {row.unit}" if row.unit else ""
        lines.append(
            [row.point, row.part, row.figure, f"{row.bound:.3g}{unit}"]
            + [_text(value) for value in values]
            + ["ok" if row.holds else "missed"]
        )
    return lines


def _text(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3g}"


def counts(rows: Sequence[Row], before: str | None) -> list[list[str]]:
    """The number of figures within their bounds, by point."""
    lines = [["point", "figures", *([f"hold at {before}"] if before else []), "hold now"]]
    for point in dict.fromkeys(row.point for row in rows):
        here = [row for row in rows if row.point == point]
        numbers = [sum(row.held for row in here)] if before else []
        numbers.append(sum(row.holds for row in here))
        lines.append([point, str(len(here)), *map(str, numbers)])
    return lines

"""One question to every model of a folder: a row for each way of controls, written as it comes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.models import files
from benchmarks.models.processes import DIED, LATE, Workers
from benchmarks.rows import Table, read


class Survey(NamedTuple):
    """The questions."""

    row: type
    """Dataclass of what comes out, with fields ``file`` and ``controls``."""
    controls: tuple[str, ...]
    """Ways of controls, one row each."""
    measure: Callable[..., Any]
    """Finds the row of (path, controls, steps), in a process of its own."""
    nothing: Callable[[Path, str, str, str], Any]
    """The row of a (path, controls) without any: its status, and the reason."""


def run(
    survey: Survey,
    paths: Sequence[Path],
    table_path: Path,
    steps: int,
    seconds: float,
    resume: bool,
    progress: Callable[[str], None],
) -> None:
    """Measure models, writing each row to a CSV file as it comes.

    Parameters
    ----------
    survey
        What is asked.
    paths
        Files of models.
    table_path
        CSV file to write.
    steps
        Of each simulation.
    seconds
        After which a row is given up.
    resume
        Whether rows that the CSV file has already are kept.
    progress
        Called with the name of each model once it is done.
    """
    before = read(table_path, survey.row) if resume and table_path.exists() else []
    done = {(row.file, row.controls) for row in before}
    with Table(table_path, survey.row) as table, Workers(seconds) as workers:
        for row in before:
            table.add(row)
        table.take_name()
        for path in paths:
            for controls in survey.controls:
                if (files.name_of(path), controls) in done:
                    continue
                point = {"path": str(path), "controls": controls, "steps": steps}
                answer = workers.call(survey.measure, point)
                if answer.value is None:
                    status = LATE if answer.late else DIED
                    table.add(survey.nothing(path, controls, status, answer.error))
                else:
                    table.add(answer.value)
            progress(files.name_of(path))

"""A sweep: one function at many points, its rows in one CSV file, stopped and resumed at will.

To write an experiment:

1. A function at the top level of a module. It takes one point as keyword arguments (numbers,
   booleans, words) and returns its rows as a structured array of a fixed type. It prints nothing,
   draws nothing, and computes the same from the same arguments: a random choice has its seed among
   them, and every parameter that a quick run changes is among them too::

       ROWS = np.dtype([("time", np.float64), ("energy", np.float64), ("seconds", np.float64)])

       def simulate(scheme: str, dt: float, duration: float) -> NDArray[np.void]: ...

2. The sweep: all points have the same names, in the same order, which become the first columns of
   the file; the rows' names are the others. Booleans are written as 0 and 1::

       points = [{"scheme": s, "dt": dt, "duration": 5.0} for s in SCHEMES for dt in STEPS]
       sweep = Sweep("figure7", simulate, points, ROWS)
       result = run_sweep(sweep, "results")        # results/figure7.csv

3. A figure: a function ``(quick: bool) -> Plan`` in the same module, a drawing function in
   `sapwood.studies.plotting` that reads the file, and a row in the table of
   `sapwood.studies.experiments.figures`. ``sapwood figure 7`` does the rest.

The points run on all cores, or on a Dask cluster: see
`sapwood.studies.experiments.running.mapping`. Finished points are kept in ``NAME.jsonl`` beside the
CSV file (`sapwood.studies.experiments.running.journal`), so that a run that was stopped by Ctrl-C,
by an error or by power failure goes on where it was. A point that fails is reported with its
parameters and tried again by the next run. The CSV file is written at the end of a run, the points
in the order of the sweep, so that its bytes do not depend on the number of workers (columns with
measured times excepted).
"""

from __future__ import annotations

import csv
import io
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sapwood.base.checks import integer
from sapwood.base.files import write_file
from sapwood.studies.experiments.running.journal import Journal
from sapwood.studies.experiments.running.mapping import map_points
from sapwood.studies.experiments.running.points import Outcome, Point
from sapwood.studies.experiments.running.recording import ProgressBar


@dataclass(frozen=True)
class Sweep:
    """The computation of a sweep, and its place.

    Parameters
    ----------
    name
        Of the files: ``NAME.csv``, ``NAME.jsonl``.
    function
        At the top level of an importable module; takes a point's values as keyword arguments and
        returns rows of type `columns`.
    points
        Keyword arguments of every call.
    columns
        Type of the rows, a structured dtype of numbers, booleans and text.
    packages
        Names of packages, besides NumPy, on whose versions the rows depend; those of a figure are
        added to its sweeps.

    Raises
    ------
    ValueError
        Points without equal names or with values that are no plain numbers or words, equal points,
        or names that are both a point's and a column's; the text names the point.
    """

    name: str
    function: Callable[..., NDArray[np.void]]
    points: Sequence[Point]
    columns: np.dtype[np.void]
    packages: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        name, module = self.function.__qualname__, self.function.__module__
        if module == "__main__" or getattr(sys.modules[module], name, None) is not self.function:
            raise ValueError(f"function {name}: workers cannot import it from {module}")
        if not self.points:
            raise ValueError("points: there are none")
        names = list(self.points[0])
        seen = set()
        for i, point in enumerate(self.points):
            if list(point) != names:
                raise ValueError(f"points[{i}] has {list(point)}, points[0] has {names}")
            for name, value in point.items():
                if not _is_scalar(value):
                    raise ValueError(
                        f"points[{i}][{name!r}] = {value!r}: must be a finite number or a word, "
                        "of Python's own types"
                    )
            values = tuple(point.values())
            if values in seen:
                raise ValueError(f"points[{i}] = {values}: is there twice")
            seen.add(values)
        both = set(names) & set(self.columns.names or ())
        if both:
            raise ValueError(f"columns: {', '.join(sorted(both))} names values of the points too")

    @property
    def header(self) -> list[str]:
        """Columns of the CSV file."""
        return [*self.points[0], *(self.columns.names or ())]


@dataclass(frozen=True)
class SweepResult:
    """The outcome of a sweep.

    Attributes
    ----------
    csv
        File with the rows of the finished points.
    points
        Number of points of the sweep.
    kept
        How many of them an earlier run had finished.
    started_over
        Why the points of an earlier run could not be kept, empty where there were none or they
        were.
    failures
        Points that failed, and how.
    missing
        Number of points that did not come to their turn, because the run was interrupted.
    """

    csv: Path
    points: int
    kept: int
    started_over: str
    failures: tuple[tuple[Point, Outcome], ...]
    missing: int

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the run before the last point."""
        return self.missing > 0


def run_sweep(
    sweep: Sweep,
    out: str | PathLike[str],
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    resume: bool = True,
    progress: bool = True,
    say: Callable[[str], None] = lambda _: None,
) -> SweepResult:
    """Run the points of a sweep that no earlier run has finished, and write the CSV file.

    Ctrl-C ends the run; what was finished is kept and the result says that points are missing. What
    was finished is kept too where the cluster is lost.

    Parameters
    ----------
    sweep
        What is computed.
    out
        Folder for the files, made when missing.
    workers
        Number of local processes, by default one per core.
    scheduler
        Address of a Dask scheduler, to use its workers instead.
    resume
        False forgets the points that an earlier run has finished.
    progress
        Show a progress bar, where the standard error stream is a terminal.
    say
        Called with a line when points are kept, when the run starts over, and for each failure.

    Returns
    -------
    SweepResult
        Files, and what is not in them.

    Raises
    ------
    OSError
        The folder cannot be written to, or another run is writing the same files.
    SchedulerError
        The cluster cannot be used, or was lost.
    """
    if workers is not None:
        integer(workers, "workers", least=1)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{sweep.name}.csv"
    path = folder / f"{sweep.name}.jsonl"
    failures: list[tuple[Point, Outcome]] = []
    with Journal(path, sweep.function, sweep.columns, resume, sweep.packages) as journal:
        waiting = [point for point in sweep.points if journal.find(point) is None]
        kept = len(sweep.points) - len(waiting)
        _announce(say, path, journal, kept, len(waiting))
        try:
            with (
                ProgressBar(sweep.name, len(waiting), progress, unit="point") as bar,
                closing(
                    map_points(
                        sweep.function,
                        waiting,
                        workers=workers,
                        scheduler=scheduler,
                        packages=sweep.packages,
                    )
                ) as outcomes,
            ):
                for index, outcome in outcomes:
                    point = waiting[index]
                    outcome = _checked(outcome, sweep.columns)
                    if outcome.error is None:
                        journal.add(point, outcome.value)
                    else:
                        failures.append((point, outcome))
                        say(f"{sweep.name}: failed at {words(point)}: {outcome.error}")
                    bar.update(f"{len(failures)} failed" if failures else "")
        except KeyboardInterrupt:
            pass
        found = [(point, journal.find(point)) for point in sweep.points]
        _write(file, sweep.header, found)
    missing = sum(rows is None for _, rows in found) - len(failures)
    return SweepResult(
        csv=file,
        points=len(sweep.points),
        kept=kept,
        started_over=journal.started_over,
        failures=tuple(failures),
        missing=missing,
    )


def words(point: Point) -> str:
    """A point as words: ``dt = 0.01, walls = True``.

    Parameters
    ----------
    point
        The point.

    Returns
    -------
    str
        Names and values.
    """
    return ", ".join(f"{name} = {value}" for name, value in point.items())


def _announce(
    say: Callable[[str], None], path: Path, journal: Journal, kept: int, waiting: int
) -> None:
    """Say what an earlier run has left, where there was one."""
    if journal.started_over:
        say(f"{path}: {journal.started_over}: starting over (it is kept as {path.name}.old)")
    elif kept:
        again = " (--no-resume computes them again)" if not waiting else ""
        say(f"{path}: {kept} of {kept + waiting} points are finished{again}")
    elif len(journal):
        say(f"{path}: all finished points have other parameters: starting over")


def _is_scalar(value: object) -> bool:
    if isinstance(value, float):
        return type(value) is float and math.isfinite(value)
    return type(value) in (bool, int, str)


def _checked(outcome: Outcome, columns: np.dtype[np.void]) -> Outcome:
    """Return the outcome with its rows as an array of the right type, or as a failure."""
    if outcome.error is not None:
        return outcome
    rows = outcome.value
    if not isinstance(rows, np.ndarray) or rows.dtype != columns or rows.ndim != 1:
        found = f"shape {rows.shape}, {rows.dtype}" if isinstance(rows, np.ndarray) else type(rows)
        return Outcome(error=f"returned {found} in place of rows of {columns}")
    return outcome


def _write(
    path: Path, header: Sequence[str], found: Iterable[tuple[Point, NDArray[np.void] | None]]
) -> None:
    """Write all rows at once, so that the file is never half of one run and half of another."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    for point, rows in found:
        if rows is not None:
            first = tuple(point.values())
            writer.writerows(_plain(first + row) for row in rows.tolist())
    write_file(path, text.getvalue())


def _plain(row: tuple[Any, ...]) -> list[Any]:
    """Booleans as 0 and 1, so that a reader finds a column of numbers."""
    return [int(value) if isinstance(value, bool) else value for value in row]

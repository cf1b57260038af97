"""How long each solver takes to reach the same accuracy on the same problems.

For every problem file, solver and target e_m, the solver's tolerance is tightened until its
velocity reaches the target, and that setting is timed, from v_guess and with the solver's set-up.
The result is a CSV file of `Row`; a solver that fails is a row as well.
"""

from __future__ import annotations

import csv
import dataclasses
import math
import time
import typing
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy import Accuracy
from benchmarks.peers import Answer, Peer, PeerError
from benchmarks.timing import Times, interleaved
from sapwood import ContactProblem, load_problem
from sapwood.experiments.recording import RowFile

REACHED, MISSED, FAILED = "reached", "missed", "failed"
PARTS = ("assembly", "factor", "line_search", "symbolic", "rest")


@dataclass(kw_only=True)
class Row:
    """One solver on one problem; an empty field in the file is None here. Times are in seconds."""

    file: str
    trees: int | None = None
    nv: int | None = None
    contacts: int | None = None
    solver: str
    mode: str
    """cold, or warm: memory and symbolic work of an earlier call are kept"""
    target: float
    """e_m that was asked for"""
    status: str = FAILED
    """reached; missed: no setting reaches the target, e_m is the best and there are no times;
    failed: no velocity at all"""
    detail: str = ""
    """the outcome in the solver's words, or the error"""
    tolerance: float | None = None
    """the solver's own setting"""
    e_m: float | None = None
    v_error: float | None = None
    """|v - v_ref|_A / |v_ref|_A"""
    iterations: int | None = None
    """of the island that took most"""
    total_iterations: int | None = None
    """summed over islands"""
    samples: int | None = None
    cpu_min: float | None = None
    """time per solve: CPU clock of the thread, least sample"""
    cpu_median: float | None = None
    wall_min: float | None = None
    wall_median: float | None = None
    iteration: float | None = None
    """cpu_min / iterations"""
    form: float | None = None
    """conversion to the form the solver takes; once, wall clock, not part of the times above"""
    assembly: float | None = None
    """this and the following: parts of another solve, wall clock, where the solver tells"""
    factor: float | None = None
    line_search: float | None = None
    symbolic: float | None = None
    rest: float | None = None


COLUMNS = tuple(field.name for field in dataclasses.fields(Row))
_TYPES = typing.get_type_hints(Row)


# ---- measuring ---------------------------------------------------------------------------------


def run(
    files: Sequence[Path],
    peers: Sequence[Peer],
    targets: Sequence[float],
    path: Path,
    *,
    repeat: int = 10,
    budget: float = 1.0,
    progress: Callable[[str], None] = lambda _: None,
) -> None:
    """Measure all problems; the rows of each are in the CSV file before the next one begins.

    Parameters
    ----------
    files
        Problem files.
    peers
        Solvers.
    targets
        Values of e_m to reach.
    path
        CSV file to write.
    repeat
        Interleaved samples of each solver.
    budget
        Seconds after which the samples of one solver on one problem end.
    progress
        Called with the name of each file once it is done.

    Raises
    ------
    OSError
        The CSV file cannot be written.
    """
    with RowFile(path, COLUMNS, flush_seconds=0.0) as table:
        for file in files:
            for row in measure(file, peers, targets, repeat, budget):
                values = [getattr(row, column) for column in COLUMNS]
                table.write("" if value is None else value for value in values)
            progress(file.stem)


def measure(
    file: Path, peers: Sequence[Peer], targets: Sequence[float], repeat: int, budget: float
) -> list[Row]:
    """Rows of one problem, which may be that its file cannot be read."""
    rows = {
        peer: [
            Row(file=file.stem, solver=peer.name, mode=mode, target=target)
            for mode in peer.modes
            for target in sorted(targets, reverse=True)
        ]
        for peer in peers
    }
    try:
        problem = load_problem(file)
    except (OSError, TypeError, ValueError) as error:
        for row in (row for group in rows.values() for row in group):
            row.detail = _one_line(error)
        return [row for group in rows.values() for row in group]

    accuracy = Accuracy(problem)
    cases: list[Case] = []
    for peer, group in rows.items():
        entrant = Entrant(peer, problem, accuracy)
        for row in group:
            row.trees, row.nv, row.contacts = problem.n_trees, problem.nv, problem.n_contacts
            with failure_noted(row):
                cases += entrant.enter(row)

    calls, first = [case.call for case in cases], [case.first for case in cases]
    for case, times in zip(cases, interleaved(calls, first, repeat, budget), strict=True):
        _write_times(case.row, times)
        _write_parts(case.row, [case.split() for _ in times.cpu])
    return [row for group in rows.values() for row in group]


@dataclass(frozen=True)
class Case:
    """A solver with the setting that reaches the target, ready to be timed."""

    row: Row
    call: Callable[[], Any]
    split: Callable[[], dict[str, float] | None]
    first: Times


@dataclass(frozen=True)
class Trial:
    """One solve with one setting."""

    tolerance: float
    answer: Answer
    e_m: float
    times: Times


class Entrant:
    """One solver on one problem. Trials are kept, since several targets ask for the same ones."""

    def __init__(self, peer: Peer, problem: ContactProblem, accuracy: Accuracy) -> None:
        self._peer = peer
        self._problem = problem
        self._accuracy = accuracy
        self._trials: dict[tuple[str, float], Trial] = {}

    @cached_property
    def _form(self) -> tuple[Any, float]:
        """The problem as the solver takes it, and the seconds that took."""
        start = time.perf_counter()
        form = self._peer.form(self._problem)
        return form, time.perf_counter() - start

    def enter(self, row: Row) -> list[Case]:
        """Find the setting, describe it in the row, and return what to time, if anything."""
        form, row.form = self._form
        trial = self._first_that_reaches(row.mode, row.target)
        row.status = REACHED if trial.e_m <= row.target else MISSED
        row.detail = trial.answer.status
        row.tolerance, row.e_m = trial.tolerance, trial.e_m
        row.v_error = self._accuracy.velocity_error(trial.answer.v)
        row.iterations = trial.answer.iterations
        row.total_iterations = trial.answer.total_iterations
        if row.status == MISSED:
            return []
        call = self._peer.solve(form, trial.tolerance, row.mode)
        return [
            Case(
                row=row,
                call=call,
                split=lambda: self._peer.split(form, trial.tolerance, row.mode),
                first=trial.times,
            )
        ]

    def _first_that_reaches(self, mode: str, target: float) -> Trial:
        """First trial, from loose to tight, with e_m <= target, else the one with the least e_m.

        Raises
        ------
        PeerError
            No setting gives a velocity.
        """
        best: Trial | None = None
        error = PeerError("no setting to try")
        for tolerance in self._peer.tolerances(target):
            try:
                trial = self._try(mode, tolerance)
            except PeerError as this:
                error = this
                continue
            if best is None or trial.e_m < best.e_m:
                best = trial
            if best.e_m <= target:
                return best
        if best is None:
            raise error
        return best

    def _try(self, mode: str, tolerance: float) -> Trial:
        """Solve with one setting."""
        if (mode, tolerance) not in self._trials:
            form, _ = self._form
            times = Times()
            result = times.sample(self._peer.solve(form, tolerance, mode))
            answer = self._peer.answer(form, result)
            with np.errstate(over="ignore", invalid="ignore"):
                e_m = self._accuracy.momentum_error(answer.v)
            if not math.isfinite(e_m):
                raise PeerError(f"no finite velocity ({answer.status})")
            self._trials[mode, tolerance] = Trial(tolerance, answer, e_m, times)
        return self._trials[mode, tolerance]


@contextmanager
def failure_noted(row: Row) -> Iterator[None]:
    """Turn whatever a solver raises into the row's status; panics of Rust are no Exception."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        row.status, row.detail = FAILED, _one_line(error)


def _write_times(row: Row, times: Times) -> None:
    row.samples = len(times.cpu)
    row.cpu_min, row.cpu_median = times.cpu_min, times.cpu_median
    row.wall_min, row.wall_median = times.wall_min, times.wall_median
    if row.iterations:
        row.iteration = times.cpu_min / row.iterations


def _write_parts(row: Row, splits: Sequence[dict[str, float] | None]) -> None:
    """Take the parts of the fastest solve, so that they belong together."""
    told = [split for split in splits if split is not None]
    if told:
        fastest = min(told, key=lambda split: sum(split.values()))
        for part in PARTS:
            setattr(row, part, fastest[part])


def _one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


# ---- reading -----------------------------------------------------------------------------------


def read_rows(path: Path) -> list[Row]:
    """Read the CSV file back; an unfinished last line, as a killed run leaves it, is dropped.

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        It is no file of this benchmark.
    """
    text = path.read_text(encoding="utf-8")
    lines = list(csv.reader(text.splitlines()))
    if not lines or tuple(lines[0]) != COLUMNS:
        raise ValueError(f"{path}: the header is not that of this benchmark")
    if not text.endswith("\n"):
        del lines[-1]
    return [
        Row(**{name: _parse(name, word) for name, word in zip(COLUMNS, words, strict=True)})
        for words in lines[1:]
    ]


def _parse(name: str, word: str) -> Any:
    """Value of one field of a row from its text."""
    kinds = typing.get_args(_TYPES[name]) or (_TYPES[name],)
    if word == "" and type(None) in kinds:
        return None
    return kinds[0](word)

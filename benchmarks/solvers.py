"""Times of each solver to the same accuracy on the same problems.

For every problem file, solver and target e_m, the solver's tolerance is tightened until its
velocity reaches the target, and that setting is timed, from v_guess and with the solver's set-up.
Where a solver can be run in several ways, each is tuned so, and the fastest one counts. The result
is a CSV file of `Row`; a solver that fails is a row as well.
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

from sapwood import ContactProblem, load_problem
from sapwood.base.files import RowFile
from sapwood.studies.experiments.running.timing import Times, interleaved
from sapwood.studies.peers import Answer, Peer, PeerError
from sapwood.studies.peers.accuracy import Accuracy

REACHED, MISSED, FAILED = "reached", "missed", "failed"
# a variant that takes so many times as long as the quickest one is given up
HOPELESS = 3.0
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
    variant: str = ""
    """fastest way of running the solver"""
    target: float
    """e_m that was asked for"""
    status: str = FAILED
    """reached; missed: no setting reaches the target in time, e_m is the best and there are no
    times; failed: no velocity at all"""
    detail: str = ""
    """the outcome in the solver's words, or the error"""
    tolerance: float | None = None
    """the solver's own setting"""
    e_m: float | None = None
    v_error: float | None = None
    """|v - v_ref|_A / |v_ref|_A"""
    iterations: int | None = None
    """iterations of the island that took most"""
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
    resume: bool = False,
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
    resume
        Whether problems of which the CSV file has all rows are left as they are there.
    progress
        Called with the name of each file once it is done.

    Raises
    ------
    OSError
        The CSV file cannot be read or written.
    ValueError
        The CSV file to resume is no file of this benchmark.
    """
    finished = _finished(path, peers, targets) if resume and path.exists() else {}
    with RowFile(path, COLUMNS, flush_seconds=0.0) as table:
        for file in files:
            _write(table, finished.get(file.stem, []))
        # from here on the new file has all that the old one had
        table.take_name()
        for file in files:
            if file.stem not in finished:
                _write(table, measure(file, peers, targets, repeat, budget))
            progress(file.stem)


def _finished(path: Path, peers: Sequence[Peer], targets: Sequence[float]) -> dict[str, list[Row]]:
    """Rows of the problems of which a CSV file has them all."""
    by_file: dict[str, list[Row]] = {}
    for row in read_rows(path):
        by_file.setdefault(row.file, []).append(row)
    wanted = sorted((p.name, mode, target) for p in peers for mode in p.modes for target in targets)
    return {
        file: rows
        for file, rows in by_file.items()
        if sorted((row.solver, row.mode, row.target) for row in rows) == wanted
    }


def _write(table: RowFile, rows: Sequence[Row]) -> None:
    for row in rows:
        values = [getattr(row, column) for column in COLUMNS]
        table.write("" if value is None else value for value in values)


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
    every = [row for group in rows.values() for row in group]
    try:
        problem = load_problem(file)
    except (OSError, TypeError, ValueError) as error:
        for row in every:
            row.detail = _one_line(error)
        return every

    accuracy = Accuracy(problem)
    cases: list[Case] = []
    for peer, group in rows.items():
        entrant = Entrant(peer, problem, accuracy)
        for row in group:
            row.trees, row.nv, row.contacts = problem.n_trees, problem.nv, problem.n_contacts
            with failure_noted(row):
                cases += entrant.enter(row)

    calls, first = [case.call for case in cases], [case.trial.times for case in cases]
    measured = list(zip(cases, interleaved(calls, first, repeat, budget), strict=True))
    for row in every:
        of_row = [(case, times) for case, times in measured if case.row is row]
        if of_row:
            case, times = min(of_row, key=lambda pair: pair[1].cpu_min)
            _describe(row, case.trial, accuracy)
            _write_times(row, times)
            _write_parts(row, [case.split() for _ in times.cpu])
    return every


@dataclass(frozen=True)
class Trial:
    """One solve of one variant with one setting."""

    peer: Peer
    tolerance: float
    form_seconds: float
    answer: Answer
    e_m: float
    times: Times


@dataclass(frozen=True)
class Case:
    """A variant with the setting that reaches the target, ready to be timed for a row."""

    row: Row
    trial: Trial
    call: Callable[[], Any]
    split: Callable[[], dict[str, float] | None]


class Entrant:
    """One solver on one problem. Trials are kept, since several targets ask for the same ones."""

    def __init__(self, peer: Peer, problem: ContactProblem, accuracy: Accuracy) -> None:
        self._patience = peer.patience
        self._variants = [Variant(variant, problem, accuracy) for variant in peer.variants(problem)]
        self._accuracy = accuracy

    def enter(self, row: Row) -> list[Case]:
        """Find the settings, describe the best in the row, and return what to time, if anything."""
        cases: list[Case] = []
        best: Trial | None = None
        error: Exception = PeerError("no setting to try")
        too_slow = math.inf
        for variant in self._variants:
            others = sum(other.seconds for other in self._variants if other is not variant)
            left = self._patience - others
            try:
                trial = variant.first_that_reaches(row.mode, row.target, left, too_slow)
            except Exception as this:  # a variant that fails leaves the others their chance
                error = this
                continue
            if best is None or trial.e_m < best.e_m:
                best = trial
            if trial.e_m <= row.target:
                cases.append(variant.case(row, trial))
                too_slow = min(too_slow, HOPELESS * trial.times.cpu_min)
        if best is None:
            raise error
        _describe(row, best, self._accuracy)
        row.status = REACHED if cases else MISSED
        if not cases and any(variant.late for variant in self._variants):
            row.detail = f"no setting found in {self._patience:g} s"
        return [case for case in cases if case.trial.times.cpu_min <= too_slow]


class Variant:
    """One way to run a solver, on one problem."""

    def __init__(self, peer: Peer, problem: ContactProblem, accuracy: Accuracy) -> None:
        self._peer = peer
        self._problem = problem
        self._accuracy = accuracy
        self._trials: dict[tuple[str, float], Trial | PeerError] = {}
        self.seconds = 0.0
        """spent on trials so far"""
        self.late = False
        """whether a search ended because its time was up"""

    @cached_property
    def _form(self) -> tuple[Any, float]:
        """The problem as the solver takes it, and the seconds that took."""
        start = time.perf_counter()
        form = self._peer.form(self._problem)
        return form, time.perf_counter() - start

    def case(self, row: Row, trial: Trial) -> Case:
        """The solver to time for a row, with the setting of a trial."""
        form, _ = self._form
        arguments = form, trial.tolerance, row.mode
        call = self._peer.solve(*arguments)
        return Case(row, trial, call, lambda: self._peer.split(*arguments))

    def first_that_reaches(
        self, mode: str, target: float, seconds: float, too_slow: float
    ) -> Trial:
        """First trial, from loose to tight, with e_m <= target, else the one with the least e_m.

        No new trial begins once so many seconds were spent on this variant, or after a trial that
        was too slow, s.

        Raises
        ------
        PeerError
            No setting gives a velocity.
        """
        best: Trial | None = None
        error = PeerError("no setting to try")
        for tolerance in self._peer.tolerances(target):
            known = self._trials.get((mode, tolerance))
            if known is None:
                if self.seconds > seconds:
                    self.late = True
                    error = PeerError(f"no time left to try {tolerance:g}")
                    break
                known = self._trials[mode, tolerance] = self._try(mode, tolerance)
            if isinstance(known, PeerError):
                error = known
                continue
            if best is None or known.e_m < best.e_m:
                best = known
            if best.e_m <= target or known.times.cpu_min > too_slow:
                return best
        if best is None:
            raise error
        return best

    def _try(self, mode: str, tolerance: float) -> Trial | PeerError:
        """Solve with one setting, or say why there is no velocity."""
        start = time.perf_counter()
        try:
            return self._solve(mode, tolerance)
        except PeerError as error:
            return error
        finally:
            self.seconds += time.perf_counter() - start

    def _solve(self, mode: str, tolerance: float) -> Trial:
        """Solve with one setting."""
        form, form_seconds = self._form
        times = Times()
        result = times.sample(self._peer.solve(form, tolerance, mode))
        answer = self._peer.answer(form, result)
        with np.errstate(over="ignore", invalid="ignore"):
            e_m = self._accuracy.momentum_error(answer.v)
        if not math.isfinite(e_m):
            raise PeerError(f"no finite velocity ({answer.status})")
        return Trial(self._peer, tolerance, form_seconds, answer, e_m, times)


@contextmanager
def failure_noted(row: Row) -> Iterator[None]:
    """Turn whatever a solver raises into the row's status; panics of Rust are no Exception."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        row.status, row.detail = FAILED, _one_line(error)


def _describe(row: Row, trial: Trial, accuracy: Accuracy) -> None:
    """Copy what a solve gave."""
    row.variant, row.tolerance, row.form = trial.peer.variant, trial.tolerance, trial.form_seconds
    row.detail, row.e_m = trial.answer.status, trial.e_m
    row.v_error = accuracy.velocity_error(trial.answer.v)
    row.iterations = trial.answer.iterations
    row.total_iterations = trial.answer.total_iterations


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

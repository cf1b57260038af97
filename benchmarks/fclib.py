"""Rigid contact with Coulomb friction: iterations and time to the same residual, beside Siconos.

Problems are files of the FCLIB collection. A solver reaches a target where the relative residual of
the impulses that it returns, |F(r)|/|q| with the natural map F of FCLIB's merit function, is below
it: one function for all, that shares no code with any. Siconos stops by the same number.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.rows import Table
from sapwood.studies.experiments.running.timing import Times, no_garbage_collection
from sapwood.studies.fclib import LocalProblem, Posed, load, merit, pose, relative_residual, solve
from sapwood.studies.fclib.problems import Array
from sapwood.studies.fclib.siconos_process import SOLVERS, Siconos, SiconosError

OURS = "sapwood"
REACHED, MISSED, FAILED = "reached", "missed", "failed"


@dataclasses.dataclass(frozen=True)
class Row:
    """One solver on one problem; times in seconds, NaN where nothing was measured."""

    file: str
    contacts: int
    solver: str
    target: float
    """relative residual that was asked for"""
    status: str
    """reached; missed: no impulses so good; failed: no impulses at all, or none in time"""
    residual: float = math.nan
    """|F(r)|/|q|"""
    merit: float = math.nan
    """FCLIB's MERIT_1"""
    iterations: int = 0
    """Siconos counts its own; ours are Newton's on the island that took most, over all solves"""
    solves: int = 1
    """proximal solves of compliant contact, see sapwood.studies.fclib.solving"""
    cpu_min: float = math.nan
    """per solution, CPU clock of the thread: from the problem as the solver takes it"""
    cpu_median: float = math.nan
    samples: int = 0


@dataclasses.dataclass(frozen=True)
class Plan:
    """The choice of measurements."""

    targets: tuple[float, ...] = (1e-4, 1e-6, 1e-8)
    """relative residuals"""
    solvers: tuple[str, ...] = tuple(SOLVERS)
    """names in Siconos"""
    repeat: int = 10
    """samples"""
    budget: float = 5.0
    """seconds after which no sample of a solver begins"""
    patience: float = 60.0
    """seconds after which a solve of Siconos is given up"""


def ours(file: str, posed: Posed, target: float, plan: Plan) -> Row:
    """Our row of one problem."""
    times = Times()
    begin = time.perf_counter()
    with no_garbage_collection():
        while True:
            answer = times.sample(lambda: solve(posed, target))
            if len(times.cpu) >= plan.repeat or time.perf_counter() - begin > plan.budget:
                break
    row = _row(file, posed.local, OURS, target, answer.r, np.array(times.cpu))
    return dataclasses.replace(row, iterations=answer.iterations, solves=answer.proximal_solves)


def theirs(
    file: str, problem: LocalProblem, siconos: Siconos, solver: str, target: float, plan: Plan
) -> Row:
    """The row of one solver of Siconos; some stop by other norms, and get a tighter tolerance."""
    row = Row(file, len(problem.mu), solver, target, FAILED)
    for factor in (1.0, 0.1, 0.01):
        try:
            answer = siconos.solve(
                problem,
                solver,
                factor * target,
                samples=plan.repeat,
                budget=plan.budget,
                patience=plan.patience,
            )
        except SiconosError:
            break
        row = _row(file, problem, solver, target, answer.r, answer.seconds)
        row = dataclasses.replace(row, iterations=answer.iterations)
        if row.status == REACHED or not answer.converged:
            break
    return row


def _row(
    file: str, problem: LocalProblem, solver: str, target: float, r: Array, seconds: Array
) -> Row:
    residual = relative_residual(problem, r)
    return Row(
        file=file,
        contacts=len(problem.mu),
        solver=solver,
        target=target,
        status=REACHED if residual <= target else MISSED,
        residual=residual,
        merit=merit(problem, r),
        cpu_min=float(seconds.min()),
        cpu_median=float(np.median(seconds)),
        samples=len(seconds),
    )


def run(
    files: Sequence[Path],
    siconos: Siconos | None,
    path: Path,
    plan: Plan,
    progress: Callable[[str], None] = lambda _text: None,
) -> None:
    """Measure problems, writing each row to a CSV file as it comes.

    Parameters
    ----------
    files
        In FCLIB's format.
    siconos
        None where it is not installed.
    path
        CSV file to write.
    plan
        What to measure.
    progress
        Called with the name of each file once it is done.
    """
    with Table(path, Row) as table:
        for file in files:
            posed = pose(load(file))
            for target in plan.targets:
                table.add(ours(file.stem, posed, target, plan))
                for solver in plan.solvers if siconos is not None else ():
                    table.add(theirs(file.stem, posed.local, siconos, solver, target, plan))
            progress(file.stem)

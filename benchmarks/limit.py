"""The least time that a solve could take on this core, and how far from it we are.

The work of every phase is counted by `benchmarks.work`; the least time of a phase on an island is

    max(flops / F, roots / Q, bytes / B)

with F, Q and B what plain loops reach on this core (:mod:`benchmarks.peaks`), B in a working set as
large as what an iteration touches on that island. The factorization has a second limit: the time of
our own dense kernels at the sizes that occur, each with all of its data in the first-level cache.

Phases are timed one by one at the solution, island by island, in the order of an iteration, and
multiplied by how often the solve ran them; the whole solve is timed by itself.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import sapwood
from benchmarks import native as compiled
from benchmarks.native import Native
from benchmarks.peaks import Kernels, Peaks
from benchmarks.rows import Table
from benchmarks.work import PHASES, Work, count_work

ALL = "all"
BOUNDS = ("arithmetic", "roots", "memory")

Array = NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Row:
    """One phase of one problem, or all of it; times in microseconds."""

    file: str
    trees: int
    nv: int
    contacts: int
    islands: int
    directions: int
    """directions of all islands"""
    phase: str
    """one of `benchmarks.work.PHASES`, or all"""
    flops: float
    roots: float
    bytes: float
    least: float
    bound: str
    """bound on most of the least time: arithmetic, roots or memory"""
    kernels: float
    """time of the factorization by our kernels at the sizes that occur; else nan"""
    measured: float
    """the phase timed by itself; all: the sum of the phases"""
    solve: float
    """the whole solve, solver object kept: the same number for all phases of a file"""


def measure(path: Path, native: Native, peaks: Peaks, kernels: Kernels, repeat: int) -> list[Row]:
    """Count and time the phases of one problem file.

    Raises
    ------
    ValueError, OSError
        The file holds no problem, or one without contacts.
    """
    problem = sapwood.load_problem(path)
    if problem.n_contacts == 0:
        raise ValueError(f"{path.name}: no contacts")
    settings = sapwood.SapSettings(record_history=True, mixed_precision=False)
    solution = sapwood.solve(problem, settings=settings)
    work = count_work(native, problem, solution)
    parts = least_times(work, peaks)
    least = parts.max(axis=2)
    measured = measured_times(
        work, native.phases(problem, solution.v, solution.n_islands, max(10, repeat))
    )
    seconds = _solve_seconds(problem, repeat)
    in_kernels = _kernel_seconds(problem, native, kernels, work)
    rows = []
    for k, phase in enumerate((*PHASES, ALL)):
        chosen = slice(None) if phase == ALL else slice(k, k + 1)
        # which of the three has most of the least time
        bound_by = parts.argmax(axis=2)
        weight = [float(least[:, chosen][bound_by[:, chosen] == b].sum()) for b in range(3)]
        rows.append(
            Row(
                file=path.name,
                trees=len(problem.tree_nv),
                nv=problem.nv,
                contacts=problem.n_contacts,
                islands=solution.n_islands,
                directions=int(work.directions.sum()),
                phase=phase,
                flops=float(work.flops[:, chosen].sum()),
                roots=float(work.roots[:, chosen].sum()),
                bytes=float(work.bytes[:, chosen].sum()),
                least=1e6 * float(least[:, chosen].sum()),
                bound=BOUNDS[int(np.argmax(weight))],
                kernels=1e6 * in_kernels if phase == "factorization" else math.nan,
                measured=1e6 * float(measured[:, chosen].sum()),
                solve=1e6 * seconds,
            )
        )
    return rows


def least_times(work: Work, peaks: Peaks) -> Array:
    """Seconds (n_islands, phases, 3) that arithmetic, roots and memory each need by themselves."""
    bandwidth = np.array([peaks.bandwidth(size) for size in work.resident])
    return np.stack(
        [
            work.flops / peaks.flops,
            work.roots / peaks.roots,
            work.bytes / bandwidth.reshape(-1, 1),
        ],
        axis=2,
    )


def measured_times(work: Work, seconds: Array) -> Array:
    """Seconds (n_islands, phases) from those of one evaluation, direction or trial each.

    Parameters
    ----------
    work
        How often each ran.
    seconds
        (n_islands, 7), see :meth:`benchmarks.native.Native.phases`.
    """
    one = dict(zip(compiled.PHASES, seconds.T, strict=True))
    by_phase = {
        "assembly": work.directions * one["assembly"],
        "factorization": work.directions * one["factorization"],
        "solves": work.directions * one["solves"],
        "products": work.evaluations * one["gradient"] + work.directions * one["direction"],
        "law": work.evaluations * one["law"],
        "line_search": work.trials * one["trial"],
    }
    return np.stack([by_phase[phase] for phase in PHASES], axis=1)


def _kernel_seconds(
    problem: sapwood.ContactProblem, native: Native, kernels: Kernels, work: Work
) -> float:
    """Factorizations of all islands with the speed of our kernels: every panel, then its update."""
    total = 0.0
    for (rows, columns), island in zip(*(a.tolist() for a in native.panels(problem)), strict=True):
        once = kernels.factor(rows + columns, columns) + kernels.multiply(rows, columns)
        total += int(work.directions[island]) * once
    return total


def _solve_seconds(problem: sapwood.ContactProblem, repeat: int) -> float:
    """Least time of a solve with a solver that has seen the problem, as the core times it."""
    solver = sapwood.SapSolver(sapwood.SapSettings(mixed_precision=False))
    solver.solve(problem)
    return min(solver.solve(problem).timing["seconds"] for _ in range(repeat))


def run(
    files: Sequence[Path],
    path: Path,
    native: Native,
    peaks: Peaks,
    repeat: int = 50,
    budget: float = 5.0,
    progress: Callable[[str], None] = lambda _text: None,
    skipped: Callable[[str], None] = lambda _text: None,
) -> None:
    """Measure files, writing each row to a CSV file as it comes.

    Parameters
    ----------
    files
        Problem files.
    path
        CSV file to write.
    native, peaks
        The compiled part, and what it found.
    repeat
        Samples of everything that is timed.
    budget
        Seconds after which a file gets fewer samples.
    progress, skipped
        Told the name of each file that is done, and why one was left out.
    """
    kernels = Kernels(native, samples=5)
    with Table(path, Row) as table:
        for file in files:
            try:
                start = time.perf_counter()
                rows = measure(file, native, peaks, kernels, 2)
                # two rounds took this long
                count = int(2 * budget / max(time.perf_counter() - start, 1e-3))
                if min(repeat, count) > 2:
                    rows = measure(file, native, peaks, kernels, min(repeat, count))
            except (ValueError, OSError) as error:
                skipped(f"{file.name}: {error}")
                rows = []
            for row in rows:
                table.add(row)
            progress(file.name)

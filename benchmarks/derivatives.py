"""The cost of a gradient beside a Newton iteration, on problem files.

Of an iteration it is the least time of a solve over the directions that its islands take in the
mean, and the least time of its phases alone, one after the other with all they need at hand. Of a
gradient it is the least time in C, into arrays that stand; of a batch of 64 over its elements, and
of a single call, both from Python with the arrays that they fill. The linearization, which
gradients of one solution share, stands beside them.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import sapwood
from benchmarks.native import Native
from benchmarks.rows import Table

BATCH = 64
CONTACTS = 20  # files with more of them count


@dataclasses.dataclass(frozen=True)
class Row:
    """Times of one problem file, s."""

    file: str
    contacts: int
    velocities: int
    iteration: float
    phases: float
    gradient: float
    batch: float
    single: float
    linearization: float

    @property
    def share(self) -> float:
        """A gradient in Newton iterations."""
        return self.gradient / self.iteration


def least(call: Callable[[], object], repeat: int) -> float:
    """The least time of some calls, s."""
    seconds = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def measure(path: Path, native: Native, repeat: int) -> Row | None:
    """Times of one file; None where it has few contacts."""
    problem = sapwood.load_problem(path)
    if problem.n_contacts <= CONTACTS:
        return None
    solver = sapwood.SapSolver()
    solves = [solver.solve(problem) for _ in range(repeat)]
    seconds = min(solve.timing["seconds"] for solve in solves)
    directions = max(solves[0].total_iterations / solves[0].n_islands, 1.0)
    solution = solver.solve(problem, sensitivity=True)
    v_bar = np.random.default_rng(0).standard_normal((BATCH, problem.nv))
    phases = native.phases(problem, solution.v, solution.n_islands, repeat)
    gradient, linearization = native.gradient(problem, solution.v, v_bar[0], 10 * repeat)
    return Row(
        path.stem, problem.n_contacts, problem.nv, seconds / directions, float(phases.sum()),
        gradient,
        least(lambda: solution.vjp(v_bar), repeat) / BATCH,
        least(lambda: solution.vjp(v_bar[0]), 10 * repeat),
        linearization,
    )  # fmt: skip


def run(
    files: Sequence[Path], native: Native, repeat: int, path: Path, progress: Callable[[str], None]
) -> list[Row]:
    """Measure all files; rows are written as they come."""
    rows = []
    with Table(path, Row) as table:
        for file in files:
            row = measure(file, native, repeat)
            if row is not None:
                table.add(row)
                rows.append(row)
            progress(file.stem)
    return rows

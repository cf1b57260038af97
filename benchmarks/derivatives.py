"""What a gradient costs beside a Newton iteration, on problem files.

Of an iteration it is the least time of a solve over the directions that its islands take in the
mean; of a gradient the least time of a batch over its elements, with the arrays that it fills.
Seconds of solves are those of C, and so the batch is large enough for the call from Python to be a
small part of it. The linearization, which gradients of one solution share, stands beside them.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import sapwood
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
    gradient: float
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


def measure(path: Path, repeat: int) -> Row | None:
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
    return Row(
        path.stem, problem.n_contacts, problem.nv, seconds / directions,
        least(lambda: solution.vjp(v_bar), repeat) / BATCH,
        least(lambda: sapwood.Sensitivity(problem, solution), repeat),
    )  # fmt: skip


def run(
    files: Sequence[Path], repeat: int, path: Path, progress: Callable[[str], None]
) -> list[Row]:
    """Measure all files; rows are written as they come."""
    rows = []
    with Table(path, Row) as table:
        for file in files:
            row = measure(file, repeat)
            if row is not None:
                table.add(row)
                rows.append(row)
            progress(file.stem)
    return rows


def table(rows: Sequence[Row]) -> str:
    """Times in microseconds, the dearest gradients first."""
    shares = np.array([row.share for row in rows])
    head = (
        f"{len(rows)} files with more than {CONTACTS} contacts: a gradient takes "
        f"{np.median(shares):.2f} Newton iterations in the median, {shares.min():.2f} to "
        f"{shares.max():.2f}; at most 0.5 on {np.count_nonzero(shares <= 0.5)} files"
    )
    columns = f"{'iteration':>11}{'gradient':>10}{'factor':>9}{'share':>7}"
    lines = [head, f"{'file':<34}{'contacts':>9}{'nv':>6}{columns}"]
    for row in sorted(rows, key=lambda row: -row.share):
        us = [1e6 * x for x in (row.iteration, row.gradient, row.linearization)]
        lines.append(
            f"{row.file:<34}{row.contacts:>9}{row.velocities:>6}{us[0]:>11.1f}{us[1]:>10.1f}"
            f"{us[2]:>9.1f}{row.share:>7.2f}"
        )
    return "\n".join(lines)

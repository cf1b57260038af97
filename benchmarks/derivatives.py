"""What a gradient costs beside a Newton iteration, on problem files.

Of an iteration it is the least time of a solve over the directions that its islands take in the
mean; of a gradient the least time of a batch over its elements, with the arrays that it fills.
Seconds of solves are those of C, and so the batch is large enough for the call from Python to be a
small part of it. The linearization, which gradients of one solution share, stands beside them.

How far derivatives are from central differences: of random losses and random changes of all numbers
of a problem, where no contact or row changes its region between both ends of the difference.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import sapwood
from benchmarks.rows import Table
from sapwood import Differential

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


# ---- beside central differences ----------------------------------------------------------------

# decades of relative differences
EDGES = 10.0 ** np.arange(-13, -3)
STEPS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7)


def random_change(problem: sapwood.ContactProblem, rng: np.random.Generator) -> Differential:
    """A change of the numbers of a problem: relative, but for the free motion and v_hat."""
    speed = np.abs(problem.v_star).max(initial=1e-3)

    def part(x: np.ndarray) -> np.ndarray:
        return x * rng.uniform(-1.0, 1.0, x.shape)

    return Differential(
        v_star=speed * rng.uniform(-1.0, 1.0, problem.nv), J=part(problem.J), mu=part(problem.mu),
        R_t=part(problem.R_t), R_n=part(problem.R_n), v_hat_n=part(problem.v_hat_n),
    )  # fmt: skip


def changed(
    problem: sapwood.ContactProblem, change: Differential, h: float
) -> sapwood.ContactProblem:
    """The problem, its numbers its own, with h times the change added."""
    names = ("v_star", "J", "mu", "R_t", "R_n", "v_hat_n")
    return sapwood.ContactProblem(
        problem.tree_nv, problem.A, tree_a=problem.tree_a, tree_b=problem.tree_b, dt=problem.dt,
        **{name: getattr(problem, name) + h * getattr(change, name) for name in names},
    )  # fmt: skip


def difference(path: Path, seed: int) -> tuple[float, float] | None:
    """Of vjp and of jvp to the central difference, relative; None where a region changes."""
    rng = np.random.default_rng(seed)
    problem = sapwood.load_problem(path)
    if problem.constraints or problem.core is not None:
        return None
    settings = sapwood.SapSettings(relative_tolerance=1e-14)
    change, v_bar = random_change(problem, rng), rng.standard_normal(problem.nv)
    plain = changed(problem, change, 0.0)
    solution = sapwood.solve(plain, settings=settings, sensitivity=True)
    gradient = solution.vjp(v_bar)
    pulled = sum(
        float(np.sum(getattr(gradient, name) * getattr(change, name)))
        for name in ("v_star", "J", "mu", "R_t", "R_n", "v_hat_n")
    )
    pushed = solution.jvp(change).v
    best = None
    for h in STEPS:
        ends = [sapwood.solve(changed(problem, change, x), solution.v, settings) for x in (h, -h)]
        if any(np.any(end.regions != solution.regions) for end in ends):
            continue
        slope = (ends[0].v - ends[1].v) / (2 * h)
        size = np.linalg.norm(slope)
        off = (
            abs(pulled - v_bar @ slope) / (np.linalg.norm(v_bar) * size),
            float(np.linalg.norm(pushed - slope) / size),
        )
        best = off if best is None else min(best, off, key=max)
    return best


def histogram(files: Sequence[Path], seeds: int, progress: Callable[[str], None]) -> str:
    """Counts of relative differences by decades, of both modes, and how many were left out."""
    found = []
    for file in files:
        found += [difference(file, seed) for seed in range(seeds)]
        progress(file.stem)
    kept = np.array([x for x in found if x is not None]).reshape(-1, 2)
    counts = [np.histogram(np.clip(x, EDGES[0], EDGES[-1]), EDGES)[0] for x in kept.T]
    head = (
        f"central differences: {len(kept)} of {len(found)} kept their regions; relative "
        f"differences of vjp and jvp are at most {kept.max(initial=0.0):.1e}"
    )
    lines = [head, f"{'below':>8}{'vjp':>7}{'jvp':>7}"]
    for edge, vjp, jvp in zip(EDGES[1:], *counts, strict=True):
        lines.append(f"{edge:>8.0e}{vjp:>7}{jvp:>7}  {'#' * (60 * jvp // max(len(kept), 1))}")
    return "\n".join(lines)


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

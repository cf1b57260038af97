"""The cost of exact Coulomb friction beside the convex law, from a cold start.

For every problem file the convex law to e_m = 1e-6 and Coulomb's to e_c = 1e-3 and 1e-6 are solved
from v_guess with a new solver, in turn, and Coulomb's results checked by NumPy alone. Files with
rigid cores, which have no such law, and with rows of other kinds are left out and named.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.rows import Table
from sapwood import ContactProblem, SapSettings, SapSolver, Solution, load_problem
from sapwood.settings import Friction
from sapwood.studies.experiments.running.timing import Times, interleaved
from sapwood.studies.friction_law import coulomb_errors, slip

CONVEX = "convex"
# law and tolerance; the first is what the others are compared with
CASES: tuple[tuple[Friction, float], ...] = (
    ("convex", 1e-6),
    ("coulomb", 1e-3),
    ("coulomb", 1e-6),
)


@dataclasses.dataclass(frozen=True)
class Row:
    """One law on one problem; times in seconds."""

    file: str
    trees: int
    contacts: int
    islands: int
    law: str
    tolerance: float
    status: str
    iterations: int
    """iterations of the island that took most"""
    total_iterations: int
    """summed over islands; of Coulomb's law all of them, with bounds held too"""
    error: float
    """e_m of the convex law, e_c of Coulomb's"""
    momentum: float
    """e_m of the result's own impulses, by NumPy; nan for the convex law"""
    law_error: float
    """by NumPy, see sapwood.studies.friction_law; nan for the convex law"""
    glide: float
    """largest g_n = v_n - v_hat_n + R_n gamma_n of contacts that push, m/s: mu |g_t| by the convex
    law, 0 by Coulomb's"""
    cpu_min: float
    cpu_median: float
    samples: int


def measure(file: Path, repeat: int, budget: float) -> list[Row]:
    """Rows of one problem; none where it has more than compliant contacts."""
    problem = load_problem(file)
    if problem.constraints or problem.core is not None:
        return []
    calls = [_solve(problem, law, tolerance) for law, tolerance in CASES]
    first = [Times() for _ in calls]
    solutions = [times.sample(call) for times, call in zip(first, calls, strict=True)]
    measured = interleaved(calls, first, repeat, budget)
    return [
        _row(file.stem, problem, law, tolerance, solution, times)
        for (law, tolerance), solution, times in zip(CASES, solutions, measured, strict=True)
    ]


def _solve(problem: ContactProblem, law: Friction, tolerance: float) -> Callable[[], Solution]:
    settings = SapSettings(friction=law, relative_tolerance=tolerance)
    return lambda: SapSolver(settings).solve(problem)


def _row(
    file: str,
    problem: ContactProblem,
    law: Friction,
    tolerance: float,
    solution: Solution,
    times: Times,
) -> Row:
    convex = law == CONVEX
    errors = None if convex else coulomb_errors(problem, solution.v, solution.gamma)
    pushes = solution.gamma[:, 2] > 0.0
    glide = slip(problem, solution.v_c, solution.gamma)[pushes, 2]
    return Row(
        file=file,
        trees=problem.n_trees,
        contacts=problem.n_contacts,
        islands=solution.n_islands,
        law=law,
        tolerance=tolerance,
        status=str(solution.status),
        iterations=solution.iterations,
        total_iterations=solution.total_iterations,
        error=solution.momentum_error if convex else solution.coulomb_error,
        momentum=np.nan if errors is None else errors.momentum,
        law_error=np.nan if errors is None else errors.law,
        glide=float(np.max(glide, initial=0.0)),
        cpu_min=times.cpu_min,
        cpu_median=times.cpu_median,
        samples=len(times.cpu),
    )


def run(
    files: Sequence[Path],
    path: Path,
    repeat: int = 20,
    budget: float = 1.0,
    progress: Callable[[str], None] = lambda _text: None,
    left_out: Callable[[str], None] = lambda _text: None,
) -> None:
    """Measure problems, writing each row to a CSV file as it comes.

    Parameters
    ----------
    files
        Problem files.
    path
        CSV file to write.
    repeat
        Samples of each law.
    budget
        Seconds for the samples of one law on one problem.
    progress, left_out
        Called with the name of each file once it is done, and of those without rows.
    """
    with Table(path, Row) as table:
        for file in files:
            rows = measure(file, repeat, budget)
            for row in rows:
                table.add(row)
            if not rows:
                left_out(file.stem)
            progress(file.stem)

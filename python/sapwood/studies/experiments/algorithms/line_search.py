"""Exact line search against backtracking, section VIII-B: Algorithm 1 on steps of the clutter."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sapwood import ContactProblem, SapSolver
from sapwood.settings import LineSearch
from sapwood.studies.experiments.clutter_runs import METHODS, problems_in_time
from sapwood.studies.experiments.figures import Files, Plan
from sapwood.studies.experiments.running.points import Point
from sapwood.studies.experiments.sweep import Sweep
from sapwood.studies.plotting import read_steps, select
from sapwood.studies.plotting.algorithms.line_search import line_search_figure

SEARCHES: tuple[LineSearch, ...] = ("exact", "backtracking")
ROWS = np.dtype(
    [
        ("time", np.float64),
        ("contacts", np.int64),
        *((f"iterations_{name}", np.int64) for name in SEARCHES),
        *((f"seconds_{name}", np.float64) for name in SEARCHES),
    ]
)


def searches(
    bodies: int, walls: bool, seed: int, seconds: float, every: int, repeat: int
) -> NDArray[np.void]:
    """Solve steps of the clutter by Algorithm 1 with either line search.

    Parameters
    ----------
    bodies, walls, seed
        As for `sapwood.studies.experiments.clutter_runs.simulation`.
    seconds
        Time to simulate, s.
    every
        Steps from one problem to the next.
    repeat
        Solves of each problem by each search, in turns; the least time counts.

    Returns
    -------
    ndarray of `ROWS`
        Of each step with contacts: time, s; contacts; iterations and CPU time of a solve from the
        velocity before, s, by either search.
    """
    solvers = {
        name: SapSolver(dataclasses.replace(METHODS["algorithm_1"], line_search=name))
        for name in SEARCHES
    }
    problems = problems_in_time("algorithm_1", bodies, walls, seed, seconds, every)
    return np.array(
        [
            (start, problem.n_contacts, *_solved(problem, solvers, repeat))
            for start, problem in problems
        ],
        ROWS,
    )


def _solved(
    problem: ContactProblem, solvers: Mapping[LineSearch, SapSolver], repeat: int
) -> tuple[float, ...]:
    """Iterations and least CPU time of every solver, as in `ROWS`."""
    iterations, least = dict.fromkeys(solvers, 0), dict.fromkeys(solvers, np.inf)
    for _ in range(repeat):
        for name, solver in solvers.items():
            start = time.thread_time()
            iterations[name] = solver.solve(problem).iterations
            least[name] = min(least[name], time.thread_time() - start)
    return *iterations.values(), *least.values()


def figure(quick: bool) -> Plan:
    """Iterations and time of either search in every step, and their sums.

    ``quick``: 12 bodies for 1 s in place of 40 for 10 s. One sweep, ``line_search``.
    """
    points: list[Point] = [
        {
            "bodies": 12 if quick else 40,
            "walls": walls,
            "seed": 0,
            "seconds": 1.0 if quick else 10.0,
            "every": 5,
            "repeat": 3,
        }
        for walls in (True, False)
    ]
    return Plan(
        sweeps=(Sweep("line_search", searches, points, ROWS),),
        draw=lambda files, path: line_search_figure(files["line_search"], path),
        report=_report,
        workers=1,
    )


def _report(files: Files) -> str:
    """Sums of both searches."""
    rows = read_steps(files["line_search"])
    lines = []
    for walls, place in ((1, "with walls"), (0, "without walls")):
        run = select(rows, walls=walls)
        sums = {
            f"{what}_{name}": run[f"{what}_{name}"].sum()
            for what in ("iterations", "seconds")
            for name in SEARCHES
        }
        gain = 1.0 - sums["seconds_exact"] / sums["seconds_backtracking"]
        lines.append(
            f"{place}: iterations {sums['iterations_exact']} exact, "
            f"{sums['iterations_backtracking']} backtracking; time "
            f"{1e3 * sums['seconds_exact']:.3g} and {1e3 * sums['seconds_backtracking']:.3g} ms: "
            f"exact takes {100.0 * gain:.0f} % less"
        )
    return "\n".join(lines)

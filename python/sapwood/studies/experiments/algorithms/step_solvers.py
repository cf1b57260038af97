"""Figure 9 with the other solvers: the clutter's problems in time, by each of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sapwood.studies import peers
from sapwood.studies.experiments.clutter_runs import problems_in_time
from sapwood.studies.experiments.figures import Files, Plan
from sapwood.studies.experiments.running.points import Point
from sapwood.studies.experiments.sweep import Sweep
from sapwood.studies.peers.measured import solve_each
from sapwood.studies.plotting import read_steps, select
from sapwood.studies.plotting.algorithms.step_solvers import step_solvers_figure

#: Solvers and tolerances of section X-C: conic solvers, at their own, in the place of Gurobi.
#: Algorithm 1 runs in C ("sapwood-plain") and in Python on Geodesic's sparse algebra ("scipy").
SOLVERS = {
    "sapwood-plain": 1e-5,
    "scipy": 1e-5,
    "geodesic": 1e-5,
    "clarabel": 1e-8,
    "qoco": 1e-7,
}
ROWS = np.dtype(
    [(name, np.float64) for name in ("time", "contacts", "iterations", "e_m", "solve_time")]
)


def in_time(
    solver: str,
    tolerance: float,
    bodies: int,
    walls: bool,
    seed: int,
    seconds: float,
    every: int,
    repeat: int,
) -> NDArray[np.void]:
    """One solver on the problems in time.

    Parameters
    ----------
    solver
        Name in `sapwood.studies.peers`.
    tolerance
        Its own tolerance.
    bodies, walls, seed, seconds, every
        As for `sapwood.studies.experiments.clutter_runs.problems_in_time`.
    repeat
        Solves of each problem; the least time counts.

    Returns
    -------
    ndarray of `ROWS`
        Of each problem: time, s; contacts; iterations; e_m (24); CPU time of a solve, s. The last
        three are NaN where the solver gave nothing.
    """
    found = list(problems_in_time("sapwood", bodies, walls, seed, seconds, every))
    solved = solve_each(peers.load(solver), (problem for _, problem in found), tolerance, repeat)
    return np.array(
        [
            (time, problem.n_contacts, one.iterations, one.e_m, one.seconds)
            for (time, problem), one in zip(found, solved, strict=True)
        ],
        ROWS,
    )


def figure(quick: bool) -> Plan:
    """Iterations, momentum error and time of every solver in time.

    ``quick``: 12 bodies for 1 s in place of 40 for 10 s. One sweep, ``step_solvers``.
    """
    points: list[Point] = [
        {
            "solver": solver,
            "tolerance": tolerance,
            "bodies": 12 if quick else 40,
            "walls": walls,
            "seed": 0,
            "seconds": 1.0 if quick else 10.0,
            "every": 10,
            "repeat": 1 if quick else 3,
        }
        for walls in (True, False)
        for solver, tolerance in SOLVERS.items()
    ]
    return Plan(
        sweeps=(Sweep("step_solvers", in_time, points, ROWS),),
        draw=lambda files, path: step_solvers_figure(files["step_solvers"], path),
        report=_report,
        workers=1,
    )


def _report(files: Files) -> str:
    """Means of the first and the second half of the time."""
    rows = read_steps(files["step_solvers"])
    lines = [f"{'iterations, ms a solve, e_m':<32}{'first half':>28}{'second half':>28}"]
    for walls, place in ((1, "with walls"), (0, "without walls")):
        for solver in SOLVERS:
            run = select(rows, walls=walls, solver=solver)
            words = [
                f"{np.nanmean(half['iterations']):.1f}, "
                f"{1e3 * np.nanmean(half['solve_time']):.3g} ms, {np.nanmax(half['e_m']):.1e}"
                for half in np.array_split(run, 2)
            ]
            lines.append(f"{place + ', ' + solver:<32}{words[0]:>28}{words[1]:>28}")
    return "\n".join(lines)

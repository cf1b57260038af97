"""Solvers on the contact problems of slip control: the comparison at the end of section X-D."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sapwood import ContactProblem
from sapwood.studies import peers
from sapwood.studies.experiments.figures import Files, Plan
from sapwood.studies.experiments.running.points import Point
from sapwood.studies.experiments.sweep import Sweep
from sapwood.studies.peers.measured import solve_each
from sapwood.studies.plotting import read_steps
from sapwood.studies.plotting.algorithms.slip_solvers import solvers_figure
from sapwood.studies.slip_control.scene import (
    PERIOD,
    TIME_STEP,
    apply_grip,
    at_start,
    grip_force,
    slip_model,
    slip_stepper,
)

#: Solvers and the paper's tolerances: Clarabel, QOCO and ECOS in the place of Gurobi. Algorithm 1
#: runs in C ("sapwood-plain") and, on the sparse algebra that Geodesic has, in Python ("scipy").
SOLVERS = {
    "sapwood": 1e-3,
    "sapwood-plain": 1e-3,
    "scipy": 1e-3,
    "clarabel": 1e-8,
    "qoco": 1e-8,
    "ecos": 1e-8,
    "geodesic": 1e-6,
}
#: Solves that are timed on every problem, which all do the same.
REPEATS = 3

ROWS = np.dtype(
    [
        ("problems", np.int64),
        ("solved", np.int64),
        ("iterations", np.float64),
        ("e_m_mean", np.float64),
        ("e_m_most", np.float64),
        ("solve_time", np.float64),
        ("detail", "U120"),
    ]
)


def recorded(seconds: float, every: int, period: float) -> Iterator[ContactProblem]:
    """Problems of the scene, as sapwood simulates it.

    Parameters
    ----------
    seconds
        Time to simulate, s.
    every
        Steps from one problem to the next.
    period
        Of the grip force, s.

    Yields
    ------
    ContactProblem
        With the velocity before the step as v_guess.
    """
    model = slip_model()
    data, stepper = at_start(model), slip_stepper(model)
    for taken in range(round(seconds / TIME_STEP)):
        apply_grip(data, grip_force(data.time, period))
        if taken % every == every // 2:
            yield stepper.problem(data)
        stepper.step(data)


def on_problems(
    solver: str, tolerance: float, seconds: float, every: int, period: float
) -> NDArray[np.void]:
    """One solver on recorded problems.

    Parameters
    ----------
    solver
        Name in `sapwood.studies.peers`.
    tolerance
        Its own tolerance.
    seconds, every, period
        As for `recorded`.

    Returns
    -------
    ndarray of `ROWS`
        One row: how many problems there are and were solved, mean iterations, mean and largest e_m
        (24), mean CPU time of a solve from v_guess, the least of `REPEATS`, s, and what went wrong
        last.
    """
    problems = recorded(seconds, every, period)
    found = list(solve_each(peers.load(solver), problems, tolerance, REPEATS))
    solved = [one for one in found if not one.detail]
    row = np.zeros(1, ROWS)
    row["problems"], row["solved"] = len(found), len(solved)
    row["detail"] = next((one.detail for one in reversed(found) if one.detail), "")
    for column, values in (
        ("iterations", [one.iterations for one in solved]),
        ("e_m_mean", [one.e_m for one in solved]),
        ("solve_time", [one.seconds for one in solved]),
    ):
        row[column] = np.mean(values) if values else math.nan
    row["e_m_most"] = max((one.e_m for one in solved), default=math.nan)
    return row


def figure(quick: bool) -> Plan:
    """Iterations, momentum error and time of every solver at the paper's tolerances.

    ``quick``: eight problems of one period of 2 s in place of 240 of five periods of 6 s. One
    sweep, ``slip_solvers``.
    """
    period = PERIOD / 3 if quick else PERIOD
    points: list[Point] = [
        {
            "solver": solver,
            "tolerance": tolerance,
            "seconds": period if quick else 5 * period,
            "every": 50 if quick else 25,
            "period": period,
        }
        for solver, tolerance in SOLVERS.items()
    ]
    return Plan(
        sweeps=(Sweep("slip_solvers", on_problems, points, ROWS),),
        draw=lambda files, path: solvers_figure(files["slip_solvers"], path),
        report=_report,
        workers=1,
    )


def _report(files: Files) -> str:
    """A line per solver, and times of the others over those of Algorithm 1."""
    rows = read_steps(files["slip_solvers"])
    lines = ["solver         tolerance   solved  iterations  e_m mean, most, %      ms a solve"]
    lines += [
        f"{row['solver']:<15}{row['tolerance']:<9.0e}{row['solved']:>5}/{row['problems']:<5}"
        f"{row['iterations']:>10.3g}{100 * row['e_m_mean']:>12.2g}{100 * row['e_m_most']:>10.2g}"
        f"{1e3 * row['solve_time']:>14.3g}"
        for row in rows
    ]
    seconds = dict(zip(rows["solver"].tolist(), rows["solve_time"].tolist(), strict=True))
    for name, reference in (
        ("clarabel", "sapwood-plain"), ("qoco", "sapwood-plain"), ("ecos", "sapwood-plain"),
        ("geodesic", "scipy"),
    ):  # fmt: skip
        ratio = seconds[name] / seconds[reference]
        lines.append(f"time of {name} over that of Algorithm 1 ({reference}): {ratio:.3g}")
    return "\n".join(lines)

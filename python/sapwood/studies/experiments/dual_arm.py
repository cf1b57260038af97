"""Two arms and a jar, section X-E: Figures 1 and 18 to 21.

Figures 19 to 21 compare solvers by their tolerances in two ways: on problems that were recorded
along the task as sapwood simulates it, and in whole tasks, simulated with each solver, which are
done or not.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import ContactProblem
from sapwood.studies import peers
from sapwood.studies.dual_arm.control import Control
from sapwood.studies.dual_arm.run import STEP_DTYPE, run
from sapwood.studies.dual_arm.scene import Outcome, scene
from sapwood.studies.dual_arm.simulations import MEASURES, TOLERANCE, SapwoodSteps
from sapwood.studies.dual_arm.task import TASKS
from sapwood.studies.experiments.figures import Files, Plan
from sapwood.studies.experiments.running.points import Point
from sapwood.studies.experiments.sweep import Sweep
from sapwood.studies.peers import PeerError
from sapwood.studies.peers.accuracy import Accuracy
from sapwood.studies.plotting import read_steps, select
from sapwood.studies.plotting.algorithms.dual_arm_solvers import (
    ERRORS,
    errors_figure,
    iterations_figure,
)
from sapwood.studies.plotting.dual_arm import keyframes_figure, task_figure
from sapwood.studies.plotting.tables import rows_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Solvers of the recorded problems, and the loosest and the tightest tolerance of each, 10^-k.
#: `scipy` is the printed algorithm on the algebra of `geodesic`, and is reported beside it.
SOLVERS = {
    "sapwood": (1, 6), "clarabel": (2, 9), "qoco": (2, 9), "ecos": (2, 9), "scs": (2, 6),
    "geodesic": (1, 8), "scipy": (3, 3),
}  # fmt: skip
#: Solvers and tolerances with which the whole task is simulated.
SIMULATED = {
    "sapwood": (0.9, 0.7, 0.5, 0.3, 0.2, 1e-1, 5e-2, 2e-2, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6),
    "clarabel": (1e-2, 1e-3, 1e-4, 1e-8),
    "qoco": (1e-2, 1e-3, 1e-4, 1e-8),
    "ecos": (1e-1, 1e-2, 1e-4),
    "scs": (1e-1, 1e-2, 1e-4),
    "geodesic": (1e-2, 1e-4, 1e-6),
}
#: Solves that are timed on every recorded problem, which all do the same.
REPEATS = 5
#: Phases whose ends Figure 1 shows.
KEYFRAMES = ("start", "grasp jar", "open jar", "pour", "close jar", "leave")

FRAMES = np.dtype([("time", np.float64), ("phase", "U16"), ("i", np.int64), ("qpos", np.float64)])
_SPREAD = [(f"{error}_{name}", np.float64) for error in ERRORS
           for name in ("mean", "median", "least", "most")]  # fmt: skip
SUMMARY = np.dtype(
    [
        ("problems", np.int64),
        ("solved", np.int64),
        ("done", np.int64),
        ("iterations", np.float64),
        ("solve_time", np.float64),
        ("detail", "U120"),
        *_SPREAD,
    ]
)
_WITH_TOLERANCE = np.dtype([("tolerance", np.float64), *SUMMARY.descr])


# ---- figures 1 and 18 ---------------------------------------------------------------------------


def steps(task: str, seconds: float, tolerance: float) -> NDArray[np.void]:
    """All steps of the task by sapwood: a point of Figure 18.

    Parameters
    ----------
    task, seconds, tolerance
        As for `sapwood.studies.dual_arm.run.run`.

    Returns
    -------
    ndarray of `STEP_DTYPE`
        One row per step.
    """
    return run(task, seconds=seconds, tolerance=tolerance, progress=False).steps


def keyframes(task: str, seconds: float, tolerance: float) -> NDArray[np.void]:
    """Configurations at the beginning and where phases end: a point of Figure 1.

    Parameters
    ----------
    task, seconds, tolerance
        As for `sapwood.studies.dual_arm.run.run`.

    Returns
    -------
    ndarray of `FRAMES`
        One row per number of a configuration.
    """
    frames = run(task, seconds=seconds, tolerance=tolerance, progress=False).frames
    # a phase in several parts counts by its last
    chosen = {frame.phase: frame for frame in frames if frame.phase in KEYFRAMES}
    return np.array(
        [
            (frame.time, frame.phase, i, value)
            for frame in chosen.values()
            for i, value in enumerate(frame.qpos.tolist())
        ],
        FRAMES,
    )


def _point(quick: bool) -> Point:
    return {**_extent(quick), "tolerance": TOLERANCE}


def _extent(quick: bool) -> Point:
    """Which task, and how long it takes at most, s."""
    task = "lift" if quick else "jar"
    return {"task": task, "seconds": TASKS[task][1]}


def figure_1(quick: bool) -> Plan:
    """Keyframes of the task, or of its beginning.

    ``quick``: up to the lifted jar. One sweep, ``figure1``.
    """
    return Plan((Sweep("figure1", keyframes, [_point(quick)], FRAMES),), _draw_1)


def _draw_1(files: Files, path: Path) -> Figure:
    rows = rows_of(files["figure1"])
    frames = []
    for phase in dict.fromkeys(rows["phase"].tolist()):
        frame = rows[rows["phase"] == phase]
        frames.append((f"{phase}, {frame['time'][0]:.1f} s", frame["qpos"]))
    return keyframes_figure(scene(), frames, path)


def figure_18(quick: bool) -> Plan:
    """Contacts in time, with what happens.

    ``quick``: up to the lifted jar. One sweep, ``figure18``.
    """
    return Plan(
        sweeps=(Sweep("figure18", steps, [_point(quick)], STEP_DTYPE),),
        draw=lambda files, path: task_figure(files["figure18"], path),
        report=_report_18,
        workers=1,
    )


def _report_18(files: Files) -> str:
    """Contacts, iterations and times of the task."""
    rows = read_steps(files["figure18"])
    total = {name: rows[name].sum() for name in ("solver_time", "step_time", "control_time")}
    contacts, iterations = rows["contacts"], rows["iterations"]
    return (
        f"contacts: {contacts.mean():.4g} on average, at most {contacts.max()}\n"
        f"iterations: {iterations.mean():.3g} on average, at most {iterations.max()}\n"
        f"{rows['time'][-1]:.4g} s simulated; steps {total['step_time']:.3g} s, "
        f"of it the solver {total['solver_time']:.3g} s; "
        f"controllers {total['control_time']:.3g} s"
    )


# ---- figures 19 to 21 ---------------------------------------------------------------------------


def recorded(task: str, seconds: float, every: int) -> Iterator[ContactProblem]:
    """Problems along the task, as sapwood simulates it at the paper's tolerance.

    Parameters
    ----------
    task
        Name of the plan.
    seconds
        Simulated time after which it ends, if the plan does not before, s.
    every
        Steps from one problem to the next.

    Yields
    ------
    ContactProblem
        With the velocity before the step as v_guess.
    """
    simulation = SapwoodSteps()
    data = simulation.data
    control = Control(data, simulation.model.opt.timestep, simulation.push, TASKS[task][0])
    mujoco.mj_forward(simulation.model, data)
    records, taken = np.zeros(1, MEASURES), 0
    while data.time < seconds and control.act():
        if taken % every == every // 2:
            yield simulation.problem()
        simulation.step(records[0])
        taken += 1


def on_problems(
    solver: str, first: int, last: int, task: str, seconds: float, every: int, patience: float
) -> NDArray[np.void]:
    """One solver on recorded problems at all its tolerances: a point of Figures 19 to 21.

    Parameters
    ----------
    solver
        Name in `sapwood.studies.peers`.
    first, last
        Tolerances are 10^-first to 10^-last.
    task, seconds, every
        As for `recorded`.
    patience
        Seconds after which a solve may give up.

    Returns
    -------
    ndarray of `SUMMARY` and the tolerance
        One row per tolerance; ``solve_time`` is the CPU time of a solve from v_guess, the least of
        `REPEATS`, on average over the problems.
    """
    peer = peers.load(solver, patience=patience)
    problems = list(recorded(task, seconds, every))
    accuracies = [Accuracy(problem) for problem in problems]
    forms = [peer.form(problem) for problem in problems]
    rows = np.zeros(last - first + 1, _WITH_TOLERANCE)
    for row, exponent in zip(rows, range(first, last + 1), strict=True):
        found: list[tuple[float, float]] = []
        times: list[float] = []
        iterations: list[float] = []
        for form, accuracy in zip(forms, accuracies, strict=True):
            solve = peer.solve(form, 10.0**-exponent, "cold")
            try:
                result, seconds = _timed(solve)
                answer = peer.answer(form, result)
            except (PeerError, ArithmeticError, RuntimeError) as error:
                row["detail"] = " ".join(str(error).split())[:120]
                continue
            times.append(seconds)
            e_m = accuracy.momentum_error(answer.v)
            if math.isfinite(e_m):
                found.append((e_m, accuracy.errors(answer.v, answer.gamma).complementarity))
                iterations.append(math.nan if answer.iterations is None else answer.iterations)
        row["tolerance"] = 10.0**-exponent
        row["problems"], row["solved"], row["done"] = len(problems), len(found), -1
        row["iterations"] = np.mean(iterations) if iterations else math.nan
        row["solve_time"] = np.mean(times) if times else math.nan
        _spread(row, np.array(found).reshape(-1, 2))
    return rows


def _timed(solve: Callable[[], Any]) -> tuple[Any, float]:
    """The result of a solve, and the least CPU time of several, s."""
    times = []
    for _ in range(REPEATS):
        start = time.thread_time()
        result = solve()
        times.append(time.thread_time() - start)
    return result, min(times)


def simulated(
    solver: str, tolerance: float, task: str, seconds: float, patience: float
) -> NDArray[np.void]:
    """The whole task with one solver at one tolerance: a point of Figures 19 to 21.

    Parameters
    ----------
    solver, tolerance, task, seconds, patience
        As for `sapwood.studies.dual_arm.run.run`.

    Returns
    -------
    ndarray of `SUMMARY`
        One row; ``done`` is 1 where the task was, 0 where it was not. e_mu of sapwood is NaN: its
        steps satisfy (25) exactly.
    """
    result = run(
        task, solver=solver, tolerance=tolerance, seconds=seconds, patience=patience, progress=False
    )
    taken = result.steps
    row = np.zeros(1, SUMMARY)
    row["problems"] = row["solved"] = len(taken)
    row["done"] = result.success
    row["detail"] = (result.failure or _words(result.outcome))[:120]
    row["iterations"] = taken["iterations"].mean() if taken.size else math.nan
    row["solve_time"] = taken["solver_time"].mean() if taken.size else math.nan
    errors = np.stack([taken["momentum_error"], taken["complementarity_error"]], axis=1)
    _spread(row[0], errors)
    return row


def _words(end: Outcome) -> str:
    """The outcome of the task."""
    lid, jar = ("on" if end.lid_on else "off"), ("back" if end.jar_back else "astray")
    return f"{end.marbles} marbles in the bowl; lid {lid}; jar {jar}"


def _spread(row: np.void, errors: NDArray[np.float64]) -> None:
    """Mean, median, least and most of both errors (n, 2), of those that were measured."""
    for column, error in zip(errors.T, ERRORS, strict=True):
        known = column[np.isfinite(column)]
        for name, of in (
            ("mean", np.mean), ("median", np.median), ("least", np.min), ("most", np.max),
        ):  # fmt: skip
            row[f"{error}_{name}"] = of(known) if known.size else math.nan


def _sweeps(quick: bool) -> tuple[Sweep, Sweep]:
    """Recorded problems and whole tasks: the same for all three figures."""
    problems: list[Point] = [
        {"solver": solver, "first": max(first, last - 1) if quick else first, "last": last,
         **_extent(quick), "every": 200 if quick else 50, "patience": 10.0}
        for solver, (first, last) in SOLVERS.items()
    ]  # fmt: skip
    tasks: list[Point] = [
        {"solver": solver, "tolerance": tolerance, **_extent(quick), "patience": 900.0}
        for solver, tolerances in SIMULATED.items()
        for tolerance in tolerances
        if not quick or (solver == "sapwood" and tolerance in (1e-1, 1e-3))
    ]  # fmt: skip
    return (
        Sweep("dual_arm_problems", on_problems, problems, _WITH_TOLERANCE),
        Sweep("dual_arm_tasks", simulated, tasks, SUMMARY),
    )


def figure_19(quick: bool) -> Plan:
    """Momentum error (24) against the tolerance of each solver.

    ``quick``: up to the lifted jar, few problems and tolerances. Two sweeps, ``dual_arm_problems``
    and ``dual_arm_tasks``, those of figures 20 and 21 too.
    """
    return _comparison(quick, partial(errors_figure, error="e_m"))


def figure_20(quick: bool) -> Plan:
    """Complementarity error (25) against the tolerance of each solver.

    ``quick`` as for `figure_19`. The sweeps of `figure_19`.
    """
    return _comparison(quick, partial(errors_figure, error="e_mu"))


def figure_21(quick: bool) -> Plan:
    """Iterations per step against the tolerance of each solver.

    ``quick`` as for `figure_19`. The sweeps of `figure_19`.
    """
    return _comparison(quick, iterations_figure)


def _comparison(quick: bool, draw: Callable[[Path, Path, Path], Figure]) -> Plan:
    """The sweeps of solvers, and what is drawn of them."""
    return Plan(
        sweeps=_sweeps(quick),
        draw=lambda files, path: draw(*_files(files), path),
        report=_report,
    )


def _files(files: Files) -> tuple[Path, Path]:
    return files["dual_arm_problems"], files["dual_arm_tasks"]


def _report(files: Files) -> str:
    """A line per solver and tolerance, of problems and then of tasks."""
    lines = []
    for file in _files(files):
        rows = read_steps(file)
        lines.append(
            f"{file.stem:<18}tolerance   solved  done  iterations  ms a solve  "
            "e_m mean    most      e_mu mean"
        )
        for solver in dict.fromkeys(rows["solver"].tolist()):
            for row in select(rows, solver=solver):
                done = {1: "yes", 0: "no"}.get(int(row["done"]), "-")
                lines.append(
                    f"  {solver:<16}{row['tolerance']:<9.0e}{row['solved']:>5}/{row['problems']:<5}"
                    f"{done:>4}{row['iterations']:>10.3g}{1e3 * row['solve_time']:>12.3g}"
                    f"{row['e_m_mean']:>12.1e}{row['e_m_most']:>10.1e}{row['e_mu_mean']:>10.1e}"
                )
    return "\n".join(lines)

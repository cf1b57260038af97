"""A run of the task: the plan, the steps, what is measured of them, what came of it."""

from __future__ import annotations

import json
import math
import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

import sapwood
from sapwood.base.files import RowFile, write_file
from sapwood.mujoco import StepError
from sapwood.settings import Friction
from sapwood.studies.dual_arm.control import Control
from sapwood.studies.dual_arm.scene import Outcome, outcome
from sapwood.studies.dual_arm.simulations import (
    MEASURES,
    TOLERANCE,
    Fields,
    Simulation,
    simulation,
)
from sapwood.studies.dual_arm.task import TASKS
from sapwood.studies.experiments.running.recording import ProgressBar, interrupt_flag
from sapwood.studies.peers import PeerError

Array = NDArray[np.float64]

#: Columns of a run: times in s, heights of the undersides of jar and lid in m, sums of the normal
#: forces of the hands on what they hold in N.
STEP_DTYPE = np.dtype(
    [
        ("step", np.int64),
        ("time", np.float64),
        ("phase", "U16"),
        *((name, MEASURES[name]) for name in MEASURES.names or ()),
        ("control_time", np.float64),
        ("jar_height", np.float64),
        ("lid_height", np.float64),
        ("right_grip", np.float64),
        ("left_grip", np.float64),
    ]
)


class Frame(NamedTuple):
    """The configuration (nq,) where a phase ends, and the time, s."""

    time: float
    phase: str
    qpos: Array


@dataclass(frozen=True, eq=False)
class TaskRun:
    """One finished, interrupted or failed run.

    Attributes
    ----------
    solver, tolerance, friction, fields, task
        What was simulated, and how.
    steps
        One record of `STEP_DTYPE` per step taken.
    frames
        The beginning, and the end of each phase.
    outcome
        What became of the objects.
    wall_time, cpu_time
        Of the whole run, s: steps, controllers, records. CPU time is that of this process, which
        other programs on the machine hardly change.
    model
        The scene.
    finished
        Whether the plan came to its end.
    failure
        Why it ended early, or None: also where it was interrupted.
    csv
        File with the steps, or None.
    """

    solver: str
    tolerance: float
    friction: str
    fields: str | None
    task: str
    steps: NDArray[np.void]
    frames: tuple[Frame, ...]
    outcome: Outcome
    wall_time: float
    cpu_time: float
    model: mujoco.MjModel
    finished: bool
    failure: str | None
    csv: Path | None

    @property
    def phases(self) -> tuple[str, ...]:
        """Names of the phases, in their order."""
        return tuple(dict.fromkeys(self.steps["phase"].tolist()))

    @property
    def success(self) -> bool:
        """Whether the plan came to its end and did what it is for."""
        if self.task == "lift":
            return self.finished and bool(self.steps["jar_height"][-1] > 0.28)
        return self.finished and self.outcome.success


def run(
    task: str = "jar",
    *,
    solver: str = "sapwood",
    tolerance: float = TOLERANCE,
    friction: Friction = "convex",
    fields: Fields | None = None,
    seconds: float = math.inf,
    patience: float = math.inf,
    out: str | PathLike[str] | None = None,
    progress: bool = True,
) -> TaskRun:
    """Simulate the task and measure every step.

    Ctrl-C ends the run after the current step, and what was simulated until then is returned.

    Parameters
    ----------
    task
        Of `sapwood.studies.dual_arm.task.TASKS`.
    solver, tolerance, friction, fields
        As for `sapwood.studies.dual_arm.simulations.simulation`.
    seconds
        Simulated time after which the run ends, if the plan does not before, s.
    patience
        Wall-clock time after which the run is given up, s.
    out
        Folder for ``dual_arm.csv`` and ``dual_arm.json``, or ``dual_arm_SOLVER.csv`` of another
        solver; made when missing. None writes nothing.
    progress
        Show a progress bar, where the standard error stream is a terminal.

    Returns
    -------
    TaskRun
        Measurements of all steps, and what came of them.

    Raises
    ------
    ValueError
        There is no such task.
    ImportError
        A package that the solver needs is not installed.
    OSError
        The folder cannot be written to.
    """
    if task not in TASKS:
        raise ValueError(f"task = {task!r}: must be one of {', '.join(TASKS)}")
    scene = simulation(solver, tolerance, friction, fields)
    folder = None if out is None else Path(out)
    stem = "dual_arm" if solver == "sapwood" else f"dual_arm_{solver}"
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    path = None if folder is None else folder / f"{stem}.csv"
    with interrupt_flag() as interrupted:
        result = _simulate(
            scene, task, solver, tolerance, friction, fields, seconds, patience, path, progress,
            interrupted,
        )  # fmt: skip
    if folder is not None:
        write_file(folder / f"{stem}.json", json.dumps(_summary(result), indent=2) + "\n")
    return result


def _simulate(
    scene: Simulation, task: str, solver: str, tolerance: float, friction: str,
    fields: str | None, seconds: float, patience: float, path: Path | None, progress: bool,
    interrupted: Callable[[], bool],
) -> TaskRun:  # fmt: skip
    """Step until the plan, the patience or the solver has come to its end."""
    phases, longest = TASKS[task]
    model, data = scene.model, scene.data
    control = Control(data, model.opt.timestep, scene.push, phases)
    mujoco.mj_forward(model, data)
    steps = np.zeros(round(min(seconds, longest) / model.opt.timestep), STEP_DTYPE)
    frames = [Frame(0.0, "start", data.qpos.copy())]
    taken, finished, failure = 0, False, None
    start, cpu_start = time.perf_counter(), time.process_time()
    with (
        nullcontext() if path is None else RowFile(path, STEP_DTYPE.names or ()) as rows,
        ProgressBar(f"dual arm, {solver}", len(steps), progress) as bar,
        warnings.catch_warnings(),
    ):
        # every outcome is recorded, and marbles that land overlap with thin staves by 0.7 mm: the
        # stepper need not warn of the first of its kind
        warnings.filterwarnings("ignore", ".*(solver ended in|ended with a rigid)", RuntimeWarning)
        while taken < len(steps):
            record, before = steps[taken], control.phase
            began = time.perf_counter()
            finished = not control.act()
            record["control_time"] = time.perf_counter() - began
            if before and before != control.phase:
                frames.append(Frame(data.time, before, data.qpos.copy()))
            if finished:
                break
            if interrupted() or began - start > patience:
                failure = "interrupted" if interrupted() else f"not done in {patience:g} s"
                break
            try:
                scene.step(record)
            except (StepError, PeerError) as error:
                failure = str(error)
                break
            taken += 1
            record["step"], record["time"], record["phase"] = taken, data.time, control.phase
            record["jar_height"] = data.body("jar").xpos[2]
            record["lid_height"] = data.body("lid").xpos[2]
            record["right_grip"] = scene.push("right", "jar")
            record["left_grip"] = scene.push("left", "lid")
            if rows is not None:
                rows.write(record.item())
            bar.update(f"{control.phase}, {record['contacts']} contacts")
    return TaskRun(
        solver=solver,
        tolerance=tolerance,
        friction=friction,
        fields=fields,
        task=task,
        steps=steps[:taken],
        frames=tuple(frames),
        outcome=outcome(model, data.qpos),
        wall_time=time.perf_counter() - start,
        cpu_time=time.process_time() - cpu_start,
        model=model,
        finished=finished,
        failure=failure,
        csv=path,
    )


def _summary(result: TaskRun) -> dict[str, Any]:
    """The run in a few numbers, for JSON."""
    steps = result.steps
    means = {
        name: float(steps[name].mean()) if steps.size else None
        for name in ("contacts", "iterations", "momentum_error", "solver_time", "step_time")
    }
    return {
        "versions": {
            "sapwood": sapwood.__version__,
            "mujoco": mujoco.__version__,
            "numpy": np.__version__,
        },
        "task": result.task,
        "solver": result.solver,
        "tolerance": result.tolerance,
        "friction": result.friction,
        "fields": result.fields,
        "success": result.success,
        "failure": result.failure,
        "outcome": asdict(result.outcome),
        "wall_time": result.wall_time,
        "cpu_time": result.cpu_time,
        "steps": len(steps),
        "means": means,
    }

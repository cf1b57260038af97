"""The clutter of section X-C: bodies dropped into a box or onto open floor.

Four columns of spheres and boxes fall for some seconds and come to rest. Every step is measured
and, with an output folder, written to a CSV file while the simulation runs. The same scene can be
run by MuJoCo's own solver, for comparison. The final state is held against the estimates of section
IX.

>>> result = run(bodies=8, seconds=0.05, progress=False)
>>> result.steps["iterations"].shape
(5,)
"""

from __future__ import annotations

import json
import time
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

import sapwood
from sapwood import SapSettings, _core
from sapwood.base.checks import integer
from sapwood.base.files import RowFile, write_file
from sapwood.mujoco import StepError
from sapwood.settings import LineSearch
from sapwood.studies import scenes
from sapwood.studies.experiments.free_bodies import FreeBodies
from sapwood.studies.experiments.measured_steps import (
    STEP_DTYPE,
    MujocoSimulation,
    SapSimulation,
    Simulation,
)
from sapwood.studies.experiments.resting import RestingState, resting_state
from sapwood.studies.experiments.running.recording import ProgressBar, interrupt_flag

#: The paper's stopping tolerance for this scene (section X-C).
TOLERANCE = 1e-5

_MOST_STEPS = 1e9

#: File in the output folder for the steps of each solver.
CSV_NAMES = {"sapwood": "steps.csv", "mujoco": "steps_mujoco.csv"}


@dataclass(frozen=True)
class ClutterParameters:
    """The simulated scene; lengths in m, times in s."""

    bodies: int = 40
    walls: bool = True
    seconds: float = 10.0
    dt: float = 0.01
    seed: int = 0
    sigma: float = 1e-3
    beta: float = 1.0
    tolerance: float = TOLERANCE
    line_search: LineSearch = "exact"
    islands: bool = True

    def __post_init__(self) -> None:
        integer(self.bodies, "bodies", least=1)
        integer(self.seed, "seed", least=0)
        for name in ("seconds", "dt", "sigma"):
            _core.as_float64(getattr(self, name), name, (), "positive")
        for name in ("beta", "tolerance"):
            _core.as_float64(getattr(self, name), name, (), "non-negative")
        if self.tolerance >= 1:
            raise ValueError(f"tolerance = {self.tolerance}: must be < 1")
        if self.seconds / self.dt > _MOST_STEPS:
            raise ValueError(
                f"seconds = {self.seconds}: more than {_MOST_STEPS:.0e} steps of {self.dt} s"
            )

    @property
    def n_steps(self) -> int:
        """Number of steps: ``seconds/dt`` to the nearest whole number, at least 1."""
        return max(1, round(self.seconds / self.dt))


@dataclass(frozen=True)
class ClutterSummary:
    """A run in a few numbers; times in s.

    Attributes
    ----------
    steps, simulated_time, wall_time, solver_time
        Steps taken, their simulated time, the time they took, and the solver's part of it.
    real_time_factor
        Simulated time over wall time.
    iterations_mean, iterations_max, iterations_settled
        Over all steps; settled is the mean over the second half of the steps.
    momentum_error_median, momentum_error_max
        e_m over all steps.
    outcomes
        Number of steps for each outcome of the solver.
    bodies_inside
        Bodies whose centre is within the walls (where there are walls) and above the floor.
    max_penetration, mean_slip
        Of the last step, m and m/s.
    resting
        The final state against the estimates of section IX; None for MuJoCo's solver, whose
        contacts are a little different, and where the parameters make no problem of that state.
    """

    steps: int
    simulated_time: float
    wall_time: float
    solver_time: float
    real_time_factor: float
    iterations_mean: float
    iterations_max: int
    iterations_settled: float
    momentum_error_median: float
    momentum_error_max: float
    outcomes: dict[str, int]
    bodies_inside: int
    max_penetration: float
    mean_slip: float
    resting: RestingState | None


@dataclass(frozen=True, eq=False)
class ClutterRun:
    """One finished, interrupted or failed run.

    Attributes
    ----------
    solver
        ``"sapwood"`` or ``"mujoco"``.
    parameters
        What was simulated.
    steps
        One record of `STEP_DTYPE` per step taken.
    summary
        The run in a few numbers, None without a single step.
    model, qpos
        The scene and its final configuration.
    interrupted
        Whether Ctrl-C ended the run.
    failure
        Why the run ended early, or None.
    csv
        File with the steps, or None.
    compared
        The run of the same scene by the other solver, or None.
    """

    solver: str
    parameters: ClutterParameters
    steps: NDArray[np.void]
    summary: ClutterSummary | None
    model: mujoco.MjModel
    qpos: NDArray[np.float64]
    interrupted: bool
    failure: str | None
    csv: Path | None
    compared: ClutterRun | None = None


def run(
    bodies: int = 40,
    walls: bool = True,
    seconds: float = 10.0,
    dt: float = 0.01,
    seed: int = 0,
    *,
    sigma: float = 1e-3,
    beta: float = 1.0,
    tolerance: float = TOLERANCE,
    line_search: LineSearch = "exact",
    islands: bool = True,
    compare: str | None = None,
    out: str | PathLike[str] | None = None,
    progress: bool = True,
) -> ClutterRun:
    """Simulate the clutter and measure every step.

    Ctrl-C ends the run after the current step: what was simulated until then is returned, marked as
    interrupted. A second Ctrl-C raises KeyboardInterrupt as usual.

    Parameters
    ----------
    bodies
        Number of bodies, in four columns.
    walls
        Whether the walls of the box stand around them.
    seconds
        Time to simulate, s.
    dt
        Time step, s; the dissipation time scale tau_d of all contacts is the same.
    seed
        Of the assortment of spheres and boxes.
    sigma, beta
        Regularization parameters of (22) and (21).
    tolerance
        Relative tolerance eps_r of (20).
    line_search
        ``"exact"`` or ``"backtracking"``.
    islands
        Whether groups of bodies that do not touch are solved one by one.
    compare
        ``"mujoco"`` runs the same scene by MuJoCo's own solver too.
    out
        Folder for ``steps.csv`` (``steps_mujoco.csv`` for the compared run) and ``summary.json``;
        made when missing. None writes nothing.
    progress
        Show a progress bar, where the standard error stream is a terminal.

    Returns
    -------
    ClutterRun
        Measurements of all steps, and what came of them.

    Raises
    ------
    TypeError, ValueError
        A parameter is of a wrong type or out of its range; the text names it.
    OSError
        The folder cannot be written to.
    """
    parameters = ClutterParameters(
        bodies, walls, seconds, dt, seed, sigma, beta, tolerance, line_search, islands
    )
    if compare not in (None, "mujoco"):
        raise ValueError(f"compare = {compare!r}: must be None or 'mujoco'")
    settings = SapSettings(relative_tolerance=tolerance, line_search=line_search, islands=islands)
    folder = None if out is None else Path(out)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)

    model = scenes.clutter(bodies=bodies, walls=walls, seed=seed, time_step=dt).compile()
    sap = SapSimulation(model, sigma, beta, settings)
    with interrupt_flag() as interrupted:
        result = _simulate(sap, parameters, folder, progress, interrupted)
        if compare is not None and not interrupted():
            other = MujocoSimulation(model, dt, sigma, beta)
            compared = _simulate(other, parameters, folder, progress, interrupted)
            result = replace(result, compared=compared)
    if folder is not None:
        _write_summary(folder / "summary.json", result)
    return result


def _simulate(
    simulation: Simulation,
    parameters: ClutterParameters,
    folder: Path | None,
    progress: bool,
    interrupted: Callable[[], bool],
) -> ClutterRun:
    """Run one simulation to its end, to Ctrl-C or to the step that fails."""
    data = simulation.data
    steps = np.zeros(parameters.n_steps, STEP_DTYPE)
    taken, failure = 0, None
    path = None if folder is None else folder / CSV_NAMES[simulation.name]
    start = time.perf_counter()
    with (
        nullcontext() if path is None else RowFile(path, STEP_DTYPE.names or ()) as rows,
        ProgressBar(simulation.name, len(steps), progress) as bar,
        warnings.catch_warnings(),
    ):
        # every outcome is recorded: the stepper need not warn of the first of its kind
        warnings.filterwarnings("ignore", ".*the contact solver ended in", RuntimeWarning)
        while taken < len(steps) and not interrupted():
            record = steps[taken]
            try:
                simulation.step(record)
            except StepError as error:
                failure = str(error)
                break
            taken += 1
            record["step"] = taken
            if rows is not None:
                rows.write(record.item())
            bar.update(f"t = {record['time']:.2f} s, {record['iterations']} iterations")
    wall_time = time.perf_counter() - start

    steps = steps[:taken]
    return ClutterRun(
        solver=simulation.name,
        parameters=parameters,
        steps=steps,
        summary=_summarise(simulation, parameters, steps, wall_time) if taken else None,
        model=simulation.model,
        qpos=data.qpos.copy(),
        interrupted=taken < parameters.n_steps and failure is None,
        failure=failure,
        csv=path,
    )


def _summarise(
    simulation: Simulation,
    parameters: ClutterParameters,
    steps: NDArray[np.void],
    wall_time: float,
) -> ClutterSummary:
    """Boil a run of at least one step down to `ClutterSummary`."""
    model, data = simulation.model, simulation.data
    x, y, z = FreeBodies(model).positions(data.qpos).T
    inside = z > 0
    if parameters.walls:
        inside &= (np.abs(x) < scenes.BOX_SIZE / 2) & (np.abs(y) < scenes.BOX_SIZE / 2)
    resting = None
    if isinstance(simulation, SapSimulation):
        gravity = float(np.linalg.norm(model.opt.gravity))
        # parameters may be so extreme that the last state poses no problem
        with suppress(StepError, ValueError):
            resting = resting_state(simulation.stepper.problem(data), gravity)
    simulated = float(steps["time"][-1])
    settled = steps["iterations"][len(steps) // 2 :]
    return ClutterSummary(
        steps=len(steps),
        simulated_time=simulated,
        wall_time=wall_time,
        solver_time=float(steps["solver_time"].sum()),
        real_time_factor=simulated / wall_time,
        iterations_mean=float(steps["iterations"].mean()),
        iterations_max=int(steps["iterations"].max()),
        iterations_settled=float(settled.mean()),
        momentum_error_median=float(np.median(steps["momentum_error"])),
        momentum_error_max=float(steps["momentum_error"].max()),
        outcomes=dict(Counter(steps["status"].tolist())),
        bodies_inside=int(inside.sum()),
        max_penetration=float(steps["max_penetration"][-1]),
        mean_slip=float(steps["mean_slip"][-1]),
        resting=resting,
    )


def _write_summary(path: Path, result: ClutterRun) -> None:
    """Write the parameters, the summaries and the versions as JSON."""
    runs = [result] if result.compared is None else [result, result.compared]
    content: dict[str, Any] = {
        "versions": {
            "sapwood": sapwood.__version__,
            "mujoco": mujoco.__version__,
            "numpy": np.__version__,
        },
        "parameters": asdict(result.parameters),
    }
    for each in runs:
        content[each.solver] = {
            "interrupted": each.interrupted,
            "failure": each.failure,
            "summary": None if each.summary is None else asdict(each.summary),
        }
    write_file(path, json.dumps(content, indent=2) + "\n")

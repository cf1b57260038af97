"""A model of anybody's, simulated for some seconds: every step measured, its motion kept.

Beside what a run records of itself (:class:`sapwood.mujoco.RunResult`) there are the columns of the
clutter, by the same definitions: the mean slip over the contacts that carry load, the deepest
contact, and the energies of the state at the end of a step, as MuJoCo computes them.
"""

from __future__ import annotations

import csv
import io
import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.base.files import RowFile, write_file
from sapwood.mujoco import StepError, Stepper
from sapwood.mujoco.gradients.state_copy import StateCopy
from sapwood.studies.experiments.measured_steps import (
    STEP_DTYPE,
    record_solution,
    words_at_the_end,
    words_of,
)
from sapwood.studies.experiments.running.recording import ProgressBar, interrupt_flag

Hook = Callable[[mujoco.MjData], object]


@dataclass(frozen=True, eq=False)
class SimulatedRun:
    """One finished, interrupted or failed run.

    Attributes
    ----------
    steps : structured ndarray (n,)
        One record of `STEP_DTYPE` per step taken.
    times : ndarray (n + 1,)
        Simulated time at the start and after each step, s.
    qpos, qvel : ndarray (n + 1, nq), (n + 1, nv)
        Positions and velocities then.
    wall_time : float
        Of the run, s.
    asked : int
        Steps that were to be taken.
    interrupted : bool
        Whether Ctrl-C ended the run.
    failure : str or None
        Why the run ended early.
    """

    steps: NDArray[np.void]
    times: NDArray[np.float64]
    qpos: NDArray[np.float64]
    qvel: NDArray[np.float64]
    wall_time: float
    asked: int
    interrupted: bool
    failure: str | None


def simulate(
    stepper: Stepper,
    data: mujoco.MjData,
    seconds: float,
    *,
    control: Hook | None = None,
    after_step: Hook | None = None,
    csv_file: str | PathLike[str] | None = None,
    progress: bool = True,
) -> SimulatedRun:
    """Simulate and measure every step.

    Ctrl-C ends the run after the current step; what was simulated is returned.

    Parameters
    ----------
    stepper : Stepper
        Takes the steps.
    data : mujoco.MjData
        Of its model; advanced in place.
    seconds : float
        Time to simulate, s; at least one step is taken.
    control, after_step : callable, optional
        Called with ``data`` before and after each step.
    csv_file : path, optional
        File for the measured steps, written while the run goes on.
    progress : bool
        Show a progress bar, where the standard error stream is a terminal.

    Returns
    -------
    SimulatedRun
        Measurements and motion of all steps.

    Raises
    ------
    OSError
        Where the file cannot be written.
    """
    model = stepper.model
    asked = max(1, round(seconds / stepper.time_step))
    steps = np.zeros(asked, STEP_DTYPE)
    times = np.zeros(asked + 1)
    qpos, qvel = np.zeros((asked + 1, model.nq)), np.zeros((asked + 1, model.nv))
    copy = StateCopy(model)
    taken, failure = 0, None
    times[0], qpos[0], qvel[0] = data.time, data.qpos, data.qvel
    start = time.perf_counter()
    with (
        nullcontext() if csv_file is None else RowFile(csv_file, STEP_DTYPE.names or ()) as rows,
        interrupt_flag() as interrupted,
        ProgressBar("sapwood", asked, progress) as bar,
        warnings.catch_warnings(),
    ):
        # every outcome is recorded: the stepper need not warn of the first of its kind
        warnings.filterwarnings("ignore", ".*the contact solver ended in", RuntimeWarning)
        while taken < asked and not interrupted():
            record = steps[taken]
            if control is not None:
                control(data)
            try:
                _measure(stepper, data, record, copy)
            except StepError as error:
                failure = str(error)
                break
            taken += 1
            record["step"] = taken
            times[taken], qpos[taken], qvel[taken] = data.time, data.qpos, data.qvel
            if rows is not None:
                rows.write(record.item())
            bar.update(f"t = {data.time:.2f} s, {record['contacts']} contacts")
            if after_step is not None:
                after_step(data)
    return SimulatedRun(
        steps[:taken], times[: taken + 1], qpos[: taken + 1], qvel[: taken + 1],
        wall_time=time.perf_counter() - start, asked=asked,
        interrupted=taken < asked and failure is None, failure=failure,
    )  # fmt: skip


def _measure(stepper: Stepper, data: mujoco.MjData, record: np.void, copy: StateCopy) -> None:
    """Take one step and fill in its record, all but its number."""
    start = time.perf_counter()
    stepper.step(data)
    total_time = time.perf_counter() - start
    solution, contacts = stepper.solution, stepper.contacts
    assert solution is not None
    record_solution(record, solution, total_time)
    loaded = contacts.force[:, 2] > 0.0
    record["time"] = data.time
    record["contacts"] = len(contacts)
    record["mean_slip"] = contacts.slip_speed[loaded].mean() if loaded.any() else 0.0
    record["max_penetration"] = contacts.penetration.max(initial=0.0)
    potential, kinetic = _energies(stepper.model, copy.take(data))
    record["potential_energy"], record["kinetic_energy"] = potential, kinetic
    record["total_energy"] = potential + kinetic


def _energies(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[float, float]:
    """Potential and kinetic energy of a state, J; data that may change."""
    mujoco.mj_fwdPosition(model, data)
    mujoco.mj_energyPos(model, data)
    mujoco.mj_energyVel(model, data)
    return float(data.energy[0]), float(data.energy[1])


def write_motion(run: SimulatedRun, model: mujoco.MjModel, path: str | PathLike[str]) -> None:
    """Write positions and velocities of all steps as a CSV file.

    Parameters
    ----------
    run : SimulatedRun
        What was simulated.
    model : mujoco.MjModel
        Its model, whose joints name the columns.
    path : path
        File to write.

    Raises
    ------
    OSError
        Where it cannot be written.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["time", *_columns(model, "qpos"), *_columns(model, "qvel")])
    for time_, qpos, qvel in zip(run.times, run.qpos, run.qvel, strict=True):
        writer.writerow([time_, *qpos.tolist(), *qvel.tolist()])
    write_file(Path(path), text.getvalue())


def _columns(model: mujoco.MjModel, kind: str) -> list[str]:
    """A name per coordinate: that of its joint, numbered where the joint has several."""
    starts = model.jnt_qposadr if kind == "qpos" else model.jnt_dofadr
    ends = np.append(starts, model.nq if kind == "qpos" else model.nv)[1:]
    names = []
    for joint, (first, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        name = f"{kind} {model.joint(joint).name or joint}"
        names += [name] if end == first + 1 else [f"{name} {i}" for i in range(end - first)]
    return names


def summary(run: SimulatedRun) -> dict[str, str]:
    """The run in a few words, as ``sapwood clutter`` prints its own.

    Parameters
    ----------
    run : SimulatedRun
        What was simulated.

    Returns
    -------
    dict
        Words by name, in the order of the table.
    """
    steps, simulated = run.steps, float(run.times[-1] - run.times[0])
    if not len(steps):
        return {"steps": f"0 of {run.asked}"}
    return {
        **words_of(steps, run.asked, simulated, run.wall_time),
        "contacts, mean": f"{steps['contacts'].mean():.4g}",
        "contacts, most": f"{steps['contacts'].max()}",
        **words_at_the_end(steps),
        "energy, first and last": f"{steps['total_energy'][0]:.4g}, "
        f"{steps['total_energy'][-1]:.4g} J",
    }

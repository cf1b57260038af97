"""Where the time of a simulation step goes: MuJoCo's stages, the contact solve, and the rest.

One state of the clutter per size, reached by simulating it; every sample is a step from that state.
The parts are medians of samples taken in turn:

    step     `Stepper.step`
    stages   the stages of MuJoCo that it runs, called as it calls them, with nothing in between
    solve    regularization and solve, as the core times them
    views    the array views of MuJoCo's contacts that a step takes
    rest     step - stages - solve - views: gathering contacts and Jacobians, checks, writing back
    mj_step  MuJoCo's own step of the same scene at its default settings, from the same state
"""

from __future__ import annotations

import csv
import dataclasses
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import mujoco

import sapwood
from sapwood.mujoco import Stepper
from sapwood.mujoco_arrays import contact_arrays
from sapwood.scenes import CLUTTER_STIFFNESS, clutter


@dataclasses.dataclass(frozen=True)
class Row:
    """One scene; times in microseconds."""

    bodies: int
    contacts: int
    step: float
    stages: float
    solve: float
    views: float
    rest: float
    mj_step: float


def measure(bodies: int, steps: int, repeat: int, dt: float = 0.01) -> Row:
    """Simulate the walled clutter for some steps, then time the next one `repeat` times."""
    scene = clutter(bodies=bodies, walls=True, seed=0)
    model = scene.compile() if isinstance(scene, mujoco.MjSpec) else scene
    model.opt.timestep = dt
    material = sapwood.ContactMaterial(
        stiffness=CLUTTER_STIFFNESS, dissipation_time=dt, friction=1.0
    )
    stepper = Stepper(model, contact=material)
    data = mujoco.MjData(model)
    for _ in range(steps):
        stepper.step(data)
    position, velocity, warm = data.qpos.copy(), data.qvel.copy(), data.qacc_warmstart.copy()

    def stages() -> None:
        mujoco.mj_step1(stepper.model, data)
        mujoco.mj_fwdActuation(stepper.model, data)
        mujoco.mj_fwdAcceleration(stepper.model, data)
        data.flg_rnepost = 0
        mujoco.mj_sensorAcc(stepper.model, data)
        mujoco.mj_Euler(stepper.model, data)

    calls: dict[str, Callable[[], object]] = {
        "step": lambda: stepper.step(data),
        "stages": stages,
        "views": lambda: contact_arrays(data),
        "mj_step": lambda: mujoco.mj_step(model, data),
    }
    samples: dict[str, list[float]] = {name: [] for name in (*calls, "solve")}
    contacts = 0
    for _ in range(repeat):
        for name, call in calls.items():
            # twice: the first call meets the caches that the one before left
            for kept in (False, True):
                data.qpos[:], data.qvel[:], data.qacc_warmstart[:] = position, velocity, warm
                if name == "views":
                    mujoco.mj_step1(stepper.model, data)
                start = time.perf_counter()
                call()
                seconds = time.perf_counter() - start
                if kept:
                    samples[name].append(1e6 * seconds)
        data.qpos[:], data.qvel[:] = position, velocity
        stepper.step(data)
        samples["solve"].append(1e6 * stepper.solution.timing["seconds"])
        contacts = stepper.n_contacts
    median = {name: statistics.median(values) for name, values in samples.items()}
    rest = median["step"] - median["stages"] - median["solve"] - median["views"]
    return Row(bodies=bodies, contacts=contacts, rest=rest, **median)


def run(sizes: Sequence[int], path: Path, steps: int = 600, repeat: int = 200) -> list[Row]:
    """Measure every size, writing each row to a CSV file as it comes."""
    names = [field.name for field in dataclasses.fields(Row)]
    rows = []
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        for bodies in sizes:
            rows.append(measure(bodies, steps, repeat))
            writer.writerow(dataclasses.asdict(rows[-1]))
            file.flush()
    return rows


def table(rows: Sequence[Row]) -> str:
    """Rows as text."""
    names = [field.name for field in dataclasses.fields(Row)]
    lines = ["microseconds".ljust(12) + "".join(f"{name:>10}" for name in names)]
    for row in rows:
        values = dataclasses.astuple(row)
        cells = "".join(
            f"{value:>10d}" if isinstance(value, int) else f"{value:>10.1f}" for value in values
        )
        lines.append(" " * 12 + cells)
    return "\n".join(lines)

"""Quality over a folder of models: does each run, is anything fired, what overlaps and creeps.

Each model runs from its first keyframe with zero controls, with random ones, and free of all that
dissipates: by our stepper at its defaults, by `mj_step` as the model says, and by `mj_step` as
MuJoCo's manual recommends. :class:`Row` explains the columns; NAME, NAME_mj and NAME_recommended
hold the values of the three.
"""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import mujoco
import numpy as np

from benchmarks.models import files
from benchmarks.models.survey import Survey
from benchmarks.models.trials import CONTROLS, FREE, RAN, REFUSED, Course, Trial
from sapwood import Status

#: A file that is no model.
UNREADABLE = "unreadable"

# kinetic energies below that of all bodies at this speed, m/s, count as this one's
_SLOW = 0.01
_LATER = 0.5

#: Ends of the names of columns, one for each simulation of a model.
OURS, MJ, RECOMMENDED = SIMULATIONS = ("", "_mj", "_recommended")


@dataclasses.dataclass(frozen=True)
class Row:
    """One model under one way of controls."""

    file: str
    group: str
    """its class"""
    controls: str
    """zero, random, free"""
    nv: int
    trees: int
    integrator: str
    status: str
    """ran, refused, failed (a step was not taken), late, died, unreadable"""
    reason: str
    status_mj: str
    """ran, unstable (MuJoCo met what is not finite, or too large)"""
    status_recommended: str
    steps: int
    kinetic: float
    """largest kinetic energy, J"""
    kinetic_mj: float
    kinetic_recommended: float
    ratio: float
    """kinetic over MuJoCo's, or over that of all bodies at 1 cm/s where that is more"""
    ratio_recommended: float
    penetration_start: float
    """deepest contact at the start, m"""
    penetration: float
    """the same in the second half of the steps"""
    penetration_mj: float
    penetration_recommended: float
    limit_start: float
    """worst violation of a range, rad or m"""
    limit: float
    limit_mj: float
    limit_recommended: float
    equality_start: float
    """largest residual of an equality constraint, m or rad"""
    equality: float
    equality_mj: float
    equality_recommended: float
    creep: float
    """speed of the fastest body that rests, m/s"""
    creep_mj: float
    creep_recommended: float
    drift: float
    """change of energy of a free run, from the mean of the second tenth of the steps to that of the
    last, over the largest kinetic energy"""
    drift_mj: float
    drift_recommended: float
    stalled: int
    iteration_limit: int
    friction_limit: int
    """steps whose solve ended so"""
    iterations: int
    """most in a step"""


def measure(path: str, controls: str, steps: int) -> Row:
    """Simulate a model; to be called in a process of its own."""
    file = Path(path)
    try:
        model = files.load(file)
    except Exception as error:  # of many kinds, by what is wrong with the file
        return _empty(file, controls, UNREADABLE, str(error))
    trial = Trial(model, files.name_of(file), controls, steps)
    courses = {OURS: trial.ours(), MJ: trial.mujocos(), RECOMMENDED: trial.recommended()}
    ours = courses[OURS]
    row = dataclasses.replace(
        _empty(file, controls, ours.status, ours.reason),
        group=files.class_of(files.name_of(file), model),
        nv=int(model.nv),
        trees=int(model.ntree),
        integrator=mujoco.mjtIntegrator(model.opt.integrator).name.removeprefix("mjINT_").lower(),
        status_mj=courses[MJ].status,
        status_recommended=courses[RECOMMENDED].status,
        steps=max(0, ours.steps),
    )
    if ours.status == REFUSED:
        return row
    return dataclasses.replace(row, **_compared(trial, courses, free=controls == FREE))


def _compared(trial: Trial, courses: dict[str, Course], free: bool) -> dict[str, float]:
    ours = courses[OURS]
    found: dict[str, float] = {
        "stalled": ours.count(Status.stalled),
        "iteration_limit": ours.count(Status.iteration_limit),
        "friction_limit": ours.count(Status.friction_limit),
        "iterations": int(ours.iterations.max(initial=0)),
    }
    least = 0.5 * float(trial.model.body_mass.sum()) * _SLOW**2
    for end, course in courses.items():
        found[f"kinetic{end}"] = course.series("kinetic").max()
        for name in ("penetration", "limit", "equality"):
            found[f"{name}{end}"] = _later(course, name, trial.steps)
        if free:
            found[f"drift{end}"] = _drift(course, least)
    for name, end in (("ratio", MJ), ("ratio_recommended", RECOMMENDED)):
        found[name] = max(found["kinetic"], least) / max(found[f"kinetic{end}"], least)
    for name in ("penetration", "limit", "equality"):
        found[f"{name}_start"] = ours.series(name)[0]
    creeps = trial.creep(courses.values())
    found |= {f"creep{end}": creep for end, creep in zip(courses, creeps, strict=True)}
    return {
        name: value if isinstance(value, int) else float(f"{value:.4g}")
        for name, value in found.items()
    }


def _later(course: Course, name: str, steps: int) -> float:
    """Largest value in the second half of a simulation that was finished."""
    if course.status != RAN:
        return math.nan
    return float(course.series(name)[int(_LATER * steps) :].max())


def _drift(course: Course, least: float) -> float:
    if course.status != RAN:
        return math.nan
    kinetic = course.series("kinetic")
    total = kinetic + course.series("potential")
    tenth = max(1, len(total) // 10)
    change = np.mean(total[-tenth:]) - np.mean(total[tenth : 2 * tenth])
    return float(change / max(kinetic.max(), least))


def _empty(file: Path, controls: str, status: str, reason: str) -> Row:
    """A row of what nothing is known of; CSV files are read line by line."""
    nothing: dict[str, object] = {
        field.name: {"int": 0, "float": math.nan, "str": ""}[str(field.type)]
        for field in dataclasses.fields(Row)
    }
    nothing |= {"file": files.name_of(file), "controls": controls, "status": status}
    return Row(**nothing | {"reason": " ".join(reason.split())})  # type: ignore[arg-type]


#: What the command asks of each model.
SURVEY = Survey(Row, CONTROLS, measure, _empty)

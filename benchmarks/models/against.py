"""Time of a step of two builds of ours, model by model, as a ratio within one run.

Both builds take the same windows of a few steps, from states that the simulation of this
installation reaches, in turn; see `benchmarks.step_pair`.
"""

from __future__ import annotations

import dataclasses
import math
import tempfile
import warnings
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import mujoco

from benchmarks.models import files
from benchmarks.models.speed import WINDOW, states_along
from benchmarks.models.survey import Survey
from benchmarks.models.trials import FAILED, RAN, RANDOM, REFUSED, ZERO, controls_of
from benchmarks.revisions import SideError
from benchmarks.step_pair import Task, compare
from sapwood.mujoco import NotSupported, StepError, Stepper

#: Seconds for the samples of one window in a visit.
_BUDGET = 0.02


@dataclasses.dataclass(frozen=True)
class Row:
    """One model under one way of controls; times in microseconds per step, mean of the windows."""

    file: str
    group: str
    controls: str
    """zero or random"""
    nv: int
    status: str
    """ran, refused, failed, late, died"""
    reason: str
    contacts: float
    iterations: float
    """iterations of the solver of B per step"""
    changed: int
    """windows after which the states are not the same bits"""
    before: float
    """time of a step of A"""
    after: float
    """time of a step of B"""
    ratio: float
    """B over A, median of the blocks: below 1 B is faster"""
    spread: float
    """half of the distance between the quartiles of the blocks"""
    single_before: float
    single_after: float
    single_ratio: float
    single_spread: float
    """the same with a call from Python for each step"""


def survey(environments: Mapping[str, Mapping[str, str]], blocks: int) -> Survey:
    """The measurement of each model."""
    asked = partial(measure, environments=environments, blocks=blocks)
    return Survey(Row, (ZERO, RANDOM), asked, _empty)


def measure(
    path: str,
    controls: str,
    steps: int,
    environments: Mapping[str, Mapping[str, str]],
    blocks: int,
) -> Row:
    """Time one model; to be called in a process of its own."""
    file = Path(path)
    name = files.name_of(file)
    model = files.load(file)
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        try:
            stepper = Stepper(model)
            states = states_along(model, stepper, controls_of(model, name, controls, steps))
            binary = Path(folder) / "model.mjb"
            mujoco.mj_saveModel(model, str(binary))
            task = Task(
                binary,
                [state.tolist() for state in states],
                WINDOW,
                ways=("run", "calls"),
                seconds=_BUDGET,
            )
            found = compare(environments, task, blocks)
        except NotSupported as error:
            return _empty(file, controls, REFUSED, str(error))
        except (StepError, SideError) as error:
            return _empty(file, controls, FAILED, str(error))
    run, calls = found.times["run"], found.times["calls"]
    return Row(
        name,
        files.class_of(name, model),
        controls,
        int(model.nv),
        RAN,
        "",
        contacts=round(found.mean("B", "contacts"), 1),
        iterations=round(found.mean("B", "iterations"), 2),
        changed=found.changed,
        before=round(1e6 * run.before, 2),
        after=round(1e6 * run.after, 2),
        ratio=round(run.ratio, 4),
        spread=round(run.spread, 4),
        single_before=round(1e6 * calls.before, 2),
        single_after=round(1e6 * calls.after, 2),
        single_ratio=round(calls.ratio, 4),
        single_spread=round(calls.spread, 4),
    )


def _empty(file: Path, controls: str, status: str, reason: str) -> Row:
    name, why = files.name_of(file), " ".join(reason.split())
    return Row(name, "", controls, 0, status, why, math.nan, math.nan, 0, *(math.nan,) * 8)

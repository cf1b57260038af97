"""Time of a whole step over that of `mj_step`, model by model, as a ratio within one run.

From states that our simulation reaches with zero or with random controls, windows of a few steps
are taken again and again, by `Stepper.run` and by `mj_step` of the same model with its own
integrator, in turn, with the loop over the steps in C; and once more with one call from Python for
each step, of which both leave everything in the data. The least times count, on the CPU clock of
the thread. Where `mj_step` blows up within a window it goes back to its start, and takes the rest
of its steps from there, without the contacts that ours has: such a row says so, and is in no table.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray

from benchmarks.models import files
from benchmarks.models.survey import Survey
from benchmarks.models.trials import (
    FAILED,
    RAN,
    RANDOM,
    REFUSED,
    UNSTABLE,
    ZERO,
    blown_up,
    controls_of,
)
from sapwood.mujoco import NotSupported, StepError, Stepper
from sapwood.studies.experiments.running.timing import Times, no_garbage_collection

_STATE = mujoco.mjtState.mjSTATE_INTEGRATION
# parts of the simulation at which windows begin, steps of a window, seconds for the samples of one
_PLACES, WINDOW, _BUDGET = (0.1, 0.5, 0.9), 50, 0.3
_LEAST_SAMPLES, _MOST_SAMPLES = 3, 200


@dataclasses.dataclass(frozen=True)
class Row:
    """One model under one way of controls; times in microseconds per step, mean of the windows."""

    file: str
    group: str
    controls: str
    """zero or random"""
    nv: int
    integrator: str
    status: str
    """ran, refused, failed, unstable (`mj_step` is), late, died"""
    step: float
    solve: float
    """part for regularization and solve, as the core times them, on the wall clock"""
    step_mj: float
    speed: float
    """step_mj/step: above 1 we are faster"""
    single: float
    single_mj: float
    single_speed: float
    """the same with a call from Python for each step"""
    contacts: float
    samples: int


def measure(path: str, controls: str, steps: int) -> Row:
    """Time one model; to be called in a process of its own."""
    file = Path(path)
    name = files.name_of(file)
    model = files.load(file)
    row = dataclasses.replace(
        _empty(file, controls, RAN),
        group=files.class_of(name, model),
        nv=int(model.nv),
        integrator=mujoco.mjtIntegrator(model.opt.integrator).name.removeprefix("mjINT_").lower(),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            stepper = Stepper(model)
        except NotSupported:
            return dataclasses.replace(row, status=REFUSED)
        try:
            values = controls_of(model, name, controls, steps)
            states = states_along(model, stepper, values)
            windows = [_Window(model, stepper, state) for state in states]
            with no_garbage_collection():
                for window in windows:
                    window.sample()
        except StepError:
            return dataclasses.replace(row, status=FAILED)
    step, step_mj = _least(windows, "run")
    single, single_mj = _least(windows, "calls")
    return dataclasses.replace(
        row,
        status=UNSTABLE if any(window.unstable for window in windows) else RAN,
        step=round(step, 2),
        solve=round(1e6 * float(np.mean([w.solve for w in windows])) / WINDOW, 2),
        step_mj=round(step_mj, 2),
        speed=round(step_mj / step, 3),
        single=round(single, 2),
        single_mj=round(single_mj, 2),
        single_speed=round(single_mj / single, 3),
        contacts=round(float(np.mean([w.contacts for w in windows])), 1),
        samples=min(len(w.times["run"][0].cpu) for w in windows),
    )


def _least(windows: list[_Window], way: str) -> tuple[float, float]:
    """Microseconds per step, ours and MuJoCo's, mean of the windows."""
    pairs = [[times.cpu_min for times in window.times[way]] for window in windows]
    ours, theirs = (1e6 * np.mean(pairs, axis=0) / WINDOW).tolist()
    return ours, theirs


class _Window:
    """A few steps from one state, taken again and again by both."""

    def __init__(self, model: mujoco.MjModel, stepper: Stepper, state: NDArray[np.float64]) -> None:
        self._model, self._stepper, self._state = model, stepper, state
        self._data = mujoco.MjData(stepper.model)
        self._data_mj = mujoco.MjData(model)
        self.times = {way: (Times(), Times()) for way in ("run", "calls")}
        self.solve = math.inf
        self.contacts = 0.0
        self.unstable = False
        self._records: NDArray[np.void] = np.empty(0, np.void)

    def sample(self) -> None:
        """Take samples of both in turn, one way and then the other, until their time is over."""
        for way, calls in (
            ("run", (self._run, self._run_mj)),
            ("calls", (self._calls, self._calls_mj)),
        ):
            for call in calls:
                call()
            spent = 0.0
            samples = self.times[way][0].cpu
            while len(samples) < _MOST_SAMPLES and (
                spent < _BUDGET or len(samples) < _LEAST_SAMPLES
            ):
                for times, call in zip(self.times[way], calls, strict=True):
                    call()  # caches as the same function leaves them
                    times.sample(call)
                    spent += 2.0 * times.wall[-1]
                if way == "run":
                    self.solve = min(self.solve, float(self._records["solver_seconds"].sum()))
        self.contacts = float(self._records["contacts"].mean())
        self.unstable = bool(blown_up(self._data_mj))

    def _begin(self) -> None:
        mujoco.mj_setState(self._stepper.model, self._data, self._state, _STATE)

    def _begin_mj(self) -> None:
        mujoco.mj_setState(self._model, self._data_mj, self._state, _STATE)

    def _run(self) -> None:
        self._begin()
        self._records = self._stepper.run(self._data, WINDOW).records

    def _run_mj(self) -> None:
        self._begin_mj()
        mujoco.mj_step(self._model, self._data_mj, nstep=WINDOW)

    def _calls(self) -> None:
        self._begin()
        step, data = self._stepper.step, self._data
        for _ in range(WINDOW):
            step(data)

    def _calls_mj(self) -> None:
        self._begin_mj()
        step, model, data = mujoco.mj_step, self._model, self._data_mj
        for _ in range(WINDOW):
            step(model, data)


def states_along(
    model: mujoco.MjModel, stepper: Stepper, controls: NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    """States, with their controls, that our simulation passes."""
    data, taken = files.start(model), 0
    data.ctrl[:] = controls[0]

    def control(data: mujoco.MjData) -> None:
        nonlocal taken
        taken += 1
        data.ctrl[:] = controls[min(taken, len(controls) - 1)]

    found = []
    for place in _PLACES:
        stepper.run(data, int(place * len(controls)) - taken, control)
        state = np.empty(mujoco.mj_stateSize(model, _STATE))
        mujoco.mj_getState(model, data, state, _STATE)
        found.append(state)
    return found


def _empty(file: Path, controls: str, status: str, _reason: str = "") -> Row:
    return Row(files.name_of(file), "", controls, 0, "", status, *(math.nan,) * 8, samples=0)


#: What the command asks of each model.
SURVEY = Survey(Row, (ZERO, RANDOM), measure, _empty)

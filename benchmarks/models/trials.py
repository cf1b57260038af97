"""A model simulated from one start: by our stepper, by `mj_step`, and as MuJoCo recommends."""

from __future__ import annotations

import copy
import dataclasses
import math
import warnings
import zlib
from collections.abc import Iterable

import mujoco
import numpy as np
from numpy.typing import NDArray

from benchmarks.models.files import start
from benchmarks.models.measures import Gauge, Reading
from sapwood import Status
from sapwood.mujoco import NotSupported, StepError, Stepper
from sapwood.studies.peers.mujoco_variants import recommended_model

#: How a trial drives its model. ``free`` is zero controls with all off that takes energy out or
#: puts it in: contacts, limits, dampers, friction loss, actuators, drag.
ZERO, RANDOM, FREE = CONTROLS = ("zero", "random", "free")

RAN, REFUSED, FAILED, UNSTABLE = "ran", "refused", "failed", "unstable"

# steps between two draws of random controls
_HELD_STEPS = 10
# the last part of a run, in which what rests is looked for, and how slowly it may move, m/s
_LAST_PART, _RESTING_SPEED = 0.2, 0.01

_FREE_FLAGS = ("CONTACT", "LIMIT", "DAMPER", "FRICTIONLOSS", "ACTUATION")
_BAD = ("BADQPOS", "BADQVEL", "BADQACC")


def blown_up(data: mujoco.MjData) -> str:
    """Return the warning with which `mj_step` went back to its start; empty where it has not."""
    return next(
        (
            name
            for name in _BAD
            if data.warning[getattr(mujoco.mjtWarning, f"mjWARN_{name}")].number
        ),
        "",
    )


@dataclasses.dataclass
class Course:
    """One simulation."""

    status: str = RAN
    reason: str = ""
    readings: list[Reading] = dataclasses.field(default_factory=list)
    """Readings of the start and after each step."""
    positions: list[NDArray[np.float64]] = dataclasses.field(default_factory=list)
    """Positions of all bodies, in the last part."""
    touched: list[NDArray[np.bool_]] = dataclasses.field(default_factory=list)
    """Which bodies touch something, in the last part."""
    statuses: NDArray[np.integer] = dataclasses.field(default_factory=lambda: np.zeros(0, int))
    """Outcomes of our solver."""
    iterations: NDArray[np.integer] = dataclasses.field(default_factory=lambda: np.zeros(0, int))

    @property
    def steps(self) -> int:
        """Steps taken."""
        return len(self.readings) - 1

    def series(self, name: str) -> NDArray[np.float64]:
        """One measure of all readings."""
        return np.array([getattr(reading, name) for reading in self.readings])

    def count(self, status: Status) -> int:
        """Steps whose solve ended so."""
        return int(np.sum(self.statuses == status))


class Trial:
    """One model under one way of controls.

    Parameters
    ----------
    model
        As it was loaded.
    name
        Seeds the random controls.
    controls
        One of `CONTROLS`.
    steps
        To take.
    """

    def __init__(self, model: mujoco.MjModel, name: str, controls: str, steps: int) -> None:
        self.model = free_model(model) if controls == FREE else model
        self.steps = steps
        self._gauge = Gauge(self.model)
        self._ctrl = controls_of(model, name, controls, steps)

    def ours(self) -> Course:
        """Steps by our stepper at its defaults."""
        course = Course()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                stepper = Stepper(self.model)
            except NotSupported as error:
                return Course(REFUSED, str(error))
            data = self._begin(course)

            def follow(data: mujoco.MjData) -> None:
                self._follow(course, data)

            try:
                stepper.run(data, self.steps, follow)
            except StepError as error:
                course.status, course.reason = FAILED, str(error)
        if stepper.last_run is not None:
            course.statuses = stepper.last_run.status.copy()
            course.iterations = stepper.last_run.iterations.copy()
        return course

    def mujocos(self) -> Course:
        """Steps by MuJoCo, with the model's own integrator and solver."""
        return self._mj_steps(self.model)

    def recommended(self) -> Course:
        """Steps by MuJoCo, with what its manual recommends for contact."""
        return self._mj_steps(recommended_model(self.model))

    def _mj_steps(self, model: mujoco.MjModel) -> Course:
        course = Course()
        data = self._begin(course)
        for _ in range(self.steps):
            mujoco.mj_step(model, data)
            if bad := blown_up(data):
                course.status, course.reason = UNSTABLE, bad
                return course
            self._follow(course, data)
        return course

    def _begin(self, course: Course) -> mujoco.MjData:
        data = start(self.model)
        course.readings.append(self._gauge.read(data))
        data.ctrl[:] = self._ctrl[0]
        return data

    def _follow(self, course: Course, data: mujoco.MjData) -> None:
        """Measure the state after a step and set the controls of the next."""
        course.readings.append(self._gauge.read(data))
        if course.steps > (1.0 - _LAST_PART) * self.steps:
            course.positions.append(self._gauge.positions())
            course.touched.append(self._gauge.touching())
        if course.steps < self.steps:
            data.ctrl[:] = self._ctrl[course.steps]

    def creep(self, courses: Iterable[Course]) -> list[float]:
        """Speed of the fastest of the bodies that rest, in each simulation, m/s.

        A body rests that moves and touches something through half of the last part of every
        simulation, and stays within what 1 cm/s would cover in that time. NaN where none does.
        """
        courses = list(courses)
        seconds = min(len(course.positions) - 1 for course in courses) * self.model.opt.timestep
        none = [math.nan] * len(courses)
        if seconds <= 0.0 or any(course.steps < self.steps for course in courses):
            return none
        resting = self.model.body_weldid != 0
        drifts = []
        for course in courses:
            positions = np.array(course.positions)
            extent = np.linalg.norm(np.ptp(positions, axis=0), axis=1)
            resting &= (extent < _RESTING_SPEED * seconds) & (np.mean(course.touched, axis=0) > 0.5)
            drifts.append(np.linalg.norm(positions[-1] - positions[0], axis=1) / seconds)
        return [float(drift[resting].max()) for drift in drifts] if resting.any() else none


def controls_of(model: mujoco.MjModel, name: str, controls: str, steps: int) -> NDArray[np.float64]:
    """Controls (steps, nu) of one way; random ones are the same for the same name."""
    if controls == RANDOM:
        return random_controls(model, zlib.crc32(name.encode()), steps)
    return np.zeros((steps, model.nu))


def random_controls(model: mujoco.MjModel, seed: int, steps: int) -> NDArray[np.float64]:
    """Controls (steps, nu), uniform within their ranges or within +-1, each held for some steps."""
    ranges = np.where(model.actuator_ctrllimited[:, None], model.actuator_ctrlrange, (-1.0, 1.0))
    draws = np.random.default_rng(seed).uniform(size=(-(-steps // _HELD_STEPS), model.nu))
    values = ranges[:, 0] + (ranges[:, 1] - ranges[:, 0]) * draws
    return np.repeat(values, _HELD_STEPS, axis=0)[:steps]


def free_model(model: mujoco.MjModel) -> mujoco.MjModel:
    """The model with nothing that dissipates or drives; its equality constraints stay."""
    free = copy.copy(model)
    for name in _FREE_FLAGS:
        free.opt.disableflags |= int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}"))
    free.opt.density = free.opt.viscosity = 0.0
    return free

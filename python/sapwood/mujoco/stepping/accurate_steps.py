"""Time steps in parts that meet a tolerance: step doubling on halved time steps.

A part of length h is taken once as a whole and once in two halves. The difference of the two
results estimates the error of the halves, which are kept if it is within the tolerance. Parts are
the time step over powers of two and begin at multiples of their length, so that each time step ends
exactly, and few lengths occur. With materials in N/m and s the limit of small parts exists; a
near-rigid contact has a stiffness that depends on the length of the part.
"""

from __future__ import annotations

import functools
import math
import operator

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.mujoco.reading.parameters import StepParameters
from sapwood.mujoco.results.recording import Recording
from sapwood.mujoco.results.results import ERROR_CONTROL, StepError
from sapwood.mujoco.stepping.steps import Ended, Steps
from sapwood.mujoco.stepping.ways import steps_of

_STATE = int(mujoco.mjtState.mjSTATE_INTEGRATION)

# Error over the tolerance below which the next part is twice as long. A part of twice the length
# has four times the error where the motion is smooth; the rest is a margin.
_GROW_BELOW = 0.2

# columns of records that are summed over the parts of a step, and those of which the largest counts
_SUMS = ("total_iterations", "line_search_trials", "solver_seconds", "seconds")
_LARGEST = ("iterations", "status", "momentum_error", "velocity_error_bound", "coulomb_error")


def position_scales(model: mujoco.MjModel) -> NDArray[np.float64]:
    """The unit of the error of each velocity's position.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.

    Returns
    -------
    ndarray (nv,)
        ``model.stat.extent`` in m for translations, 1 rad for rotations.
    """
    scales = np.ones(model.nv)
    for kind, first in zip(model.jnt_type, model.jnt_dofadr, strict=True):
        if kind == mujoco.mjtJoint.mjJNT_SLIDE:
            scales[first] = model.stat.extent
        elif kind == mujoco.mjtJoint.mjJNT_FREE:
            scales[first : first + 3] = model.stat.extent
    return scales


class AccurateSteps:
    """Takes time steps in parts, each with an error of positions within a tolerance.

    Parameters
    ----------
    parameters : StepParameters
        Parameters of the whole time steps.
    accuracy : float
        The tolerance: largest error of a part over the scale of its position.
    halvings : int
        The smallest part is the time step over 2^halvings.
    steps : int
        Largest number of steps.

    Attributes
    ----------
    records : structured ndarray (steps,)
        Columns of `ERROR_CONTROL`, written step by step.
    last : tuple of (Steps, StepParameters)
        The steps of the last part that was taken, and their parameters.
    """

    def __init__(
        self, parameters: StepParameters, accuracy: float, halvings: int, steps: int
    ) -> None:
        self._accuracy, self._halvings = accuracy, halvings
        self.records = np.zeros(steps, dtype=ERROR_CONTROL)
        self._taken = self._level = 0
        self.renew(parameters)

    def renew(self, parameters: StepParameters) -> None:
        """Step by other parameters.

        Parameters
        ----------
        parameters : StepParameters
            Present parameters of the whole time steps.
        """
        self._parameters, self._model = parameters, parameters.model
        self._time_step = parameters.time_step
        self._per_scale = 1.0 / position_scales(self._model)
        self._difference = np.empty(self._model.nv)
        self._size = mujoco.mj_stateSize(self._model, _STATE)
        self._by_level: dict[int, tuple[Steps, StepParameters]] = {}
        self.last = self._at(0)

    def _at(self, level: int) -> tuple[Steps, StepParameters]:
        """The steps of parts that have been halved so many times."""
        if level not in self._by_level:
            length = math.ldexp(self._time_step, -level)
            parameters = self._parameters.with_time_step(length)
            self._by_level[level] = steps_of(parameters), parameters
        return self._by_level[level]

    def _state(self, data: mujoco.MjData) -> NDArray[np.float64]:
        state = np.empty(self._size)
        mujoco.mj_getState(self._model, data, state, _STATE)
        return state

    def _restore(self, data: mujoco.MjData, state: NDArray[np.float64]) -> None:
        mujoco.mj_setState(self._model, data, state, _STATE)

    def _distance(self, one: NDArray[np.float64], data: mujoco.MjData) -> float:
        """The largest difference of positions over its scale; ``one`` is (nq,)."""
        mujoco.mj_differentiatePos(self._model, self._difference, 1.0, one, data.qpos)
        difference = np.abs(self._difference)
        difference *= self._per_scale
        return float(difference.max(initial=0.0))

    # ---- the steps ------------------------------------------------------------------------------

    def run(
        self,
        data: mujoco.MjData,
        steps: int,
        records: NDArray[np.void],
        *,
        signals: bool,
        recording: Recording | None = None,
    ) -> Ended:
        """Take some time steps; see :class:`Steps`."""
        notable = 0
        for k in range(steps):
            start, time = self._state(data), data.time
            told, failure = self._step(data, records[k : k + 1], signals)
            if failure is not None:
                self._restore(data, start)
                return k, notable, failure
            data.time = time + self._time_step
            records["time"][k] = data.time
            notable += told
            if recording is not None:
                recording.keep(data, self.last[0].contacts(), self.last[0].body_forces())
        return steps, notable, None

    def _step(
        self, data: mujoco.MjData, record: NDArray[np.void], signals: bool
    ) -> tuple[bool, BaseException | None]:
        """Take one time step; returns whether a user should be told, and a failure."""
        units = 1 << self._halvings
        at, refused, unmet, largest, smallest, told = 0, 0, 0, 0.0, units, False
        taken: list[NDArray[np.void]] = []
        while at < units:
            size = units >> self._level
            while at % size != 0:  # a part begins at a multiple of its length
                self._level, size = self._level + 1, size // 2
            parts = np.empty(2, dtype=record.dtype)
            start = self._state(data)
            error, notable, failure = self._try(data, start, parts, signals)
            if failure is not None and not isinstance(failure, StepError):
                return told, failure
            if error > self._accuracy and self._level + 1 < self._halvings:
                self._restore(data, start)
                refused += 1
                self._level += 1
                continue
            if failure is not None:
                return told, failure
            taken.append(parts)
            self.last = self._at(self._level + 1)
            told |= notable
            unmet += error > self._accuracy
            largest, smallest = max(largest, error), min(smallest, size // 2)
            at += size
            if error < _GROW_BELOW * self._accuracy and self._level > 0:
                self._level -= 1
        _summarize(record, np.concatenate(taken))
        shortest = self._time_step * smallest / units
        self.records[self._taken] = 2 * len(taken), refused, unmet, shortest, largest
        self._taken += 1
        return told, None

    def _try(
        self,
        data: mujoco.MjData,
        start: NDArray[np.float64],
        parts: NDArray[np.void],
        signals: bool,
    ) -> tuple[float, bool, BaseException | None]:
        """Take a part as a whole and in halves, whose result stays in the data.

        Returns
        -------
        error : float
            The estimated error over the scale of positions; infinite where a step failed.
        notable : bool
            Whether a user should be told of the halves.
        failure : BaseException or None
            The exception that ended a half, or no step.
        """
        whole, _, failure = self._at(self._level)[0].run(data, 1, parts[:1], signals=signals)
        if failure is not None and not isinstance(failure, StepError):
            return math.inf, False, failure
        position = data.qpos.copy()
        self._restore(data, start)
        fine = self._at(self._level + 1)[0]
        halves, notable, failure = fine.run(data, 2, parts, signals=signals)
        error = self._distance(position, data) if whole + halves == 3 else math.inf
        return error, notable > 0, failure


def _summarize(record: NDArray[np.void], parts: NDArray[np.void]) -> None:
    """Write the record of a step: the last contacts, sums and maxima over its parts."""
    names = parts.dtype.names or ()
    # numbers of Python: there are few parts, and views of each column take longer
    rows = parts.tolist()
    row = list(rows[-1])
    for i, column in enumerate(zip(*rows, strict=True)):
        if names[i] in _SUMS:
            row[i] = sum(column)
        elif names[i] in _LARGEST:
            total = sum(column)
            row[i] = max(column) if total == total else total  # NaN of any is NaN
        elif names[i] == "fallbacks":
            row[i] = functools.reduce(operator.or_, column)
    record[0] = tuple(row)

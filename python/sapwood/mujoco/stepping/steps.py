"""Ways to take the steps of a model: what a stepper asks of one, and the loop over stages."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.mujoco.reading.arrays import Bound
from sapwood.mujoco.reading.parameters import StepParameters
from sapwood.mujoco.results.recording import Recording
from sapwood.mujoco.results.results import DEEP_OVERLAP, UNCONVERGED, Counts
from sapwood.mujoco.stepping import stages
from sapwood.problem.contact_problem import ContactProblem
from sapwood.solution import FALLBACKS, Solution, Status

Ended = tuple[int, int, BaseException | None]
"""Steps taken, how many of them a user should be told of, and what ended the run early."""

# fields of a record that are those of the solution
_RECORDED = (
    "status",
    "iterations",
    "total_iterations",
    "line_search_trials",
    "momentum_error",
    "velocity_error_bound",
    "coulomb_error",
)


class Steps(Protocol):
    """Takes the steps of one model, counts them, and keeps what the last one left."""

    def run(
        self,
        bound: Bound,
        steps: int,
        records: NDArray[np.void] | None,
        *,
        signals: bool,
        recording: Recording | None = None,
    ) -> Ended:
        """Take some steps.

        Parameters
        ----------
        bound : Bound
            The data; advanced in place.
        steps : int
            How many.
        records : ndarray of STEP_RECORD, optional
            Where to tell of each step.
        signals : bool
            Whether to let signals in between steps, which only the main thread can.
        recording : Recording, optional
            What else to keep of each step.

        Returns
        -------
        taken, notable : int
            Steps taken, and how many of them did not converge or ended with a deep overlap.
        failure : BaseException or None
            What ended the run early; Ctrl-C too.
        """

    def prepare(
        self, bound: Bound, watches: tuple[_core.ByteWatch, ...]
    ) -> _core.PreparedStep | None:
        """One step, ready to be called from Python time and again at little cost.

        Parameters
        ----------
        bound : Bound
            The data.
        watches : tuple of ByteWatch
            No step is taken once these tell of a change.

        Returns
        -------
        PreparedStep or None
            None where steps are not taken in C.
        """

    def start(self, bound: Bound) -> None:
        """First half of a step, up to the velocity-dependent quantities.

        Parameters
        ----------
        bound : Bound
            The data.

        Raises
        ------
        StepError
            Where no step can be taken from this state.
        """

    def finish(self, bound: Bound) -> Status:
        """Take the step whose first half, up to the velocities, is done.

        Parameters
        ----------
        bound : Bound
            The data; advanced in place, or with its state as it was by an error.

        Returns
        -------
        Status
            How the solve ended.

        Raises
        ------
        StepError
            Where the step cannot be taken.
        """

    def problem(self, data: mujoco.MjData, as_solved: bool = False) -> ContactProblem:
        """The contact problem of a state.

        Parameters
        ----------
        data : mujoco.MjData
            State and controls; not changed.
        as_solved : bool
            Without what a step leaves out of its last solve, and from where that begins.

        Returns
        -------
        ContactProblem
            With copies.

        Raises
        ------
        StepError
            Where no step can be taken from this state.
        """

    def counts(self) -> Counts:
        """Steps by the status of their solve."""

    def overlap(self) -> float:
        """Largest overlap of rigid contacts at the end of the last step, in widths of a geom."""

    def contacts(self) -> NDArray[np.void]:
        """The contacts of the last step, an array of ``_core.CONTACT_RECORD``."""

    def patches(self) -> dict[str, Any]:
        """The surfaces of the last step, as ``_core.ModelStepper.patches``."""

    def groups(self) -> dict[str, Any]:
        """The other constraints of the last step, as ``_core.ModelStepper.groups``."""

    def result(self) -> Solution | None:
        """The solution of the last step; None before the first one."""


class StagedSteps(ABC):
    """The loop over steps that are taken in stages from Python.

    Parameters
    ----------
    parameters : StepParameters
        Of the stepper.
    """

    def __init__(self, parameters: StepParameters) -> None:
        self._parameters, self._model = parameters, parameters.model

    def run(
        self,
        bound: Bound,
        steps: int,
        records: NDArray[np.void] | None,
        *,
        signals: bool,
        recording: Recording | None = None,
    ) -> Ended:
        """Take some steps; see :class:`Steps`."""
        del signals  # Python looks for them
        taken = notable = 0
        try:
            while taken < steps:
                start, record = time.perf_counter(), None if records is None else records[taken]
                status = self._step(bound, record)
                notable += status in UNCONVERGED or self.overlap() > DEEP_OVERLAP
                if recording is not None:
                    recording.keep(bound.data, self.contacts())
                if record is not None:
                    record["seconds"] = time.perf_counter() - start
                taken += 1
        except BaseException as failure:
            return taken, notable, failure
        return taken, notable, None

    def prepare(
        self, bound: Bound, watches: tuple[_core.ByteWatch, ...]
    ) -> _core.PreparedStep | None:
        """None: the stages are Python's; see :class:`Steps`."""
        del bound, watches
        return None

    def _step(self, bound: Bound, record: np.void | None) -> Status:
        with self._whole(bound.data):
            self._parameters.check_options()
            self.start(bound)
            status = self._finish(bound)
        if record is not None:
            fill_record(record, float(bound.data.time), self.result())
            record["overlap"] = self.overlap()
        return status

    def start(self, bound: Bound) -> None:
        """First half of a step; see :class:`Steps`."""
        stages.start_step(self._model, bound)

    def finish(self, bound: Bound) -> Status:
        """Take the step whose first half is done; see :class:`Steps`."""
        with self._whole(bound.data):
            return self._finish(bound)

    def _whole(self, data: mujoco.MjData) -> AbstractContextManager[None]:
        """What a step does to `data` before it may fail is undone here; nothing by default."""
        del data
        return nullcontext()

    @abstractmethod
    def _finish(self, bound: Bound) -> Status:
        """Second half of a step."""

    @abstractmethod
    def contacts(self) -> NDArray[np.void]:
        """The contacts of the last step; see :class:`Steps`."""

    @abstractmethod
    def overlap(self) -> float:
        """The largest overlap of the last step; see :class:`Steps`."""

    @abstractmethod
    def result(self) -> Solution | None:
        """The solution of the last step; see :class:`Steps`."""


def fill_record(record: np.void, time: float, solution: Solution | None) -> None:
    """Tell of a step; ``seconds`` and ``overlap`` are left out.

    Parameters
    ----------
    record : record of STEP_RECORD
        Where.
    time : float
        At the end of the step, s.
    solution : Solution or None
        What the solver found; None where nothing can move.
    """
    if solution is None:
        for name in _core.STEP_RECORD.names or ():
            record[name] = 0
        record["time"] = time
        return
    record["time"], record["contacts"] = time, len(solution.gamma)
    record["islands"], record["deep_contacts"] = solution.n_islands, solution.deepened.size
    record["dense_islands"] = sum(island.storage == "dense" for island in solution.algorithm)
    taken = {name for island in solution.algorithm for name in island.fallbacks}
    record["fallbacks"] = sum(1 << k for k, name in enumerate(FALLBACKS) if name in taken)
    record["solver_seconds"] = solution.timing["seconds"]
    for name in _RECORDED:
        record[name] = getattr(solution, name)

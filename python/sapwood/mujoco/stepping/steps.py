"""The interface of the ways to take the steps of a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.fem.results import SoftStepResult
from sapwood.mujoco.reading.parameters import StepParameters
from sapwood.mujoco.results.recording import Recording
from sapwood.mujoco.results.results import Counts
from sapwood.problem.contact_problem import ContactProblem
from sapwood.solution import Solution

Ended = tuple[int, int, BaseException | None]
"""Steps taken, the number of them to report to the user, and the exception that ended the run."""


class Steps(Protocol):
    """Takes the steps of one model, counts them, and keeps the results of the last one."""

    soft_result: SoftStepResult | None

    def run(
        self,
        data: mujoco.MjData,
        steps: int,
        records: NDArray[np.void] | None,
        *,
        signals: bool,
        recording: Recording | None = None,
    ) -> Ended:
        """Take some steps.

        Parameters
        ----------
        data : mujoco.MjData
            The data; advanced in place.
        steps : int
            Number of steps.
        records : ndarray of STEP_RECORD, optional
            Record of each step, to be written.
        signals : bool
            Whether to let signals in between steps, which only the main thread can.
        recording : Recording, optional
            Further arrays of each step, to be written.

        Returns
        -------
        taken, notable : int
            Steps taken, and the number that did not converge or ended with a deep overlap.
        failure : BaseException or None
            The exception that ended the run early, Ctrl-C included.
        """

    def prepare(
        self,
        data: mujoco.MjData,
        watches: tuple[_core.ByteWatch, ...],
        forget: Callable[[object], object],
    ) -> _core.PreparedStep | None:
        """One step, ready to be called from Python time and again at little cost.

        Parameters
        ----------
        data : mujoco.MjData
            The data.
        watches : tuple of ByteWatch
            No step is taken once these tell of a change.
        forget : callable
            Called once the data are gone, which the step does not keep alive.

        Returns
        -------
        PreparedStep or None
            None where steps are not taken in C.
        """

    def start(self, data: mujoco.MjData) -> None:
        """First half of a step, up to the velocity-dependent quantities.

        Parameters
        ----------
        data : mujoco.MjData
            The data.

        Raises
        ------
        StepError
            If no step can be taken from this state.
        """

    def finish(self, data: mujoco.MjData, record: NDArray[np.void]) -> bool:
        """Take the step whose first half, up to the velocities, is done.

        Parameters
        ----------
        data : mujoco.MjData
            The data; advanced in place, or with its state as it was by an error.
        record : ndarray of one STEP_RECORD
            Record of the step, to be written.

        Returns
        -------
        bool
            Whether a user should be told of the step.

        Raises
        ------
        StepError
            If the step cannot be taken.
        """

    def take_over(self, parameters: StepParameters) -> bool:
        """Step by other parameters, where these differ in little.

        Parameters
        ----------
        parameters : StepParameters
            Present parameters of the same model.

        Returns
        -------
        bool
            False, with nothing done, where new steps have to be made.
        """

    def problem(self, data: mujoco.MjData, as_solved: bool = False) -> ContactProblem:
        """The contact problem of a state.

        Parameters
        ----------
        data : mujoco.MjData
            State and controls; not changed.
        as_solved : bool
            Leave out the constraints that the last solve of a step leaves out, and take its start.

        Returns
        -------
        ContactProblem
            The problem, with copies of the arrays.

        Raises
        ------
        StepError
            If no step can be taken from this state.
        """

    def counts(self) -> Counts:
        """Steps by the status of their solve."""

    def contacts(self) -> NDArray[np.void]:
        """The contacts of the last step, an array of ``_core.CONTACT_RECORD``."""

    def body_forces(self) -> NDArray[np.float64]:
        """Sum of the contact forces of the last step on each body (nbody, 3), N, in the world."""

    def contact_source(self) -> _core.ModelStepper:
        """The source of :class:`ContactReader`; NotSupported where steps are not taken in C."""

    def patches(self) -> dict[str, Any]:
        """The surfaces of the last step, as ``_core.ModelStepper.patches``."""

    def groups(self) -> dict[str, Any]:
        """The other constraints of the last step, as ``_core.ModelStepper.groups``."""

    def result(self) -> Solution | None:
        """The solution of the last step; None before the first one."""

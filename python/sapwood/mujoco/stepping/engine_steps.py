"""Steps by symplectic Euler, with the loop, MuJoCo's stages and contact in C."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.constraints.group import ConstraintGroup
from sapwood.fem.results import SoftStepResult
from sapwood.mujoco.reading.arrays import problem_arrays
from sapwood.mujoco.reading.names import model_name
from sapwood.mujoco.reading.parameters import StepParameters
from sapwood.mujoco.results.faults import error_of
from sapwood.mujoco.results.groups import constraint_groups
from sapwood.mujoco.results.recording import Recording
from sapwood.mujoco.results.results import STEP_FALLBACKS, Counts
from sapwood.mujoco.stepping.friction_memories import FrictionMemories
from sapwood.mujoco.stepping.stages import Stages
from sapwood.mujoco.stepping.steps import Ended
from sapwood.problem.contact_problem import ContactProblem
from sapwood.solution import Solution


def gathered_problem(
    parameters: StepParameters,
    arrays: dict[str, Any],
    groups: Sequence[ConstraintGroup],
    time: float,
) -> ContactProblem:
    """A problem that the C core gathered.

    Parameters
    ----------
    parameters : StepParameters
        Parameters of the stepper.
    arrays : dict
        Arrays by the names of ContactProblem.
    groups : sequence of ConstraintGroup
        Constraints other than contacts.
    time : float
        Simulated time, s.

    Returns
    -------
    ContactProblem
        The problem, with copies of the arrays.
    """
    return ContactProblem(
        **arrays,
        constraints=groups,
        dt=parameters.time_step,
        source=f"MuJoCo model '{model_name(parameters.model)}', time {time:.6g} s",
        sigma=parameters.sigma,
        beta=parameters.beta,
        delassus=parameters.delassus,
    )


class EngineSteps:
    """The steps of one model.

    Parameters
    ----------
    parameters : StepParameters
        Parameters of the stepper.
    engine : object
        The loaded MuJoCo, of :func:`sapwood.mujoco.reading.engine.engine`.
    """

    soft_result: SoftStepResult | None = None

    def __init__(self, parameters: StepParameters, engine: object) -> None:
        self._parameters, self._model, self._engine = parameters, parameters.model, engine
        self._stages = Stages(parameters, engine)
        self._core = self._stages.core
        self._memories = FrictionMemories(
            partial(_core.FrictionMemory, self._core), parameters.settings
        )
        parameters.check_options()
        self._core.accept_options(engine, parameters.model)

    def start(self, data: mujoco.MjData) -> None:
        """First half of a step; see :class:`Steps`."""
        self._stages.start(data)

    def finish(self, data: mujoco.MjData, record: NDArray[np.void]) -> bool:
        """Take the step whose first half is done; see :class:`Steps`."""
        memory = self._memories.of(data)
        _, notable, failure = self._core.finish(self._engine, self._model, data, memory, record)
        error = error_of(failure, self._model, data)
        if error is not None:
            raise error
        return notable > 0

    def prepare(
        self,
        data: mujoco.MjData,
        watches: tuple[_core.ByteWatch, ...],
        forget: Callable[[object], object],
    ) -> _core.PreparedStep | None:
        """One step of these data, in C; see :class:`Steps`."""
        memory = self._memories.of(data)
        record = np.zeros(1, _core.STEP_RECORD)
        return self._core.prepare(self._engine, self._model, data, memory, watches, forget, record)

    def run(
        self,
        data: mujoco.MjData,
        steps: int,
        records: NDArray[np.void] | None,
        *,
        signals: bool,
        recording: Recording | None = None,
    ) -> Ended:
        """Take some steps without the GIL; see :class:`Steps`."""
        model, taken, notable = self._model, 0, 0
        memory, checked = self._memories.of(data), -1  # the step before which options were checked
        while True:
            rest = None if records is None else records[taken:]
            room = None if recording is None else recording.room(steps - taken)
            n, n_notable, failure = self._core.run(
                self._engine, model, data, steps - taken, rest, signals, memory, room,
                self._accuracy(),
            )  # fmt: skip
            self._note(n)
            if n > 0 and taken == checked and rest is not None:
                rest["fallbacks"][0] |= STEP_FALLBACKS["options"]
            taken += n
            if recording is not None:
                recording.taken += n
            notable += n_notable
            if not isinstance(failure, tuple) or failure[0] != "options":
                return taken, notable, error_of(failure, model, data)
            # options were changed since the last step
            try:
                self._parameters.check_options()
            except ValueError as refusal:
                return taken, notable, refusal
            self._core.accept_options(self._engine, model)
            checked = taken

    def _accuracy(self) -> tuple[Any, ...] | None:
        """The accuracy of the next steps, see ``_core.ModelStepper.run``; None for whole steps."""
        return None

    def _note(self, taken: int) -> None:
        """Note how many steps were taken."""

    def take_over(self, parameters: StepParameters) -> bool:
        """Step with other speeds, where all else is the same; see :class:`Steps`."""
        if not parameters.differs_in_speeds(self._parameters):
            return False
        self._core.set_speeds(*parameters.speeds)
        self._parameters = parameters
        return True

    def problem(self, data: mujoco.MjData, as_solved: bool = False) -> ContactProblem:
        """The contact problem of a state; see :class:`Steps`."""
        parameters, model = self._parameters, self._model
        if as_solved and parameters.settings.friction == "lagged":
            raise ValueError("as_solved needs another friction than 'lagged', which has a memory")
        scratch = mujoco.MjData(model)
        mujoco.mj_copyData(scratch, model, data)
        stages = Stages(parameters, self._engine)
        stages.begin(scratch)
        if as_solved:
            stages.solve(scratch)
        else:
            stages.gather(scratch)
        arrays, groups = problem_arrays(stages.core), constraint_groups(stages.core.groups())
        return gathered_problem(parameters, arrays, groups, float(data.time))

    def counts(self) -> Counts:
        """Steps by the status of their solve."""
        return self._core.counts()

    def contacts(self) -> NDArray[np.void]:
        """The contacts of the last step."""
        return self._core.contacts()

    def body_forces(self) -> NDArray[np.float64]:
        """Sum of the contact forces of the last step on each body."""
        return self._core.body_forces()

    def contact_source(self) -> _core.ModelStepper:
        """The C stepper; see :class:`Steps`."""
        return self._core

    def patches(self) -> dict[str, Any]:
        """The surfaces of the last step."""
        return self._core.patches()

    def groups(self) -> dict[str, Any]:
        """The other constraints of the last step."""
        return self._core.groups()

    def result(self) -> Solution | None:
        """The solution of the last step; None before the first one."""
        return self._core.result()

"""Steps by symplectic Euler, whose contact part is that of the C core."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.mujoco.reading.arrays import Bound, contact_arrays, problem_arrays
from sapwood.mujoco.reading.names import model_name
from sapwood.mujoco.reading.parameters import StepParameters
from sapwood.mujoco.results.faults import error_of, outcome_text
from sapwood.mujoco.results.groups import constraint_groups
from sapwood.mujoco.results.recording import Recording
from sapwood.mujoco.results.results import STEP_FALLBACKS, UNCONVERGED, Counts, StepError
from sapwood.mujoco.results.violations import violation_text
from sapwood.mujoco.stepping import stages
from sapwood.mujoco.stepping.friction_memories import FrictionMemories
from sapwood.mujoco.stepping.steps import Ended, StagedSteps
from sapwood.problem.contact_problem import ContactProblem
from sapwood.solution import Solution, Status


class CoreSteps(StagedSteps):
    """MuJoCo's stages from Python around one call of the core: gather, regularize, solve, write.

    Parameters
    ----------
    parameters : StepParameters
        Of the stepper.
    """

    def __init__(self, parameters: StepParameters) -> None:
        super().__init__(parameters)
        self._core = parameters.make_core()
        self._memories = FrictionMemories(self._core, parameters.settings)

    def _finish(self, bound: Bound) -> Status:
        data, model = bound.data, self._model
        memory = self._memories.of(data)
        mujoco.mj_fwdActuation(model, data)
        mujoco.mj_fwdAcceleration(model, data)
        self._find_slopes(data)
        if memory is not None:
            memory.check(data.time, data.qpos, data.qvel, data.act)
        try:
            elements = bound.elements(model) if self._parameters.constrained else None
            code = self._core.solve(
                bound.inputs, contact_arrays(data), bound.outputs(), elements, memory
            )
        except ValueError as error:
            raise StepError(str(error), data.time) from None
        if code < 0:
            stages.raise_fault(self._core, model, data)
        status = Status(code)
        if status != Status.converged and status not in UNCONVERGED:
            solution = self.result()
            tree = -1 if solution is None else solution.tree
            text = outcome_text(status, tree) + violation_text(model, data)
            raise StepError(text, data.time)
        data.flg_rnepost = 0
        mujoco.mj_sensorAcc(model, data)
        mujoco.mj_Euler(model, data)
        if memory is not None:
            memory.mark(data.time, data.qpos, data.qvel, data.act)
        return status

    def overlap(self) -> float:
        """The largest overlap of the last step; see :class:`Steps`."""
        return self._core.overlap()

    def problem(self, data: mujoco.MjData, as_solved: bool = False) -> ContactProblem:
        """The contact problem of a state; see :class:`Steps`."""
        parameters, model = self._parameters, self._model
        if as_solved and parameters.settings.friction == "lagged":
            raise ValueError("as_solved needs another friction than 'lagged', which has a memory")
        scratch = mujoco.MjData(model)
        mujoco.mj_copyData(scratch, model, data)
        core = parameters.make_core()
        self._list(core.solve if as_solved else core.gather, core, Bound.of(model, scratch))
        arrays = problem_arrays(core)
        return ContactProblem(
            **arrays,
            constraints=constraint_groups(core.groups()),
            dt=parameters.time_step,
            source=f"MuJoCo model '{model_name(model)}', time {data.time:.6g} s",
            sigma=parameters.sigma,
            beta=parameters.beta,
            delassus=parameters.delassus,
        )

    def gather(self, core: _core.ModelStepper, bound: Bound) -> None:
        """Gather the contact problem of a state.

        Parameters
        ----------
        core : _core.ModelStepper
            Where to.
        bound : Bound
            The arrays of the state; what MuJoCo computes from it is written to its data.

        Raises
        ------
        StepError
            Where a step cannot be taken.
        """
        self._list(core.gather, core, bound)

    def _list(self, part: Callable[..., int], core: _core.ModelStepper, bound: Bound) -> None:
        """Fill the core with a problem by one of its parts."""
        data, model = bound.data, self._model
        self.start(bound)
        mujoco.mj_fwdActuation(model, data)
        mujoco.mj_fwdAcceleration(model, data)
        self._find_slopes(data)
        try:
            elements = bound.elements(model) if self._parameters.constrained else None
            code = part(bound.inputs, contact_arrays(data), bound.outputs(), elements)
        except ValueError as error:
            raise StepError(str(error), data.time) from None
        if code < 0:
            stages.raise_fault(core, model, data)

    def _find_slopes(self, data: mujoco.MjData) -> None:
        """Find the derivative of the smooth forces; joint damping alone is implicit without it."""

    def counts(self) -> Counts:
        """Steps by the status of their solve."""
        return self._core.counts()

    def contacts(self) -> NDArray[np.void]:
        """The contacts of the last step."""
        return self._core.contacts()

    def patches(self) -> dict[str, Any]:
        """The surfaces of the last step."""
        return self._core.patches()

    def groups(self) -> dict[str, Any]:
        """The other constraints of the last step."""
        return self._core.groups()

    def result(self) -> Solution | None:
        """The solution of the last step; None before the first one."""
        return self._core.result()


class EngineSteps(CoreSteps):
    """The same steps, to the last bit, with the loop and MuJoCo's stages called from C.

    Parameters
    ----------
    parameters : StepParameters
        Of the stepper.
    engine : object
        The loaded MuJoCo, of :func:`sapwood.mujoco.engine.engine`.
    """

    def __init__(self, parameters: StepParameters, engine: object) -> None:
        super().__init__(parameters)
        self._engine = engine
        self._core.accept_options(engine, parameters.model)

    def start(self, bound: Bound) -> None:
        """First half of a step; see :class:`Steps`."""
        self._call(self._core.start, bound.data)

    def _find_slopes(self, data: mujoco.MjData) -> None:
        """As :meth:`CoreSteps._find_slopes`, by MuJoCo's function that Python does not have."""
        if self._parameters.implicit:
            self._call(self._core.find_slopes, data)

    def _call(self, part: Callable[[object, object, object], Any], data: mujoco.MjData) -> None:
        error = error_of(part(self._engine, self._model, data), self._model, data)
        if error is not None:
            raise error

    def prepare(
        self, bound: Bound, watches: tuple[_core.ByteWatch, ...]
    ) -> _core.PreparedStep | None:
        """One step of these data, in C; see :class:`Steps`."""
        data = bound.data
        memory = self._memories.of(data)
        return self._core.prepare(self._engine, self._model, data, memory, watches)

    def run(
        self,
        bound: Bound,
        steps: int,
        records: NDArray[np.void] | None,
        *,
        signals: bool,
        recording: Recording | None = None,
    ) -> Ended:
        """Take some steps without the GIL; see :class:`Steps`."""
        data, model, taken, notable = bound.data, self._model, 0, 0
        memory, checked = self._memories.of(data), -1  # the step before which options were checked
        while True:
            rest = None if records is None else records[taken:]
            room = None if recording is None else recording.room(steps - taken)
            n, n_notable, failure = self._core.run(
                self._engine, model, data, steps - taken, rest, signals, memory, room
            )
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

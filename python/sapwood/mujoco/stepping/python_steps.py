"""Steps whose stages are put together in Python: their loop, counts and results."""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.fem.results import SoftStepResult
from sapwood.mujoco.reading.parameters import StepParameters
from sapwood.mujoco.reading.support import NotSupported
from sapwood.mujoco.results.faults import outcome_text
from sapwood.mujoco.results.recording import Recording
from sapwood.mujoco.results.results import DEEP_OVERLAP, UNCONVERGED, Counts, StepError
from sapwood.mujoco.stepping.forks import free_in_children
from sapwood.mujoco.stepping.stages import Stages
from sapwood.mujoco.stepping.steps import Ended
from sapwood.problem.contact_problem import ContactProblem
from sapwood.solution import FALLBACKS, Solution, Status
from sapwood.solver import SapSolver

_Float = NDArray[np.float64]

# fields of a record that are fields of the solution
_RECORDED = (
    "status",
    "iterations",
    "total_iterations",
    "line_search_trials",
    "momentum_error",
    "velocity_error_bound",
    "coulomb_error",
)
_NONE = np.zeros(0)


def _with_solution(
    contacts: NDArray[np.void], problem: ContactProblem, solution: Solution
) -> NDArray[np.void]:
    """Contacts of the C core, which gathered but did not solve them, with the solution."""
    dt, n = problem.dt, len(contacts)
    slip = solution.v_c[:n, :2] - (0.0 if problem.v_hat_t is None else problem.v_hat_t[:n])
    contacts["force"] = solution.gamma[:n] / dt
    contacts["slip_speed"] = np.hypot(slip[:, 0], slip[:, 1])
    contacts["region"] = solution.regions[:n]
    if solution.spin_gamma is not None:
        # about (n, t1, t2)
        contacts["torque"][problem.spin_contact] = np.roll(solution.spin_gamma, -1, axis=1) / dt
    return contacts


def _fill_record(record: np.void, time: float, solution: Solution) -> None:
    """Tell of a step; ``seconds`` and ``overlap`` are left out.

    Parameters
    ----------
    record : record of STEP_RECORD
        The record to write.
    time : float
        At the end of the step, s.
    solution : Solution
        The solution of the step.
    """
    record["time"], record["contacts"] = time, len(solution.gamma)
    record["islands"], record["deep_contacts"] = solution.n_islands, solution.deepened.size
    record["dense_islands"] = sum(island.storage == "dense" for island in solution.algorithm)
    taken = {name for island in solution.algorithm for name in island.fallbacks}
    record["fallbacks"] = sum(1 << k for k, name in enumerate(FALLBACKS) if name in taken)
    record["solver_seconds"] = solution.timing["seconds"]
    for name in _RECORDED:
        record[name] = getattr(solution, name)


class PythonSteps:
    """Steps of one model; subclasses take one step after its first half.

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
        self._solver = SapSolver(parameters.settings, parameters.threads)
        self._counts = dict.fromkeys((Status.converged, *UNCONVERGED), 0)
        self._allocate()
        core = self._stages.core
        self._contacts, self._groups = core.contacts(), core.groups()
        self._solution: Solution | None = None
        free_in_children(self, PythonSteps._free)

    def _allocate(self) -> None:
        """Allocate the objects that one thread works on at a time."""
        parameters, self._lock = self._parameters, threading.RLock()
        self._stages = Stages(parameters, self._engine)
        self._before = mujoco.MjData(parameters.model)

    def _free(self) -> None:
        """Release, in a child process, the work of a thread that stayed behind in the parent."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self._allocate()

    @property
    def core(self) -> _core.ModelStepper:
        """The stepper of the C core, which gathers."""
        return self._stages.core

    def take_over(self, parameters: StepParameters) -> bool:
        """Nothing is taken over; see :class:`Steps`."""
        del parameters
        return False

    def counts(self) -> Counts:
        """Steps by the status of their solve."""
        converged, stalled, iteration_limit, friction_limit = self._counts.values()
        return converged, stalled, iteration_limit, friction_limit

    def contacts(self) -> NDArray[np.void]:
        """The contacts of the last step."""
        return self._contacts

    def body_forces(self) -> NDArray[np.float64]:
        """Sum of the contact forces of the last step on each body."""
        contacts, total = self._contacts, np.zeros((self._model.nbody, 3))
        force = np.einsum("ijk,ij->ik", contacts["frame"], contacts["force"])
        bodies = self._parameters.forest["geom_bodyid"][contacts["geom"]]
        np.add.at(total, bodies[:, 1], force)
        np.subtract.at(total, bodies[:, 0], force)
        return total

    def contact_source(self) -> _core.ModelStepper:
        """Steps in Python have none; see :class:`Steps`."""
        raise NotSupported(
            "contact_reader is for symplectic_euler without soft bodies and elastic or large "
            "flexes; other steppers have contacts"
        )

    def patches(self) -> dict[str, Any]:
        """None: fields are of the default scheme."""
        return {}

    def groups(self) -> dict[str, Any]:
        """The other constraints of the last step."""
        return self._groups

    def result(self) -> Solution | None:
        """The solution of the last step; None before the first one."""
        return self._solution

    # ---- the step -------------------------------------------------------------------------------

    def run(
        self,
        data: mujoco.MjData,
        steps: int,
        records: NDArray[np.void] | None,
        *,
        signals: bool,
        recording: Recording | None = None,
    ) -> Ended:
        """Take some steps; see :class:`Steps`."""
        del signals  # Python looks for them
        taken = notable = 0
        spare = np.zeros(1, _core.STEP_RECORD)
        try:
            while taken < steps:
                record = spare if records is None else records[taken:]
                notable += self.take(data, record)
                if recording is not None:
                    recording.keep(data, self.contacts(), self.body_forces())
                taken += 1
        except BaseException as failure:
            return taken, notable, failure
        return taken, notable, None

    def prepare(
        self,
        data: mujoco.MjData,
        watches: tuple[_core.ByteWatch, ...],
        forget: Callable[[object], object],
    ) -> _core.PreparedStep | None:
        """None: the stages are put together in Python; see :class:`Steps`."""
        del data, watches, forget
        return None

    def take(self, data: mujoco.MjData, record: NDArray[np.void]) -> bool:
        """Take a step, tell of it in a record, and return whether a user should be told."""
        began = time.perf_counter()
        with self._whole(data):
            self._parameters.check_options()
            self.start(data)
            notable = self._tell(data, self._finish(data), record)
        record["seconds"][0] = time.perf_counter() - began
        return notable

    def start(self, data: mujoco.MjData) -> None:
        """First half of a step; see :class:`Steps`."""
        self._stages.start(data)

    def finish(self, data: mujoco.MjData, record: NDArray[np.void]) -> bool:
        """Take the step whose first half is done; see :class:`Steps`."""
        with self._whole(data):
            return self._tell(data, self._finish(data), record)

    def _tell(self, data: mujoco.MjData, solution: Solution, record: NDArray[np.void]) -> bool:
        """Fill the record of a step, and return whether a user should be told of it."""
        overlap = self._largest_overlap(self._contacts)
        _fill_record(record[0], float(data.time), solution)
        record["overlap"][0] = overlap
        return solution.status in UNCONVERGED or overlap > DEEP_OVERLAP

    @contextmanager
    def _whole(self, data: mujoco.MjData) -> Iterator[None]:
        """Restore all of `data`, contacts, forces and sensors included, if a step fails."""
        with self._lock:
            mujoco.mj_copyData(self._before, self._model, data)
            try:
                yield
            except BaseException:
                mujoco.mj_copyData(data, self._model, self._before)
                raise

    @abstractmethod
    def _finish(self, data: mujoco.MjData) -> Solution:
        """Take the step whose first half is done, and keep its results."""

    def _write(
        self,
        data: mujoco.MjData,
        v: _Float,
        problem: ContactProblem,
        solution: Solution,
        efc_force: _Float = _NONE,
    ) -> None:
        """Write forces and accelerations of the solution, and keep its results.

        `problem` and the solution may have further contacts, after those of the C core. `efc_force`
        has their forces in MuJoCo's rows.
        """
        core = self._stages.core
        contacts, groups = core.contacts(), core.groups()
        groups["gamma"], groups["v_c"] = self._rows(solution, v)
        spin_gamma = _NONE if solution.spin_gamma is None else solution.spin_gamma
        gamma = solution.gamma[: len(contacts)]
        self._stages.write(data, v, gamma, groups["gamma"], spin_gamma, efc_force)
        self._counts[solution.status] += 1
        self._solution, self._groups = solution, groups
        self._contacts = _with_solution(core.contacts(), problem, solution)

    def _rows(self, solution: Solution, v: _Float) -> tuple[_Float, _Float]:
        """Impulses and velocities of the rows of constraints other than contacts, at v (nv,)."""
        del v
        found = solution.constraints
        return (
            np.concatenate([_NONE, *(group.gamma for group in found)]),
            np.concatenate([_NONE, *(group.v_c for group in found)]),
        )

    def _check(self, solution: Solution, data: mujoco.MjData) -> None:
        """Raise StepError where the solver found no velocity."""
        if solution.status not in self._counts:
            raise StepError(outcome_text(solution.status, solution.tree), data.time)

    def _largest_overlap(self, contacts: NDArray[np.void]) -> float:
        """Largest overlap of rigid contacts under the scheme, in widths of the narrower geom."""
        forest, geom = self._stages.core.constants(), contacts["geom"]
        rigid = np.isinf(forest["stiffness"][geom]).all(axis=1)
        depth = -contacts["distance"][rigid] / forest["geom_width"][geom[rigid]].min(axis=1)
        return float(depth.max(initial=0.0))

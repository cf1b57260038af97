"""Steps of a MuJoCo model by the other schemes of the theta-method, section IV.

A step begins with MuJoCo's stages and sensors at (q_0, v_0) and the control callback. The free
motion is found on separate data. Then MuJoCo's stages run on the user's data at (q^θq, v^θv), where
contacts, forces and the sensors of accelerations and forces are taken. The C core gathers the
contact problem there, which is solved in the linearized momentum of Eq. (14); with equality
constraints the midpoint rule solves it once more from a corrected velocity. ``mj_Euler`` ends the
step, with the positions of Eq. (8) instead of its own.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.mujoco.reading.arrays import problem_arrays
from sapwood.mujoco.reading.names import model_name
from sapwood.mujoco.reading.parameters import StepParameters
from sapwood.mujoco.reading.support import NotSupported
from sapwood.mujoco.results.faults import mujoco_error_text, outcome_text
from sapwood.mujoco.results.groups import constraint_groups
from sapwood.mujoco.results.recording import Recording
from sapwood.mujoco.results.results import DEEP_OVERLAP, UNCONVERGED, Counts, StepError
from sapwood.mujoco.stepping.forks import free_in_children
from sapwood.mujoco.stepping.free_model import FreeMujoco
from sapwood.mujoco.stepping.stages import Stages
from sapwood.mujoco.stepping.steps import Ended
from sapwood.problem.contact_problem import ContactProblem
from sapwood.solution import FALLBACKS, Solution, Status
from sapwood.solver import SapSolver
from sapwood.stepping import (
    Contacts,
    FreeMotion,
    FreeMotionError,
    contact_problem,
    free_motion,
)
from sapwood.stepping.contact_stage import needs_correction
from sapwood.stepping.free_motion import corrected_velocity

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
    dt = problem.dt
    slip = solution.v_c[:, :2] - (0.0 if problem.v_hat_t is None else problem.v_hat_t)
    contacts["distance"] = problem.phi0
    contacts["force"] = solution.gamma / dt
    contacts["slip_speed"] = np.hypot(slip[:, 0], slip[:, 1])
    contacts["region"] = solution.regions
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


class _Stage(NamedTuple):
    """Free motion and contacts of a step."""

    free: FreeMotion
    contacts: Contacts
    tree_nv: NDArray[np.int32]
    q_0: _Float
    v_0: _Float
    slip_ratio: _Float | None


class ThetaSteps:
    """Steps of one model by one scheme other than symplectic Euler.

    Parameters
    ----------
    parameters : StepParameters
        Parameters of the stepper.
    engine : object
        The loaded MuJoCo, of :func:`sapwood.mujoco.reading.engine.engine`.
    """

    def __init__(self, parameters: StepParameters, engine: object) -> None:
        self._parameters, self._model, self._engine = parameters, parameters.model, engine
        self._solver = SapSolver(parameters.settings)
        self._counts = dict.fromkeys((Status.converged, *UNCONVERGED), 0)
        self._allocate()
        core = self._stages.core
        self._contacts, self._groups = core.contacts(), core.groups()
        self._solution: Solution | None = None
        free_in_children(self, ThetaSteps._free)

    def _allocate(self) -> None:
        """Allocate the objects that one thread works on at a time."""
        parameters, self._lock = self._parameters, threading.RLock()
        self._stages = Stages(parameters, self._engine)
        self._free_model = FreeMujoco(parameters.model, parameters.forest["damping"])
        self._before = mujoco.MjData(parameters.model)

    def _free(self) -> None:
        """Release, in a child process, the work of a thread that stayed behind in the parent."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self._allocate()

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
        bodies = self._model.geom_bodyid[contacts["geom"]]
        np.add.at(total, bodies[:, 1], force)
        np.subtract.at(total, bodies[:, 0], force)
        return total

    def contact_source(self) -> _core.ModelStepper:
        """Steps in Python have none; see :class:`Steps`."""
        raise NotSupported("contact_reader is for symplectic_euler; other schemes have contacts")

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
                notable += self._step(data, record)
                if recording is not None:
                    recording.keep(data, self.contacts())
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

    def _step(self, data: mujoco.MjData, record: NDArray[np.void]) -> bool:
        began = time.perf_counter()
        with self._whole(data):
            self._parameters.check_options()
            self.start(data)
            notable = self._finish(data, record)
        record["seconds"][0] = time.perf_counter() - began
        return notable

    def start(self, data: mujoco.MjData) -> None:
        """First half of a step; see :class:`Steps`."""
        self._stages.start(data)

    def finish(self, data: mujoco.MjData, record: NDArray[np.void]) -> bool:
        """Take the step whose first half is done; see :class:`Steps`."""
        with self._whole(data):
            return self._finish(data, record)

    def problem(self, data: mujoco.MjData, as_solved: bool = False) -> ContactProblem:
        """The contact problem of a state, with v* of the free motion and A of Eq. (11).

        No constraint is left out of these steps.
        """
        del as_solved
        scratch = mujoco.MjData(self._model)
        mujoco.mj_copyData(scratch, self._model, data)
        with self._lock:
            self.start(scratch)
            return self._problem(self._stage(scratch), float(data.time))

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

    def _finish(self, data: mujoco.MjData, record: NDArray[np.void]) -> bool:
        model, core = self._model, self._stages.core
        q_0, v_0 = data.qpos.copy(), data.qvel.copy()
        stage = self._stage(data)
        contacts, groups = core.contacts(), core.groups()
        problem, solution = self._solve(stage, data)
        if needs_correction(self._parameters.scheme, stage.contacts):
            problem, solution = self._solve(stage, data, self._corrected(stage, solution, data))
        found = solution.constraints
        groups["gamma"] = np.concatenate([_NONE, *(group.gamma for group in found)])
        groups["v_c"] = np.concatenate([_NONE, *(group.v_c for group in found)])
        spin_gamma = _NONE if solution.spin_gamma is None else solution.spin_gamma
        self._stages.write(data, solution.v, solution.gamma, groups["gamma"], spin_gamma)
        data.flg_rnepost = 0
        mujoco.mj_sensorAcc(model, data)

        # time, activations and all else that advances
        data.qpos[:], data.qvel[:] = q_0, v_0
        mujoco.mj_Euler(model, data)
        v_vq = self._parameters.scheme.position_velocity(solution.v, v_0)
        q = self._free_model.integrate(q_0, v_vq, self._parameters.time_step)
        data.qpos[:], data.qvel[:] = q, solution.v
        self._counts[solution.status] += 1
        self._solution, self._groups = solution, groups
        self._contacts = _with_solution(contacts, problem, solution)
        overlap = self._largest_overlap(contacts)
        _fill_record(record[0], float(data.time), solution)
        record["overlap"][0] = overlap
        return solution.status in UNCONVERGED or overlap > DEEP_OVERLAP

    def _largest_overlap(self, contacts: NDArray[np.void]) -> float:
        """Largest overlap of rigid contacts under the scheme, in widths of the narrower geom."""
        forest, geom = self._parameters.forest, contacts["geom"]
        rigid = np.isinf(forest["stiffness"][geom]).all(axis=1)
        depth = -contacts["distance"][rigid] / forest["geom_width"][geom[rigid]].min(axis=1)
        return float(depth.max(initial=0.0))

    # ---- parts of a step ------------------------------------------------------------------------

    def _stage(self, data: mujoco.MjData) -> _Stage:
        """Free motion, and the contacts at (q^θq, v^θv), with data left there."""
        parameters, core = self._parameters, self._stages.core
        scheme, dt, now = parameters.scheme, parameters.time_step, float(data.time)
        q_0, v_0 = data.qpos.copy(), data.qvel.copy()
        self._free_model.load(data)
        try:
            free = free_motion(self._free_model, scheme, dt, q_0, v_0, time=now)
        except FreeMotionError as error:
            raise StepError(error.args[0], now) from error
        except mujoco.FatalError as error:
            raise StepError(mujoco_error_text(str(error)), now) from None
        data.qpos[:], data.qvel[:] = free.q_theta, scheme.force_velocity(free.v, v_0)
        self._stages.evaluate(data)
        self._stages.gather(data, v_0)
        arrays = problem_arrays(core)
        contacts = Contacts(
            arrays["tree_a"],
            arrays["tree_b"],
            arrays["J"],
            arrays["phi0"],
            arrays["k"],
            arrays["tau_d"],
            arrays["mu"],
            arrays["v_hat_t"],
            constraint_groups(core.groups(), regularized=False),
            arrays.get("spin_contact"),
            arrays.get("spin_J"),
            arrays.get("spin_mu"),
        )
        return _Stage(free, contacts, arrays["tree_nv"], q_0, v_0, arrays.get("slip_ratio"))

    def _problem(self, stage: _Stage, now: float, v_star: _Float | None = None) -> ContactProblem:
        """The contact problem of a stage, with v* of the free motion or a velocity in its place."""
        parameters, scheme = self._parameters, self._parameters.scheme
        try:
            return contact_problem(
                stage.free,
                stage.contacts,
                stage.tree_nv,
                scheme,
                parameters.time_step,
                stage.v_0,
                sigma=parameters.sigma,
                beta=parameters.beta,
                delassus=parameters.delassus,
                slip_ratio=stage.slip_ratio,
                source=f"MuJoCo model '{model_name(self._model)}', time {now:.6g} s, {scheme.name}",
                v_star=v_star,
            )
        except ValueError as error:
            raise StepError(f"contact problem: {error}", now) from error

    def _solve(
        self, stage: _Stage, data: mujoco.MjData, v_star: _Float | None = None
    ) -> tuple[ContactProblem, Solution]:
        problem = self._problem(stage, float(data.time), v_star)
        solution = self._solver.solve(problem)
        if solution.status not in self._counts:
            raise StepError(outcome_text(solution.status, solution.tree), data.time)
        return problem, solution

    def _corrected(self, stage: _Stage, solution: Solution, data: mujoco.MjData) -> _Float:
        """v*' of the corrector."""
        scheme, dt = self._parameters.scheme, self._parameters.time_step
        start = stage.q_0, stage.v_0
        try:
            return corrected_velocity(
                self._free_model, scheme, dt, *start, stage.free.A, solution.v
            )
        except FreeMotionError as error:
            raise StepError(error.args[0], data.time) from error
        except mujoco.FatalError as error:
            raise StepError(mujoco_error_text(str(error)), data.time) from None

"""Steps of a MuJoCo model by the other schemes of the theta-method, section IV.

A step starts like any other, with MuJoCo's stages and sensors at (q_0, v_0) and the control
callback. The free motion is found on data of its own. Then MuJoCo's stages run on the user's data
at (q^θq, v^θv): contacts, forces and the sensors of accelerations and forces are those of that
state. The contact problem is gathered there by the C core and solved in the linearized momentum of
Eq. (14), and ``mj_Euler`` ends the step, with the positions of Eq. (8) in place of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.mujoco.reading.arrays import Bound, contact_arrays, problem_arrays
from sapwood.mujoco.reading.names import model_name
from sapwood.mujoco.reading.parameters import StepParameters
from sapwood.mujoco.results.faults import MORE_MEMORY, mujoco_error_text, outcome_text
from sapwood.mujoco.results.groups import constraint_groups
from sapwood.mujoco.results.results import UNCONVERGED, Counts, StepError
from sapwood.mujoco.stepping import stages
from sapwood.mujoco.stepping.forks import free_in_children
from sapwood.mujoco.stepping.free_model import FreeMujoco
from sapwood.mujoco.stepping.steps import StagedSteps
from sapwood.problem.contact_problem import ContactProblem
from sapwood.solution import Solution, Status
from sapwood.solver import SapSolver
from sapwood.stepping import Contacts, FreeMotionError, contact_problem, free_motion

_Float = NDArray[np.float64]

_Arrays = tuple[NDArray[Any] | None, ...]
_CoreArrays = tuple[_Arrays, _Arrays, _Arrays, tuple[Any, ...] | None]

_NONE = np.zeros(0)


def _with_solution(
    contacts: NDArray[np.void], problem: ContactProblem, solution: Solution
) -> NDArray[np.void]:
    """Contacts that were gathered alone, as what was solved tells of them."""
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


class ThetaSteps(StagedSteps):
    """Steps of one model by one scheme, in place of those that the C core takes by itself.

    Parameters
    ----------
    parameters : StepParameters
        Of the stepper.
    """

    def __init__(self, parameters: StepParameters) -> None:
        super().__init__(parameters)
        self._solver = SapSolver(parameters.settings)
        self._counts = dict.fromkeys((Status.converged, *UNCONVERGED), 0)
        self._allocate()
        self._contacts = self._core.contacts()
        self._groups: dict[str, Any] = self._core.groups()
        self._solution: Solution | None = None
        self._overlap = 0.0
        free_in_children(self, ThetaSteps._free)

    def _allocate(self) -> None:
        """What one thread works on at a time."""
        parameters, self._lock = self._parameters, threading.RLock()
        # gathers the contacts
        self._core = parameters.make_core()
        self._free_model = FreeMujoco(parameters.model, parameters.forest["damping"])
        self._before = mujoco.MjData(parameters.model)

    def _free(self) -> None:
        """Let go, in a child process, what a thread was at work on that stayed behind."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self._allocate()

    def counts(self) -> Counts:
        """Steps by the status of their solve."""
        converged, stalled, iteration_limit, friction_limit = self._counts.values()
        return converged, stalled, iteration_limit, friction_limit

    def contacts(self) -> NDArray[np.void]:
        """The contacts of the last step."""
        return self._contacts

    def overlap(self) -> float:
        """The largest overlap of the last step; see :class:`Steps`."""
        return self._overlap

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

    def problem(self, data: mujoco.MjData, as_solved: bool = False) -> ContactProblem:
        """The contact problem of a state, with v* of the free motion and A of Eq. (11).

        Nothing of it is left out in steps.
        """
        del as_solved
        scratch = mujoco.MjData(self._model)
        mujoco.mj_copyData(scratch, self._model, data)
        bound = Bound.of(self._model, scratch)
        with self._lock:
            self.start(bound)
            return self._stage(bound)

    @contextmanager
    def _whole(self, data: mujoco.MjData) -> Iterator[None]:
        """All of `data` is as it was, contacts, forces and sensors too, where a step fails."""
        with self._lock:
            mujoco.mj_copyData(self._before, self._model, data)
            try:
                yield
            except BaseException:
                mujoco.mj_copyData(data, self._model, self._before)
                raise

    def _finish(self, bound: Bound) -> Status:
        data, model = bound.data, self._model
        q_0, v_0 = data.qpos.copy(), data.qvel.copy()
        problem = self._stage(bound)
        contacts, groups = self._core.contacts(), self._core.groups()
        solution = self._solver.solve(problem)
        if solution.status not in self._counts:
            raise StepError(outcome_text(solution.status, solution.tree), data.time)
        found = solution.constraints
        groups["gamma"] = np.concatenate([_NONE, *(group.gamma for group in found)])
        groups["v_c"] = np.concatenate([_NONE, *(group.v_c for group in found)])
        spin_gamma = _NONE if solution.spin_gamma is None else solution.spin_gamma
        self._write(bound, v_0, solution, groups["gamma"], spin_gamma)
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
        self._overlap = self._largest_overlap(contacts)
        return solution.status

    def _largest_overlap(self, contacts: NDArray[np.void]) -> float:
        """That of rigid contacts where the scheme has them, in widths of the narrower geom."""
        forest, geom = self._parameters.forest, contacts["geom"]
        rigid = np.isinf(forest["stiffness"][geom]).all(axis=1)
        depth = -contacts["distance"][rigid] / forest["geom_width"][geom[rigid]].min(axis=1)
        return float(depth.max(initial=0.0))

    # ---- parts of a step ------------------------------------------------------------------------

    def _stage(self, bound: Bound) -> ContactProblem:
        """Free motion, and the contact problem at (q^θq, v^θv), with data left there."""
        data, model, parameters, core = bound.data, self._model, self._parameters, self._core
        scheme, dt, now = parameters.scheme, parameters.time_step, float(data.time)
        q_0, v_0 = data.qpos.copy(), data.qvel.copy()
        full = bound.contacts_full.number, bound.rows_full.number
        self._free_model.load(data)
        try:
            free = free_motion(self._free_model, scheme, dt, q_0, v_0, time=now)
            data.qpos[:] = free.q_theta
            data.qvel[:] = scheme.force_velocity(free.v, v_0)
            mujoco.mj_fwdPosition(model, data)
            mujoco.mj_fwdVelocity(model, data)
            mujoco.mj_fwdActuation(model, data)
            mujoco.mj_fwdAcceleration(model, data)
        except FreeMotionError as error:
            raise StepError(error.args[0], now) from error
        except mujoco.FatalError as error:
            raise StepError(mujoco_error_text(str(error)), now) from None
        if (bound.contacts_full.number, bound.rows_full.number) != full:
            raise StepError(MORE_MEMORY, now)
        try:
            code = core.gather(*self._arrays(bound, v_0))
        except ValueError as error:
            raise StepError(str(error), now) from None
        if code < 0:
            stages.raise_fault(core, model, data)
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
        try:
            return contact_problem(
                free,
                contacts,
                arrays["tree_nv"],
                scheme,
                dt,
                v_0,
                sigma=parameters.sigma,
                beta=parameters.beta,
                delassus=parameters.delassus,
                source=f"MuJoCo model '{model_name(model)}', time {now:.6g} s, {scheme.name}",
            )
        except ValueError as error:
            raise StepError(f"contact problem: {error}", now) from error

    def _arrays(self, bound: Bound, v_0: _Float) -> _CoreArrays:
        """What the core reads and writes, with the velocity at the start of the step."""
        elements = bound.elements(self._model) if self._parameters.constrained else None
        state = v_0, *bound.inputs[1:]
        return state, contact_arrays(bound.data), bound.outputs(), elements

    def _write(
        self,
        bound: Bound,
        v_0: _Float,
        solution: Solution,
        group_gamma: _Float,
        spin_gamma: _Float,
    ) -> None:
        """qacc, qfrc_constraint and efc_force, as after a step of the core."""
        arrays = self._arrays(bound, v_0)
        impulses = solution.gamma, group_gamma, spin_gamma
        code = self._core.write(*arrays, solution.v, *impulses)
        if code < 0:
            stages.raise_fault(self._core, self._model, bound.data)

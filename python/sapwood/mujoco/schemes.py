"""Steps of a MuJoCo model by the other schemes of the theta-method, section IV.

A step starts like any other, with MuJoCo's stages and sensors at (q_0, v_0) and the control
callback. The free motion is found on data of its own. Then MuJoCo's stages run on the user's data
at (q^θq, v^θv): contacts, forces and the sensors of accelerations and forces are those of that
state. The contact problem is gathered there by the C core and solved in the linearized momentum of
Eq. (14), and ``mj_Euler`` ends the step, with the positions of Eq. (8) in place of its own.
"""

from __future__ import annotations

import time
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.mujoco import stages
from sapwood.mujoco.arrays import Bound, contact_arrays, model_name
from sapwood.mujoco.groups import constraint_groups
from sapwood.mujoco.results import UNCONVERGED, StepError
from sapwood.mujoco.slopes import Slopes
from sapwood.mujoco.support import (
    MORE_MEMORY,
    NotSupported,
    mujoco_error_text,
    name_of,
    outcome_text,
)
from sapwood.problem.arrays import Delassus
from sapwood.problem.contact_problem import ContactProblem
from sapwood.settings import SapSettings
from sapwood.solution import Solution, Status
from sapwood.solver import SapSolver
from sapwood.stepping import (
    Contacts,
    Dynamics,
    FreeMotionError,
    Scheme,
    contact_problem,
    free_motion,
)

_Float = NDArray[np.float64]

_Arrays = tuple[NDArray[Any] | None, ...]
_CoreArrays = tuple[_Arrays, _Arrays, _Arrays, tuple[Any, ...] | None]

_NONE = np.zeros(0)

# fields of a record that are those of the solution
_RECORDED = (
    "status",
    "iterations",
    "total_iterations",
    "line_search_trials",
    "momentum_error",
    "velocity_error_bound",
)


class FreeMujoco:
    """A MuJoCo model without contact, as :class:`sapwood.stepping.FreeModel` asks for.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    damping : ndarray (nv, 3)
        Coefficients of the damping forces of the dofs, see :class:`Slopes`.
    """

    def __init__(self, model: mujoco.MjModel, damping: _Float) -> None:
        self._model, self._data = model, mujoco.MjData(model)
        self._slopes = Slopes(model, damping)
        self._state = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_INTEGRATION))
        # entries of the lower triangle of M
        self._rows = np.repeat(np.arange(model.nv), model.M_rownnz)
        self._columns = np.asarray(model.M_colind)

    def load(self, data: mujoco.MjData) -> None:
        """Take over controls, activations and applied forces.

        Parameters
        ----------
        data : mujoco.MjData
            State at the start of a step.
        """
        spec = mujoco.mjtState.mjSTATE_INTEGRATION
        mujoco.mj_getState(self._model, data, self._state, spec)
        mujoco.mj_setState(self._model, self._data, self._state, spec)

    def dynamics(self, q: _Float, v: _Float, /) -> Dynamics:
        """By MuJoCo's stages without collision detection.

        Parameters
        ----------
        q, v : ndarray (nq,), (nv,)
            Positions and velocities.

        Returns
        -------
        Dynamics
            F1 holds springs, dampers and actuators, F2 the rest.
        """
        model, data = self._model, self._data
        data.qpos[:], data.qvel[:] = q, v
        mujoco.mj_fwdKinematics(model, data)
        mujoco.mj_makeM(model, data)
        mujoco.mj_factorM(model, data)
        mujoco.mj_transmission(model, data)
        mujoco.mj_fwdVelocity(model, data)
        mujoco.mj_fwdActuation(model, data)
        mujoco.mj_fwdAcceleration(model, data)
        M = np.zeros((model.nv, model.nv))
        M[self._rows, self._columns] = data.M
        M[self._columns, self._rows] = data.M
        F1 = data.qfrc_spring + data.qfrc_damper + data.qfrc_actuator
        return Dynamics(M, F1, data.qfrc_smooth - F1, *self._slopes.at(data))

    def integrate(self, q: _Float, v: _Float, dt: float, /) -> _Float:
        """By ``mj_integratePos``, the exponential map for quaternions.

        Parameters
        ----------
        q, v : ndarray (nq,), (nv,)
            Positions and velocities.
        dt : float
            Time, s.

        Returns
        -------
        ndarray (nq,)
            Positions after the time.
        """
        moved = np.array(q)
        mujoco.mj_integratePos(self._model, moved, v, dt)
        return moved


def check_scheme_model(model: mujoco.MjModel, scheme: Scheme) -> None:
    """Refuse what has a state of its own that the stages of a step would change.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    scheme : Scheme
        For the text.

    Raises
    ------
    NotSupported
        With the name of the element.
    """
    kinds = {"jnt": "JOINT", "tendon": "TENDON", "flex": "FLEX"}
    refused = [
        f"plastic springs: {name_of(model, getattr(mujoco.mjtObj, f'mjOBJ_{word}'), int(i))}"
        for kind, word in kinds.items()
        for i in np.flatnonzero(np.asarray(getattr(model, f"{kind}_plasticadr", ())) >= 0)
    ]
    refused += [name_of(model, mujoco.mjtObj.mjOBJ_PLUGIN, i) for i in range(model.nplugin)]
    if refused:
        raise NotSupported(f"scheme {scheme.name} cannot take {refused[0]}")


class SchemeSteps:
    """Steps of one model by one scheme, in place of those that the C core takes by itself.

    Parameters
    ----------
    core : _core.ModelStepper
        Gathers the contacts.
    model : mujoco.MjModel
        The stepper's copy of the model.
    scheme : Scheme
        The scheme.
    damping : ndarray (nv, 3)
        Coefficients of the damping forces of the dofs.
    constrained : bool
        Whether the core has other constraints than contacts.
    sigma, beta, delassus, settings
        As for the stepper.
    """

    def __init__(
        self,
        core: _core.ModelStepper,
        model: mujoco.MjModel,
        scheme: Scheme,
        damping: _Float,
        constrained: bool,
        sigma: float,
        beta: float,
        delassus: Delassus,
        settings: SapSettings,
    ) -> None:
        self._core, self._model, self._scheme = core, model, scheme
        self._constrained = constrained
        self._sigma, self._beta, self._delassus = sigma, beta, delassus
        self._options = stages.options_of(model)
        self._free = FreeMujoco(model, damping)
        self._solver = SapSolver(settings)
        self._counts = {Status.converged: 0, Status.stalled: 0, Status.iteration_limit: 0}
        self._contacts: dict[str, Any] = core.contacts()
        self._groups: dict[str, Any] = core.groups()
        self._solution: Solution | None = None

    # ---- as the C core does it ------------------------------------------------------------------

    def run(
        self,
        _engine: object,
        _model: mujoco.MjModel,
        data: mujoco.MjData,
        steps: int,
        records: NDArray[np.void] | None,
        _signals: bool,
    ) -> tuple[int, int, BaseException | None]:
        """Take some steps.

        Parameters
        ----------
        data : mujoco.MjData
            Advanced in place.
        steps : int
            How many.
        records : ndarray of STEP_RECORD, optional
            Where to tell of each step.

        Returns
        -------
        taken, unconverged : int
            Steps taken, and how many of them did not converge.
        failure : BaseException or None
            What ended the run; Ctrl-C too.
        """
        taken = unconverged = 0
        bound = Bound.of(self._model, data)
        try:
            while taken < steps:
                start = time.perf_counter()
                stages.check_options(self._model, self._options)
                stages.start_step(self._model, bound)
                record = None if records is None else records[taken]
                unconverged += self.finish(bound, record) in UNCONVERGED
                if record is not None:
                    record["seconds"] = time.perf_counter() - start
                taken += 1
        except BaseException as failure:
            return taken, unconverged, failure
        return taken, unconverged, None

    def counts(self) -> tuple[int, int, int]:
        """Steps that converged, stalled, and met the iteration limit.

        Returns
        -------
        tuple of int
            By :class:`Status`.
        """
        counts = self._counts
        return counts[Status.converged], counts[Status.stalled], counts[Status.iteration_limit]

    def contacts(self) -> dict[str, Any]:
        """The contacts of the last step.

        Returns
        -------
        dict
            index in ``data.contact``, phi0, v_hat_t, v_c and gamma.
        """
        return self._contacts

    def groups(self) -> dict[str, Any]:
        """The other constraints of the last step.

        Returns
        -------
        dict
            As ``_core.ModelStepper.groups``.
        """
        return self._groups

    def result(self) -> Solution | None:
        """The solution of the last step.

        Returns
        -------
        Solution or None
            None before the first step.
        """
        return self._solution

    # ---- the step -------------------------------------------------------------------------------

    def problem(self, data: mujoco.MjData) -> ContactProblem:
        """The contact problem of a state.

        Parameters
        ----------
        data : mujoco.MjData
            State and controls; not changed.

        Returns
        -------
        ContactProblem
            With v* of the free motion and A of Eq. (11).

        Raises
        ------
        StepError
            Where no step can be taken from this state.
        """
        scratch = mujoco.MjData(self._model)
        mujoco.mj_copyData(scratch, self._model, data)
        bound = Bound.of(self._model, scratch)
        stages.start_step(self._model, bound)
        return self._stage(bound)

    def finish(self, bound: Bound, record: np.void | None = None) -> Status:
        """Take the step whose first half, up to the velocities, is done.

        Parameters
        ----------
        bound : Bound
            The data; advanced in place, or left as it was by an error.
        record : record of STEP_RECORD, optional
            Where to tell of the step; ``seconds`` is left out.

        Returns
        -------
        Status
            How the solve ended.

        Raises
        ------
        StepError
            Where the step cannot be taken.
        """
        data, model, dt = bound.data, self._model, float(self._model.opt.timestep)
        q_0, v_0 = data.qpos.copy(), data.qvel.copy()
        try:
            problem = self._stage(bound)
            contacts, groups = self._core.contacts(), self._core.groups()
            start = time.perf_counter()
            solution = self._solver.solve(problem)
            solver_seconds = time.perf_counter() - start
            if solution.status not in self._counts:
                raise StepError(outcome_text(solution.status, solution.tree), data.time)
            found = solution.constraints
            groups["gamma"] = np.concatenate([_NONE, *(group.gamma for group in found)])
            groups["v_c"] = np.concatenate([_NONE, *(group.v_c for group in found)])
            self._write(bound, v_0, solution, groups["gamma"])
            data.flg_rnepost = 0
            mujoco.mj_sensorAcc(model, data)
        finally:
            data.qpos[:], data.qvel[:] = q_0, v_0
        # time, activations and all else that advances
        mujoco.mj_Euler(model, data)
        v_vq = self._scheme.position_velocity(solution.v, v_0)
        data.qpos[:], data.qvel[:] = self._free.integrate(q_0, v_vq, dt), solution.v
        self._counts[solution.status] += 1
        if record is not None:
            record["time"], record["contacts"] = data.time, problem.n_contacts
            record["islands"], record["solver_seconds"] = solution.n_islands, solver_seconds
            for name in _RECORDED:
                record[name] = getattr(solution, name)
        self._solution, self._groups = solution, groups
        self._contacts = contacts | {
            "phi0": problem.phi0,
            "v_c": solution.v_c,
            "gamma": solution.gamma,
        }
        return solution.status

    # ---- parts of a step ------------------------------------------------------------------------

    def _stage(self, bound: Bound) -> ContactProblem:
        """Free motion, and the contact problem at (q^θq, v^θv), with data left there."""
        data, model, scheme, core = bound.data, self._model, self._scheme, self._core
        dt, now = float(model.opt.timestep), float(data.time)
        q_0, v_0 = data.qpos.copy(), data.qvel.copy()
        full = bound.contacts_full.number, bound.rows_full.number
        self._free.load(data)
        try:
            free = free_motion(self._free, scheme, dt, q_0, v_0, time=now)
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
        arrays = core.problem()
        contacts = Contacts(
            arrays["tree_a"],
            arrays["tree_b"],
            arrays["J"],
            arrays["phi0"],
            # of rigid pairs the largest finite number
            np.minimum(arrays["k"], np.finfo(np.float64).max),
            arrays["tau_d"],
            arrays["mu"],
            arrays["v_hat_t"],
            constraint_groups(core.groups(), regularized=False),
        )
        try:
            return contact_problem(
                free,
                contacts,
                arrays["tree_nv"],
                scheme,
                dt,
                v_0,
                sigma=self._sigma,
                beta=self._beta,
                delassus=self._delassus,
                source=f"MuJoCo model '{model_name(model)}', time {now:.6g} s, {scheme.name}",
            )
        except ValueError as error:
            raise StepError(f"contact problem: {error}", now) from error

    def _arrays(self, bound: Bound, v_0: _Float) -> _CoreArrays:
        """What the core reads and writes, with the velocity at the start of the step."""
        elements = bound.elements(self._model) if self._constrained else None
        state = v_0, *bound.inputs[1:]
        return state, contact_arrays(bound.data), bound.outputs(), elements

    def _write(self, bound: Bound, v_0: _Float, solution: Solution, group_gamma: _Float) -> None:
        """qacc, qfrc_constraint and efc_force, as after a step of the core."""
        arrays = self._arrays(bound, v_0)
        code = self._core.write(*arrays, solution.v, solution.gamma, group_gamma)
        if code < 0:
            stages.raise_fault(self._core, self._model, bound.data)

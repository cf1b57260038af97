"""Steps of a MuJoCo model by the other schemes of the theta-method, section IV.

A step begins with MuJoCo's stages and sensors at (q_0, v_0) and the control callback. The free
motion is found on separate data. Then MuJoCo's stages run on the user's data at (q^θq, v^θv), where
contacts, forces and the sensors of accelerations and forces are taken. The C core gathers the
contact problem there, which is solved in the linearized momentum of Eq. (14); with equality
constraints the midpoint rule solves it once more from a corrected velocity. ``mj_Euler`` ends the
step, with the positions of Eq. (8) instead of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.mujoco.reading.arrays import problem_arrays
from sapwood.mujoco.reading.names import model_name
from sapwood.mujoco.results.faults import mujoco_error_text
from sapwood.mujoco.results.groups import constraint_groups
from sapwood.mujoco.results.results import StepError
from sapwood.mujoco.stepping.free_model import FreeMujoco
from sapwood.mujoco.stepping.python_steps import PythonSteps
from sapwood.problem.contact_problem import ContactProblem
from sapwood.solution import Solution
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


class _Stage(NamedTuple):
    """Free motion and contacts of a step."""

    free: FreeMotion
    contacts: Contacts
    tree_nv: NDArray[np.int32]
    q_0: _Float
    v_0: _Float
    slip_ratio: _Float | None


class ThetaSteps(PythonSteps):
    """Steps of one model by one scheme other than symplectic Euler.

    Parameters
    ----------
    parameters : StepParameters
        Parameters of the stepper.
    engine : object
        The loaded MuJoCo, of :func:`sapwood.mujoco.reading.engine.engine`.
    """

    def _allocate(self) -> None:
        super()._allocate()
        parameters = self._parameters
        self._free_model = FreeMujoco(parameters.model, parameters.forest["damping"])

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

    def _finish(self, data: mujoco.MjData) -> Solution:
        model = self._model
        q_0, v_0 = data.qpos.copy(), data.qvel.copy()
        stage = self._stage(data)
        problem, solution = self._solve(stage, data)
        if needs_correction(self._parameters.scheme, stage.contacts):
            problem, solution = self._solve(stage, data, self._corrected(stage, solution, data))
        self._write(data, solution.v, problem, solution)
        # where the scheme has the distances
        self._contacts["distance"] = problem.phi0

        # time, activations and all else that advances
        data.qpos[:], data.qvel[:] = q_0, v_0
        mujoco.mj_Euler(model, data)
        v_vq = self._parameters.scheme.position_velocity(solution.v, v_0)
        q = self._free_model.integrate(q_0, v_vq, self._parameters.time_step)
        data.qpos[:], data.qvel[:] = q, solution.v
        return solution

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
        self._check(solution, data)
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

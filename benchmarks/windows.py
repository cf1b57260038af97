"""A few steps of a simulation, taken again and again from the same state.

Everything here starts from one state that our own simulation has reached: our steps, MuJoCo's
stages alone, and MuJoCo's own steps.
"""

from __future__ import annotations

import copy
import math
import time
from typing import Any, NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from benchmarks.scenes import Kind
from sapwood.mujoco import NotSupported, Stepper
from sapwood.studies.peers.mujoco_variants import matched_model, recommended_model

_STATE = mujoco.mjtState.mjSTATE_INTEGRATION


class Steps(NamedTuple):
    """The course of our steps, one entry per step."""

    contacts: NDArray[np.integer]
    iterations: NDArray[np.integer]
    """Iterations of the island that took most."""
    solver_seconds: NDArray[np.float64]
    """Regularization and solve, as the core times them."""


def drives_from_c(stepper: Stepper, data: mujoco.MjData) -> bool:
    """Whether `Stepper.run` works with this version of MuJoCo."""
    try:
        stepper.run(data, 0)
    except NotSupported:
        return False
    return True


def advance(stepper: Stepper, data: mujoco.MjData, steps: int) -> Steps:
    """Take steps by `Stepper.run`, one by one where this version of MuJoCo refuses that."""
    try:
        records = stepper.run(data, steps).records
        return Steps(records["contacts"], records["iterations"], records["solver_seconds"])
    except NotSupported:
        pass
    contacts, iterations, seconds = [], [], []
    for _ in range(steps):
        stepper.step(data)
        solution = stepper.solution
        contacts.append(stepper.n_contacts)
        iterations.append(0 if solution is None else solution.iterations)
        seconds.append(0.0 if solution is None else solution.timing["seconds"])
    return Steps(np.array(contacts, int), np.array(iterations, int), np.array(seconds))


class Window:
    """A number of steps from one state of a scene.

    Parameters
    ----------
    kind, size
        The scene, see :mod:`benchmarks.scenes`.
    steps
        Length of the window.
    """

    def __init__(self, kind: Kind, size: int, steps: int) -> None:
        self.steps = steps
        self.model = kind.make(size).compile()
        # the law of the paper: what it costs is followed from version to version
        self.stepper = Stepper(self.model, friction="convex")
        self.data = mujoco.MjData(self.model)
        if self.model.nkey:
            mujoco.mj_resetDataKeyframe(self.model, self.data, 0)
        self.how = "run" if drives_from_c(self.stepper, self.data) else "step"
        self._start: NDArray[np.float64] = _state(self.model, self.data)
        self._states: list[NDArray[np.float64]] = []
        self.contacts = self.iterations = 0.0
        self.solve = math.inf
        """Least seconds that all of our steps of the window spent in regularization and solve."""

    def move_to(self, seconds: float) -> None:
        """Simulate until a time (s), and make the steps from there the window."""
        steps = max(0, math.ceil((seconds - self.data.time) / self.stepper.time_step - 1e-9))
        advance(self.stepper, self.data, steps)
        self._start, self.solve = _state(self.model, self.data), math.inf
        # once through it: states for the stages, and what there is to solve
        self._states, taken = [], []
        for _ in range(self.steps):
            self._states.append(_state(self.model, self.data))
            taken.append(advance(self.stepper, self.data, 1))
        self.contacts = float(np.mean([step.contacts for step in taken]))
        self.iterations = float(np.mean([step.iterations for step in taken]))

    def leave(self) -> None:
        """Put the simulation behind the window."""
        self.restore()
        advance(self.stepper, self.data, self.steps)

    # ---- what is timed --------------------------------------------------------------------------

    def restore(self) -> None:
        """Put the state back to the start of the window."""
        mujoco.mj_setState(self.model, self.data, self._start, _STATE)

    def ours(self) -> None:
        """Our steps."""
        self.restore()
        taken = advance(self.stepper, self.data, self.steps)
        self.solve = min(self.solve, float(taken.solver_seconds.sum()))

    def stages(self) -> None:
        """The stages of MuJoCo that our steps run, from the same states, nothing in between."""
        model, data = self.stepper.model, self.data
        for state in self._states:
            mujoco.mj_setState(model, data, state, _STATE)
            mujoco.mj_step1(model, data)
            mujoco.mj_fwdActuation(model, data)
            mujoco.mj_fwdAcceleration(model, data)
            data.flg_rnepost = 0
            mujoco.mj_sensorAcc(model, data)
            mujoco.mj_Euler(model, data)

    def restores(self) -> None:
        """The work of `stages` beside the stages."""
        for state in self._states:
            mujoco.mj_setState(self.model, self.data, state, _STATE)

    def mujoco_steps(self, model: mujoco.MjModel, steps: int) -> None:
        """Steps by MuJoCo alone, of a variant of the model."""
        self.restore()
        mujoco.mj_step(model, self.data, nstep=steps)

    # ---- variants of the model ------------------------------------------------------------------

    def default_model(self) -> mujoco.MjModel:
        """The scene at MuJoCo's default settings."""
        model = copy.copy(self.model)
        model.opt.cone = mujoco.mjtCone.mjCONE_PYRAMIDAL
        return model

    def recommended_model(self) -> mujoco.MjModel:
        """The scene as :func:`recommended_model` has it."""
        return recommended_model(self.model)

    def matched_model(self, sigma: float = 1e-3, beta: float = 1.0) -> mujoco.MjModel:
        """The scene as :func:`matched_model` poses it."""
        return matched_model(self.model, sigma, beta)


def _state(model: mujoco.MjModel, data: mujoco.MjData) -> NDArray[np.float64]:
    state = np.empty(mujoco.mj_stateSize(model, _STATE))
    mujoco.mj_getState(model, data, state, _STATE)
    return state


def seconds_of(call: Any) -> float:
    """Wall time of one call, s."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start

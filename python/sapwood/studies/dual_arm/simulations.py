"""Steps of the scene, measured: by sapwood, by MuJoCo, and with another solver of the problem."""

from __future__ import annotations

import math
import time
from typing import Literal, Protocol

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import ContactMaterial, ContactProblem, PressureField, SapSettings
from sapwood.mujoco import Stepper
from sapwood.mujoco.reading.fields import Field
from sapwood.settings import Friction
from sapwood.studies import peers
from sapwood.studies.dual_arm.forces import Touch
from sapwood.studies.dual_arm.robot import HAND_GEOMS, SIDES
from sapwood.studies.dual_arm.scene import scene
from sapwood.studies.peers.accuracy import Accuracy

Array = NDArray[np.float64]

#: The paper's tolerance for this task (section X-E).
TOLERANCE = 1e-3
#: The paper's slip parameter.
SIGMA = 1e-3
#: Which things have a pressure field, so that what they touch is met in patches: the lid, as in the
#: paper, or the hands too.
Fields = Literal["lid", "grips"]
#: Pressure fields of the lid's plates and of the hands; resolutions are those of round shapes. The
#: margins let contact begin in time: in a step from rest a thing falls by 0.25 mm.
LID = PressureField(modulus=1e6, resolution=0.02, margin=1e-3)
SKIN = PressureField(modulus=1e6, resolution=0.01, margin=1e-3)
#: What is measured of every step: errors (24) and (25), times in s.
MEASURES = np.dtype(
    [
        ("contacts", np.int64),
        ("iterations", np.int64),
        ("total_iterations", np.int64),
        ("momentum_error", np.float64),
        ("complementarity_error", np.float64),
        ("solver_time", np.float64),
        ("step_time", np.float64),
        ("status", "U20"),
    ]
)


class Simulation(Protocol):
    """The scene, and a way to advance it by a step."""

    model: mujoco.MjModel
    data: mujoco.MjData

    def step(self, record: np.void) -> None:
        """Advance `data` by a time step; fill in what `MEASURES` names."""

    def push(self, first: str, second: str) -> float:
        """Sum of the normal forces between two things in the last step, N; see `Touch`."""


class SapwoodSteps:
    """By `sapwood.mujoco.Stepper`.

    Parameters
    ----------
    tolerance
        Relative tolerance eps_r of (20).
    friction
        Law of friction.
    fields
        What has pressure fields, if anything.
    """

    def __init__(
        self,
        tolerance: float = TOLERANCE,
        friction: Friction = "convex",
        fields: Fields | None = None,
    ) -> None:
        model, chosen = scene(), _fields(fields)
        self._stepper = Stepper(
            model,
            settings=SapSettings(relative_tolerance=tolerance),
            friction=friction,
            sigma=SIGMA,
            fields=chosen,
            materials=_materials(model, chosen),
        )
        self.model = self._stepper.model
        self.data = mujoco.MjData(self.model)
        self._touch = Touch(self.model)

    def step(self, record: np.void) -> None:
        """See `Simulation`."""
        start = time.perf_counter()
        self._stepper.step(self.data)
        record["step_time"] = time.perf_counter() - start
        solution = self._stepper.solution
        assert solution is not None
        record["contacts"] = len(solution.gamma)
        record["iterations"] = solution.iterations
        record["total_iterations"] = solution.total_iterations
        record["momentum_error"] = solution.momentum_error
        record["complementarity_error"] = math.nan
        record["solver_time"] = solution.timing["seconds"]
        record["status"] = solution.status.name

    def problem(self) -> ContactProblem:
        """The contact problem of the next step."""
        return self._stepper.problem(self.data)

    def push(self, first: str, second: str) -> float:
        """See `Simulation`."""
        contacts = self._stepper.contacts
        return self._touch.between(first, second, contacts.geoms, contacts.force[:, 2])


def _materials(
    model: mujoco.MjModel, fields: dict[str | int, Field]
) -> dict[str | int, ContactMaterial]:
    """The geoms' own friction, by materials: pairs then combine it as in Drake, in series."""
    return {name: ContactMaterial(friction=float(model.geom(name).friction[0])) for name in fields}


def _fields(chosen: Fields | None) -> dict[str | int, Field]:
    """Pressure fields by names of geoms."""
    if chosen is None:
        return {}
    lid: dict[str | int, Field] = {f"lid_plate_{k}": LID for k in range(2)}
    hands: dict[str | int, Field] = {
        f"{side}_{name}": SKIN for side in SIDES for name in HAND_GEOMS
    }
    return lid if chosen == "lid" else lid | hands


class MujocoSteps:
    """By ``mj_step``: Newton's method on its elliptic cones, with the solref and solimp of default.

    The friction is ten times as stiff as the normal direction (``impratio``): with the usual 1 the
    jar creeps out of the hand.
    """

    def __init__(self) -> None:
        self.model = scene()
        self.data = mujoco.MjData(self.model)
        self._touch = Touch(self.model)

    def step(self, record: np.void) -> None:
        """See `Simulation`."""
        data = self.data
        start = time.perf_counter()
        mujoco.mj_step(self.model, data)
        record["step_time"] = time.perf_counter() - start
        iterations = data.solver_niter[: max(1, min(data.nisland, mujoco.mjNISLAND))]
        record["contacts"] = data.ncon
        record["iterations"] = iterations.max()
        record["total_iterations"] = iterations.sum()
        for name in ("momentum_error", "complementarity_error", "solver_time"):
            record[name] = math.nan
        limit = iterations.max() >= self.model.opt.iterations
        record["status"] = "iteration_limit" if limit else "converged"

    def push(self, first: str, second: str) -> float:
        """See `Simulation`."""
        contact, data = self.data.contact, self.data
        listed = contact.efc_address >= 0
        normal = data.efc_force[contact.efc_address[listed]]
        return self._touch.between(first, second, contact.geom[listed], normal)


class PeerSteps:
    """The problem of each step, by another solver (`sapwood.studies.peers`): the same physics.

    Parameters
    ----------
    name
        Of the solver.
    tolerance
        Its own tolerance.
    every
        Errors are measured in every so many steps, as that takes longer than a solve; NaN between.
    """

    def __init__(self, name: str, tolerance: float, every: int = 5) -> None:
        self._peer, self._tolerance = peers.load(name), tolerance
        self._stepper = Stepper(scene(), friction="convex", sigma=SIGMA)
        self.model = self._stepper.model
        self.data = mujoco.MjData(self.model)
        self._touch = Touch(self.model)
        self._geoms = np.zeros((0, 2), dtype=np.int32)
        self._normal = np.zeros(0)
        self._taken, self._every = 0, every

    def step(self, record: np.void) -> None:
        """See `Simulation`; raises `sapwood.studies.peers.PeerError` where there is no velocity."""
        model, data, dt = self.model, self.data, self.model.opt.timestep
        start = time.perf_counter()
        self._stepper.step1(data)
        problem = self._stepper.problem(data)
        form = self._peer.form(problem)
        solve = self._peer.solve(form, self._tolerance, "cold")
        before = time.perf_counter()
        result = solve()
        after = time.perf_counter()
        answer = self._peer.answer(form, result)
        if not np.isfinite(answer.v).all():
            raise peers.PeerError(f"no finite velocity ({answer.status})")
        record["contacts"] = problem.n_contacts
        record["iterations"] = -1 if answer.iterations is None else answer.iterations
        record["total_iterations"] = (
            -1 if answer.total_iterations is None else answer.total_iterations
        )
        record["momentum_error"] = record["complementarity_error"] = math.nan
        if self._taken % self._every == 0:
            accuracy = Accuracy(problem)
            record["momentum_error"] = accuracy.momentum_error(answer.v)
            errors = accuracy.errors(answer.v, answer.gamma)
            record["complementarity_error"] = errors.complementarity
        self._taken += 1
        record["solver_time"] = after - before
        record["status"] = answer.status

        self._geoms = data.contact.geom[data.contact.exclude == 0]
        self._normal = answer.gamma[:, 2] / dt
        data.qvel[:] = answer.v
        mujoco.mj_integratePos(model, data.qpos, data.qvel, dt)
        data.time += dt
        mujoco.mj_kinematics(model, data)
        record["step_time"] = time.perf_counter() - start

    def push(self, first: str, second: str) -> float:
        """See `Simulation`."""
        return self._touch.between(first, second, self._geoms, self._normal)


def simulation(
    solver: str,
    tolerance: float,
    friction: Friction = "convex",
    fields: Fields | None = None,
) -> Simulation:
    """The scene at its start.

    Parameters
    ----------
    solver
        "sapwood", "mujoco" (``mj_step``, which has a tolerance of its own), or a name of
        `sapwood.studies.peers`, which knows convex friction alone.
    tolerance
        Of the solver.
    friction, fields
        Law of friction, and what has pressure fields: of sapwood alone.

    Returns
    -------
    Simulation
        Ready to be controlled.

    Raises
    ------
    ImportError
        A package that the solver needs is not installed.
    """
    if solver == "sapwood":
        return SapwoodSteps(tolerance, friction, fields)
    if solver == "mujoco":
        return MujocoSteps()
    return PeerSteps(solver, tolerance)

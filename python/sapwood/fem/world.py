"""Worlds of soft bodies, half spaces and rigid bodies on slides."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.attributes import Checked
from sapwood.base.checks import boolean, instance, instances, integer, real
from sapwood.base.processors import thread_count
from sapwood.base.step_error import StepError
from sapwood.problem.arrays import Delassus
from sapwood.problem.contact_problem import ContactProblem
from sapwood.settings import SapSettings
from sapwood.solver import SapSolver

from .bodies import SoftBody, check_distinct
from .body_checks import ranged
from .body_contacts import check_depths
from .contacts import contacts_with_plane, contacts_with_shape
from .friction_memory import FrictionMemory
from .meetings import Meeting, meetings_between, pair_numbers
from .passes import default_passes, order_steps, step_result, take_passes
from .reduction import YIELDING_BETA, Pass, PassOptions, Reduction
from .results import SoftStepResult
from .rigid_bodies import HalfSpace, RigidBody
from .soft_step import Scheme, SoftStep
from .state import SoftState
from .vertex_contacts import contacts_of_vertices

_Float = NDArray[np.float64]

SCHEMES = {
    "implicit": Scheme(1.0, 1.0, 1.0),
    "midpoint": Scheme(0.5, 0.5, 0.5),
}


def _check_bodies(bodies: tuple[SoftBody, ...], with_rigid: bool) -> None:
    """Raise ValueError unless a world can hold these bodies."""
    check_distinct(bodies, "bodies")
    check_depths(bodies, "bodies")
    for i, body in enumerate(bodies):
        if body.attachments:
            raise ValueError(f"bodies[{i}]: is attached, which needs a stepper of a model")
        if body.contact == "vertices" and with_rigid:
            raise ValueError(
                f"bodies[{i}]: contact = 'vertices' meets no rigid body with a pressure field"
            )


# ---- rules of the settings ----


def _scheme(scheme: Any, name: str) -> Scheme:
    """Return the scheme of this name or of these numbers."""
    if isinstance(scheme, str):
        if scheme not in SCHEMES:
            raise ValueError(f"{name} = {scheme!r}: must be one of {', '.join(SCHEMES)}")
        return SCHEMES[scheme]
    if not isinstance(scheme, Sequence | np.ndarray) or len(scheme) != 3:
        raise ValueError(f"{name} = {scheme!r}: must be a name or three numbers q, v, vq")
    return Scheme(*(real(value, name) for value in scheme))


def _gravity(value: Any, name: str) -> _Float:
    found = _core.as_float64(value, name, (3,), "finite").copy()
    # an entry that is written would not be checked
    found.setflags(write=False)
    return found


def _delassus(value: Any, name: str) -> Delassus:
    if value not in ("block", "diagonal"):
        raise ValueError(f"{name} = {value!r}: must be block or diagonal")
    found: Delassus = value
    return found


def _time(value: Any, name: str) -> float:
    time = real(value, name)
    if not math.isfinite(time):
        raise ValueError(f"{name} = {time}: must be finite")
    return time


def _settings(value: Any, name: str) -> SapSettings:
    if value is None:
        return SapSettings(friction="coulomb")
    return instance(value, SapSettings, name)


_POSITIVE = functools.partial(ranged, positive=True)


class World:
    """Soft bodies among half spaces and rigid bodies.

    Each step solves M (v - v0) + dt (dE/dx + D v - f) = J^T gamma by passes. A pass linearizes the
    left side at an iterate, eliminates all vertices that nothing touches, and solves one convex
    problem of contact over the others, exactly the one of the whole body.

    Parameters
    ----------
    bodies : iterable of SoftBody
        The soft bodies.
    planes : iterable of HalfSpace, optional
        Half spaces.
    rigid : iterable of RigidBody, optional
        Rigid bodies; they do not touch each other or the planes.
    gravity : array_like (3,), optional
        Acceleration of gravity, m/s^2.
    time_step : float, optional
        Step, s, > 0.
    scheme : {"implicit", "midpoint"} or tuple of float (3,), optional
        Theta-method (q, v, vq), see ``Scheme``; (1, 1, 0.5) is Drake's.
    passes : int, optional
        Most passes of a step; by default 1 if all models are quadratic within a step, else 10.
    nonlinear_tolerance : float, optional
        Residual below which no further pass is taken.
    free_motion_first : bool, optional
        Whether to solve the motion without contact by Newton's method before the first pass, and
        to linearize there; with one pass that is Drake's step. By default the first pass
        linearizes at the velocity of the step before.
    settings : SapSettings, optional
        Settings of the solver; by default exact Coulomb friction (lagged friction has memory).
    threads : int, optional
        Threads that share the islands of a contact problem, 1 to 256; no bit of a result depends
        on them.
    sigma : float, optional
        Regularization of friction, dimensionless.
    beta : float, optional
        Near-rigid parameter, >= 0, see ``YIELDING_BETA``.
    delassus : {"block", "diagonal"}, optional
        Estimate of the inverse mass at contacts: exact, or the diagonal of the Schur complement
        with exactly the touched vertices, which is Drake's.

    Attributes
    ----------
    time : float
        Simulated time, s. It and all parameters but `rigid`, `settings` and `threads` may be set.
    result : SoftStepResult or None
        What the last step did.

    Raises
    ------
    TypeError, ValueError
        For a value out of range.

    Examples
    --------
    The floor carries a rubber cube:

    >>> import numpy as np
    >>> from sapwood import fem
    >>> rubber = fem.Material(young=1e5, poisson=0.4, density=1000.0, stiffness_damping=0.01)
    >>> pose = np.eye(4)
    >>> pose[2, 3] = 0.05
    >>> cube = fem.SoftBody(fem.box([0.1, 0.1, 0.1], cells=2), rubber, pose=pose)
    >>> world = fem.World([cube], planes=[fem.HalfSpace()])
    >>> result = world.step(200)
    >>> print(result.touches[0].force.round(2) + 0.0)
    [0.   0.   9.81]
    """

    planes = Checked(lambda given, name: instances(given, HalfSpace, name))
    rigid = Checked(lambda given, name: instances(given, RigidBody, name), once=True)
    settings = Checked(_settings, once=True)
    threads = Checked(thread_count, once=True)
    gravity = Checked(_gravity)
    time_step = Checked(_POSITIVE)
    scheme = Checked(_scheme)
    passes = Checked(lambda given, name: integer(given, name, 1))
    nonlinear_tolerance = Checked(_POSITIVE)
    free_motion_first = Checked(boolean)
    sigma = Checked(_POSITIVE)
    beta = Checked(ranged)
    delassus = Checked(_delassus)
    time = Checked(_time)

    def __init__(
        self,
        bodies: Iterable[SoftBody],
        *,
        planes: Iterable[HalfSpace] = (),
        rigid: Iterable[RigidBody] = (),
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        time_step: float = 0.01,
        scheme: str | Sequence[float] = "implicit",
        passes: int | None = None,
        nonlinear_tolerance: float = 1e-2,
        free_motion_first: bool = False,
        settings: SapSettings | None = None,
        threads: int = 1,
        sigma: float = 1e-3,
        beta: float = YIELDING_BETA,
        delassus: Delassus = "block",
    ) -> None:
        self.planes, self.rigid = planes, rigid
        self.bodies = bodies
        self.gravity, self.time_step, self.scheme = gravity, time_step, scheme
        self.nonlinear_tolerance, self.free_motion_first = nonlinear_tolerance, free_motion_first
        self.sigma, self.beta, self.delassus = sigma, beta, delassus
        self.settings, self.threads = settings, threads
        self._solver = SapSolver(self.settings, self.threads)
        self._memory = FrictionMemory() if self.settings.friction == "lagged" else None
        self.passes = default_passes(self._steps) if passes is None else passes
        self.time = 0.0
        self.result: SoftStepResult | None = None

    def __getstate__(self) -> dict[str, Any]:
        # a copy makes factors and guesses anew: it follows within the tolerances, not bit for bit
        return {name: value for name, value in vars(self).items() if name != "_steps"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._steps = [SoftStep(body) for body in self.bodies]

    @property
    def bodies(self) -> tuple[SoftBody, ...]:
        """The soft bodies; may be set."""
        return self._bodies

    @bodies.setter
    def bodies(self, bodies: Iterable[SoftBody]) -> None:
        given = instances(bodies, SoftBody, "bodies")
        _check_bodies(given, with_rigid=bool(self.rigid))
        self._bodies = given
        self._steps = [SoftStep(body) for body in given]

    @property
    def state(self) -> SoftState:
        """State of the soft bodies with its time; may be set."""
        return SoftState.of(self.bodies, self.time)

    @state.setter
    def state(self, state: SoftState) -> None:
        time = real(instance(state, SoftState, "state").time, "state.time")
        state.restore(self.bodies)
        self.time = time

    def step(self, n: int = 1) -> SoftStepResult:
        """Take steps.

        Parameters
        ----------
        n : int, optional
            Number of steps, >= 1.

        Returns
        -------
        SoftStepResult
            What the last of them did.

        Raises
        ------
        StepError
            If a state is not finite; positions and velocities are those before the step.
        """
        for _ in range(integer(n, "n", 1)):
            try:
                with np.errstate(over="ignore", invalid="ignore"):
                    self.result = self._step()
            except ValueError as error:
                raise StepError(
                    f"{error}; the state is the one before the step", self.time
                ) from error
            self.time += self.time_step
        assert self.result is not None
        return self.result

    # ---- one step ----

    def _step(self) -> SoftStepResult:
        reduction = self._reduce()
        best, passes = self._solve(reduction)
        for step, v in zip(self._steps, best.v, strict=True):
            step.finish(v)
        self._move_rigid(best.rigid)
        if self._memory is not None:
            forces = reduction.normal_forces(best)
            self._memory.keep(self._motion(), reduction.meetings, forces)
        return step_result(reduction, best, passes, self.nonlinear_tolerance)

    def _move_rigid(self, velocities: _Float) -> None:
        """Move the slides by their velocities after the step."""
        for slide, velocity in zip(self._moving(), velocities, strict=True):
            slide.position += self.time_step * float(velocity)
            slide.velocity = float(velocity)

    def _reduce(self) -> Reduction:
        """Begin a step: its convex problem."""
        self._check_state()
        for step in self._steps:
            step.begin(self.time_step, self.scheme, self.gravity)
        meetings = self._find_contacts()
        order_steps(self._steps, meetings, (), exact=self.delassus == "diagonal")
        return self._reduction_of(meetings)

    def _reduction_of(self, meetings: Sequence[Meeting]) -> Reduction:
        options = PassOptions(self.time_step, self.sigma, self.beta, self.delassus)
        rigid, bounds = self._slides(self._moving()), None
        if self._memory is not None:
            bounds = self._memory.recall(self._motion(), meetings, self.time_step)
        return Reduction(self._steps, meetings, (), rigid, options, self._solver, bounds)

    def _solve(self, reduction: Reduction) -> tuple[Pass, int]:
        """The velocities of a step, and the passes taken."""
        iterates = [
            step.find_free_motion() if self.free_motion_first else step.start
            for step in self._steps
        ]
        return take_passes(reduction, iterates, self.passes, self.nonlinear_tolerance)

    def _motion(self) -> list[_Float]:
        """The state on which forces of contact depend."""
        slides = np.array([[slide.position, slide.velocity] for slide in self._moving()])
        return [slides, *(x for body in self.bodies for x in (body.positions, body.velocities))]

    def _moving(self) -> list[RigidBody]:
        return [body for body in self.rigid if body.mass is not None]

    def _slides(self, moving: list[RigidBody]) -> ContactProblem:
        """Masses and free velocities of the slides, with implicit damping."""
        dt, theta = self.time_step, self.scheme.v
        if not moving:
            return _no_trees(dt)
        masses, free = [], []
        for rigid in moving:
            assert rigid.mass is not None
            mass = rigid.mass + dt * theta * rigid.damping
            force = rigid.force + rigid.mass * float(self.gravity @ rigid.axis)
            masses.append(mass)
            free.append(rigid.velocity + dt * (force - rigid.damping * rigid.velocity) / mass)
        guess = [rigid.velocity for rigid in moving]
        return ContactProblem([1] * len(moving), masses, free, dt=dt, v_guess=guess)

    def _find_contacts(self) -> list[Meeting]:
        found: list[Meeting] = []
        moving = self._moving()
        for b, body in enumerate(self.bodies):
            if body.contact == "none":
                continue
            for surface, plane in enumerate(self.planes):
                if body.contact == "vertices":
                    planes = plane.normal[None], np.array([plane.offset])
                    contacts = contacts_of_vertices(body, *planes, self.time_step)
                else:
                    contacts = contacts_with_plane(body, plane.normal, plane.offset)
                numbers = pair_numbers(body, plane)
                found.append(Meeting(b, plane.name, contacts, *numbers, surface=surface))
            for surface, rigid in enumerate(self.rigid, len(self.planes)):
                contacts = contacts_with_shape(body, rigid.shape, rigid.pose)
                tree, J = -1, None
                if rigid in moving:
                    tree = moving.index(rigid)
                    J = np.tile(rigid.axis[:, None], (len(contacts.k), 1, 1))
                numbers = pair_numbers(body, rigid)
                found.append(Meeting(b, rigid.name, contacts, *numbers, tree, J, surface=surface))
        found += meetings_between(self.bodies)
        return [each for each in found if len(each.contacts.k)]

    def _check_state(self) -> None:
        for body in self.bodies:
            fault = body.fault()
            if fault:
                raise StepError(f"{fault}, at {self.time} s", self.time)
        for plane in self.planes:
            if not math.isfinite(plane.offset):
                raise StepError(f"{plane.name}.offset: must be finite", self.time)


@functools.lru_cache(maxsize=8)
def _no_trees(dt: float) -> ContactProblem:
    return ContactProblem([], [], [], dt=dt)

"""Worlds of soft bodies, half spaces and rigid bodies on slides."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.checks import boolean, integer, real
from sapwood.base.step_error import StepError
from sapwood.problem.arrays import Delassus
from sapwood.problem.contact_problem import ContactProblem
from sapwood.settings import SapSettings
from sapwood.solution import Solution
from sapwood.solver import SapSolver

from .bodies import HalfSpace, RigidBody, SoftBody
from .contacts import FaceContacts, contacts_with_plane, contacts_with_rigid
from .soft_step import QUADRATIC, Scheme, SoftStep

_Float = NDArray[np.float64]

# a step ends with its best iterate after more passes whose residual grows than this
_MOST_GROWTHS = 3

SCHEMES = {
    "implicit": Scheme(1.0, 1.0, 1.0),
    "midpoint": Scheme(0.5, 0.5, 0.5),
}


@dataclass(frozen=True)
class Touch:
    """Contacts of one soft body with one other body, in a step.

    Attributes
    ----------
    body, other : str
        Names of the bodies.
    contacts : FaceContacts
        The contacts.
    forces : ndarray (n, 3)
        Their forces on the soft body, in the world, N.
    """

    body: str
    other: str
    contacts: FaceContacts
    forces: _Float

    @property
    def force(self) -> _Float:
        """Sum of the forces (3,), N."""
        total: _Float = self.forces.sum(axis=0)
        return total


@dataclass(frozen=True)
class SoftStepResult:
    """The outcome of a step.

    Attributes
    ----------
    status : {"converged", "nonlinear_limit"}
        Whether the residual came below the tolerance within the passes allowed.
    passes : int
        Convex problems that were solved.
    residual : float
        abs(m(v) - J^T gamma)/max(abs(J^T gamma), abs(M g dt)) of the equations of motion, or over
        abs(M v0) where there is neither contact nor weight.
    touches : tuple of Touch
        Contacts and their forces.
    turned_over : int
        Tetrahedra with det F <= 0 at the last evaluation.
    solution : Solution or None
        The last convex problem, over the touched vertices and the slides; its bound is on that
        problem, and `residual` tells the rest. None without contacts.
    """

    status: Literal["converged", "nonlinear_limit"]
    passes: int
    residual: float
    touches: tuple[Touch, ...]
    turned_over: int
    solution: Solution | None


class World:
    """Soft bodies among half spaces and rigid bodies.

    Slides move by the time step times their new velocity.

    Each step solves M (v - v0) + dt (dE/dx + D v - f) = J^T gamma by passes. A pass linearizes the
    left side at an iterate, eliminates all vertices that nothing touches, and solves one convex
    problem of contact over the others, exactly the one of the whole body.

    Parameters
    ----------
    bodies : iterable of SoftBody
        The soft bodies; soft bodies do not touch each other.
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
        Most passes of a step; by default 1 if all models are quadratic within a step, else 3.
    nonlinear_tolerance : float, optional
        Residual below which no further pass is taken.
    free_motion_first : bool, optional
        Whether to solve the motion without contact by Newton's method before the first pass, and
        to linearize there; with one pass that is Drake's step. By default the first pass
        linearizes at the velocity of the step before.
    settings : SapSettings, optional
        Settings of the solver; by default exact Coulomb friction.
    sigma : float, optional
        Regularization of friction, dimensionless.
    beta : float, optional
        Near-rigid parameter, >= 0. The inverse mass of a single face is large, since it yields:
        with 1, the value for rigid bodies, surfaces would be softer than `contact_stiffness`.
    delassus : {"block", "diagonal"}, optional
        Estimate of the inverse mass at contacts: exact, or the diagonal of the Schur complement
        with exactly the touched vertices, which is Drake's.

    Attributes
    ----------
    time : float
        Simulated time, s.
    result : SoftStepResult or None
        What the last step did.

    Raises
    ------
    TypeError, ValueError
        For a value out of range; the text names the argument.
    """

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
        sigma: float = 1e-3,
        beta: float = 0.1,
        delassus: Delassus = "block",
    ) -> None:
        self.bodies, self.planes, self.rigid = tuple(bodies), tuple(planes), tuple(rigid)
        for name, listed, kind in (
            ("bodies", self.bodies, SoftBody),
            ("planes", self.planes, HalfSpace),
            ("rigid", self.rigid, RigidBody),
        ):
            for i, each in enumerate(listed):
                if not isinstance(each, kind):
                    raise TypeError(
                        f"{name}[{i}] must be a {kind.__name__}, not {type(each).__name__}"
                    )
        if len({id(body) for body in self.bodies}) < len(self.bodies):
            raise ValueError("bodies: has the same body twice")
        self.gravity = _core.as_float64(gravity, "gravity", (3,)).copy()
        self.time_step = _positive(time_step, "time_step")
        self.nonlinear_tolerance = _positive(nonlinear_tolerance, "nonlinear_tolerance")
        self.sigma, self.delassus = _positive(sigma, "sigma"), delassus
        self.beta = _positive(beta, "beta") if beta else 0.0
        if delassus not in ("block", "diagonal"):
            raise ValueError(f"delassus = {delassus!r}: must be block or diagonal")
        if isinstance(scheme, str):
            if scheme not in SCHEMES:
                raise ValueError(f"scheme = {scheme!r}: must be one of {', '.join(SCHEMES)}")
            self.scheme = SCHEMES[scheme]
        else:
            if len(scheme) != 3:
                raise ValueError("scheme: must be a name or three numbers q, v, vq")
            self.scheme = Scheme(*(real(value, "scheme") for value in scheme))
        quadratic = all(body.material.model in QUADRATIC for body in self.bodies)
        self.passes = (1 if quadratic else 3) if passes is None else integer(passes, "passes", 1)
        self.free_motion_first = boolean(free_motion_first, "free_motion_first")
        self.settings = SapSettings(friction="coulomb") if settings is None else settings
        self._solver = SapSolver(self.settings)
        self._steps = [SoftStep(body) for body in self.bodies]
        self.time = 0.0
        self.result: SoftStepResult | None = None

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
        self._check_state()
        moving = [b for b in self.rigid if b.mass is not None]
        for step in self._steps:
            step.begin(self.time_step, self.scheme, self.gravity)
        found = self._find_contacts()
        for b, step in enumerate(self._steps):
            corners = [step.body.mesh.faces[c.faces] for i, _, c in found if i == b]
            touched = np.unique(np.concatenate(corners)) if corners else np.empty(0)
            step.order(touched.astype(np.int32), self.delassus == "diagonal")
        assembly = _Assembly(self, found, moving)
        iterates = [
            step.find_free_motion() if self.free_motion_first else step.start
            for step in self._steps
        ]
        for step, v in zip(self._steps, iterates, strict=True):
            step.evaluate(v)
        scale = math.sqrt(sum(float(np.sum((self.time_step * s.weight) ** 2)) for s in self._steps))
        momentum = math.sqrt(sum(float(np.sum(s.momenta**2)) for s in self._steps))
        best: _Pass | None = None
        growths = 0
        passes = 0
        while passes < self.passes:
            passes += 1
            tried = assembly.solve_pass(iterates)
            tried.residual = self._residual(tried, scale, momentum)
            if best is None or tried.residual < best.residual:
                best = tried
                iterates = tried.v
            else:
                growths += 1
                iterates = [(v + w) / 2 for v, w in zip(best.v, tried.v, strict=True)]
            if best.residual <= self.nonlinear_tolerance or growths > _MOST_GROWTHS:
                break
            if iterates is not tried.v:
                for step, v in zip(self._steps, iterates, strict=True):
                    step.evaluate(v)
        assert best is not None
        if not math.isfinite(best.residual):
            self._fail(best.v)
        for step, v in zip(self._steps, best.v, strict=True):
            step.finish(v)
        for rigid, velocity in zip(moving, best.slides, strict=True):
            rigid.position += self.time_step * velocity
            rigid.velocity = velocity
        return SoftStepResult(
            "converged" if best.residual <= self.nonlinear_tolerance else "nonlinear_limit",
            passes,
            best.residual,
            assembly.touches(best.solution),
            best.turned_over,
            best.solution,
        )

    def _residual(self, tried: _Pass, scale: float, momentum: float) -> float:
        """Residual of the equations of motion after a pass."""
        lack = 0.0
        for step, v, impulse in zip(self._steps, tried.v, tried.impulses, strict=True):
            step.evaluate(v, again=True)
            residual = step.momentum_residual(v)
            residual[~step.is_fixed] -= impulse[~step.is_fixed]
            lack += float(np.sum(residual**2))
        tried.turned_over = sum(step.turned_over for step in self._steps)
        size = math.sqrt(sum(float(np.sum(x**2)) for x in tried.impulses))
        return math.sqrt(lack) / (max(size, scale) or momentum or 1.0)

    def _find_contacts(self) -> list[tuple[int, HalfSpace | RigidBody, FaceContacts]]:
        found: list[tuple[int, HalfSpace | RigidBody, FaceContacts]] = []
        for b, body in enumerate(self.bodies):
            if body.contact == "none":
                continue
            mesh = body.mesh
            edges = body.positions[mesh.tetrahedra[mesh.face_tetrahedra]]
            usable = np.linalg.det(edges[:, 1:] - edges[:, :1]) > 0
            found += [(b, p, contacts_with_plane(body, p, usable)) for p in self.planes]
            found += [(b, r, contacts_with_rigid(body, r, usable)) for r in self.rigid]
        return [each for each in found if len(each[2].faces)]

    def _check_state(self) -> None:
        for body in self.bodies:
            n = len(body.mesh.vertices)
            for name in ("positions", "velocities", "fixed_velocities", "loads"):
                array = _core.as_float64(getattr(body, name), f"{body.name}.{name}", (n, 3))
                wrong = np.flatnonzero(~np.isfinite(array).all(axis=1))
                if wrong.size:
                    raise StepError(
                        f"{body.name}.{name}[{wrong[0]}]: must be finite, at {self.time} s",
                        self.time,
                    )

    def _fail(self, iterates: list[_Float]) -> None:
        for body, v in zip(self.bodies, iterates, strict=True):
            wrong = np.flatnonzero(~np.isfinite(v).all(axis=1))
            if wrong.size:
                raise StepError(
                    f"{body.name}: the velocity of vertex {wrong[0]} is not finite at "
                    f"{self.time} s; the state is the one before the step",
                    self.time,
                )
        raise StepError(f"forces are not finite at {self.time} s", self.time)


def _positive(value: object, name: str) -> float:
    number = real(value, name)
    if not 0 < number < math.inf:
        raise ValueError(f"{name} = {number}: must be finite and > 0")
    return number


def _frames(normals: _Float) -> _Float:
    """Rows t1, t2, n (c, 3, 3)."""
    axis = np.zeros_like(normals)
    axis[np.arange(len(normals)), np.argmin(np.abs(normals), axis=1)] = 1
    first = np.cross(axis, normals)
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    return np.stack([first, np.cross(normals, first), normals], axis=1)


@dataclass
class _Pass:
    """The result of a pass: velocities and impulses (n, 3) of each body, and of the slides."""

    v: list[_Float]
    impulses: list[_Float]
    slides: list[float]
    solution: Solution | None
    residual: float = math.inf
    turned_over: int = 0


class _Assembly:
    """The reduced convex problem of a step: touched vertices of each body as one tree."""

    def __init__(
        self,
        world: World,
        found: list[tuple[int, HalfSpace | RigidBody, FaceContacts]],
        moving: list[RigidBody],
    ) -> None:
        self.world, self.found, self.moving = world, found, moving
        self.steps = world._steps
        self.n_contacts = sum(len(c.faces) for _, _, c in found)
        # trees: one of each body that is touched, then the slides
        touched = sorted({b for b, _, _ in found})
        self.tree_of = {b: t for t, b in enumerate(touched)}
        sizes = [3 * len(self.steps[b].last) for b in touched]
        self.tree_nv = [*sizes, *(1 for _ in moving)]
        self.starts = np.cumsum([0, *self.tree_nv])
        if found:
            self._place_contacts()

    def _place_contacts(self) -> None:
        tree_a, tree_b, blocks, columns = [], [], [], []
        slide_of = {id(rigid): len(self.tree_of) + i for i, rigid in enumerate(self.moving)}
        for b, other, contacts in self.found:
            step, tree = self.steps[b], self.tree_of[b]
            n, size = len(contacts.faces), 3 * len(step.last)
            frames = _frames(contacts.normals)
            corner = np.searchsorted(step.last, step.body.mesh.faces[contacts.faces])
            placed = np.zeros((n, 3, len(step.last), 3))
            rows = np.arange(n)[:, None]
            placed[rows, :, corner] = contacts.weights[:, :, None, None] * frames[:, None]
            J = placed.reshape(n, 3 * size)
            slide = slide_of.get(id(other), -1)
            if slide >= 0 and isinstance(other, RigidBody):
                J = np.concatenate([J, -(frames @ other.axis)], axis=1)
            blocks.append(J.ravel())
            columns.append(frames)
            tree_a += [tree] * n
            tree_b += [slide] * n
        self.tree_a, self.tree_b = tree_a, tree_b
        self.J, self.frames = np.concatenate(blocks), np.concatenate(columns)
        self.corners = [
            (b, self.steps[b].body.mesh.faces[c.faces], c.weights) for b, _, c in self.found
        ]
        self.k = np.concatenate([c.k for _, _, c in self.found])
        self.phi0 = np.concatenate([c.phi0 for _, _, c in self.found])
        pairs = [(self.steps[b].body, other, len(c.faces)) for b, other, c in self.found]
        self.tau_d = np.concatenate(
            [np.full(n, a.dissipation_time + o.dissipation_time) for a, o, n in pairs]
        )
        self.mu = np.concatenate(
            [np.full(n, _friction(a.friction, o.friction)) for a, o, n in pairs]
        )

    def solve_pass(self, iterates: list[_Float]) -> _Pass:
        """Linearize at the iterates of the last evaluation, and solve the convex problem."""
        free = []
        for step, w in zip(self.steps, iterates, strict=True):
            step.factor()
            free.append(w - step.solve(step.momentum_residual(w)))
        masses, slides = self._slides()
        impulses = [np.zeros_like(v) for v in free]
        if not self.found:
            return _Pass(free, impulses, slides, None)
        world = self.world
        A, v_star, v_guess = [], [], []
        for b in self.tree_of:
            last = self.steps[b].last
            A.append(self.steps[b].schur().ravel())
            v_star.append(free[b][last].ravel())
            v_guess.append(iterates[b][last].ravel())
        problem = ContactProblem(
            self.tree_nv,
            np.concatenate([*A, np.array(masses)]),
            np.concatenate([*v_star, np.array(slides)]),
            self.tree_a,
            self.tree_b,
            self.J,
            self.mu,
            dt=world.time_step,
            phi0=self.phi0,
            k=self.k,
            tau_d=self.tau_d,
            sigma=world.sigma,
            beta=world.beta,
            delassus=world.delassus,
            v_guess=np.concatenate([*v_guess, [r.velocity for r in self.moving]]),
        )
        solution = world._solver.solve(problem)
        for b, tree in self.tree_of.items():
            step = self.steps[b]
            p = slice(self.starts[tree], self.starts[tree + 1])
            push = np.zeros_like(free[b])
            change = np.asarray(solution.v[p]) - free[b][step.last].ravel()
            size = len(change)
            push[step.last] = (A[tree].reshape(size, size) @ change).reshape(-1, 3)
            free[b] += step.solve(push)
        gamma = np.einsum("cij,ci->cj", self.frames, solution.gamma)
        begin = 0
        for b, faces, weights in self.corners:
            of_pair = gamma[begin : begin + len(faces)]
            np.add.at(impulses[b], faces, weights[:, :, None] * of_pair[:, None])
            begin += len(faces)
        slides = [float(v) for v in solution.v[self.starts[len(self.tree_of)] :]]
        return _Pass(free, impulses, slides, solution)

    def _slides(self) -> tuple[list[float], list[float]]:
        """Masses and free velocities of the slides, with implicit damping."""
        dt, theta = self.world.time_step, self.world.scheme.v
        masses, free = [], []
        for rigid in self.moving:
            assert rigid.mass is not None
            mass = rigid.mass + dt * theta * rigid.damping
            force = rigid.force + rigid.mass * float(self.world.gravity @ rigid.axis)
            masses.append(mass)
            free.append(rigid.velocity + dt * (force - rigid.damping * rigid.velocity) / mass)
        return masses, free

    def touches(self, solution: Solution | None) -> tuple[Touch, ...]:
        """Contacts with their forces."""
        if solution is None:
            return ()
        forces = np.einsum("cij,ci->cj", self.frames, solution.gamma) / self.world.time_step
        begin, touches = 0, []
        for b, other, contacts in self.found:
            end = begin + len(contacts.faces)
            touches.append(Touch(self.steps[b].body.name, other.name, contacts, forces[begin:end]))
            begin = end
        return tuple(touches)


def _friction(a: float, b: float) -> float:
    return 2 * a * b / (a + b) if a + b > 0 else 0.0

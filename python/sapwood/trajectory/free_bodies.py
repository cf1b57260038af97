"""Free bodies of simple shapes: steps with analytic derivatives from end to end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.checks import boolean
from sapwood.derivatives.differential import Gradient
from sapwood.derivatives.sensitivity import Sensitivity
from sapwood.settings import SapSettings
from sapwood.solution import Region
from sapwood.solver import SapSolver
from sapwood.trajectory.encounters import Encounter, Encounters
from sapwood.trajectory.meetings import Poses, Table
from sapwood.trajectory.pairing import body_tables, pairs_of, plane_table
from sapwood.trajectory.rotations import (
    by_body_turns,
    cross,
    exponential_and_slope,
    matrices,
    turned,
)
from sapwood.trajectory.shapes import Box, Capsule, Points, Shape, Sphere
from sapwood.trajectory.system import Pulled, Step

_Float = NDArray[np.float64]

TIGHT = SapSettings(relative_tolerance=1e-10)
"""Settings of solves with derivatives: the residual of a solve is an error of the derivatives
too."""


class _Tape(NamedTuple):
    """One step of free bodies."""

    q: _Float
    v: _Float
    inputs: _Float
    v_star: _Float
    v_next: _Float
    contact: Encounter | None


class FreeBodies:
    """Bodies of simple shapes that move freely, in contact with half-spaces and each other.

    One step of length dt is

        v* = v + dt M^-1 (f + m g - omega x I omega)
        v+ = the minimiser of Eq. (17) with v*, M and the contacts at q
        x+ = x + dt v+,    p+ = p exp(dt omega+/2)

    with x the centre of mass, p the unit quaternion (w, x, y, z) of the principal axes, v the
    velocity in the world and omega the angular velocity in the frame of the body.

    Parameters
    ----------
    shapes : sequence of Sphere, Capsule, Box and Points
        Shape of each body.
    mass : array_like () or (n_bodies,)
        kg, > 0.
    inertia : array_like (3,) or (n_bodies, 3)
        Principal moments, kg m2, > 0.
    dt : float
        Time step, s.
    k, tau_d, mu : array_like () or (n_pairs,)
        Stiffness (N/m), dissipation time (s) and friction coefficient of contacts, of all or of
        each pair.
    normals : array_like (n_planes, 3)
        Unit normals of the half-spaces n.x >= height that bodies stay in.
    height : array_like () or (n_planes,)
        Heights of the planes, m.
    gravity : array_like (3,)
        m/s2.
    body_contacts : bool
        Whether bodies meet each other, or half-spaces alone: then n bodies are n runs.
    sigma, beta : float
        As for :class:`sapwood.ContactProblem`.
    settings : SapSettings, optional
        Settings of the solver; by default a relative tolerance of 1e-10. Lagged friction is
        refused.

    Attributes
    ----------
    pairs : ndarray of int (n_pairs, 2)
        Every body with every half-space (body, -1 - half-space), then every two bodies.
    parameters : mapping of str to ndarray
        mass, inertia, k, tau_d, mu, height and gravity, in the shape they were given.

    Raises
    ------
    TypeError, ValueError
        For a wrong argument; the message names it.

    Notes
    -----
    Spheres, capsules and points meet at the nearest points of their cores. A box meets spheres,
    points, the ends of capsules and the corners of other boxes: edges meet no edges, nor the middle
    of a capsule.

    Examples
    --------
    How far a ball flies, by its first velocity:

    >>> scene = FreeBodies([Sphere(0.1)], mass=1.0, inertia=[4e-3] * 3, dt=0.01, k=1e4, tau_d=0.0,
    ...                    mu=0.3)
    >>> from sapwood.trajectory import simulate
    >>> run = simulate(scene, [0, 0, 1, 1, 0, 0, 0], [2, 0, 0, 0, 0, 0], n_steps=20)
    >>> bar = np.zeros_like(run.q)
    >>> bar[-1, 0, 0] = 1.0
    >>> print(run.vjp(bar).v0.round(3))
    [[0.2 0.  0.  0.  0.  0. ]]
    """

    def __init__(
        self,
        shapes: Sequence[Shape],
        mass: ArrayLike,
        inertia: ArrayLike,
        *,
        dt: float,
        k: ArrayLike,
        tau_d: ArrayLike,
        mu: ArrayLike,
        normals: ArrayLike = ((0.0, 0.0, 1.0),),
        height: ArrayLike = 0.0,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        body_contacts: bool = True,
        sigma: float = 1e-3,
        beta: float = 1.0,
        settings: SapSettings | None = None,
    ) -> None:
        self.shapes = tuple(shapes)
        for i, shape in enumerate(self.shapes):
            if not isinstance(shape, Shape):
                kinds = ", ".join(kind.__name__ for kind in (Sphere, Capsule, Box, Points))
                raise TypeError(f"shapes[{i}] must be one of {kinds}, not {type(shape).__name__}")
        if not self.shapes:
            raise ValueError("shapes has length 0: a scene needs a body")
        self.dt = float(_core.as_float64(dt, "dt", (), "positive"))
        self.settings = TIGHT if settings is None else settings
        self._solver = SapSolver(self.settings)
        if self.settings.friction == "lagged":
            raise ValueError("settings.friction = 'lagged': its bounds are of the step before")
        self.normals = _unit(normals)
        self.body_contacts = boolean(body_contacts, "body_contacts")
        self.sigma = float(_core.as_float64(sigma, "sigma", (), "positive"))
        self.beta = float(_core.as_float64(beta, "beta", (), "non-negative"))
        n, n_planes = len(self.shapes), len(self.normals)
        self.pairs = pairs_of(n, n_planes, self.body_contacts)
        self.pairs.flags.writeable = False
        given = {
            "mass": _sized(mass, "mass", (n,), "positive"),
            "inertia": _sized(inertia, "inertia", (n, 3), "positive"),
            "k": _sized(k, "k", (len(self.pairs),), "positive"),
            "tau_d": _sized(tau_d, "tau_d", (len(self.pairs),), "non-negative"),
            "mu": _sized(mu, "mu", (len(self.pairs),), "non-negative"),
            "height": _sized(height, "height", (n_planes,), "finite"),
            "gravity": _core.as_float64(gravity, "gravity", (3,), "finite"),
        }
        self.parameters: Mapping[str, _Float] = MappingProxyType(
            {name: _frozen(value) for name, value in given.items()}
        )
        self._prepare()

    def replace(self, **parameters: ArrayLike) -> FreeBodies:
        """The same scene with changed parameters.

        Parameters
        ----------
        **parameters : array_like
            Any of ``parameters``, by name.

        Returns
        -------
        FreeBodies
            A new scene.

        Raises
        ------
        TypeError, ValueError
            For a name or a value that is wrong.
        """
        for name in parameters:
            if name not in self.parameters:
                raise TypeError(f"{name} is none of {', '.join(self.parameters)}")
        arguments: dict[str, Any] = {**self.parameters, **parameters}
        return FreeBodies(
            self.shapes, dt=self.dt, normals=self.normals, body_contacts=self.body_contacts,
            sigma=self.sigma, beta=self.beta, settings=self.settings, **arguments,
        )  # fmt: skip

    @property
    def n_bodies(self) -> int:
        """Bodies of the scene."""
        return len(self.shapes)

    @property
    def inputs_shape(self) -> tuple[int, ...]:
        """(n_bodies, 6): forces in the world, N, and torques in the body, N m."""
        return self.n_bodies, 6

    def start(self, q: ArrayLike, v: ArrayLike) -> tuple[_Float, _Float]:
        """A state, checked.

        Parameters
        ----------
        q : array_like (n_bodies, 7)
            Positions, m, and quaternions, of any length but 0; (7,) for one body.
        v : array_like (n_bodies, 6)
            Velocities, m/s, and angular velocities in the body, rad/s; (6,) for one body.

        Returns
        -------
        ndarray (n_bodies, 7), ndarray (n_bodies, 6)
            Copies, with quaternions of length 1.
        """
        n = self.n_bodies
        states = []
        for name, value, width in (("q0", q, 7), ("v0", v, 6)):
            shape = (width,) if n == 1 and np.ndim(value) == 1 else (n, width)
            states.append(np.array(_core.as_float64(value, name, shape, "finite")))
        q_0, v_0 = (state.reshape(n, -1) for state in states)
        lengths = np.linalg.norm(q_0[:, 3:], axis=1, keepdims=True)
        if not lengths.all():
            raise ValueError(f"q0[{int(lengths.argmin())}] has a quaternion of length 0")
        q_0[:, 3:] /= lengths
        return q_0, v_0

    def tangent(self, q: _Float, q_bar: _Float) -> _Float:
        """The part of dL/dq that counts.

        Parameters
        ----------
        q, q_bar : ndarray (n_bodies, 7)
            Positions, and dL/d of their numbers.

        Returns
        -------
        ndarray (n_bodies, 7)
            At right angles to the quaternions.
        """
        found, p = np.array(q_bar), q[:, 3:]
        found[:, 3:] -= np.einsum("ij,ij->i", p, q_bar[:, 3:])[:, None] * p
        return found

    # ---- forward ---------------------------------------------------------------------------------

    def step(self, q: _Float, v: _Float, inputs: _Float) -> Step:
        """Take one step.

        Parameters
        ----------
        q : ndarray (n_bodies, 7)
            Positions.
        v, inputs : ndarray (n_bodies, 6)
            Velocities, and forces and torques.

        Returns
        -------
        Step
            The state after it.
        """
        v_star = v + self.dt * self._acceleration(v, inputs)
        contact = self._encounters.meet(Poses(q[:, :3], matrices(q[:, 3:])), v_star)
        v_next = v_star if contact is None else contact.solution.v.reshape(v.shape)
        q_next = np.empty_like(q)
        q_next[:, :3] = q[:, :3] + self.dt * v_next[:, :3]
        q_next[:, 3:] = turned(q[:, 3:], self.dt * v_next[:, 3:])
        tape = _Tape(q, v, inputs, v_star, v_next, contact)
        return Step(q_next, v_next, tape, contact is not None)

    def _acceleration(self, v: _Float, inputs: _Float) -> _Float:
        found = np.empty_like(v)
        found[:, :3] = inputs[:, :3] / self._mass[:, None] + self.parameters["gravity"]
        omega = v[:, 3:]
        found[:, 3:] = (inputs[:, 3:] - cross(omega, self._inertia * omega)) / self._inertia
        return found

    # ---- reverse ---------------------------------------------------------------------------------

    def pull(
        self, tape: object, q_bar: _Float, v_bar: _Float, parameters_bar: dict[str, _Float]
    ) -> Pulled:
        """Reverse mode through one step.

        Parameters
        ----------
        tape : object
            The tape of the step.
        q_bar : ndarray (n_bodies, 7)
            dL/d of the positions after it.
        v_bar : ndarray (n_bodies, 6)
            dL/d of the velocities after it.
        parameters_bar : dict of str to ndarray
            dL/d of the parameters, added to in place.

        Returns
        -------
        Pulled
            dL/d of the start of the step.
        """
        assert isinstance(tape, _Tape)
        # q+ = q exp(dt v+)
        angles = self.dt * tape.v_next[:, 3:]
        q_next = turned(tape.q[:, 3:], angles)
        turn = 0.5 * _times(by_body_turns(q_next).transpose(0, 2, 1), q_bar[:, 3:])
        exponential, slope = exponential_and_slope(angles)
        v_next_bar = np.array(v_bar)
        v_next_bar[:, :3] += self.dt * q_bar[:, :3]
        v_next_bar[:, 3:] += self.dt * _times(slope.transpose(0, 2, 1), turn)
        to = Poses(np.array(q_bar[:, :3]), _times(exponential, turn))
        distance = np.inf
        v_star_bar = v_next_bar
        if tape.contact is not None:
            sensitivity = Sensitivity(tape.contact.problem, tape.contact.solution, self.settings)
            gradient = sensitivity.vjp(v_next_bar.ravel(), matrices=True)
            v_star_bar = np.asarray(gradient.v_star).reshape(v_next_bar.shape)
            acting = gradient.distance[gradient.regions != Region.none]
            distance = float(acting.min(initial=np.inf))
            self._pull_contact(tape.contact, gradient, to, parameters_bar)
        v_0_bar, inputs_bar = self._pull_free(tape, v_star_bar, parameters_bar)
        q_0_bar = np.empty_like(tape.q)
        q_0_bar[:, :3] = to.x
        q_0_bar[:, 3:] = 2.0 * _times(by_body_turns(tape.q[:, 3:]), to.R)
        return Pulled(q_0_bar, v_0_bar, inputs_bar, distance)

    def _pull_contact(
        self, contact: Encounter, gradient: Gradient, to: Poses, bars: dict[str, _Float]
    ) -> None:
        """Through the solve and the geometry: turns in `to` are those in the body."""
        sizes = {"k": len(self.pairs), "tau_d": len(self.pairs), "mu": len(self.pairs)}
        sizes["height"] = len(self.normals)
        found = {name: np.zeros(n) for name, n in sizes.items()}
        world = Poses(to.x, np.zeros_like(to.R))
        self._encounters.pull(contact, gradient, world, found)
        to.R[:] += _times(contact.poses.R.transpose(0, 2, 1), world.R)
        for name, values in found.items():
            _fold(bars[name], values)
        diagonal = np.asarray(gradient.A).reshape(-1, 6, 6)[:, range(6), range(6)]
        _fold(bars["mass"], diagonal[:, :3].sum(axis=1))
        _fold(bars["inertia"], diagonal[:, 3:])

    def _pull_free(
        self, tape: _Tape, v_star_bar: _Float, bar: dict[str, _Float]
    ) -> tuple[_Float, _Float]:
        """Through v* = v + dt M^-1 (f + m g - omega x I omega)."""
        force = v_star_bar[:, :3] * (self.dt / self._mass)[:, None]
        torque = v_star_bar[:, 3:] * (self.dt / self._inertia)
        _fold(bar["mass"], -np.einsum("ij,ij->i", force, tape.inputs[:, :3]) / self._mass)
        bar["gravity"] += self.dt * v_star_bar[:, :3].sum(axis=0)
        omega, inertia = tape.v[:, 3:], self._inertia
        swept = cross(torque, omega)
        gained = tape.v_star[:, 3:] - omega
        _fold(bar["inertia"], -(swept * omega + torque * gained / self.dt))
        v_bar = np.array(v_star_bar)
        v_bar[:, 3:] -= cross(inertia * omega, torque) + inertia * swept
        return v_bar, np.concatenate([force, torque], axis=1)

    # ---- preparation -----------------------------------------------------------------------------

    def _prepare(self) -> None:
        """Compute once all numbers derived from the parameters."""
        n, given = self.n_bodies, self.parameters
        self._mass = np.broadcast_to(given["mass"], (n,))
        self._inertia = np.broadcast_to(given["inertia"], (n, 3))
        of_pair = {x: np.broadcast_to(given[x], len(self.pairs)) for x in ("k", "tau_d", "mu")}
        heights = np.broadcast_to(given["height"], len(self.normals))
        planes = plane_table(self.shapes, self.pairs, self.normals, heights)
        first: list[Table] = [planes] if len(planes.a) else []
        A = np.zeros((n, 6, 6))
        A[:, range(3), range(3)] = self._mass[:, None]
        A[:, range(3, 6), range(3, 6)] = self._inertia
        self._encounters = Encounters(
            [*first, *body_tables(self.shapes, self.pairs)], of_pair, A, self.dt,
            self.sigma, self.beta, self._solver,
        )  # fmt: skip


def _times(matrix: _Float, vector: _Float) -> _Float:
    found: _Float = (matrix @ vector[..., None])[..., 0]
    return found


def _fold(to: _Float, values: _Float) -> None:
    """Add values to a number that was broadcast to their shape."""
    lead = values.ndim - to.ndim
    to += values.sum(axis=tuple(range(lead))) if lead else values


def _sized(value: ArrayLike, name: str, shape: tuple[int, ...], rule: _core._Rule) -> _Float:
    """An array of this shape, or without its first dimension."""
    inner = shape[1:] if np.ndim(value) < len(shape) else shape
    return _core.as_float64(value, name, inner, rule)


def _frozen(value: _Float) -> _Float:
    copy = np.array(value)
    copy.flags.writeable = False
    return copy


def _unit(normals: ArrayLike) -> _Float:
    given = np.zeros((0, 3)) if np.size(normals) == 0 else normals
    found = _core.as_float64(given, "normals", (-1, 3), "finite")
    lengths = np.linalg.norm(found, axis=1)
    for i in np.flatnonzero(np.abs(lengths - 1.0) > 1e-9):
        raise ValueError(f"normals[{i}] has length {lengths[i]:.9g}: must be 1")
    return _frozen(found)

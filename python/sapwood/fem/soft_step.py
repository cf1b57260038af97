"""One step of one soft body: its equations, and their linearization at an iterate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sapwood import _core

from .bodies import SoftBody

_Float = NDArray[np.float64]
_Index = NDArray[np.int32]

# the models whose energy is quadratic within a step: one pass is exact
QUADRATIC = ("linear", "linear_corotated")

# steps for which a touched vertex stays among those that are eliminated last, and least steps from
# one order to a smaller one
_MEMORY = 20
# share of vertices to leave out that is worth a new order, which costs about a factorization: the
# time of S grows with the cube of their number
_WASTE = 1 / 16


@dataclass(frozen=True)
class Scheme:
    """Weights of the new state: q for positions in forces, v for velocities, vq for the motion.

    Forces act at q = q0 + dt q ((1 - vq) v0 + vq v) and (1 - v) v0 + v v; the step ends at
    q0 + dt ((1 - vq) v0 + vq v).
    """

    q: float
    v: float
    vq: float

    def __post_init__(self) -> None:
        for name in ("q", "v", "vq"):
            value = getattr(self, name)
            if not 0 < value <= 1:
                raise ValueError(f"scheme.{name} = {value}: must be > 0 and <= 1")


class SoftStep:
    """The equations m(v) = J^T gamma of a body in one step, of the present linearization.

    The core's buffers are kept from step to step.
    """

    def __init__(self, body: SoftBody) -> None:
        n, mesh = len(body.mesh.vertices), body.mesh
        self.body = body
        self.is_quadratic = body.material.model in QUADRATIC
        self.system = _core.fem_system(mesh._mesh)
        row_mass = body.vertex_mass.copy()
        np.add.at(row_mass, mesh.pairs, body.pair_mass[:, None])
        self._row_mass: _Float = row_mass[:, None]
        self.force = np.empty((n, 3))
        self.K, self.K_pairs = np.empty((n, 3, 3)), np.empty((len(mesh.pairs), 3, 3))
        self.last = np.empty(0, np.int32)  # vertices that are eliminated last
        self.place = np.full(n, -1, np.int32)  # place of each vertex in `last`, or -1
        self.is_ordered = False
        self.since_order = 0  # steps
        self.age = np.full(n, _MEMORY)  # steps since each vertex was touched

    def begin(self, dt: float, scheme: Scheme, gravity: _Float) -> None:
        """Take over the state of the body at the start of a step."""
        body = self.body
        self.dt, self.scheme = dt, scheme
        self.q0, self.v0 = body.positions, body.velocities
        self.rotations = (
            _core.fem_rotations(body.mesh._mesh, self.q0)
            if body.material.model == "linear_corotated"
            else None
        )
        self.weight = self._row_mass * gravity + body.external_loads()
        self._fixed = body.fixed.copy()
        self.has_fixed = bool(self._fixed.any())
        # fixed vertices move at their velocity from the first iterate on
        self.start = self.v0.copy()
        if self.has_fixed:
            self.start[self.is_fixed] = body.fixed_velocities[self.is_fixed]

    @property
    def momenta(self) -> _Float:
        """Momenta of the vertices at the start of the step (n, 3), N s."""
        found: _Float = self._row_mass * self.v0
        return found

    @property
    def is_fixed(self) -> NDArray[np.bool_]:
        """Vertices that move as told (n,)."""
        return self._fixed.view(np.bool_)

    def move(self, vertices: _Index, velocities: _Float) -> None:
        """Let vertices move at these velocities (n, 3) in this step."""
        self._fixed[vertices], self.has_fixed = 1, True
        self.start[vertices] = velocities

    def order(self, touched: Sequence[_Index], exact: bool) -> None:
        """Choose the vertices that are eliminated last, a superset of the touched ones."""
        self.age += 1
        for vertices in touched:
            self.age[vertices] = 0
        is_touched = self.age == 0
        chosen = is_touched if exact else self.age < _MEMORY
        missing = bool(np.any(self.place[is_touched] < 0))
        surplus = len(self.last) - np.count_nonzero(chosen)
        wasteful = surplus > _WASTE * len(self.last) and self.since_order >= _MEMORY
        self.since_order += 1
        if not self.is_ordered or missing or (surplus != 0 if exact else wasteful):
            self.since_order = 0
            self.last = np.flatnonzero(chosen).astype(np.int32)
            _core.fem_order(self.system, self.last)
            self.place[:] = -1
            self.place[self.last] = np.arange(len(self.last), dtype=np.int32)
            self.is_ordered = True

    def evaluate(self, v: _Float, *, again: bool = False) -> None:
        """Evaluate forces and stiffness at the velocity of an iterate.

        K is the same for all iterates of the quadratic models: `again` in a step leaves it.
        """
        theta, body = self.scheme, self.body
        stiffness = (None, None) if again and self.is_quadratic else (self.K, self.K_pairs)
        q = self.q0 + self.dt * theta.q * ((1 - theta.vq) * self.v0 + theta.vq * v)
        material = body.material
        self.energy, self.turned_over = _core.fem_evaluate(
            body.mesh._mesh,
            material.model,
            material.young,
            material.poisson,
            q,
            self.rotations,
            False,
            (self.force, *stiffness, None, None, None),
        )

    def momentum_residual(self, v: _Float) -> _Float:
        """m(v) = M (v - v0) + dt (dE/dx + D v_tv - f_ext) after `evaluate`; 0 where fixed."""
        material, theta, dt = self.body.material, self.scheme, self.dt
        m = self._multiply(0.0, 1.0, v - self.v0) - dt * (self.force + self.weight)
        if material.mass_damping > 0 or material.stiffness_damping > 0:
            middle = (1 - theta.v) * self.v0 + theta.v * v
            m += self._multiply(dt * material.stiffness_damping, dt * material.mass_damping, middle)
        if self.has_fixed:
            m[self.is_fixed] = 0
        return m

    def free_velocity(self, w: _Float) -> _Float:
        """Factor A = M + dt^2 tq tvq K + dt tv D, and return w - A^-1 m(w), after `evaluate`."""
        material, theta, dt = self.body.material, self.scheme, self.dt
        c_K = dt * dt * theta.q * theta.vq + dt * theta.v * material.stiffness_damping
        c_M = 1 + dt * theta.v * material.mass_damping
        blocks, m = self._blocks(c_K, c_M), self.momentum_residual(w)
        self._linearization = blocks, w, m
        found: _Float = w - _core.fem_factor(self.system, blocks, self._fixed, m)
        return found

    def final_residual(self, v: _Float) -> _Float:
        """m(v) after a pass; it is linear for the quadratic models: m(w) + A (v - w)."""
        if not self.is_quadratic:
            self.evaluate(v)
            return self.momentum_residual(v)
        blocks, w, m = self._linearization
        found: _Float = m + _core.fem_multiply(self.body.mesh._mesh, blocks, v - w)
        if self.has_fixed:
            found[self.is_fixed] = 0
        return found

    def extend(self, change: _Float) -> _Float:
        """How all vertices (n, 3) follow a change of the velocities of those that come last."""
        return _core.fem_extend(self.system, change)

    def find_free_motion(self) -> _Float:
        """Solve m(v) = 0 by Newton's method, to round-off or 30 iterations."""
        v = self.start
        for _ in range(30):
            self.evaluate(v)
            before, v = v, self.free_velocity(v)
            if np.max(np.abs(v - before)) <= 1e-12 * np.max(np.abs(v)):
                break
        return v

    def schur(self) -> _Float:
        """S over the vertices that are eliminated last."""
        return _core.fem_schur(self.system)

    def finish(self, v: _Float) -> None:
        """Move the body to the end of the step."""
        theta, body = self.scheme, self.body
        body.positions = self.q0 + self.dt * ((1 - theta.vq) * self.v0 + theta.vq * v)
        body.velocities = v

    def _blocks(
        self, c_K: float, c_M: float
    ) -> tuple[float, _Float, _Float, float, _Float, _Float]:
        return c_K, self.K, self.K_pairs, c_M, self.body.vertex_mass, self.body.pair_mass

    def _multiply(self, c_K: float, c_M: float, x: _Float) -> _Float:
        return _core.fem_multiply(self.body.mesh._mesh, self._blocks(c_K, c_M), x)

"""One step of one soft body: its equations, and their linearization at an iterate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sapwood import _core

from .bodies import SoftBody
from .body_step import BodyStep

_Float = NDArray[np.float64]
_Index = NDArray[np.int32]

# the models whose energy is quadratic within a step: one pass is exact
QUADRATIC = ("linear", "linear_corotated")


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


class SoftStep(BodyStep):
    """The equations of a soft body."""

    def __init__(self, body: SoftBody, threads: int = 1) -> None:
        mesh = body.mesh
        super().__init__(body.name, mesh._mesh, len(mesh.vertices), len(mesh.pairs), threads)
        self.body = body
        self.is_quadratic = body.material.model in QUADRATIC
        row_mass = body.vertex_mass.copy()
        np.add.at(row_mass, mesh.pairs, body.pair_mass[:, None])
        self._row_mass: _Float = row_mass[:, None]
        self._reached: _Float | None = None  # velocities that the last step left

    def load_memory(self, row: _Float) -> None:
        """Go on as the body whose memory `row` is, from its present velocities."""
        super().load_memory(row)
        self._reached = self.body.velocities

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
        self._extrapolate(self.v0 is self._reached)

    @property
    def momenta(self) -> _Float:
        """Momenta of the vertices at the start of the step (n, 3), N s."""
        found: _Float = self._row_mass * self.v0
        return found

    def move(self, vertices: _Index, velocities: _Float) -> None:
        """Let vertices move at these velocities (n, 3) in this step."""
        self._fixed[vertices], self.has_fixed = 1, True
        self.start[vertices] = velocities

    def evaluate(
        self, v: _Float, *, again: bool = False, stiffness: bool = True, exact: bool = False
    ) -> None:
        """Evaluate forces, and stiffness if asked for, at the velocity of an iterate.

        K is the same for all iterates of the quadratic models: `again` in a step leaves it. `exact`
        is as of :func:`sapwood.fem.evaluate`.
        """
        theta, body = self.scheme, self.body
        stays = not stiffness or (again and self.is_quadratic)
        blocks = (None, None) if stays else (self.K, self.K_pairs)
        q = self.q0 + self.dt * theta.q * ((1 - theta.vq) * self.v0 + theta.vq * v)
        material = body.material
        self.energy, self.turned_over = _core.fem_evaluate(
            body.mesh._mesh,
            material.model,
            material.young,
            material.poisson,
            q,
            self.rotations,
            exact,
            (self.force, *blocks, None, None, None),
        )

    def momentum_residual(self, v: _Float) -> _Float:
        """m(v) = M (v - v0) + dt (dE/dx + D v_tv - f_ext) after `evaluate`; 0 where fixed."""
        material, theta, dt = self.body.material, self.scheme, self.dt
        m = self._multiply(self._weighted(0.0, 1.0), v - self.v0) - dt * (self.force + self.weight)
        if material.mass_damping > 0 or material.stiffness_damping > 0:
            middle = (1 - theta.v) * self.v0 + theta.v * v
            damping = dt * material.stiffness_damping, dt * material.mass_damping
            m += self._multiply(self._weighted(*damping), middle)
        if self.has_fixed:
            m[self.is_fixed] = 0
        return m

    def blocks(self) -> tuple[float, _Float, _Float, float, _Float, _Float]:
        """A = M + dt^2 tq tvq K + dt tv D, see :class:`BodyStep`."""
        material, theta, dt = self.body.material, self.scheme, self.dt
        c_K = dt * dt * theta.q * theta.vq + dt * theta.v * material.stiffness_damping
        return self._weighted(c_K, 1 + dt * theta.v * material.mass_damping)

    def find_free_motion(self) -> _Float:
        """Solve m(v) = 0 by Newton's method, to round-off or 30 iterations."""
        v = self.start
        for _ in range(30):
            self.evaluate(v)
            before, v = v, self.free_velocity(v)
            if np.max(np.abs(v - before)) <= 1e-12 * np.max(np.abs(v)):
                break
        return v

    def finish(self, v: _Float) -> None:
        """Move the body to the end of the step."""
        theta, body = self.scheme, self.body
        body.positions = self.q0 + self.dt * ((1 - theta.vq) * self.v0 + theta.vq * v)
        body.velocities = self._reached = v

    def _weighted(
        self, c_K: float, c_M: float
    ) -> tuple[float, _Float, _Float, float, _Float, _Float]:
        return c_K, self.K, self.K_pairs, c_M, self.body.vertex_mass, self.body.pair_mass

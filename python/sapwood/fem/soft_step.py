"""One step of one soft body: its equations, and their linearization at an iterate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sapwood import _core

from .bodies import SoftBody
from .body_step import Blocks, BodyStep
from .meshes.mesh import Mesh

_Float = NDArray[np.float64]
_Index = NDArray[np.int32]

# part of the loads of a step that the factor of an earlier pass may leave as a residual
_KEPT_RESIDUAL = 1e-7
# |(A - A_kept) d| over |A d| up to which a factor is kept, for the change d of the velocities in
# the step before: each correction leaves about this part of the residual. More keeps factors
# longer, and takes more corrections, which each solve the problem of contact again;
# `python -m benchmarks soft --scale`
_KEPT_ERROR = 1e-3
# corrections of a pass after which A is factored
_MOST_CORRECTIONS = 3
# A is factored in place of a correction above this |(A - A_kept) d| over |A d|, where d is the
# change of the velocities in the pass; corrections diverge from 1 on
_MOST_ERROR = 0.1

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


class _KeptFactor:
    """The A that is factored: the positions from which its stiffness follows, and its blocks.

    The blocks are None after a change of the memory, until they are needed again.
    """

    def __init__(self, shape: _Float, fixed: NDArray[np.int8], blocks: Blocks | None) -> None:
        self.shape, self.fixed, self.blocks = shape.copy(), fixed.copy(), blocks
        self.S: _Float | None = None

    def is_of(self, blocks: Blocks) -> bool:
        """Whether this is the factor of these blocks, without an error."""
        return self.blocks is not None and self.blocks[1] is blocks[1]


class SoftStep(BodyStep):
    """The equations of a soft body.

    Where A changes little, passes go on with its factor, and correct what that leaves: the
    convex problem is solved again from the velocities found, with the same S.
    """

    def __init__(self, body: SoftBody) -> None:
        mesh = body.mesh
        super().__init__(body.name, mesh._mesh, len(mesh.vertices), len(mesh.pairs))
        self.body = body
        self.is_quadratic = body.material.model in QUADRATIC
        self.read_masses()
        self._reached: _Float | None = None  # velocities that the last step left
        self._kept: _KeptFactor | None = None
        self._iterate: _Float | None = None  # velocities at which the pass before began
        self._spare = np.zeros_like(self.K), np.zeros_like(self.K_pairs)

    def read_masses(self) -> None:
        """Take over the masses of the body."""
        self._is_lumped = not self.body.pair_mass.any()
        row_mass = self.body.vertex_mass.copy()
        np.add.at(row_mass, self.mesh.pairs, self.body.pair_mass[:, None])
        self._row_mass: _Float = row_mass[:, None]

    @staticmethod
    def memory_of_vertices(n: int) -> int:
        """Length of the row of `save_memory`."""
        return BodyStep.memory_of_vertices(n) + 3 * n

    def save_memory(self, row: _Float) -> None:
        """Write what later steps remember of the earlier ones; a new body has zeros."""
        super().save_memory(row)
        row[-3 * len(self.place) :] = 0.0 if self._kept is None else self._kept.shape.ravel()

    def load_memory(self, row: _Float) -> None:
        """Go on as the body whose memory `row` is, from its present velocities."""
        super().load_memory(row)
        self._reached = self.body.velocities
        n = len(self.place)
        shape = row[-3 * n :].reshape(n, 3)
        if self._kept is None or not np.array_equal(self._kept.shape, shape):
            self._kept = _KeptFactor(shape, self.body.fixed, None) if shape.any() else None

    @property
    def mesh(self) -> Mesh:
        """Mesh of the body."""
        return self.body.mesh

    @property
    def has_exact_stiffness(self) -> bool:
        """See :class:`BodyStep`; damping takes the projected stiffness."""
        return self.is_quadratic or self.body.material.stiffness_damping == 0

    def begin(self, dt: float, scheme: Scheme, gravity: _Float) -> None:
        """Take over the state of the body at the start of a step."""
        body = self.body
        self.dt, self.scheme = dt, scheme
        self.q0, self.v0 = body.positions, body.velocities
        goes_on = self.v0 is self._reached
        if not goes_on:
            self._kept = None
        self.rotations = (
            _core.fem_rotations(body.mesh._mesh, self.q0)
            if body.material.model == "linear_corotated"
            else None
        )
        self.weight = self._row_mass * gravity + body.external_loads()
        self._iterate = None
        self._fixed = body.fixed.copy()
        self.has_fixed = bool(self._fixed.any())
        # fixed vertices move at their velocity from the first iterate on
        self.start = self.v0.copy()
        if self.has_fixed:
            self.start[self.is_fixed] = body.fixed_velocities[self.is_fixed]
        self._extrapolate(goes_on)

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
        q = self.q0 + self.dt * theta.q * ((1 - theta.vq) * self.v0 + theta.vq * v)
        if not stays:
            # K of the quadratic models follows from the start of the step
            self._shape = self.q0 if self.is_quadratic else q
            if self._kept is not None and self._kept.blocks and self._kept.blocks[1] is self.K:
                self.K, self.K_pairs, self._spare = *self._spare, (self.K, self.K_pairs)
        blocks = (None, None) if stays else (self.K, self.K_pairs)
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
        m = self._momentum(v - self.v0) - dt * (self.force + self.weight)
        if material.mass_damping > 0 or material.stiffness_damping > 0:
            middle = (1 - theta.v) * self.v0 + theta.v * v
            damping = dt * material.stiffness_damping, dt * material.mass_damping
            m += self._multiply(self._weighted(*damping), middle)
        if self.has_fixed:
            m[self.is_fixed] = 0
        return m

    def _momentum(self, v: _Float) -> _Float:
        """M v (n, 3)."""
        if self._is_lumped:
            return self._row_mass * v
        return self._multiply(self._weighted(0.0, 1.0), v)

    def blocks(self) -> Blocks:
        """A = M + dt^2 tq tvq K + dt tv D, see :class:`BodyStep`."""
        material, theta, dt = self.body.material, self.scheme, self.dt
        c_K = dt * dt * theta.q * theta.vq + dt * theta.v * material.stiffness_damping
        return self._weighted(c_K, 1 + dt * theta.v * material.mass_damping)

    def find_free_motion(self) -> _Float:
        """Solve m(v) = 0 by Newton's method, to round-off or 30 iterations."""
        v = self.start
        for _ in range(30):
            self.evaluate(v)
            self.drop_factor()
            self.linearize(v)
            before, v = v, self.free_velocity(v)
            if np.max(np.abs(v - before)) <= 1e-12 * np.max(np.abs(v)):
                break
        return v

    def finish(self, v: _Float) -> None:
        """Move the body to the end of the step."""
        theta, body = self.scheme, self.body
        body.positions = self.q0 + self.dt * ((1 - theta.vq) * self.v0 + theta.vq * v)
        body.velocities = self._reached = v

    # ---- kept factors ----

    def _choose(self, last: NDArray[np.int32]) -> None:
        """Eliminate these vertices last."""
        super()._choose(last)
        self._kept = None

    def linearize(self, w: _Float) -> None:
        """Linearize m at w, after `evaluate`; see :class:`BodyStep`."""
        super().linearize(w)
        self._at_iterate, self._corrections = self._linearization, 0
        change = self.guess - self.start if self._iterate is None else w - self._iterate
        self._iterate = w
        if not self._keeps(change):
            self._kept = None

    def free_velocity(self, guess: _Float) -> _Float:
        """v* of the linearization; see :class:`BodyStep`.

        A kept factor stands for A from the guess on: the linearization moves there, which leaves
        it the same, and makes the change small for which the factor is inexact.
        """
        blocks, w, m = self._linearization
        if self._kept is None:
            found = super().free_velocity(guess)
            self._kept = _KeptFactor(self._shape, self._fixed, blocks)
            return found
        if not self._kept.is_of(blocks):
            w = np.where(self.is_fixed[:, None], w, guess)
            m = self._linear_residual(w)
            self._linearization = blocks, w, m
        return w - self.solve(m)

    def guess_again(self, v: _Float, guess: _Float) -> _Float | None:
        """Find the guess of a correction, or of a new factor; see :class:`BodyStep`."""
        blocks, w, _ = self._linearization
        assert self._kept is not None
        if self._kept.is_of(blocks):
            return None
        whole, left = map(np.linalg.norm, self._products(v - w))
        if left <= _KEPT_RESIDUAL * self.dt * np.linalg.norm(self.weight):
            return None
        self._corrections += 1
        if self._corrections <= _MOST_CORRECTIONS and left <= _MOST_ERROR * whole:
            return v
        self._kept, self._linearization = None, self._at_iterate
        return guess

    def drop_factor(self) -> None:
        """Factor A in the next pass."""
        self._kept = None

    def _keeps(self, change: _Float) -> bool:
        """Whether there is a kept factor that is close to A for a change of velocities."""
        kept = self._kept
        if kept is None or not self.weight.any() or not np.array_equal(kept.fixed, self._fixed):
            return False
        before = kept.blocks
        kept.blocks = before or self._blocks_of(kept.shape)
        whole, left = self._products(change)
        if np.linalg.norm(left) > _KEPT_ERROR * np.linalg.norm(whole):
            return False
        if before is None:
            _core.fem_factor(self._system, kept.blocks, kept.fixed, np.zeros_like(self.v0))
        return True

    def _products(self, change: _Float) -> tuple[_Float, _Float]:
        """A, and A - A_kept, times a change of velocities; 0 where fixed."""
        assert self._kept is not None
        assert self._kept.blocks is not None
        whole = self._multiply(self._linearization[0], change)
        left = whole - self._multiply(self._kept.blocks, change)
        if self.has_fixed:
            whole[self.is_fixed] = left[self.is_fixed] = 0
        return whole, left

    def _blocks_of(self, shape: _Float) -> Blocks:
        """The blocks of A whose stiffness follows from these positions."""
        c_K, _, _, c_M, mass, mass_pairs = self.blocks()
        K, K_pairs = np.zeros_like(self.K), np.zeros_like(self.K_pairs)
        material, mesh = self.body.material, self.body.mesh._mesh
        _core.fem_evaluate(
            mesh,
            material.model,
            material.young,
            material.poisson,
            shape,
            _core.fem_rotations(mesh, shape),
            False,
            (None, K, K_pairs, None, None, None),
        )
        return c_K, K, K_pairs, c_M, mass, mass_pairs

    def schur(self) -> _Float:
        """S over the vertices that are eliminated last; read-only."""
        if self._kept is None:
            return super().schur()
        if self._kept.S is None:
            self._kept.S = super().schur()
        return self._kept.S

    # ---- weights ----

    def _weighted(self, c_K: float, c_M: float) -> Blocks:
        return c_K, self.K, self.K_pairs, c_M, self.body.vertex_mass, self.body.pair_mass

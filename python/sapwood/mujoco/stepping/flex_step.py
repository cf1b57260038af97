"""One step of one flex of MuJoCo, whose elastic forces act at the end of the step.

The C core gathers A and v* of each vertex, a tree of three velocities, by all forces of MuJoCo. The
explicit elastic force f0 is taken out of these, and that of the end of the step takes its place:

    m(v) = A (v - v*) + dt f0 - dt f(q0 + dt v) + J^T R^-1 (J v - v_hat)

The last term is that of equality rows of the edges.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.fem.body_step import BodyStep
from sapwood.fem.meshes.flex import FlexMesh, FlexNumbers
from sapwood.mujoco.reading.flexes import ElasticFlex
from sapwood.mujoco.stepping.edge_rows import EdgeRows

_Float = NDArray[np.float64]


class FlexStep(BodyStep):
    """The equations of a flex.

    Parameters
    ----------
    flex : ElasticFlex
        The flex.

    Attributes
    ----------
    flex : ElasticFlex
        The flex.
    axes : ndarray (n_free, 3, 3)
        Axes of the slides of each free vertex in the world, by rows.
    edges : EdgeRows
        Equality rows of the edges.
    """

    is_quadratic = False
    axes: _Float
    edges: EdgeRows

    def __init__(self, flex: ElasticFlex) -> None:
        n, n_pairs = flex.vertices.stop - flex.vertices.start, len(flex.mesh.pairs)
        super().__init__(flex.name, flex.mesh.graph, n, n_pairs)
        self.flex = flex
        self._fixed[:] = 1
        self._fixed[flex.free] = 0
        self.has_fixed = len(flex.free) < n
        self._A = np.zeros((n, 3, 3))
        self._no_mass, self._no_pairs = np.zeros(n), np.zeros(n_pairs)
        self._tension = np.empty(len(flex.mesh.edges))

    def begin(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        A: _Float,
        v_star: _Float,
        edges: EdgeRows,
        dt: float,
    ) -> None:
        """Take over the state at the start of a step.

        Parameters
        ----------
        model, data
            The model, and data whose forces were found.
        A : ndarray (n_free, 3, 3)
            A of the free vertices along their slides.
        v_star : ndarray (n_free, 3)
            Their v*.
        edges : EdgeRows
            Equality rows of the edges.
        dt : float
            Time step, s.
        """
        flex, mesh = self.flex, self.flex.mesh
        free, (first, second) = flex.free, mesh.edges.T
        self.dt = dt
        self.axes = data.xaxis[flex.joints[:, None] + np.arange(3)]
        self.q0 = np.array(data.flexvert_xpos[flex.vertices])
        self.start, change = np.zeros_like(self.q0), np.zeros_like(self.q0)
        v = data.qvel[flex.dofs]
        self.start[free] = self.to_world(v)
        self._extrapolate()
        self._A[free] = np.swapaxes(self.axes, 1, 2) @ A @ self.axes
        change[free] = self.to_world(v_star - v)
        d, rate = self.q0[first] - self.q0[second], self.start[first] - self.start[second]
        lengths = np.linalg.norm(d, axis=1)
        rates = np.einsum("ei,ei->e", d, rate) / np.maximum(lengths, np.finfo(float).tiny)
        self._numbers: FlexNumbers = flex.numbers(model)
        before = self.q0 - dt * self.start, lengths - dt * rates, dt
        mesh.evaluate(self._numbers, before, self.q0, (self._tension, self.force, None, None))
        self._last = self.q0, lengths, dt
        self.weight = np.einsum("nij,nj->ni", self._A, change) / dt - self.force
        self.weight[self.is_fixed] = 0
        self.edges = edges
        if edges.numbers.size:
            self._hold_edges()

    def _hold_edges(self) -> None:
        """Find what the equality rows of the edges add to A and to the momentum."""
        edges, mesh = self.edges, self.flex.mesh
        J = np.einsum("nsi,nsij->nsj", edges.J, self.axes[edges.free])
        scaled = J / edges.R[:, None, None]
        vertices, n = self.flex.free[edges.free].ravel(), len(self.place)
        own = scaled.reshape(-1, 3, 1) * J.reshape(-1, 1, 3)
        momenta = (scaled * edges.v_hat[:, None, None]).reshape(-1, 3)
        self._held, self._held_momentum = _sums(vertices, own, n), _sums(vertices, momenta, n)
        both = edges.free[:, 1] >= 0
        # along an edge both vertices have the same direction, so the block is symmetric
        pairs = mesh.find_pairs(self.flex.free[edges.free[both]])
        between = scaled[both, 0, :, None] * J[both, 1, None]
        self._held_pairs = _sums(pairs, between, len(mesh.pairs))

    def to_world(self, along: _Float) -> _Float:
        """Velocities (n_free, 3) along the slides, in the world."""
        found: _Float = np.einsum("nji,nj->ni", self.axes, along)
        return found

    def to_slides(self, vectors: _Float) -> _Float:
        """Vectors (n, 3) of all vertices in the world, along the slides of the free ones."""
        found: _Float = np.einsum("nij,nj->ni", self.axes, vectors[self.flex.free])
        return found

    @property
    def mesh(self) -> FlexMesh:
        """Mesh of the flex."""
        return self.flex.mesh

    @property
    def has_exact_stiffness(self) -> bool:
        """See :class:`BodyStep`; compressed edges add less to K than they do."""
        of = self._numbers
        is_rigid = of.edge_stiffness == 0.0 and of.edge_damping == 0.0
        return is_rigid and not np.any(of.stiffness) and not np.any(of.bending)

    @property
    def momenta(self) -> _Float:
        """Momenta of the vertices at the start of the step, see :class:`BodyStep`."""
        found: _Float = np.einsum("nij,nj->ni", self._A, self.start)
        return found

    def evaluate(
        self, v: _Float, *, again: bool = False, stiffness: bool = True, exact: bool = False
    ) -> None:
        """Evaluate forces and stiffness at the velocity of an iterate, see :class:`BodyStep`."""
        del again, exact
        blocks = (self.K, self.K_pairs) if stiffness else (None, None)
        outputs = self._tension, self.force, *blocks
        self.flex.mesh.evaluate(self._numbers, self._last, self.q0 + self.dt * v, outputs)

    def momentum_residual(self, v: _Float) -> _Float:
        """m(v), see :class:`BodyStep`."""
        m: _Float = np.einsum("nij,nj->ni", self._A, v - self.start)
        m -= self.dt * (self.force + self.weight)
        if self.edges.numbers.size:
            blocks = (1.0, self._held, self._held_pairs, 0.0, self._no_mass, self._no_pairs)
            m += self._multiply(blocks, v) - self._held_momentum
        m[self.is_fixed] = 0
        return m

    def blocks(self) -> tuple[float, _Float, _Float, float, _Float, _Float]:
        """A + J^T R^-1 J + dt^2 K, see :class:`BodyStep`."""
        square = self.dt * self.dt
        K, K_pairs = self.K + self._A / square, self.K_pairs
        if self.edges.numbers.size:
            K += self._held / square
            K_pairs = K_pairs + self._held_pairs / square
        return square, K, K_pairs, 0.0, self._no_mass, self._no_pairs


def _sums(places: NDArray[np.intp], values: _Float, n: int) -> _Float:
    """Sums (n, ...) of values (m, ...) at places (m,)."""
    size = values[0].size
    at = places[:, None] * size + np.arange(size)
    found = np.zeros(n * size)
    np.add.at(found, at.ravel(), values.ravel())
    return found.reshape(n, *values.shape[1:])

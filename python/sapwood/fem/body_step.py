"""The equations of one deformable body in a step, and the order of their elimination."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.problem.contact_problem import ContactProblem

from .meshes.flex import FlexMesh
from .meshes.mesh import Mesh

_Float = NDArray[np.float64]
_Index = NDArray[np.int32]

# steps for which a touched vertex stays among those that are eliminated last, and least steps from
# one order to a smaller one
_MEMORY = 20
# share of vertices to leave out that is worth a new order, which costs about a factorization: the
# time of S grows with the cube of their number
_WASTE = 1 / 16


#: A as c_K, K, K_pairs, c_M, masses of vertices, masses of pairs
Blocks = tuple[float, _Float, _Float, float, _Float, _Float]


class BodyStep(ABC):
    """The equations m(v) = J^T gamma of a body in one step, of the present linearization.

    The core's buffers are kept from step to step.

    Parameters
    ----------
    name : str
        Name of the body.
    graph : object
        Mesh or flex of the core.
    n : int
        Its vertices.
    n_pairs : int
        Pairs of vertices that its stiffness couples.

    Attributes
    ----------
    is_quadratic : bool
        Whether one pass is exact.
    last : ndarray of int32 (n_last,)
        Vertices that are eliminated last.
    place : ndarray of int32 (n,)
        Place of each vertex in `last`, or -1.
    start : ndarray (n, 3)
        Velocities of the first iterate, m/s; fixed vertices keep theirs.
    guess : ndarray (n, 3)
        Velocities at which the first search for contact forces begins, m/s: the start, changed as
        by the step before.
    weight : ndarray (n, 3)
        Loads other than elastic ones, N.
    q0 : ndarray (n, 3)
        Positions at the start of the step, m.
    dt : float
        Time step, s.
    turned_over : int
        Tetrahedra that are turned over at the last evaluation.
    problem : ContactProblem or None
        The last reduced problem with the body.
    """

    is_quadratic: bool
    has_fixed: bool
    start: _Float
    guess: _Float
    weight: _Float
    q0: _Float
    dt: float
    turned_over: int = 0

    def __init__(self, name: str, graph: object, n: int, n_pairs: int) -> None:
        self.name, self._graph = name, graph
        self._system = _core.fem_system(graph)
        self.force = np.empty((n, 3))
        self.K, self.K_pairs = np.zeros((n, 3, 3)), np.zeros((n_pairs, 3, 3))
        self.last = np.empty(0, np.int32)
        self.place = np.full(n, -1, np.int32)
        self.problem: ContactProblem | None = None
        self.is_ordered = False
        self.since_order = 0  # steps
        self.age = np.full(n, _MEMORY)  # steps since each vertex was touched
        self._fixed = np.zeros(n, np.int8)
        self._start_before = np.zeros(
            (n, 3)
        )  # the step before began there; it counts if there is an order

    @property
    def is_fixed(self) -> NDArray[np.bool_]:
        """Vertices that move as told (n,)."""
        return self._fixed.view(np.bool_)

    @property
    @abstractmethod
    def momenta(self) -> _Float:
        """Momenta of the vertices at the start of the step (n, 3), N s."""

    @property
    @abstractmethod
    def mesh(self) -> Mesh | FlexMesh:
        """Its mesh."""

    @property
    @abstractmethod
    def has_exact_stiffness(self) -> bool:
        """Whether A is dm/dv with the exact stiffness."""

    @abstractmethod
    def evaluate(
        self, v: _Float, *, again: bool = False, stiffness: bool = True, exact: bool = False
    ) -> None:
        """Evaluate forces, and stiffness if asked for, at the velocity of an iterate.

        A body whose stiffness is the same for all iterates keeps it if `again` in a step. `exact`
        asks for the stiffness as it is, which may be indefinite.
        """

    @abstractmethod
    def momentum_residual(self, v: _Float) -> _Float:
        """m(v) after `evaluate`; 0 where fixed."""

    @abstractmethod
    def blocks(self) -> Blocks:
        """A as c_K, K, K_pairs, c_M, masses of vertices, masses of pairs, after `evaluate`."""

    @staticmethod
    def memory_of_vertices(n: int) -> int:
        """Length of the row in which a body of n vertices keeps what later steps remember."""
        return 1 + 4 * n

    @property
    def memory_size(self) -> int:
        """Length of the row of `save_memory`."""
        return self.memory_of_vertices(len(self.place))

    def save_memory(self, row: _Float) -> None:
        """Write what later steps remember of the earlier ones; a new body has zeros."""
        row[0] = self.is_ordered * (1 + self.since_order)
        n = len(self.place)
        row[1 : 1 + n] = 2 * (_MEMORY - np.minimum(self.age, _MEMORY)) + (self.place >= 0)
        row[1 + n : 1 + 4 * n] = self._start_before.ravel()

    def load_memory(self, row: _Float) -> None:
        """Go on as the body whose memory `row` is."""
        n = len(self.place)
        self._start_before = row[1 + n : 1 + 4 * n].reshape(n, 3).copy()
        codes = row[1 : 1 + n].astype(np.int64)
        self.age = _MEMORY - codes // 2
        last = np.flatnonzero(codes % 2).astype(np.int32)
        was_ordered, self.is_ordered = self.is_ordered, row[0] > 0
        self.since_order = int(row[0]) - 1 if self.is_ordered else 0
        if self.is_ordered and not (was_ordered and np.array_equal(last, self.last)):
            self._choose(last)

    def _extrapolate(self, goes_on: bool = True) -> None:
        """Find `guess` from `start`, by the step before if this one goes on from it."""
        follows = goes_on and self.is_ordered
        self.guess = 2 * self.start - self._start_before if follows else self.start
        self._start_before = self.start.copy()

    def _choose(self, last: _Index) -> None:
        """Eliminate these vertices last."""
        self.last = last
        _core.fem_order(self._system, last)
        self.place[:] = -1
        self.place[last] = np.arange(len(last), dtype=np.int32)
        self.is_ordered = True

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
            self._choose(np.flatnonzero(chosen).astype(np.int32))

    def linearize(self, w: _Float) -> None:
        """Linearize m at w, after `evaluate`: m(w) + A (v - w)."""
        self._linearization = self.blocks(), w, self.momentum_residual(w)

    def free_velocity(self, guess: _Float) -> _Float:
        """v* = w - A^-1 m(w) of the linearization, which may be improved from a guess."""
        del guess
        blocks, w, m = self._linearization
        found: _Float = w - _core.fem_factor(self._system, blocks, self._fixed, m)
        return found

    def drop_factor(self) -> None:  # noqa: B027
        """Factor A in the next pass, as bodies that keep no factor do in each."""

    def guess_again(self, v: _Float, guess: _Float) -> _Float | None:
        """Find the velocities at which a pass begins again; None if its v* was exact enough.

        The pass ended at v, and its first search began at the guess.
        """
        del v, guess
        return None

    def final_residual(self, v: _Float) -> _Float:
        """m(v) after a pass; it is m(w) + A (v - w) where one pass is exact."""
        if not self.is_quadratic:
            self.evaluate(v, stiffness=False)
            return self.momentum_residual(v)
        return self._linear_residual(v)

    def _linear_residual(self, v: _Float) -> _Float:
        """m(v) of the linearization; 0 where fixed."""
        blocks, w, m = self._linearization
        found: _Float = m + self._multiply(blocks, v - w)
        if self.has_fixed:
            found[self.is_fixed] = 0
        return found

    def solve(self, x: _Float) -> _Float:
        """A^-1 x (n, 3) by the last factorization; 0 where fixed."""
        return _core.fem_solve(self._system, x)

    def multiply(self, x: _Float) -> _Float:
        """A x (n, 3) of the present blocks."""
        return self._multiply(self.blocks(), x)

    def extend(self, change: _Float) -> _Float:
        """How all vertices (n, 3) follow a change of the velocities of those that come last."""
        return _core.fem_extend(self._system, change)

    def schur(self) -> _Float:
        """S over the vertices that are eliminated last; read-only."""
        S = _core.fem_schur(self._system)
        S.setflags(write=False)
        return S

    def _multiply(self, blocks: Blocks, x: _Float) -> _Float:
        return _core.fem_multiply(self._graph, blocks, x)

"""Constraints of one kind, as the objective sees them: one protocol for contacts and clamped rows.

A pool holds n constraints of r rows each (r = 3 for a contact; every clamped row is a constraint of
its own, r = 1). The solver knows nothing else of a kind than what `Pool` says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sapwood.base.equality import compared_by_value
from sapwood.problem.contact_problem import ContactProblem
from sapwood.solution import Region

from .clamp import clamp, clamp_cost_difference
from .contact import Law, contact_cost, contact_cost_difference, law, project

Array = NDArray[np.float64]
Index = NDArray[np.intp]
EPS = float(np.finfo(float).eps)


@compared_by_value
class State(NamedTuple):
    """The law of a pool at unprojected impulses y."""

    gamma: Array  # (n, r) impulses
    G: Array  # (n, r, r) -dgamma/dv_c
    cost: Array  # (n)
    regions: NDArray[np.int8] | None  # (n) of a contact pool


class Dual(NamedTuple):
    """The impulses that the law linearized at a full step predicts; |w| <= 1."""

    w: Array  # (n, 2) friction over mu gamma_n; (n, 1) where a row is between its bounds
    gamma_n: Array  # (n) of contacts, N s, >= 0; 0 for rows
    size: Array | None = None  # (n) |gamma'|_R of contacts with a core, root joules


@compared_by_value
@dataclass(frozen=True, eq=False)
class Patch:
    """All constraints of a pool between the same two trees, or one tree and the world."""

    members: Index  # (m) indices into the pool
    trees: tuple[int, ...]  # one or two trees
    J: tuple[Array, ...]  # the Jacobian (r m, n_t) of each of these trees


class Pool(Protocol):
    """The interface of a kind of constraint for the solver.

    Examples
    --------
    The pools of a problem, and the matrix that they add, J^T G J (17):

    >>> from sapwood import ContactProblem, DryFrictions
    >>> from sapwood.reference import Objective, Pool
    >>> def rows(pool: Pool) -> tuple[int, ...]:
    ...     return pool.R.shape
    >>> problem = ContactProblem.from_dense(np.eye(3), np.zeros(3), np.eye(3), 0.0, k=1e5,
    ...     tau_d=0.01, mu=0.5, dt=0.01, constraints=[DryFrictions(np.eye(3), f=0.1)])
    >>> [rows(pool) for pool in Objective(problem).pools]
    [(1, 3), (3, 1)]
    """

    R: Array  # (n, r)
    v_hat: Array  # (n, r)
    patches: list[Patch]

    def at(self, y: Array) -> State:
        """Evaluate the law at y (n, r)."""
        ...

    def cost_difference(self, y: Array, dy: Array) -> Array:
        """l(y + dy) - l(y) of each constraint (n)."""
        ...

    def sticking(self, y: Array, state: State) -> tuple[Array, Array]:
        """G (n, r, r) and impulses (n, r) of the sticking start."""
        ...

    def predict(self, gamma: Array, G: Array, dv_c: Array) -> Dual:
        """Remember the law linearized at the full step dv_c (n, r)."""
        ...

    def blend(self, y: Array, state: State, dual: Dual | None) -> Array:
        """G (n, r, r), by the means of law and dual where that is known to save iterations."""
        ...

    def impulse_error(self, y: Array, state: State, e: Array) -> Array:
        """Bound (n, r) the error of gamma: from round-off, and from e (n, r) of v_hat - v_c."""
        ...

    def complementarity(self, y: Array, state: State) -> Array:
        """|g . gamma| of (25) for each constraint (n), J."""
        ...

    def wall(self, y: Array, dv_c: Array, alpha: float) -> float:
        """A step <= alpha that is no shorter than the longest one along dv_c inside the domain."""
        ...

    def fit(self, y: Array, least: float) -> int:
        """Move y into the domain, and return the number of moved constraints."""
        ...


Members = Iterator[tuple[int, int, Array, Array | None]]


def make_patches(constraints: Members) -> list[Patch]:
    """Group (tree_a, tree_b, J_a, J_b) by the pair of trees, whichever of the two comes first."""
    found: dict[tuple[int, ...], tuple[list[int], list[list[Array]]]] = {}
    for i, (a, b, J_a, J_b) in enumerate(constraints):
        trees = (a,) if J_b is None else (min(a, b), max(a, b))
        blocks = [J_a] if J_b is None else [J_a, J_b]
        if a != trees[0]:
            blocks.reverse()
        members, columns = found.setdefault(trees, ([], [[] for _ in trees]))
        members.append(i)
        for column, J in zip(columns, blocks, strict=True):
            column.append(J)
    return [
        Patch(np.array(members), trees, tuple(np.concatenate(column) for column in columns))
        for trees, (members, columns) in found.items()
    ]


class Everywhere:
    """A law that is defined at every y."""

    def wall(self, y: Array, dv_c: Array, alpha: float) -> float:
        """Nothing is in the way."""
        del y, dv_c
        return alpha

    def fit(self, y: Array, least: float) -> int:
        """Nothing to do."""
        del y, least
        return 0


def projection_error(y: Array, e: Array, R: Array) -> Array:
    """Bound (n, r) the error of gamma, from errors e (n, r) of v_hat - v_c and from round-off.

    The projection is nonexpansive in the norm of R (16): |e|_{R^-1} + a few eps |y|_R.
    """
    norm = np.sqrt(np.sum(e**2 / R, axis=1))
    norm += 8.0 * EPS * np.sqrt(np.sum(y**2 * R, axis=1))
    return np.asarray(norm[:, None] / np.sqrt(R))


class ContactPool(Everywhere):
    """Frictional contacts of a problem, (18) and (29)-(33).

    Parameters
    ----------
    problem : ContactProblem
    members : array of int (n)
        Indices of its contacts.
    soft_norm : float
        eps_s, N s.

    Examples
    --------
    An impulse twice as steep as the cone is brought onto it:

    >>> from sapwood import ContactProblem
    >>> problem = ContactProblem.from_dense(np.eye(3), np.zeros(3), np.eye(3), mu=0.5, R_t=1.0,
    ...                                     R_n=1.0, v_hat_n=0.0, dt=0.01)
    >>> pool = ContactPool(problem, np.array([0]))
    >>> pool.at(np.array([[1.0, 0.0, 1.0]])).gamma.round(12).tolist()
    [[0.6, 0.0, 1.2]]
    """

    def __init__(self, problem: ContactProblem, members: Index, soft_norm: float = 0.0) -> None:
        self.members, self.soft_norm = members, soft_norm
        self.mu = np.asarray(problem.mu)[members]
        self.R_t = np.asarray(problem.R_t)[members]
        self.R_n = np.asarray(problem.R_n)[members]
        self.R = np.stack([self.R_t, self.R_t, self.R_n], axis=-1)
        self.v_hat = np.zeros((members.size, 3))
        self.v_hat[:, 2] = np.asarray(problem.v_hat_n)[members]
        if problem.v_hat_t is not None:
            self.v_hat[:, :2] = np.asarray(problem.v_hat_t)[members]
        self.patches = make_patches(
            (int(problem.tree_a[i]), int(problem.tree_b[i]), *problem.J_blocks(i)) for i in members
        )

    def at(self, y: Array) -> State:
        """Project y onto the friction cones."""
        parameters = (self.mu, self.R_t, self.R_n, self.soft_norm)
        gamma, G, regions = project(y, *parameters)
        return State(gamma, G, contact_cost(y, *parameters), regions)

    def cost_difference(self, y: Array, dy: Array) -> Array:
        """See `contact_cost_difference`."""
        return contact_cost_difference(y, dy, self.mu, self.R_t, self.R_n, self.soft_norm)

    def sticking(self, y: Array, state: State) -> tuple[Array, Array]:
        """Let touching contacts, with v_hat_n > 0, stick, and leave the others out."""
        del state
        touching = self.v_hat[:, 2] > 0.0
        G = np.where(touching[:, None], 1.0 / self.R, 0.0)[:, :, None] * np.eye(3)
        return G, np.where(touching[:, None], y, 0.0)

    def predict(self, gamma: Array, G: Array, dv_c: Array) -> Dual:
        """gamma - G dv_c brought into the cone."""
        predicted = gamma - np.einsum("ijk,ik->ij", G, dv_c)
        gamma_n = np.maximum(predicted[:, 2], 0.0)
        divisor = np.maximum(self.mu * gamma_n, np.linalg.norm(predicted[:, :2], axis=1))
        w = predicted[:, :2] / np.where(divisor > 0.0, divisor, 1.0)[:, None]
        return Dual(w, gamma_n)

    def blend(self, y: Array, state: State, dual: Dual | None) -> Array:
        """Primal-dual friction, see `direction`."""
        if dual is None:
            return state.G
        q = law(y, self.mu, self.R_t, self.R_n, self.soft_norm)
        return self._blend_friction(q, state.gamma, dual, state.G.copy(), np.ones(1))

    def _blend_friction(self, q: Law, gamma: Array, dual: Dual, G: Array, most: Array) -> Array:
        """G with primal-dual friction, which is at most `most`/R_t across the slip."""
        sliding = (q.regions == Region.sliding) & np.any(q.t != 0.0, axis=1)
        y_r = np.where(sliding, q.y_r, 1.0)
        m = (q.t + dual.w) / 2.0
        friction = self.mu * (gamma[:, 2] + dual.gamma_n) / 2.0
        across = np.minimum(friction / y_r, most) / self.R_t
        along = self.mu**2 * G[:, 2, 2]
        t_t = q.t[:, :, None] * q.t[:, None, :]
        m_m = m[:, :, None] * m[:, None, :]
        G_tt = along[:, None, None] * t_t + across[:, None, None] * (np.eye(2) - m_m)
        G[sliding, :2, :2] = G_tt[sliding]
        return G

    def impulse_error(self, y: Array, state: State, e: Array) -> Array:
        """See `projection_error`."""
        del state
        return projection_error(y, e, self.R)

    def complementarity(self, y: Array, state: State) -> Array:
        """|g . gamma| with g = R (gamma - y)."""
        g = self.R * (state.gamma - y)
        return np.asarray(np.abs(np.sum(g * state.gamma, axis=1)))


class RowPool(Everywhere):
    """Clamped rows of one group of constraints on the chosen trees.

    Parameters
    ----------
    problem : ContactProblem
    k : int
        Index of the group.
    chosen : (n_trees) bool array
        Trees that take part; a constraint takes part with its first one.

    Examples
    --------
    Dry friction of 0.1 N gives no more than 1 mN s in 10 ms:

    >>> from sapwood import ContactProblem, DryFrictions
    >>> problem = ContactProblem.from_dense([[2.0]], [0.5], dt=0.01,
    ...                                     constraints=[DryFrictions([[1.0]], f=0.1)])
    >>> pool = RowPool(problem, 0, np.array([True]))
    >>> pool.at(np.array([[-5.0]])).gamma.tolist()
    [[-0.001]]
    """

    def __init__(self, problem: ContactProblem, k: int, chosen: NDArray[np.bool_]) -> None:
        group = problem.constraints[k]
        rows = np.flatnonzero(chosen[np.repeat(group.tree_a, group.size)])[:, None]
        self.R, self.v_hat = np.asarray(group.R)[rows], np.asarray(group.v_hat)[rows]
        self.lower, self.upper = np.asarray(group.lower)[rows], np.asarray(group.upper)[rows]
        self.patches = make_patches(self._rows(problem, k, np.flatnonzero(chosen[group.tree_a])))

    @staticmethod
    def _rows(problem: ContactProblem, k: int, constraints: Index) -> Members:
        """Each row of the constraints by itself."""
        group = problem.constraints[k]
        for i in constraints:
            J_a, J_b = problem.constraint_blocks(k, i)
            for r in range(len(J_a)):
                row_b = None if J_b is None else J_b[r : r + 1]
                yield int(group.tree_a[i]), int(group.tree_b[i]), J_a[r : r + 1], row_b

    def at(self, y: Array) -> State:
        """Clamp y."""
        gamma, G, cost = clamp(y, self.R, self.lower, self.upper)
        return State(gamma, G[:, :, None], cost[:, 0], None)

    def cost_difference(self, y: Array, dy: Array) -> Array:
        """See `clamp_cost_difference`."""
        difference = clamp_cost_difference(y, dy, self.R, self.lower, self.upper)
        return np.asarray(difference[:, 0])

    def sticking(self, y: Array, state: State) -> tuple[Array, Array]:
        """Rows act as at y."""
        del y
        return state.G, state.gamma

    def _middle(self) -> tuple[Array, Array]:
        """c and b with the bounds c - b and c + b; both 0 where a bound is infinite."""
        finite = np.isfinite(self.upper - self.lower)
        lower, upper = np.where(finite, self.lower, 0.0), np.where(finite, self.upper, 0.0)
        return (lower + upper) / 2.0, (upper - lower) / 2.0

    def predict(self, gamma: Array, G: Array, dv_c: Array) -> Dual:
        """w = (gamma' - c) / max(b, |gamma' - c|) with gamma' = gamma - G dv_c."""
        c, b = self._middle()
        predicted = gamma - G[:, :, 0] * dv_c - c
        divisor = np.maximum(b, np.abs(predicted))
        return Dual(predicted / np.where(divisor > 0.0, divisor, 1.0), np.zeros(len(gamma)))

    def blend(self, y: Array, state: State, dual: Dual | None) -> Array:
        """Curvature beyond a bound, see `direction`."""
        if dual is None:
            return state.G
        c, b = self._middle()
        x = y - c
        beyond = (state.gamma != y) & (b > 0.0)
        m = (np.where(x > 0.0, 1.0, -1.0) + dual.w) / 2.0
        G = b / np.where(beyond, np.abs(x), 1.0) * (1.0 - m**2) / self.R
        return np.where(beyond[:, :, None], G[:, :, None], state.G)

    def impulse_error(self, y: Array, state: State, e: Array) -> Array:
        """Change of clamp for an error e/R of y and round-off: 0 if y stays beyond a bound."""
        error = e / self.R + 4.0 * EPS * np.abs(y)
        above = np.clip(y + error, self.lower, self.upper) - state.gamma
        below = state.gamma - np.clip(y - error, self.lower, self.upper)
        return np.maximum(above, below)

    def complementarity(self, y: Array, state: State) -> Array:
        """|g| min(|gamma|, distance of gamma to its bounds) with g = R (gamma - y)."""
        g = self.R * (state.gamma - y)
        room = np.minimum(state.gamma - self.lower, self.upper - state.gamma)
        return np.asarray((np.abs(g) * np.minimum(np.abs(state.gamma), room))[:, 0])

"""Convex inverse dynamics in two stages, ID_QP: what happens, then by which forces.

Impulses are combinations z = sum_j lambda_j e_j of the edges of the friction cones, lambda >= 0,
or of a normal with two tangents of either sign. Both stages minimise

    1/2 |X lambda - t|^2 + c^T lambda,  with  E lambda = e  and  F lambda + f >= 0

whose dual is the nearest point of a polyhedron, in as many unknowns as X, E and F have rows. Rows
of E, and of F with slack variables, count with a large weight, and the method of multipliers makes
them exact.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .coulomb_lcp import directions
from .distance import DistanceStatus, nearest_point
from .unactuated import Reduction

Array = NDArray[np.float64]

#: weight of rows that are equalities, beside rows that are minimised
WEIGHT = 1e3
#: passes of the method of multipliers
MOST_PASSES = 100
#: residual relative to the largest term of a held row: round-off, and noise that no longer falls by
#: this factor from one pass to the next
ROUND_OFF, NOISE, SLOWEST = 1e-15, 1e-9, 0.9
#: growth of steps whose residual does not fall, and the longest step
GROWTH, LONGEST_STEP = 2.0, 16.0
#: of the largest velocity of a contact, by which the nearest joint velocities open them
MARGIN = 1e-8
#: opening of an edge that counts as none, relative to typical velocities, for any smoothing
OPEN = 1e-8


class StageResult(NamedTuple):
    """Impulses of a stage."""

    z: Array | None
    """(n, 3), None where its conditions contradict each other."""
    edges: Array
    """The contribution of each edge (n, c)."""
    pivots: int


@dataclasses.dataclass
class _Rows:
    """Rows of X, E and F, as they are added."""

    X: list[Array]  # (rows, n_lambda)
    t: list[Array]
    E: list[Array]
    e: list[Array]
    F: list[Array]
    f: list[Array]

    @staticmethod
    def empty() -> _Rows:
        return _Rows([], [], [], [], [], [])


def edges_of(reduction: Reduction, edges: int, noslip: bool) -> tuple[Array, NDArray[np.bool_]]:
    """Edges (n, c, 3) that span the impulses of each contact, and which of the c have any sign."""
    n = len(reduction.J)
    if noslip:
        return np.broadcast_to(np.eye(3)[[2, 0, 1]], (n, 3, 3)), np.array([False, True, True])
    cone = np.ones((n, edges, 3))
    cone[:, :, :2] = reduction.system.mu[:, None, None] * directions(edges)
    return cone, np.zeros(edges, dtype=bool)


def _columns(edges: Array, J: Array) -> Array:
    """Rows (d, n c) of the combination of edges: J (n, 3, d)."""
    n, c, _ = edges.shape
    return np.asarray(np.einsum("cki,cij->jck", edges, J).reshape(J.shape[2], n * c))


def _solve(
    rows: _Rows, c: Array, free: NDArray[np.bool_], negligible: float = 0.0
) -> tuple[Array | None, int]:
    """Minimise, by the dual: lambda, or None, and the pivots."""
    n_lambda, n_F = len(c), sum(map(len, rows.F))
    X = np.vstack([np.zeros((0, n_lambda)), *rows.X])
    t = np.concatenate([np.zeros(0), *rows.t])
    E = np.vstack([np.zeros((0, n_lambda)), *rows.E])
    e = np.concatenate([np.zeros(0), *rows.e])
    F = np.vstack([np.zeros((0, n_lambda)), *rows.F])
    f = np.concatenate([np.zeros(0), *rows.f])
    held = np.block([[E, np.zeros((len(E), n_F))], [F, -np.eye(n_F)]])
    target = np.concatenate([e, -f])
    size = np.linalg.norm(held[:, :n_lambda])
    weight = WEIGHT * (np.linalg.norm(X) / size if size and X.any() else 1.0)
    A = np.vstack([np.hstack([X, np.zeros((len(X), n_F))]), weight * held]).T
    b = np.concatenate([-c, np.zeros(n_F)])
    equal = np.concatenate([free, np.zeros(n_F, dtype=bool)])
    pivots, reached, found = 0, target.copy(), None
    missing, step = np.inf, 1.0
    for _ in range(MOST_PASSES if len(target) else 1):
        x0 = np.concatenate([-t, -weight * reached])
        nearest = nearest_point(A, b, x0, equal, negligible)
        pivots += nearest.pivots
        if nearest.status != DistanceStatus.solved:
            return None, pivots
        found = nearest.u[:n_lambda]
        change = target - held @ nearest.u
        before, missing = missing, np.abs(change).max(initial=0.0)
        largest = max(np.abs(x).max(initial=0.0) for x in (target, held * nearest.u))
        falls = missing < SLOWEST * before
        if missing <= (ROUND_OFF if falls else NOISE) * largest:
            break
        if not falls and step >= LONGEST_STEP:  # the rows contradict each other
            break
        step = 1.0 if falls else GROWTH * step
        reached = reached + step * change
    return found, pivots


def _impulses(edges: Array, combination: Array) -> Array:
    n, c, _ = edges.shape
    return np.asarray(np.einsum("ck,cki->ci", combination.reshape(n, c), edges))


def _limit_rows(rows: _Rows, X: Array, offset: Array, limit: Array) -> None:
    """-limit <= offset - X lambda <= limit, where it is finite."""
    has = np.isfinite(limit)
    rows.F += [X[has], -X[has]]
    rows.f += [(limit - offset)[has], (limit + offset)[has]]


def stage_one(
    reduction: Reduction,
    edges: Array,
    free: NDArray[np.bool_],
    *,
    paper: bool,
    torque_limit: Array,
    torque_regularization: float = 0.0,
    force_regularization: float = 0.0,
) -> StageResult:
    """The motion: contact impulses of Stage I, which are not unique.

    The contact-consistent form minimises 1/2 |y+ - y_free|^2 + z^T (velocity of the contacts
    without impulses, phi/dt added to the normal one): the convex twin of the complementarity
    problem. The paper's form, Eqs. (75)-(78), minimises 1/2 v+^T M v+, and the normals must open.

    Parameters
    ----------
    reduction : Reduction
    edges, free
        The result of :func:`edges_of`.
    paper : bool
    torque_limit : (n_q) array
        Largest impulses of the motors, N m s; infinite for motors without a limit.
    torque_regularization, force_regularization : float
        Weights of 1/2 |lambda_tau|^2 and 1/2 |z|^2, 1/kg or 1/(kg m^2).
    """
    n, c, _ = edges.shape
    G = _columns(edges, reduction.J_y)
    offset, map_ = reduction.motor_map()
    X = _columns(edges, map_)
    rows = _Rows.empty()
    velocity = reduction.contact_velocity(reduction.y_free)
    velocity[:, 2] += reduction.gap_rate
    linear = np.zeros(n * c)
    rows.X.append(G)
    if paper:
        rows.t.append(-reduction.y_c)
    else:
        rows.t.append(np.zeros(len(G)))
        linear = np.einsum("cki,ci->ck", edges, velocity).ravel()
    if torque_regularization > 0.0:
        rows.X.append(np.sqrt(torque_regularization) * X)
        rows.t.append(np.sqrt(torque_regularization) * offset)
    if force_regularization > 0.0:
        rows.X.append(np.sqrt(force_regularization) * _spread(edges))
        rows.t.append(np.zeros(3 * n))
    # without limits no edge of a cone approaches, and what holds does not slip
    if paper or np.isfinite(torque_limit).any():
        rows.F.append(reduction.J_y[:, 2] @ G)
        rows.f.append(velocity[:, 2])
        if not paper and free.any():
            rows.E.append(reduction.J_y[:, :2].reshape(2 * n, -1) @ G)
            rows.e.append(-velocity[:, :2].ravel())
    _limit_rows(rows, X, offset, torque_limit)
    found, pivots = _solve(rows, linear, np.tile(free, n))
    return _stage_result(edges, found, pivots)


def _stage_result(edges: Array, found: Array | None, pivots: int) -> StageResult:
    n, c, _ = edges.shape
    if found is None:
        return StageResult(None, np.zeros((n, c)), pivots)
    return StageResult(_impulses(edges, found), found.reshape(n, c), pivots)


def _spread(edges: Array) -> Array:
    """Rows (3n, n c) of z itself."""
    n, c, _ = edges.shape
    return np.asarray(np.einsum("cki,cd->dick", edges, np.eye(n)).reshape(3 * n, n * c))


def stage_two(
    reduction: Reduction,
    edges: Array,
    free: NDArray[np.bool_],
    first: StageResult,
    *,
    paper: bool,
    torque_limit: Array,
    force_regularization: float = 0.0,
    smoothing: float = 0.0,
    rank_tolerance: float = 0.0,
) -> StageResult:
    """The forces: the smallest torques among the equally good impulses of Stage I.

    min 1/2 |lambda_tau|^2 with R_b (z' - z) = 0 and z' in the cones. The paper's objective depends
    on R_b z alone, Eq. (104) is vacuous; the contact-consistent one asks besides that edges which
    open have no impulse. Tangential impulses that cancel on the base and that motors feel by less
    than the rank tolerance are left out: no torques determine them.
    """
    n, c, _ = edges.shape
    z = first.z
    assert z is not None
    if not paper:
        velocity = reduction.contact_velocity(reduction.y_free + reduction.base_change(z))
        velocity[:, 2] += reduction.gap_rate
        beyond = max(OPEN * reduction.velocity_scale, smoothing * reduction.free_scale)
        opening = np.einsum("cki,ci->ck", edges, velocity)
        closed = free | (opening <= beyond) | (first.edges > 0.0)
        edges = edges * closed[:, :, None]
    offset = reduction.recover(z)[1] + np.einsum("cij,ci->j", reduction.J_q, z)
    X = _columns(edges, reduction.J_q)
    rows = _Rows.empty()
    rows.X.append(X)
    rows.t.append(offset)
    rows.E.append(_columns(edges, reduction.J_y))
    rows.e.append(reduction.base_change(z))
    if force_regularization > 0.0:
        rows.X.append(np.sqrt(force_regularization) * _spread(edges))
        rows.t.append(np.zeros(3 * n))
    _limit_rows(rows, X, offset, torque_limit)
    hardly_felt = rank_tolerance / WEIGHT
    found, pivots = _solve(rows, np.zeros(n * c), np.tile(free, n), hardly_felt)
    return _stage_result(edges, found, pivots)


def nearest_velocity(
    reduction: Reduction, edges: Array, free: NDArray[np.bool_], rank_tolerance: float = 0.0
) -> Array | None:
    """Joint velocities nearest to v_q* at which impulses exist; None where there are none.

    They exist where some base velocity lets no edge of a cone approach: by Farkas' lemma no
    impulses that cancel on the base then do work. For no-slip contacts it holds the tangents.
    """
    n = len(edges)
    velocity = reduction.contact_velocity(reduction.y_free)
    velocity[:, 2] += reduction.gap_rate
    rows = np.vstack([WEIGHT * _columns(edges, reduction.J_y), _columns(edges, reduction.J_q)]).T
    b = -np.einsum("cki,ci->ck", edges, velocity).ravel()
    # a small margin, so that the result stays feasible after rounding
    b += np.where(np.tile(free, n), 0.0, MARGIN * np.abs(b).max(initial=0.0))
    nearest = nearest_point(
        rows, b, np.zeros(rows.shape[1]), np.tile(free, n), rank_tolerance / WEIGHT
    )
    if nearest.status != DistanceStatus.solved:
        return None
    return reduction.v_q + nearest.x[len(reduction.b) :]

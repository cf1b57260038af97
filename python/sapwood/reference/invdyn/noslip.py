"""No-slip inverse dynamics with complementarity, ID_LCP,inf, on the base's coordinates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .lemke import lemke
from .unactuated import Reduction

Array = NDArray[np.float64]

#: of the largest velocity of a contact, what counts as none
MARGIN = 1e-9


class NoSlip(NamedTuple):
    """The complementarity problem w = Q f_n + r of no-slip contacts."""

    Q: Array
    r: Array
    span: Array
    """Orthonormal basis (n_b, rank) of what tangential impulses can do to the base."""
    y_held: Array
    """Whitened base velocity that holds the tangents, its part in the span."""
    degenerate: bool
    """Whether normal impulses do nothing that tangential ones do not undo: Q = 0."""


def tangents(reduction: Reduction) -> tuple[Array, Array]:
    """Tangential rows (2n, n_b), whitened, and the joints' part of their velocities (2n)."""
    n_b = len(reduction.b)
    rows = reduction.J_y[:, :2].reshape(2 * len(reduction.J), n_b)
    return rows, (reduction.J_q[:, :2] @ reduction.v_q).ravel()


def hold(reduction: Reduction, tolerance: float) -> None:
    """Remove from the tangential rows weakly determined directions: T <- T span span^T.

    Parameters
    ----------
    reduction : Reduction
    tolerance : float
        Singular values, as parts of the largest, that count as none.
    """
    rows, _ = tangents(reduction)
    span = _span(rows, tolerance)
    reduction.J_y[:, :2] = (rows @ span @ span.T).reshape(len(rows) // 2, 2, -1)


def let_go(
    reduction: Reduction, open_: NDArray[np.bool_], z: Array, u: Array, still: float
) -> bool:
    """Free the contacts that open fastest, beyond `still`, without a normal impulse.

    Parameters
    ----------
    reduction : Reduction
        The reduction; the tangential rows of freed contacts become zero.
    open_ : (n) array of bool
        Contacts that were freed before; new ones are added.
    z, u : (n, 3) array
        Impulses and velocities.
    still : float
    """
    opening = np.where(~open_ & (z[:, 2] <= 0.0), u[:, 2], 0.0)
    fastest = opening.max(initial=0.0)
    if fastest <= still:
        return False
    freed = opening >= 0.5 * fastest
    reduction.J_y[freed, :2] = 0.0
    reduction.J_q[freed, :2] = 0.0
    open_ |= freed
    return True


def _span(rows: Array, tolerance: float) -> Array:
    _, s, Vt = np.linalg.svd(rows, full_matrices=False)
    return np.asarray(Vt[s > tolerance * s.max(initial=0.0)].T)


def find_indices(rows: Array, tolerance: float = 1e-8) -> NDArray[np.intp]:
    """Algorithm 1, FIND-INDICES: rows that the ones kept before do not span, in their order."""
    kept: list[int] = []
    basis = np.zeros((0, rows.shape[1]))
    largest = np.linalg.norm(rows, axis=1).max(initial=0.0)
    for i, row in enumerate(rows):
        rest = row - basis.T @ (basis @ row)
        rest -= basis.T @ (basis @ rest)
        if np.linalg.norm(rest) > tolerance * largest:
            kept.append(i)
            basis = np.vstack([basis, rest / np.linalg.norm(rest)])
    return np.array(kept, dtype=np.intp)


def noslip_problem(reduction: Reduction, tolerance: float = 1e-3) -> NoSlip:
    """Eqs. (44), (45) without indices: tangential impulses act in `span`, all others beside it."""
    rows, given = tangents(reduction)
    span = _span(rows, tolerance)
    solved = np.linalg.lstsq(rows @ span, -given, rcond=None)[0] if span.size else np.zeros(0)
    y_held = span @ solved
    beside = np.eye(len(span)) - span @ span.T
    N = reduction.J_y[:, 2]
    NZ = N @ beside
    degenerate = bool(
        N.any() and np.linalg.norm(NZ, axis=1).max() <= tolerance * np.linalg.norm(N, axis=1).max()
    )
    if degenerate:
        NZ = np.zeros_like(NZ)
    r = N @ (y_held + beside @ reduction.y_free) + reduction.J_q[:, 2] @ reduction.v_q
    return NoSlip(NZ @ NZ.T, r + reduction.gap_rate, span, y_held, degenerate)


def solve_noslip(reduction: Reduction, tolerance: float) -> tuple[Array | None, bool, int]:
    """Impulses (n, 3), the tangential ones of least norm; None where the problem has no solution.

    Returns
    -------
    z : (n, 3) array, or None
    degenerate : bool
    pivots : int
    """
    problem = noslip_problem(reduction, tolerance)
    f_n, pivots = lemke(problem.Q, problem.r)
    if f_n is None:
        # rounding puts r beside the range of a singular Q: velocities that count as none help
        f_n, more = lemke(problem.Q, problem.r + MARGIN * reduction.velocity_scale)
        pivots += more
    if f_n is None:
        return None, problem.degenerate, pivots
    z = np.zeros((len(f_n), 3))
    z[:, 2] = f_n
    rows, _ = tangents(reduction)
    missing = problem.y_held - reduction.y_free - reduction.base_change(z)
    along = rows @ problem.span
    if along.size:
        spread = along @ np.linalg.solve(along.T @ along, problem.span.T @ missing)
        z[:, :2] = spread.reshape(-1, 2)
    return z, problem.degenerate, pivots

"""Inverse dynamics with rigid contact, all controllers, in plain NumPy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sapwood.invdyn.options import InvdynOptions
from sapwood.invdyn.result import ContactState, InvdynStatus, InverseDynamicsResult, Residuals

from .coulomb_lcp import directions, solve_coulomb
from .nearest_lcp import solve_nearest
from .noslip import hold, let_go, solve_noslip
from .stages import edges_of, nearest_velocity, stage_one, stage_two
from .unactuated import Reduction, System

Array = NDArray[np.float64]


class _Found:
    """Impulses of a controller, and how they were found."""

    def __init__(
        self, z: Array | None, status: InvdynStatus, pivots: int, is_limited: bool = False
    ) -> None:
        self.z, self.status, self.pivots, self.is_limited = z, status, pivots, is_limited


def solve(
    system: System, options: InvdynOptions, last: Array | None = None
) -> InverseDynamicsResult:
    """Torques and forces of one instant; see :class:`sapwood.invdyn.InverseDynamics`.

    ``last`` are the torques (n_q) of the last call for ``"lcp_nearest"``, 0 without them.
    """
    n, n_q = len(system.J_n), len(system.actuated)
    try:
        reduction = Reduction(system)
    except np.linalg.LinAlgError:
        zero = Residuals(*np.zeros(9))
        return InverseDynamicsResult(
            InvdynStatus.singular, np.zeros(n_q), np.zeros((n, 3)), np.zeros(len(system.v)),
            np.zeros(n_q), np.zeros(n, dtype=np.int8), zero, 0, 0.0, system.dt,
            system.actuated,
        )  # fmt: skip
    if options.noslip:
        hold(reduction, options.rank_tolerance)
    wanted = reduction.v_q
    before = np.zeros(n_q) if last is None else system.dt * last
    found = _impulses(reduction, options, before)
    if found.z is None:
        found = _nearest(reduction, options, found, before)
    z = np.zeros((n, 3)) if found.z is None else found.z
    return _result(reduction, options, z, wanted, found)


def _nearest(reduction: Reduction, options: InvdynOptions, found: _Found, last: Array) -> _Found:
    """Impulses of the nearest joint velocities that have some.

    If these are the same up to round-off, the controller has failed.
    """
    nearest = nearest_velocity(reduction, *_edges(reduction, options), options.rank_tolerance)
    if nearest is None:
        return found
    change = np.abs(nearest - reduction.v_q).max(initial=0.0)
    fastest = np.abs(reduction.v_q).max(initial=0.0)
    moved = bool(change > 1e-6 * fastest + 1e-7 * min(reduction.free_scale, 1.0))
    if moved and options.on_inconsistent == "report":
        return found
    reduction.v_q = nearest
    again = _impulses(reduction, options, last)
    status = again.status
    if again.z is None:
        status = InvdynStatus.ray
    elif moved:
        status = InvdynStatus.inconsistent_accelerations
    return _Found(again.z, status, found.pivots + again.pivots, again.is_limited)


def _edges(reduction: Reduction, options: InvdynOptions) -> tuple[Array, NDArray[np.bool_]]:
    return edges_of(reduction, options.edges, options.noslip)


def _impulses(reduction: Reduction, options: InvdynOptions, last: Array) -> _Found:
    """Impulses of the controller for the joint velocities as they are."""
    if options.controller == "lcp_noslip":
        return _noslip(reduction, options.rank_tolerance)
    if options.controller in ("lcp_coulomb", "lcp_nearest"):
        z, pivots = (
            solve_coulomb(reduction, options.edges)
            if options.controller == "lcp_coulomb"
            else solve_nearest(reduction, options.edges, last)
        )
        status = InvdynStatus.inconsistent_accelerations if z is None else InvdynStatus.solved
        return _Found(z, status, pivots)
    return _stages(reduction, options)


def _noslip(reduction: Reduction, tolerance: float) -> _Found:
    """Contacts that open are freed, the fastest first: held ones may open others."""
    open_ = np.zeros(len(reduction.J), dtype=bool)
    pivots = 0
    while True:
        z, degenerate, more = solve_noslip(reduction, tolerance)
        pivots += more
        if z is None:
            return _Found(None, InvdynStatus.inconsistent_accelerations, pivots)
        u = _velocity(reduction, z)
        if not let_go(reduction, open_, z, u, reduction.allowed_velocity(u)):
            break
        hold(reduction, tolerance)
    if not _holds(reduction, z, slice(2)):
        return _Found(None, InvdynStatus.inconsistent_accelerations, pivots)
    if degenerate or (z[open_, 2] > 0.0).any():
        return _Found(z, InvdynStatus.degenerate_noslip, pivots)
    return _Found(z, InvdynStatus.solved, pivots)


def _velocity(reduction: Reduction, z: Array) -> Array:
    """Velocities (n, 3) of contacts after impulses, with phi/dt in the normal one."""
    u = reduction.contact_velocity(reduction.y_free + reduction.base_change(z))
    u[:, 2] += reduction.gap_rate
    return u


def _holds(reduction: Reduction, z: Array, rows: slice) -> bool:
    """Whether tangents hold, or normals open, after impulses, as far as round-off lets them."""
    u = _velocity(reduction, z)
    wrong = np.abs(u) if rows == slice(2) else -u
    return bool(wrong[:, rows].max(initial=0.0) <= reduction.allowed_velocity(u))


def _stages(reduction: Reduction, options: InvdynOptions) -> _Found:
    """Both stages, with the limits of those motors alone whose torques would pass them.

    Without limits the accelerations are found consistent or not; the limits of other motors would
    change nothing.
    """
    unlimited = np.full(len(reduction.q), np.inf)
    found = _run_stages(reduction, options, unlimited)
    if options.torque_limit is None:
        return found
    limit, counted = options.torque_limit * reduction.system.dt, unlimited
    while found.z is not None:
        passed = (np.abs(reduction.recover(found.z)[1]) > limit) & np.isinf(counted)
        if not passed.any():
            break
        counted = np.where(passed, limit, counted)
        again = _run_stages(reduction, options, counted)
        found = _Found(again.z, again.status, found.pivots + again.pivots, is_limited=True)
    return found


def _run_stages(reduction: Reduction, options: InvdynOptions, limit: Array) -> _Found:
    """Both stages with these limits of the motors' impulses, infinity where none counts."""
    edges, free = _edges(reduction, options)
    is_paper, is_limited = options.stage_one == "paper", bool(np.isfinite(limit).any())
    first = stage_one(
        reduction, edges, free, paper=is_paper, torque_limit=limit,
        torque_regularization=options.torque_regularization if options.one_stage else 0.0,
        force_regularization=options.force_regularization if options.one_stage else 0.0,
    )  # fmt: skip
    if first.z is None:
        return _Found(None, InvdynStatus.inconsistent_accelerations, first.pivots)
    z, pivots = first.z, first.pivots
    if not options.one_stage:
        second = stage_two(
            reduction, edges, free, first, paper=is_paper, torque_limit=limit,
            force_regularization=options.force_regularization, smoothing=options.smoothing,
            rank_tolerance=options.rank_tolerance,
        )  # fmt: skip
        z, pivots = z if second.z is None else second.z, pivots + second.pivots
    if is_paper and not is_limited and not _holds(reduction, z, slice(2, 3)):
        return _Found(None, InvdynStatus.inconsistent_accelerations, pivots)
    return _Found(z, InvdynStatus.solved, pivots)


def _result(
    reduction: Reduction, options: InvdynOptions, z: Array, wanted: Array, found: _Found
) -> InverseDynamicsResult:
    """All that follows from the impulses."""
    system, dt = reduction.system, reduction.system.dt
    v_plus, motors = reduction.recover(z)
    u = reduction.contact_velocity(reduction.y_free + reduction.base_change(z))
    opening = u[:, 2] + reduction.gap_rate
    d = directions(options.edges)
    # facets of the pyramid lie between its edges
    facets = directions(2 * options.edges)[1::2]
    radius = system.mu * np.maximum(z[:, 2], 0.0) * np.cos(np.pi / options.edges)
    beyond = (z[:, :2] @ facets.T - radius[:, None]).max(axis=1, initial=0.0)
    left = np.einsum("ci,ci->c", z[:, :2], u[:, :2]) + system.mu * z[:, 2] * (u[:, :2] @ d.T).max(
        axis=1, initial=0.0
    )
    balance = (
        system.M @ (v_plus - system.v) + dt * system.h - np.einsum("cij,ci->j", reduction.J, z)
    )
    balance[reduction.q] -= motors
    tau, slack = motors / dt, (reduction.v_q - wanted) / dt
    limit = np.inf if options.torque_limit is None else options.torque_limit
    noslip = options.noslip
    residuals = Residuals(
        dynamics=float(np.abs(balance).max(initial=0.0)),
        acceleration=float(np.abs(v_plus[reduction.q] - wanted).max(initial=0.0)),
        penetration=float((-opening).max(initial=0.0)),
        complementarity=float(np.abs(z[:, 2] * opening).max(initial=0.0)),
        tension=max(0.0, -float(z[:, 2].min(initial=0.0))),
        cone=0.0 if noslip else float(beyond.max(initial=0.0)),
        slip=float(np.abs(u[:, :2]).max(initial=0.0)) if noslip else 0.0,
        friction=0.0 if noslip else float(left.max(initial=0.0)),
        torque=float((np.abs(tau) - limit).max(initial=0.0)),
    )
    status = found.status
    if status == InvdynStatus.solved:
        status = _judged(reduction, options, residuals, tau, z, u, found.is_limited)
    return InverseDynamicsResult(
        status,
        tau,
        z / dt,
        v_plus,
        slack,
        _states(reduction, z, u),
        residuals,
        found.pivots,
        0.0,
        dt,
        reduction.system.actuated,
    )


def _judged(
    reduction: Reduction,
    options: InvdynOptions,
    residuals: Residuals,
    tau: Array,
    z: Array,
    u: Array,
    is_limited: bool,
) -> InvdynStatus:
    """Solved, or the fault of the impulses that a controller found."""
    if residuals.torque > 1e-6 * np.abs(tau).max(initial=0.0):
        return InvdynStatus.torque_limited
    allowed = reduction.allowed_velocity(
        u + np.stack([0 * reduction.gap_rate, 0 * reduction.gap_rate, reduction.gap_rate], axis=1)
    )
    is_paper = options.controller == "qp_noslip" and options.stage_one == "paper"
    if max(residuals.penetration, 0.0 if is_paper else residuals.slip) > allowed:
        return InvdynStatus.torque_limited if is_limited else InvdynStatus.inaccurate
    force = np.abs(z).max(initial=0.0)
    if max(residuals.cone, residuals.tension) > 1e-6 * force + reduction.no_impulse:
        return InvdynStatus.inaccurate
    return InvdynStatus.solved


def _states(reduction: Reduction, z: Array, u: Array) -> NDArray[np.int8]:
    """States of contacts: no force below 1e-9 of the largest, no slip below 1e-7 of velocities."""
    force = np.linalg.norm(z, axis=1)
    pushed = force > 1e-9 * force.max(initial=0.0) + reduction.no_impulse
    slips = np.linalg.norm(u[:, :2], axis=1) > 1e-7 * reduction.velocity_scale
    states = np.where(pushed, np.where(slips, ContactState.slip, ContactState.stick), 0)
    return states.astype(np.int8)

"""Inverse dynamics with rigid contact and friction."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core

from .options import Controller, InvdynOptions, OnInconsistent, StageOne
from .result import InvdynStatus, InverseDynamicsResult, Residuals
from .selection import selected

Array = NDArray[np.float64]


class InverseDynamics:
    """Torques that realise desired accelerations of a system in contact, and the contact forces.

    Contact forces and the motion of unactuated bodies (a floating base, an object in a hand) are
    found. One object serves one system through time: if contacts have names
    (``ids``), a call starts from the contacts that pushed, stuck or slid in the last one.

    Parameters
    ----------
    controller : str
        ``"lcp_noslip"``: complementarity, contacts hold or open. ``"lcp_coulomb"``: complementarity
        with Coulomb friction; ``"lcp_nearest"``: its solution nearest to the last torques, for two
        contacts at most. ``"qp_coulomb"``: the convex model, in two stages: the second finds the
        least torques of equal motions. ``"qp_noslip"``: the same with contacts that hold.
        ``"one_stage"``: its first stage alone.
    actuated : array_like
        Velocities with a motor: indices (n_q,), a mask (m,) of bools, or a selection matrix (n_q,
        m). All others are free; there may be none.
    dt : float
        Time step, s.
    edges : int
        Edges of the friction pyramid, even and at least 4.
    stage_one : str
        ``"contact_consistent"``, the convex twin of the complementarity problem, or ``"paper"``.
    torque_limit : array_like, optional
        Largest torques (n_q,), N m; infinity where there is none. For the convex controllers. They
        take time only where torques would pass them.
    torque_regularization, force_regularization : float
        Weights of the squares of motors' and contact impulses in the objective of ``"one_stage"``.
        The latter is also used in Stage II, where it spreads forces that torques leave free.
    smoothing : float
        Part of the velocity that contacts would have without forces, with which an edge of a
        friction cone may open and still carry force in contact-consistent Stage II. 0 keeps
        exactly the motion of the forward step; more keeps torques smooth where feet creep.
    rank_tolerance : float
        Relative rank tolerance of holding contacts. Directions of the free velocities that their
        tangents determine by less than this part of the largest are not held: feet whose heights
        differ by a micrometre do not keep the base from turning. From 0 to less than 1.
    on_inconsistent : str
        ``"nearest"`` solves for the nearest accelerations where the desired ones cannot be had and
        reports ``slack``; ``"report"`` returns no contact forces. The status says so in both.

    Raises
    ------
    ValueError, TypeError
        An argument is wrong; the message names it.

    Examples
    --------
    >>> lift = InverseDynamics("qp_coulomb", actuated=[0], dt=1e-3)
    >>> lift.solve([[2.0]], [19.62], [0.0], [3.0], np.zeros((0, 1)), np.zeros((0, 2, 1)), []).tau
    array([25.62])
    """

    def __init__(
        self,
        controller: Controller = "qp_coulomb",
        *,
        actuated: ArrayLike,
        dt: float,
        edges: int = 4,
        stage_one: StageOne = "contact_consistent",
        torque_limit: ArrayLike | None = None,
        torque_regularization: float = 0.0,
        force_regularization: float = 0.0,
        smoothing: float = 1e-2,
        rank_tolerance: float = 1e-3,
        on_inconsistent: OnInconsistent = "nearest",
    ) -> None:
        self._actuated = selected(actuated)
        self._dt = float(_core.as_float64(dt, "dt", (), "positive"))
        limit = None
        if torque_limit is not None:
            limit = _core.as_float64(torque_limit, "torque_limit", (len(self._actuated),))
            if not (limit > 0.0).all():
                raise ValueError("torque_limit: must be > 0")
        self._options = InvdynOptions(
            controller, edges, stage_one, limit, torque_regularization, force_regularization,
            on_inconsistent, smoothing, rank_tolerance,
        )  # fmt: skip
        self._core = _core.InverseDynamics(
            self._actuated, self._dt, controller, stage_one, edges, on_inconsistent == "nearest",
            limit, torque_regularization, force_regularization, smoothing, rank_tolerance,
        )  # fmt: skip

    @property
    def actuated(self) -> NDArray[np.intp]:
        """Velocities with a motor, in the order of torques and desired accelerations."""
        return self._actuated

    @property
    def dt(self) -> float:
        """Time step, s."""
        return self._dt

    @property
    def options(self) -> InvdynOptions:
        """The options of the controller."""
        return self._options

    def solve(
        self,
        M: ArrayLike,
        h: ArrayLike,
        v: ArrayLike,
        qdd_desired: ArrayLike,
        J_n: ArrayLike,
        J_t: ArrayLike,
        mu: ArrayLike,
        phi: ArrayLike | None = None,
        ids: ArrayLike | None = None,
    ) -> InverseDynamicsResult:
        """Torques and forces of one instant.

        Parameters
        ----------
        M : (m, m) array_like
            Mass matrix.
        h : (m,) array_like
            Bias force: M a + h = S^T tau + J^T f, so Coriolis forces and gravity as MuJoCo's
            ``qfrc_bias``, less all other forces that act.
        v : (m,) array_like
            Velocity.
        qdd_desired : (n_q,) array_like
            Desired accelerations of the actuated velocities.
        J_n : (n, m) array_like
            Jacobian of the contacts' normal velocities, positive where they open.
        J_t : (n, 2, m) array_like
            Jacobian of their tangential velocities, along two directions at right angles.
        mu : (n,) array_like
            Friction coefficients; controllers without slip do not use them.
        phi : (n,) array_like, optional
            Gaps, m, negative where bodies overlap: normal velocities are at least -phi/dt. Without
            them, nothing approaches.
        ids : (n,) array_like of int, optional
            Names of the contacts, by which they are found again in the next call: they may come, go
            and change places. Without names every call begins anew.

        Returns
        -------
        InverseDynamicsResult
            Never NaN, and never silent: its status says where something is amiss.

        Raises
        ------
        ValueError, TypeError
            An argument is wrong; the message names it.
        """
        outcome, tau, forces, v_plus, slack, states, residuals, pivots, added = self._core.solve(
            M, h, v, qdd_desired, J_n, J_t, mu, phi, ids
        )
        return InverseDynamicsResult(
            InvdynStatus(outcome), tau, forces, v_plus, slack, states, Residuals(*residuals),
            pivots, added, self._dt, self._actuated,
        )  # fmt: skip

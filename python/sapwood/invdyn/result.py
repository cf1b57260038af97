"""The result of inverse dynamics."""

from __future__ import annotations

import dataclasses
import enum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sapwood.base.optional import imported_for

if TYPE_CHECKING:
    import mujoco

Array = NDArray[np.float64]


class InvdynStatus(enum.IntEnum):
    """The outcome of inverse dynamics.

    ``solved``; ``inconsistent_accelerations`` (no forces give them), ``degenerate_noslip`` (normal
    forces are not determined), ``torque_limited``; ``ray`` and ``iteration_limit`` of Lemke's
    method, ``singular`` mass matrix, ``inaccurate``, ``non_finite``.
    """

    solved = 0
    """Torques and forces that realise the desired accelerations."""
    inconsistent_accelerations = 1
    """No contact forces give the desired accelerations. With ``on_inconsistent="nearest"`` the
    result is for the nearest possible ones, and ``slack`` is their distance."""
    degenerate_noslip = 2
    """Tangential forces without bound carry all the load: the normal ones are not determined, as on
    tilted ground without slip. Or a contact opens where it is held, and pushes where it is not: it
    pushes without friction."""
    torque_limited = 3
    """The torque limits cannot be held while no contact approaches, nor slips if it has to hold;
    ``residuals`` says by how much torques, normals and tangents miss it."""
    ray = 4
    """Lemke's method ended on a ray though impulses exist: forces are zero."""
    iteration_limit = 5
    """The limit of pivots came first: forces are zero."""
    singular = 6
    """The mass matrix of the unactuated velocities is not positive definite: all is zero."""
    inaccurate = 7
    """A residual is larger than the tolerance."""
    non_finite = 8
    """A number overflowed: all is zero."""

    def __str__(self) -> str:
        return self.name


class ContactState(enum.IntEnum):
    """The state of a contact in the predicted step.

    ``separate`` 0: no force. ``stick`` 1 and ``slip`` 2: force, without and with tangential
    velocity.
    """

    separate = 0
    """No force."""
    stick = 1
    """Force, and no tangential velocity."""
    slip = 2
    """Force and tangential velocity."""

    def __str__(self) -> str:
        return self.name


class Residuals(NamedTuple):
    """The violation of each condition; zero if it holds.

    Examples
    --------
    A weight of 2 kg is lifted with 3 m/s^2 by a motor that is too weak by 0.62 N:

    >>> from sapwood.invdyn import InverseDynamics
    >>> controller = InverseDynamics("qp_coulomb", actuated=[0], dt=1e-3, torque_limit=[25.0])
    >>> result = controller.solve([[2.0]], [2.0 * 9.81], [0.0], [3.0], J_n=np.zeros((0, 1)),
    ...                           J_t=np.zeros((0, 2, 1)), mu=[])
    >>> print(result.status, result.tau, f"{result.residuals.torque:.2f} N")
    torque_limited [25.62] 0.62 N
    """

    dynamics: float
    """Largest |M (v+ - v) + dt h - J^T z - S^T lambda_tau|, N s or N m s."""
    acceleration: float
    """Largest |v_q+ - (v_q + dt qdd_desired)|, rad/s or m/s."""
    penetration: float
    """Largest -(v_n+ + phi/dt), m/s."""
    complementarity: float
    """Largest f_n |v_n+ + phi/dt|, N s times m/s; any value for controllers without normal
    complementarity."""
    tension: float
    """Largest pull of a normal impulse, N s."""
    cone: float
    """Largest impulse beyond the friction pyramid, N s; 0 for no-slip contacts."""
    slip: float
    """Largest tangential velocity of a no-slip contact, m/s; 0 with friction."""
    friction: float
    """Largest dissipation that the friction of a sliding contact lacks, J."""
    torque: float
    """Largest torque beyond its limit, N m."""


@dataclasses.dataclass(frozen=True, eq=False)
class InverseDynamicsResult:
    """Torques, contact forces, and the resulting motion.

    Attributes
    ----------
    status : InvdynStatus
        The outcome. No number here is ever NaN.
    tau : ndarray (n_q,)
        Torques of the motors, N m (N for sliding joints), in the order of the actuated velocities.
    forces : ndarray (n, 3)
        Contact forces, N: along both tangents, then the normal.
    v_plus : ndarray (m,)
        Velocity at the end of the step.
    slack : ndarray (n_q,)
        Change of the desired accelerations, if they were impossible.
    states : ndarray (n,) of int8
        A :class:`ContactState` of each contact.
    residuals : Residuals
    pivots : int
        Pivots of all solvers; active constraints that a stage begins with are none.
    regularization : float
        Term added to the diagonal of a complementarity problem; usually 0.
    dt : float
        Time step, s.
    actuated : ndarray (n_q,)
        Velocities with a motor.

    Examples
    --------
    A base of 10 kg stands on a leg of 1 kg, which a motor holds:

    >>> from sapwood.invdyn import InverseDynamics
    >>> leg = InverseDynamics("qp_coulomb", actuated=[1], dt=1e-3)
    >>> M, bias = [[11.0, 1.0], [1.0, 1.0]], [107.91, 9.81]
    >>> J_n, J_t = [[1.0, 1.0]], np.zeros((1, 2, 2))
    >>> result = leg.solve(M, bias, [0.0, 0.0], [0.0], J_n, J_t, [0.5])
    >>> result.success, result.tau.round(2), result.forces[:, 2].round(2)
    (True, array([-98.1]), array([107.91]))
    """

    status: InvdynStatus
    tau: Array
    forces: Array
    v_plus: Array
    slack: Array
    states: NDArray[np.int8]
    residuals: Residuals
    pivots: int
    regularization: float
    dt: float
    actuated: NDArray[np.intp]

    @property
    def impulses(self) -> Array:
        """Contact impulses (n, 3), N s."""
        return self.forces * self.dt

    @property
    def success(self) -> bool:
        """Whether the desired accelerations are realised by forces that are determined."""
        return self.status == InvdynStatus.solved

    def apply(self, model: mujoco.MjModel, data: mujoco.MjData) -> Array:
        """Write the controls that give the torques, by gain, bias and gear of each actuator.

        Parameters
        ----------
        model : mujoco.MjModel
            Each actuated velocity has one actuator, with a fixed gain.
        data : mujoco.MjData
            Data at the same instant; its ``ctrl`` is written.

        Returns
        -------
        ndarray (n_q,)
            Torques that the actuators give: ``tau``, cut at the model's limits.

        Raises
        ------
        ValueError
            An actuated velocity has no actuator with a fixed gain, or several.
        """
        with imported_for("InverseDynamicsResult.apply", "mujoco"):
            from .motors import Motors
        return Motors(model, self.actuated).write(model, data, self.tau)

    def __repr__(self) -> str:
        counts = ", ".join(f"{int(np.sum(self.states == state))} {state}" for state in ContactState)
        return (
            f"InverseDynamicsResult({self.status}: |tau| = {np.linalg.norm(self.tau):.4g}, "
            f"{len(self.states)} contacts ({counts}), {self.pivots} pivots)"
        )

"""Torques of the joints by the controllers that are compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sapwood.invdyn import InverseDynamics, Pid, SensedForces

Array = NDArray[np.float64]

#: Controllers by the names that figures know: those of `sapwood.invdyn.InverseDynamics`, with
#: ``_paper`` where Stage I is as printed.
CONTROLLERS = (
    "qp_coulomb_paper", "qp_noslip_paper", "one_stage_paper", "qp_coulomb", "lcp_coulomb",
    "lcp_noslip", "sensed_1", "sensed_2", "pid",
)  # fmt: skip

JOINTS = np.arange(6, 18)
#: Feedback of torques without inverse dynamics: N m/rad, N m s/rad, N m/rad per step.
TORQUE_GAINS = (20.0, 0.1, 3e-3)
#: Feedback of accelerations with it: 1/s^2, 1/s, 1/s^2 per step.
ACCELERATION_GAINS = (1e4, 200.0, 1e-2)

# feet that would have to be stopped by more than this do not hold yet, m/s^2: rigid contact stops
# them, by its impulses, before a controller counts on them
_STOP = 30.0
# tangential directions that the feet together determine this little, next to the best, are not held
_RANK = 1e-2


@dataclass
class Contacts:
    """Contacts of feet with the ground.

    Attributes
    ----------
    J_n, J_t : ndarray (n, nv), (n, 2, nv)
        Jacobians along the normal and along two tangents.
    mu, phi : ndarray (n,)
        Friction coefficients, and gaps in m.
    foot : ndarray (n,) of int
        Which foot; -1 for other parts of the robot.
    """

    J_n: Array
    J_t: Array
    mu: Array
    phi: Array
    foot: NDArray[np.int64]

    def speed(self, v: Array) -> Array:
        """Largest component (n,) of each one's velocity, m/s, where the robot moves by v (nv,)."""
        normal, tangential = self.J_n @ v, self.J_t @ v
        return np.asarray(np.maximum(np.abs(normal), np.abs(tangential).max(axis=1)))

    def chosen(self, which: NDArray[np.bool_]) -> Contacts:
        """Some of them."""
        return Contacts(
            self.J_n[which], self.J_t[which], self.mu[which], self.phi[which], self.foot[which]
        )


@dataclass
class Instant:
    """The input of a controller.

    Attributes
    ----------
    M, h, v : ndarray (nv, nv), (nv,), (nv,)
        Mass matrix, bias force, velocity.
    q : ndarray (12,)
        Positions of the joints, rad.
    contacts : Contacts
        Of the feet that should stand, and do.
    q_desired, v_desired, a_desired : ndarray (12,)
        Plan of the joints: rad, rad/s, rad/s^2.
    motion : ndarray (6,)
        Commanded velocity of the base, as the first six of v.
    """

    M: Array
    h: Array
    v: Array
    q: Array
    contacts: Contacts
    q_desired: Array
    v_desired: Array
    a_desired: Array
    motion: Array


class Torques(NamedTuple):
    """Torques of the joints, N m; normal force of each contact as predicted, N; whether solved."""

    tau: Array
    normal: Array | None
    solved: bool


class JointController(Protocol):
    """Torques from one instant to the next."""

    def torques(self, instant: Instant) -> Torques:
        """Torques of one instant."""
        ...

    def measure(self, J: Array, forces: Array) -> None:
        """Contacts (n, 3, nv) and forces (n, 3) of the step that followed: tangents, normal."""
        ...


def controller(name: str, dt: float, horizon: float) -> JointController:
    """One of `CONTROLLERS`.

    Parameters
    ----------
    name
        Which one.
    dt
        Time from one call to the next, s.
    horizon
        Time in which predicted contacts stop what approaches, s: the time step on rigid ground.
        Ground that gives way cannot stop a foot within a millisecond, and torques that count on it
        push the foot in.
    """
    if name == "pid":
        return _Feedback()
    if name.startswith("sensed"):
        return _Sensed(dt, int(name[-1]))
    return _Predicted(name, horizon)


class _Feedback:
    """PID on torques."""

    def __init__(self) -> None:
        self._pid = Pid(*TORQUE_GAINS)

    def torques(self, instant: Instant) -> Torques:
        tau = self._pid.step(instant.q, instant.v[JOINTS], instant.q_desired, instant.v_desired)
        return Torques(tau, None, True)

    def measure(self, J: Array, forces: Array) -> None:
        pass


class _Accelerations:
    """The plan's accelerations and PID on them."""

    def __init__(self) -> None:
        self._pid = Pid(*ACCELERATION_GAINS)

    def desired(self, instant: Instant) -> Array:
        return instant.a_desired + self._pid.step(
            instant.q, instant.v[JOINTS], instant.q_desired, instant.v_desired
        )


class _Sensed(_Accelerations):
    """Inverse dynamics with measured forces that are late."""

    def __init__(self, dt: float, delay: int) -> None:
        super().__init__()
        self._sensed = SensedForces(actuated=JOINTS, dt=dt, delay=delay)

    def torques(self, instant: Instant) -> Torques:
        tau = self._sensed.solve(instant.M, instant.h, instant.v, self.desired(instant))
        return Torques(tau, None, True)

    def measure(self, J: Array, forces: Array) -> None:
        self._sensed.measure(J[:, 2], J[:, :2], forces)


class _Predicted(_Accelerations):
    """Inverse dynamics that predicts contact forces."""

    def __init__(self, name: str, horizon: float) -> None:
        super().__init__()
        self._horizon = horizon
        kind = name.removesuffix("_paper")
        self._noslip = kind.endswith("noslip")
        # as in the original, principal pivoting alone begins where it ended: what Stage I finds of
        # many forces, and so its chatter, depends on where it begins
        self._begins_anew = kind != "lcp_noslip"
        # Stage I as printed minimises kinetic energy: of the motion beside the commanded one, or
        # the robot would brake itself
        self._relative = name.endswith("_paper")
        stage = "paper" if self._relative else "contact_consistent"
        self._dynamics = InverseDynamics(
            kind, actuated=JOINTS, dt=horizon, stage_one=stage,  # type: ignore[arg-type]
            rank_tolerance=_RANK,
        )  # fmt: skip

    def torques(self, instant: Instant) -> Torques:
        contacts = instant.contacts
        holds = np.ones(len(contacts.foot), dtype=bool)
        if self._noslip:
            holds = contacts.speed(instant.v) < _STOP * self._horizon
            contacts = contacts.chosen(holds)
        v = instant.v.copy()
        if self._relative:
            v[:6] -= instant.motion
        result = self._dynamics.solve(
            instant.M, instant.h, v, self.desired(instant), contacts.J_n, contacts.J_t, contacts.mu,
            None, None if self._begins_anew else contacts.foot,
        )  # fmt: skip
        normal = np.zeros(len(holds))
        normal[holds] = result.forces[:, 2]
        return Torques(result.tau, normal, result.success)

    def measure(self, J: Array, forces: Array) -> None:
        pass

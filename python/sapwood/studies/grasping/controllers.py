"""The torques that the compared controllers add to the feedback of the joints."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sapwood.invdyn import InverseDynamics, SensedForces
from sapwood.studies.grasping.scene import N_JOINTS

Array = NDArray[np.float64]

#: Controllers by the names that figures know: those of `sapwood.invdyn.InverseDynamics`, with
#: ``_paper`` where Stage I is as printed; ``blind`` is inverse dynamics that knows of no contact.
CONTROLLERS = (
    "qp_coulomb", "qp_coulomb_paper", "qp_noslip", "one_stage", "lcp_coulomb", "lcp_noslip",
    "sensed_1", "sensed_2", "blind", "pid",
)  # fmt: skip

_JOINTS = np.arange(N_JOINTS)


@dataclass
class Instant:
    """The input of a controller.

    Attributes
    ----------
    M, h, v : ndarray (nv, nv), (nv,), (nv,)
        Mass matrix, bias force, velocity.
    J_n, J_t, mu, ids : ndarray (n, nv), (n, 2, nv), (n,), (n,)
        Contacts, as for `sapwood.invdyn.InverseDynamics.solve`.
    """

    M: Array
    h: Array
    v: Array
    J_n: Array
    J_t: Array
    mu: Array
    ids: NDArray[np.int64]


class Ahead(NamedTuple):
    """Torques (N_JOINTS,), N m; predicted sum of the normal forces, N; slack, rad/s^2; solved."""

    tau: Array
    normal: float = math.nan
    slack: float = 0.0
    solved: bool = True


class Feedforward(Protocol):
    """Torques that go with desired accelerations."""

    def torques(self, instant: Instant, acceleration: Array, /) -> Ahead:
        """Torques of one instant."""
        ...

    def measure(self, J: Array, forces: Array) -> None:
        """Contacts (n, 3, nv) and forces (n, 3) of the step that followed: tangents, normal."""
        ...


def feedforward(name: str, dt: float) -> Feedforward:
    """One of `CONTROLLERS`, for time steps of dt seconds."""
    if name == "pid":
        return _Nothing()
    if name == "blind":
        return _Blind(dt, 1)
    if name.startswith("sensed"):
        return _Sensed(dt, int(name[-1]))
    return _Predicted(name, dt)


class _Nothing:
    """Feedback is all."""

    def torques(self, _instant: Instant, _acceleration: Array, /) -> Ahead:
        return Ahead(np.zeros(N_JOINTS))

    def measure(self, J: Array, forces: Array) -> None:
        pass


class _Sensed:
    """Inverse dynamics with measured forces that are late."""

    def __init__(self, dt: float, delay: int) -> None:
        self._dynamics = SensedForces(actuated=_JOINTS, dt=dt, delay=delay)

    def torques(self, instant: Instant, acceleration: Array) -> Ahead:
        return Ahead(self._dynamics.solve(instant.M, instant.h, instant.v, acceleration))

    def measure(self, J: Array, forces: Array) -> None:
        self._dynamics.measure(J[:, 2], J[:, :2], forces)


class _Blind(_Sensed):
    """The same, which nobody tells of any force."""

    def measure(self, J: Array, forces: Array) -> None:
        pass


class _Predicted:
    """Inverse dynamics that predicts contact forces."""

    def __init__(self, name: str, dt: float) -> None:
        printed = name.endswith("_paper")
        # principal pivoting alone begins where it ended, as in the original
        self._begins_anew = name != "lcp_noslip"
        self._dynamics = InverseDynamics(
            name.removesuffix("_paper"),  # type: ignore[arg-type]
            actuated=_JOINTS,
            dt=dt,
            stage_one="paper" if printed else "contact_consistent",
        )

    def torques(self, instant: Instant, acceleration: Array) -> Ahead:
        result = self._dynamics.solve(
            instant.M, instant.h, instant.v, acceleration, instant.J_n, instant.J_t, instant.mu,
            None, None if self._begins_anew else instant.ids,
        )  # fmt: skip
        slack = float(np.abs(result.slack).max(initial=0.0))
        return Ahead(result.tau, float(result.forces[:, 2].sum()), slack, result.success)

    def measure(self, J: Array, forces: Array) -> None:
        pass

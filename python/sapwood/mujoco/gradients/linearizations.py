"""Derivatives of steps, and how near a kink the steps are."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sapwood.base.equality import compared_by_value

_Float = NDArray[np.float64]

Status = Literal["ok", "near_kink", "held_rotation", "limited_rebound"]

NO_DERIVATIVES = (
    "an impact rebounds less than by its restitution, so that it gains no energy: such a step has "
    "no derivatives"
)
"""The error of a step with status ``limited_rebound``."""


@compared_by_value
class Linearization(NamedTuple):
    """The derivative of a step, see :func:`linearize`.

    With x = (dq, v, act), where dq (nv,) are small motions of the positions in the coordinates of
    the velocities, the step has dx' = A dx + B du. The order of rows and columns is that of
    ``mujoco.mjd_transitionFD``.
    """

    A: _Float
    """Derivative of the next state by the state (2 nv + na, 2 nv + na)."""
    B: _Float
    """Derivative of the next state by the controls (2 nv + na, nu)."""
    C: _Float | None
    """Derivative of the sensors of the step by the state (n_sensors, 2 nv + na), if asked for."""
    D: _Float | None
    """Derivative of the sensors of the step by the controls (n_sensors, nu), if asked for."""
    P: _Float | None
    """Derivative of the next state by the `parameters` (2 nv + na, n_parameters), if given."""
    v: _Float
    """Velocity after the step (nv,)."""
    distance: float
    """Least change of velocity, m/s or rad/s, by which a contact or a row of joints, tendons or
    actuators comes to another region of its law; infinite where none has another one."""
    contacts: int
    """Number of contacts with an impulse."""
    status: Status
    """``near_kink``: a contact or a limit is so close to another region of its law, or to a gap of
    0, that the differences may cross the boundary, or a contact that the engine finds by an
    iteration jumps within them. Then the derivative may be that of neither side.
    ``held_rotation``: trees in equality constraints turn by more than 0.01 rad in the step, which
    takes their bias forces at its middle, by the velocity of a first solve; the derivative takes
    the change of these forces as constant. ``limited_rebound``: an impact rebounds less than by its
    restitution, so that it gains no energy; the derivative is that of the full rebound, which is
    not the step's."""


@compared_by_value
class Linearizations(NamedTuple):
    """Derivatives of n steps, each as a :class:`Linearization`."""

    A: _Float
    """(n, 2 nv + na, 2 nv + na)."""
    B: _Float
    """(n, 2 nv + na, nu)."""
    C: _Float | None
    """(n, n_sensors, 2 nv + na), if asked for."""
    D: _Float | None
    """(n, n_sensors, nu), if asked for."""
    q: _Float
    """Positions after the steps (n, nq)."""
    v: _Float
    """Velocities after the steps (n, nv)."""
    act: _Float
    """Activations after the steps (n, na)."""
    distance: _Float
    """(n,), m/s."""
    contacts: NDArray[np.int32]
    """(n,)."""
    near_kink: NDArray[np.bool_]
    """Steps with this status (n,)."""
    limited_rebound: NDArray[np.bool_]
    """Steps with this status (n,)."""
    held_rotation: NDArray[np.bool_]
    """Steps with this status, unless they have another one (n,)."""

    def status(self, i: int) -> Status:
        """Return the status of step i."""
        if self.limited_rebound[i]:
            return "limited_rebound"
        if self.near_kink[i]:
            return "near_kink"
        return "held_rotation" if self.held_rotation[i] else "ok"


class Tangents(NamedTuple):
    """Steps with their derivatives by numbers of the model."""

    q: _Float
    """Positions after each step (steps, nq)."""
    v: _Float
    """Velocities after each step (steps, nv)."""
    x: _Float
    """Derivatives of (dq, v, act) after each step (steps, n_parameters, 2 nv + na)."""
    sensors: _Float | None
    """Sensors of each step (steps, n_sensors)."""
    dy: _Float | None
    """Derivatives of the sensors (steps, n_parameters, n_sensors)."""
    near_kink: NDArray[np.bool_]
    """Steps with this ``Linearization.status`` (steps,)."""
    limited_rebound: NDArray[np.bool_]
    """Steps with this ``Linearization.status`` (steps,)."""
    held_rotation: NDArray[np.bool_]
    """Steps with this ``Linearization.status``, unless they have another one (steps,)."""

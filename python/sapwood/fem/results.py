"""Results of a step of soft bodies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sapwood.base.equality import compared_by_value
from sapwood.solution import Solution

from .contacts import SoftContacts

_Float = NDArray[np.float64]


@compared_by_value
@dataclass(frozen=True, eq=False)
class Touch:
    """Contacts of one soft body with one other body, in a step.

    Of two soft bodies `body` is the one that was listed first; the other feels minus the forces.

    Attributes
    ----------
    body, other : str
        Names of the bodies.
    contacts : SoftContacts
        The contacts.
    forces : ndarray (n, 3)
        Their forces on the soft body, in the world, N.
    """

    body: str
    other: str
    contacts: SoftContacts
    forces: _Float

    @property
    def force(self) -> _Float:
        """Sum of the forces (3,), N."""
        total: _Float = self.forces.sum(axis=0)
        return total


@compared_by_value
@dataclass(frozen=True, eq=False)
class Reaction:
    """The load of one attachment of a soft body, in a step.

    Attributes
    ----------
    body, other : str
        Names of the soft body and of the body that holds it.
    vertices : ndarray of int (n,)
        The attached vertices.
    forces : ndarray (n, 3)
        Forces on these vertices, in the world, N; minus these act on the other body.
    positions : ndarray (n, 3)
        Where they act, m.
    """

    body: str
    other: str
    vertices: NDArray[np.int32]
    forces: _Float
    positions: _Float

    @property
    def force(self) -> _Float:
        """Sum of the forces on the soft body (3,), N."""
        total: _Float = self.forces.sum(axis=0)
        return total

    @property
    def torque(self) -> _Float:
        """Their torque about the origin of the world (3,), N m."""
        total: _Float = np.cross(self.positions, self.forces).sum(axis=0)
        return total


@compared_by_value
@dataclass(frozen=True, eq=False)
class SoftStepResult:
    """The outcome of a step.

    Attributes
    ----------
    status : {"converged", "nonlinear_limit"}
        Whether the residual came below the tolerance within the passes allowed.
    passes : int
        Convex problems that were solved.
    residual : float
        abs(m(v) - J^T gamma)/max(abs(J^T gamma), abs(M g dt)) of the equations of motion, or over
        abs(M v0) where there is neither contact nor weight.
    touches : tuple of Touch
        Contacts and their forces.
    reactions : tuple of Reaction
        Loads of the attachments.
    turned_over : int
        Tetrahedra with det F <= 0 at the last evaluation.
    solution : Solution
        The last convex problem, over rigid trees and the touched vertices; its bound is on that
        problem, and `residual` tells the rest.
    """

    status: Literal["converged", "nonlinear_limit"]
    passes: int
    residual: float
    touches: tuple[Touch, ...]
    reactions: tuple[Reaction, ...]
    turned_over: int
    solution: Solution

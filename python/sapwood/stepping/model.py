"""The interface of models for the theta-method."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sapwood.base.blocks import split_contacts
from sapwood.base.equality import compared_by_value
from sapwood.constraints.group import ConstraintGroup

_Float = NDArray[np.float64]
_Index = NDArray[np.int32]


@compared_by_value
class Dynamics(NamedTuple):
    """The terms of the momentum balance at one position and velocity, Eqs. (9) to (13)."""

    M: _Float
    """Mass matrix (nv, nv), symmetric positive definite."""
    F1: _Float
    """Forces whose slopes are K and D: springs, dampers (nv,), N or N m."""
    F2: _Float
    """All other forces: gravity, gyroscopic ones, ... (nv,), N or N m."""
    K: _Float
    """-dF1/dq N, symmetric positive semidefinite (nv, nv), N/m or N m/rad."""
    D: _Float
    """-dF1/dv, symmetric positive semidefinite (nv, nv), N s/m or N m s/rad."""


@dataclasses.dataclass(frozen=True, eq=False)
class Contacts:
    """The contacts at one position, with trees and blocks as in :class:`sapwood.ContactProblem`.

    Constraints of other kinds may come with them, such as :class:`sapwood.JointLimits`, with
    distances and other constraint functions at the same position.

    Attributes
    ----------
    tree_a, tree_b : ndarray of int (n,)
        First tree, and second tree or -1.
    J : ndarray
        Blocks of the Jacobian, flat, rows (t1, t2, n).
    phi : ndarray (n,)
        Signed distance at this position, m; negative where the bodies overlap.
    k, tau_d, mu : ndarray (n,)
        Stiffness, N/m, dissipation time, s, and friction coefficient.
    v_hat_t : ndarray (n, 2), optional
        Velocity of moving surfaces, m/s.
    constraints : sequence of ConstraintGroup
        Constraints of other kinds, with blocks of J by trees or a matrix over all velocities.
    spin_contact : ndarray of int (n_spins,), optional
        Contacts with torsional and rolling friction, see :class:`sapwood.ContactProblem`.
    spin_J : ndarray, optional
        Their blocks of the Jacobian, flat, rows about (n, t1, t2), rad/s.
    spin_mu : ndarray (n_spins, 3), optional
        Their lengths mu_k, m.
    """

    tree_a: _Index
    tree_b: _Index
    J: _Float
    phi: _Float
    k: _Float
    tau_d: _Float
    mu: _Float
    v_hat_t: _Float | None = None
    constraints: Sequence[ConstraintGroup] = ()
    spin_contact: _Index | None = None
    spin_J: _Float | None = None
    spin_mu: _Float | None = None

    @classmethod
    def from_dense(
        cls,
        J: _Float,
        tree_nv: _Index,
        phi: _Float,
        k: _Float,
        tau_d: _Float,
        mu: _Float,
        v_hat_t: _Float | None = None,
        constraints: Sequence[ConstraintGroup] = (),
        spin_contact: _Index | None = None,
        spin_J: _Float | None = None,
        spin_mu: _Float | None = None,
    ) -> Contacts:
        """Make contacts from a dense Jacobian.

        Parameters
        ----------
        J : ndarray (3 n, nv)
            Contact Jacobian, three rows (t1, t2, n) per contact.
        tree_nv : ndarray of int (n_trees,)
            Velocities of each tree of the model.
        phi, k, tau_d, mu, v_hat_t, constraints, spin_contact, spin_mu
            The same as for the class.
        spin_J : ndarray (3 n_spins, nv), optional
            Three rows about (n, t1, t2) per contact of `spin_contact`.

        Returns
        -------
        Contacts
            The same in tree form.

        Raises
        ------
        ValueError
            If a contact touches more than two trees, or `spin_contact` names no contact.
        """
        tree_a, tree_b, flat, turning = split_contacts(J, tree_nv, spin_contact, spin_J)
        return cls(
            tree_a, tree_b, flat, phi, k, tau_d, mu, v_hat_t, constraints,
            spin_contact, turning, spin_mu,
        )  # fmt: skip


@runtime_checkable
class FreeModel(Protocol):
    """A mechanical system without contact, in positions q (nq,) and velocities v (nv,), Eq. (1).

    Examples
    --------
    A mass of 2 kg that is let go on a spring of 50 N/m, 0.1 s later by the midpoint rule, which has
    -omega^2 dt/(1 + omega^2 dt^2/4):

    >>> from sapwood.stepping import SCHEMES, free_motion
    >>> class Oscillator:
    ...     def dynamics(self, q, v):
    ...         M, K = np.array([[2.0]]), np.array([[50.0]])
    ...         return Dynamics(M, F1=-K @ q, F2=np.zeros(1), K=K, D=np.zeros((1, 1)))
    ...
    ...     def integrate(self, q, v, dt):
    ...         return q + dt * v
    >>> isinstance(Oscillator(), FreeModel)
    True
    >>> free_motion(Oscillator(), SCHEMES["midpoint"], 0.1, np.ones(1), np.zeros(1)).v.round(6)
    array([-2.352941])
    """

    def dynamics(self, q: _Float, v: _Float, /) -> Dynamics:
        """Mass matrix, forces and their slopes.

        Parameters
        ----------
        q : ndarray (nq,)
            Positions; not to be changed.
        v : ndarray (nv,)
            Velocities; not to be changed.

        Returns
        -------
        Dynamics
            The terms of the momentum balance.
        """

    def integrate(self, q: _Float, v: _Float, dt: float, /) -> _Float:
        """Positions after a time dt at constant velocity, Eq. (8), on the manifold of q.

        Parameters
        ----------
        q : ndarray (nq,)
            Positions; not to be changed.
        v : ndarray (nv,)
            Velocities; not to be changed.
        dt : float
            Time, s.

        Returns
        -------
        ndarray (nq,)
            q + dt N v, and for rotations the exponential map.
        """


@runtime_checkable
class Model(FreeModel, Protocol):
    """A mechanical system with contact.

    Attributes
    ----------
    nq : int
        Length of q.
    tree_nv : ndarray of int (n_trees,)
        Velocities of each kinematic tree; M is zero between different trees.

    Examples
    --------
    A drop of 1 g falls onto soft ground and comes to rest:

    >>> from sapwood.stepping import State, ThetaStepper
    >>> class Drop:
    ...     nq = 3
    ...     tree_nv = np.array([3], np.int32)
    ...
    ...     def dynamics(self, q, v):
    ...         weight, none = np.array([0.0, 0.0, -9.81e-3]), np.zeros((3, 3))
    ...         return Dynamics(1e-3 * np.eye(3), np.zeros(3), weight, K=none, D=none)
    ...
    ...     def integrate(self, q, v, dt):
    ...         return q + dt * v
    ...
    ...     def contacts(self, q):
    ...         values = np.array([10.0]), np.array([0.01]), np.array([0.5])
    ...         return Contacts.from_dense(np.eye(3), self.tree_nv, q[2:], *values)
    >>> isinstance(Drop(), Model)
    True
    >>> stepper, state = ThetaStepper(Drop(), 0.01), State(np.array([0.0, 0.0, 0.1]), np.zeros(3))
    >>> for _ in range(100):
    ...     state = stepper.step(state)
    >>> print(f"{-1e3 * state.q[2]:.3f} mm deep, m g/k")
    0.981 mm deep, m g/k
    """

    @property
    def nq(self) -> int:
        """Length of q."""

    @property
    def tree_nv(self) -> _Index:
        """Velocities of each tree (n_trees,)."""

    def contacts(self, q: _Float, /) -> Contacts:
        """Contacts that act, or may act within a step.

        Parameters
        ----------
        q : ndarray (nq,)
            Positions; not to be changed.

        Returns
        -------
        Contacts
            May be of length 0.
        """

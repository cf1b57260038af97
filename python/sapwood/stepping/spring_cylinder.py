"""The spring-cylinder of section X-B, Fig. 4: a planar model with contact."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.base.checks import integer
from sapwood.stepping.model import Contacts, Dynamics
from sapwood.stepping.theta import State

_Float = NDArray[np.float64]


class SpringCylinder:
    """A solid cylinder on the ground, held by a horizontal spring at its centre.

    q = (x, z, angle): position of the centre along the ground from where the spring rests and above
    the ground, m, and rotation about the axis, rad; v = dq/dt. The cylinder rolls to positive x
    with a positive angular velocity. The defaults are the paper's numbers.

    Parameters
    ----------
    m, R : float
        Mass, kg, and radius, m, of the cylinder; its moment of inertia is I_o = m R^2/2.
    k_s : float
        Stiffness of the spring, N/m.
    k, tau_d, mu : float
        Stiffness of the ground under all contact points together, N/m, dissipation time, s, and
        friction coefficient.
    n_contacts : int
        Contact points on the line where the cylinder touches the ground, each with an equal share
        of the stiffness. In the plane they all do the same; but the tangential regularization R_t
        = sigma w of Eq. (22) is that of a point, so that n points slip n times less under the same
        force.
    g : float
        Gravity, m/s^2.

    Raises
    ------
    TypeError, ValueError
        For a wrong parameter; the message names it.
    """

    def __init__(
        self,
        *,
        m: float = 0.5,
        R: float = 0.05,
        k_s: float = 100.0,
        k: float = 1e4,
        tau_d: float = 0.02,
        mu: float = 1.0,
        n_contacts: int = 1,
        g: float = 9.81,
    ) -> None:
        self.m = float(_core.as_float64(m, "m", (), "positive"))
        self.R = float(_core.as_float64(R, "R", (), "positive"))
        self.k_s = float(_core.as_float64(k_s, "k_s", (), "positive"))
        self.k = float(_core.as_float64(k, "k", (), "positive"))
        self.g = float(_core.as_float64(g, "g", (), "non-negative"))
        self.n_contacts = n = integer(n_contacts, "n_contacts", least=1)
        self.I_o = 0.5 * self.m * self.R**2
        self._M = np.diag([self.m, self.m, self.I_o])
        self._F2 = np.array([0.0, -self.m * self.g, 0.0])
        self._K, self._D = np.diag([self.k_s, 0.0, 0.0]), np.zeros((3, 3))
        # rows (t1, t2, n) of a point below the centre; nothing moves out of the plane
        rows = [[1.0, 0.0, -self.R], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
        self._on_ground = Contacts(
            tree_a=np.zeros(n, np.int32),
            tree_b=np.full(n, -1, np.int32),
            J=np.tile(np.ravel(rows), n),
            phi=np.zeros(n),
            k=np.full(n, self.k / n),
            tau_d=np.full(n, float(_core.as_float64(tau_d, "tau_d", (), "non-negative"))),
            mu=np.full(n, float(_core.as_float64(mu, "mu", (), "non-negative"))),
        )
        self._tree_nv = np.array([3], np.int32)

    # ---- as sapwood.stepping.Model says ---------------------------------------------------------

    @property
    def nq(self) -> int:
        """3: x, z and the angle."""
        return 3

    @property
    def tree_nv(self) -> NDArray[np.int32]:
        """One tree of 3 velocities."""
        return self._tree_nv

    def dynamics(self, q: _Float, _v: _Float, /) -> Dynamics:
        """Spring (F1) and gravity (F2).

        Parameters
        ----------
        q : ndarray (3,)
            Position; no force depends on the velocity.

        Returns
        -------
        Dynamics
            The terms of the momentum balance.
        """
        return Dynamics(self._M, np.array([-self.k_s * q[0], 0.0, 0.0]), self._F2, self._K, self._D)

    def integrate(self, q: _Float, v: _Float, dt: float, /) -> _Float:
        """q + dt v, Eq. (8) with N = 1.

        Parameters
        ----------
        q, v : ndarray (3,)
            Position and velocity.
        dt : float
            Time, s.

        Returns
        -------
        ndarray (3,)
            Position after the time.
        """
        return q + dt * v

    def contacts(self, q: _Float, /) -> Contacts:
        """The points on the ground, also while there is a gap.

        Parameters
        ----------
        q : ndarray (3,)
            Position.

        Returns
        -------
        Contacts
            `n_contacts` of them, at signed distance z - R.
        """
        return dataclasses.replace(self._on_ground, phi=np.full(self.n_contacts, q[1] - self.R))

    # ---- what is known of it --------------------------------------------------------------------

    def start(self, x: float = 0.1) -> State:
        """At rest on the ground, which its weight compresses by m g/k, with the spring extended.

        Parameters
        ----------
        x : float
            Extension of the spring, m.

        Returns
        -------
        State
            At time 0.
        """
        return State(np.array([x, self.R - self.m * self.g / self.k, 0.0]), np.zeros(3), 0.0)

    def energy(self, q: _Float, v: _Float) -> float:
        """Total mechanical energy, of motion, spring, weight and ground.

        Parameters
        ----------
        q, v : ndarray (3,)
            Position and velocity.

        Returns
        -------
        float
            In J; 0 at rest on the ground with the spring at rest.
        """
        # weight and ground together, from where they balance
        depth, rest = max(self.R - q[1], 0.0), self.m * self.g / self.k
        weight = self.m * self.g * (q[1] - self.R + rest)
        ground = 0.5 * self.k * (depth - rest) * (depth + rest)
        return float(0.5 * v @ self._M @ v + 0.5 * self.k_s * q[0] ** 2 + weight + ground)

    def angular_frequency(self, *, rolling: bool) -> float:
        """Of the oscillation: sqrt(k_s/m_eff), m_eff = m, or m + I_o/R^2 where it rolls.

        Parameters
        ----------
        rolling : bool
            Whether friction makes it roll.

        Returns
        -------
        float
            In rad/s.
        """
        return math.sqrt(self.k_s / (self.m + (self.I_o / self.R**2 if rolling else 0.0)))

    def __repr__(self) -> str:
        mu = float(self._on_ground.mu[0])
        return f"SpringCylinder(mu={mu:g}, n_contacts={self.n_contacts})"

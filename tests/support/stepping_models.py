"""Models for the tests of time stepping, with what is known of their motion."""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import ellipj, ellipk

from sapwood.stepping import Contacts, Dynamics, State, integrate_quaternion

EULER = ("explicit_euler", "symplectic_euler", "implicit_euler")
ORDERS = {**dict.fromkeys(EULER, 1.0), "midpoint": 2.0}


def no_contacts():
    empty, index = np.zeros(0), np.zeros(0, np.int32)
    return Contacts(index, index, empty, empty, empty, empty, empty)


class Flat:
    """A model whose positions are a vector space, without contacts."""

    def __init__(self, n):
        self.nq, self.tree_nv = n, np.array([n], np.int32)

    def integrate(self, q, v, dt):
        return q + dt * v

    def contacts(self, _q):
        return no_contacts()


class Oscillator(Flat):
    """m x'' = -k x - d x'."""

    def __init__(self, m=2.0, k=50.0, d=0.0):
        super().__init__(1)
        self.m, self.k, self.d = m, k, d

    def dynamics(self, q, v):
        return Dynamics(
            np.array([[self.m]]), -self.k * q - self.d * v, np.zeros(1),
            np.array([[self.k]]), np.array([[self.d]]),
        )  # fmt: skip

    def energy(self, state):
        return float(0.5 * self.m * state.v @ state.v + 0.5 * self.k * state.q @ state.q)

    def start(self):
        return State(np.array([0.3]), np.zeros(1))

    def exact(self, t):
        """Position, underdamped."""
        decay = self.d / (2 * self.m)
        omega = np.sqrt(self.k / self.m - decay**2)
        swing = np.cos(omega * t) + decay / omega * np.sin(omega * t)
        return np.array([0.3 * np.exp(-decay * t) * swing])


class Pendulum(Flat):
    """phi'' = -(g/l) sin phi, gravity as a force of the second kind."""

    def __init__(self, l=0.7, m=1.3, g=9.81, amplitude=2.0):  # noqa: E741
        super().__init__(1)
        self.l, self.m, self.g, self.amplitude = l, m, g, amplitude

    def dynamics(self, q, _v):
        zero = np.zeros((1, 1))
        gravity = -self.m * self.g * self.l * np.sin(q)
        return Dynamics(np.array([[self.m * self.l**2]]), np.zeros(1), gravity, zero, zero)

    def energy(self, state):
        height = self.l * (1 - np.cos(state.q[0]))
        return float(0.5 * self.m * (self.l * state.v[0]) ** 2 + self.m * self.g * height)

    def start(self):
        return State(np.array([self.amplitude]), np.zeros(1))

    def exact(self, t):
        """By Jacobi's elliptic functions: sin(phi/2) = k cd(omega t)."""
        k2 = np.sin(self.amplitude / 2) ** 2
        sn, _, _, _ = ellipj(np.sqrt(self.g / self.l) * t + ellipk(k2), k2)
        return np.array([2 * np.arcsin(np.sqrt(k2) * sn)])


class DoublePendulum(Flat):
    """Two point masses on rods, absolute angles, with spring and damper between the rods."""

    def __init__(self, k=5.0, d=0.3):
        super().__init__(2)
        self.g, self.k, self.d = 9.81, k, d
        self.coupling = np.array([[1.0, -1.0], [-1.0, 1.0]])

    def dynamics(self, q, v):
        # unit masses and lengths
        c, s = np.cos(q[0] - q[1]), np.sin(q[0] - q[1])
        M = np.array([[2.0, c], [c, 1.0]])
        coriolis = np.array([-s * v[1] ** 2, s * v[0] ** 2])
        gravity = -self.g * np.array([2.0, 1.0]) * np.sin(q)
        F1 = -self.coupling @ (self.k * q + self.d * v)
        return Dynamics(M, F1, coriolis + gravity, self.k * self.coupling, self.d * self.coupling)

    def start(self):
        return State(np.array([1.0, 0.4]), np.array([0.5, -1.0]))

    def exact(self, t):
        """By an independent integrator."""

        def rate(_, y):
            dynamics = self.dynamics(y[:2], y[2:])
            return np.concatenate([y[2:], np.linalg.solve(dynamics.M, dynamics.F1 + dynamics.F2)])

        start = self.start()
        y = np.concatenate([start.q, start.v])
        return solve_ivp(rate, (0, t), y, "DOP853", rtol=1e-12, atol=1e-12).y[:2, -1]


class Top:
    """A free symmetric top: q is a quaternion, v the angular velocity in the frame of the body."""

    nq, tree_nv = 4, np.array([3], np.int32)

    def __init__(self):
        self.inertia = np.array([1.0, 1.0, 1.8])

    def dynamics(self, _q, v):
        zero = np.zeros((3, 3))
        gyroscopic = -np.cross(v, self.inertia * v)
        return Dynamics(np.diag(self.inertia), np.zeros(3), gyroscopic, zero, zero)

    def integrate(self, q, v, dt):
        return integrate_quaternion(q, v, dt)

    def contacts(self, _q):
        return no_contacts()

    def start(self):
        return State(np.array([1.0, 0.0, 0.0, 0.0]), np.array([0.9, 0.0, 2.0]))

    def exact(self, t):
        """Turns about the angular momentum, and about its own axis."""
        momentum = self.inertia * self.start().v
        about_axis = self.start().v[2] * (1 - self.inertia[2] / self.inertia[0])
        start = integrate_quaternion([1, 0, 0, 0], momentum / self.inertia[0], t)
        return integrate_quaternion(start, [0, 0, about_axis], t)


class Pucks(Flat):
    """Two point masses in space, one tree each, that touch each other, one of them on the floor.

    The second one flies at the first; its height is not that of the first, so that friction acts.
    """

    def __init__(self, mu=0.4):
        super().__init__(6)
        self.tree_nv = np.array([3, 3], np.int32)
        self.masses = np.array([1.0, 1.0, 1.0, 2.0, 2.0, 2.0])
        self.mu = np.array([mu])
        # rows (t1, t2, n) with the normal along x, from the first to the second
        self.rows = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])

    def dynamics(self, _q, _v):
        zero = np.zeros((6, 6))
        return Dynamics(np.diag(self.masses), np.zeros(6), np.zeros(6), zero, zero)

    def dense_jacobian(self):
        return np.hstack([-self.rows, self.rows])

    def contacts(self, q):
        gap = np.array([q[3] - q[0] - 0.1])
        J, stiffness, time = self.dense_jacobian(), np.array([1e4]), np.array([0.01])
        return Contacts.from_dense(J, self.tree_nv, gap, stiffness, time, self.mu)

    def start(self):
        v = np.array([0.0, 0.0, 0.0, -1.0, 0.3, 0.0])
        return State(np.array([0.0, 0.0, 0.0, 0.105, 0.0, 0.0]), v)


def advance(stepper, state, steps):
    """The state after some steps."""
    for _ in range(steps):
        state = stepper.step(state)
    return state

"""The slip control of section X-D from plain arrays: rigid bodies by hand, surfaces, one solve.

Beside `sapwood.studies.slip_control` it shares the numbers of the scene, no engine and no stepper.
"""

from __future__ import annotations

import numpy as np

import sapwood
from sapwood.geometry import contact_surfaces

DT = 5e-3
MASS, COM = 0.068, np.array([0.0, 0.115649, 0.044471])
XX, YY, ZZ = 0.21095403274864072, 0.03710803288660893, 0.18858265237650276
XY, YZ = -4.264472553729218e-08, -0.06982169738550205
INERTIA = np.array([[XX, XY, 0.0], [XY, YY, YZ], [0.0, YZ, ZZ]])
FINGER = 0.1
GRAVITY = np.array([0.0, 0.0, -9.81])
QUATERNION = [0.6932876001677366, -0.14053635404772422, -0.140424485719301, 0.6927357363779518]


def cross_matrix(a):
    """[a]x b = a x b."""
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def turn(axis, angle):
    """A rotation about an axis of the frame."""
    K = cross_matrix(np.eye(3)[axis])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def rotation(q):
    """The rotation matrix of a unit quaternion."""
    K = cross_matrix(q[1:])
    return np.eye(3) + 2 * q[0] * K + 2 * K @ K


def pose(R, t):
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = R, t
    return X


GRIPPER = pose(turn(1, -1.57), [0.0, 0.0, 0.25])
HANDLE = pose(turn(0, 2.0), [0.0, 0.135, 0.052])


class Spatula:
    """Fingers at q, the spatula at x with quaternion u, v = (fingers, w, velocity of x)."""

    def __init__(self, pad, handle):
        self.pad, self.handle = pad, handle
        self.q, self.x = np.array([-0.01, 0.01]), np.array([0.35, 0.0, 0.25])
        self.u, self.v = np.array(QUATERNION), np.zeros(8)
        self.solver = sapwood.SapSolver(sapwood.SapSettings(relative_tolerance=1e-9))
        self.contacts = (0, 0)

    def free_motion(self, force):
        """A and v* of the step, with the gyroscopic terms of its start."""
        R = rotation(self.u)
        c, w = R @ COM, self.v[2:5]
        about = R @ INERTIA @ R.T + MASS * (c @ c * np.eye(3) - np.outer(c, c))
        A = np.block([[about, MASS * cross_matrix(c)], [-MASS * cross_matrix(c), MASS * np.eye(3)]])
        bias = np.r_[np.cross(w, about @ w), MASS * np.cross(w, np.cross(w, c))]
        applied = np.r_[np.cross(c, MASS * GRAVITY), MASS * GRAVITY]
        v_star = self.v.copy()
        v_star[:2] += DT * force / FINGER * np.array([1.0, -1.0])
        v_star[2:] += DT * np.linalg.solve(A, applied - bias)
        return A, v_star

    def surfaces(self):
        """The surfaces of both pads with the handle."""
        handle = pose(rotation(self.u), self.x) @ HANDLE
        pads = [
            GRIPPER @ pose(np.eye(3), [0.0, side * 0.041665 + q, -0.182])
            for side, q in zip((-1, 1), self.q, strict=True)
        ]
        return contact_surfaces([(self.pad, X, self.handle, handle) for X in pads])

    def jacobian(self, surface, side):
        """J of the kept faces, (n, 24): 3 x 2 of the fingers, 3 x 6 of the spatula."""
        normal, arm = -surface.normals[surface.kept], surface.centroids[surface.kept] - self.x
        helper = np.where(np.abs(normal[:, :1]) < 0.7, [[1.0, 0, 0]], [[0, 1.0, 0]])
        tangent = np.cross(normal, helper)
        tangent /= np.linalg.norm(tangent, axis=1)[:, None]
        axes = np.stack([tangent, np.cross(normal, tangent), normal], axis=1)
        fingers = np.zeros((len(normal), 3, 2))
        fingers[:, :, side] = -axes[:, :, 1]
        turning = np.array([-cross_matrix(r) for r in arm]).reshape(-1, 3, 3)
        spatula = np.concatenate([axes @ turning, axes], axis=2)
        return np.concatenate(
            [fingers.reshape(len(normal), -1), spatula.reshape(len(normal), -1)], axis=1
        )

    def step(self, force):
        """One step under this grip force."""
        A, v_star = self.free_motion(force)
        found = self.surfaces()
        J = np.concatenate([self.jacobian(s, side) for side, s in enumerate(found)])
        n = len(J)
        problem = sapwood.ContactProblem(
            [2, 6],
            np.r_[FINGER, 0.0, 0.0, FINGER, A.ravel()],
            v_star,
            np.zeros(n, np.int32),
            np.ones(n, np.int32),
            J.ravel(),
            np.ones(n),
            dt=DT,
            phi0=np.concatenate([s.phi0[s.kept] for s in found]),
            k=np.concatenate([s.k[s.kept] for s in found]),
            tau_d=np.full(n, 0.2),
            sigma=1e-3,
            beta=1.0,
            delassus="diagonal",
            v_guess=self.v,
        )
        self.v = self.solver.solve(problem).v.copy()
        self.contacts = tuple(int(s.kept.sum()) for s in found)
        self.q = self.q + DT * self.v[:2]
        self.x = self.x + DT * self.v[5:]
        w = self.v[2:5]
        rate = np.r_[-w @ self.u[1:], self.u[0] * w + np.cross(w, self.u[1:])]
        self.u = self.u + DT / 2 * rate
        self.u /= np.linalg.norm(self.u)

    @property
    def pitch(self):
        """Degrees since the start."""
        w, x, y, z = self.u
        return np.degrees(np.arctan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)) + 0.4)

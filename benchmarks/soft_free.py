"""A world of soft bodies with one free rigid box, as Drake steps it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import ContactProblem, fem
from sapwood.fem.meetings import Meeting
from sapwood.geometry import FieldShape

_Float = NDArray[np.float64]


class FreeBox(fem.RigidBody):
    """A uniform box with six velocities.

    Parameters
    ----------
    shape : FieldShape
        The box, its centre at the origin.
    size : array_like (3,)
        Its edges, m.
    mass : float
        kg.
    q : array_like (7,)
        Quaternion, w first, and position, m.
    v : array_like (6,)
        Angular and linear velocity in the world, rad/s and m/s.
    options
        As of RigidBody.
    """

    def __init__(
        self,
        shape: FieldShape,
        size: ArrayLike,
        mass: float,
        q: ArrayLike,
        v: ArrayLike,
        **options: Any,
    ) -> None:
        super().__init__(shape, **options)
        squares = np.square(np.asarray(size, float))
        self.total_mass, self.inertia = mass, mass / 12 * (squares.sum() - squares)
        self.q, self.v = np.array(q, float), np.array(v, float)
        self._place()

    def _place(self) -> None:
        """Set the pose: the quaternion need not be of unit length."""
        w, *u = self.q[:4] / np.linalg.norm(self.q[:4])
        cross = np.cross(np.eye(3), u)
        self.rest_pose[:3, :3] = np.eye(3) + 2 * w * cross + 2 * cross @ cross
        self.rest_pose[:3, 3] = self.q[4:]

    def problem(self, time_step: float, gravity: _Float) -> ContactProblem:
        """Mass matrix and free velocity, with gyroscopic forces at the start of the step."""
        R, M = self.rest_pose[:3, :3], self.total_mass * np.eye(6)
        M[:3, :3] = R @ np.diag(self.inertia) @ R.T
        spin = self.v[:3]
        forces = np.concatenate([-np.cross(spin, M[:3, :3] @ spin), self.total_mass * gravity])
        free = self.v + time_step * np.linalg.solve(M, forces)
        return ContactProblem([6], M.ravel(), free, dt=time_step, v_guess=self.v)

    def jacobian(self, points: _Float) -> _Float:
        """Velocities (n, 3, 6) of points by those of the box."""
        arms = points - self.rest_pose[:3, 3]
        by_spin = np.cross(np.eye(3), arms[:, None]).swapaxes(1, 2)
        return np.concatenate([by_spin, np.tile(np.eye(3), (len(points), 1, 1))], axis=2)

    def move(self, v: _Float, time_step: float) -> None:
        """Take the step of these velocities; the quaternion grows, as Drake's does."""
        (w, u), spin = (self.q[0], self.q[1:4]), v[:3]
        rate = np.array([-(spin @ u), *(w * spin + np.cross(spin, u))]) / 2
        self.q = self.q + time_step * np.concatenate([rate, v[3:]])
        self.v = np.array(v)
        self._place()


class FreeBoxWorld(fem.World):
    """Soft bodies, rigid bodies at rest, and a free box, which touches soft bodies only.

    Parameters
    ----------
    bodies : iterable of SoftBody
        The soft bodies.
    rigid : iterable of RigidBody
        Rigid bodies without a slide, the last one a FreeBox.
    options
        As of World.
    """

    def __init__(
        self, bodies: Iterable[fem.SoftBody], *, rigid: Iterable[fem.RigidBody], **options: Any
    ) -> None:
        super().__init__(bodies, rigid=rigid, **options)
        *others, box = self.rigid
        if not isinstance(box, FreeBox) or any(each.mass is not None for each in others):
            raise ValueError("rigid: must be bodies at rest and a free box, which is the last")
        self.box = box

    def _slides(self, moving: list[fem.RigidBody]) -> ContactProblem:
        assert not moving  # the box alone moves
        return self.box.problem(self.time_step, self.gravity)

    def _move_rigid(self, velocities: _Float) -> None:
        self.box.move(velocities, self.time_step)

    def _find_contacts(self) -> list[Meeting]:
        return [
            dataclasses.replace(each, tree=0, J=self.box.jacobian(each.contacts.points))
            if each.other == self.box.name
            else each
            for each in super()._find_contacts()
        ]

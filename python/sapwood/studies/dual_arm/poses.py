"""Places of frames in space, and the way from one to another."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


class Pose(NamedTuple):
    """Where a frame is: its origin, m, and its orientation, a unit quaternion (w, x, y, z)."""

    position: Array
    quaternion: Array

    @classmethod
    def at(cls, position: ArrayLike, R: ArrayLike | None = None) -> Pose:
        """A frame at a position (3,), its axes the columns of R (3, 3), or those of the world."""
        quaternion = np.array([1.0, 0.0, 0.0, 0.0])
        if R is not None:
            mujoco.mju_mat2Quat(quaternion, np.asarray(R, dtype=np.float64).ravel())
        return cls(np.asarray(position, dtype=np.float64), quaternion)

    def point(self, local: ArrayLike) -> Array:
        """A point (3,) that is given in this frame, in the world."""
        turned = np.empty(3)
        mujoco.mju_rotVecQuat(turned, np.asarray(local, dtype=np.float64), self.quaternion)
        return self.position + turned

    def times(self, inner: Pose) -> Pose:
        """A frame that is given in this one, in the world."""
        quaternion = np.empty(4)
        mujoco.mju_mulQuat(quaternion, self.quaternion, inner.quaternion)
        return Pose(self.point(inner.position), quaternion)

    def inverse(self) -> Pose:
        """The world as it is seen from this frame."""
        back = np.empty(4)
        mujoco.mju_negQuat(back, self.quaternion)
        return Pose(Pose(np.zeros(3), back).point(-self.position), back)

    def moved(self, x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Pose:
        """The same orientation elsewhere: by a distance along each axis of the world, m."""
        return Pose(self.position + (x, y, z), self.quaternion)

    def towards(self, end: Pose, share: float) -> Pose:
        """A pose on the way to another: straight, and turning about one axis of the world."""
        turn, quaternion = np.empty(3), self.quaternion.copy()
        mujoco.mju_subQuat(turn, end.quaternion, self.quaternion)
        mujoco.mju_quatIntegrate(quaternion, turn, share)
        return Pose(self.position + share * (end.position - self.position), quaternion)

    def error(self, wanted: Pose) -> Array:
        """Translation and rotation (6,) in the world that take this pose to the wanted one."""
        local, turn = np.empty(3), np.empty(3)
        mujoco.mju_subQuat(local, wanted.quaternion, self.quaternion)
        mujoco.mju_rotVecQuat(turn, local, self.quaternion)
        return np.concatenate([wanted.position - self.position, turn])


def smooth(share: float) -> float:
    """Part of the way after a share of the time, of least jerk: at rest at 0 and at 1."""
    t = min(max(share, 0.0), 1.0)
    return t**3 * (10.0 - 15.0 * t + 6.0 * t**2)

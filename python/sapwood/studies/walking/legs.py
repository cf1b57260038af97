"""Joints of the legs from the places of the feet."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.studies.walking.gait import Feet
from sapwood.studies.walking.robot import LEGS

Array = NDArray[np.float64]

# accuracy of the places of the feet, m
_ACCURACY = 1e-8


class Legs:
    """Joint positions, velocities and accelerations that move the feet as planned.

    Newton's method on the positions; velocities and accelerations come from the Jacobian at them,
    without the derivative of the Jacobian, as in the published code.

    Parameters
    ----------
    model
        The robot.
    q
        Joint positions (12,) to begin from.
    """

    def __init__(self, model: mujoco.MjModel, q: Array) -> None:
        self._model, self._data = model, mujoco.MjData(model)
        self._data.qpos[:7] = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
        self._data.qpos[7:] = q
        self._feet = [model.geom(f"{leg}_foot").id for leg in LEGS]

    def _look(self) -> tuple[Array, Array]:
        """Centres of the feet (4, 3), and their Jacobians (4, 3, 3) by the joints of their legs."""
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_comPos(self._model, self._data)
        jacobian, blocks = np.zeros((3, self._model.nv)), np.zeros((4, 3, 3))
        for leg, geom in enumerate(self._feet):
            mujoco.mj_jacGeom(self._model, self._data, jacobian, None, geom)
            blocks[leg] = jacobian[:, 6 + 3 * leg : 9 + 3 * leg]
        return self._data.geom_xpos[self._feet], blocks

    def follow(self, feet: Feet) -> tuple[Array, Array, Array]:
        """q (rad), dq/dt and d2q/dt2 of the joints (12,) for feet in the frame of the base."""
        x, J = self._look()
        for _ in range(20):
            error = feet.x - x
            if np.abs(error).max() < _ACCURACY:
                break
            change = np.linalg.solve(J, error[:, :, None]).ravel()
            # from far away the whole step may lead to legs that bend the other way
            self._data.qpos[7:] += change * min(1.0, 0.3 / np.abs(change).max())
            x, J = self._look()
        q: Array = self._data.qpos[7:].copy()
        v, a = (
            np.linalg.solve(J, y[:, :, None]).ravel().astype(np.float64) for y in (feet.v, feet.a)
        )
        return q, v, a

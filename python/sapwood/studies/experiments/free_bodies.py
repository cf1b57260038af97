"""Energies and positions of a scene in which everything that moves is a free body."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray


class FreeBodies:
    """The free bodies of a model, read from the state alone.

    Unlike MuJoCo's own energies and ``xipos``, which belong to the start of the last step, these
    are of the state as it is now.

    Parameters
    ----------
    model
        Model in which every joint is a free joint and every inertial frame is its body's frame.

    Raises
    ------
    ValueError
        A joint or a body is of another kind.
    """

    def __init__(self, model: mujoco.MjModel) -> None:
        if (model.jnt_type != mujoco.mjtJoint.mjJNT_FREE).any():
            raise ValueError("model: a joint is not a free joint")
        bodies = model.jnt_bodyid
        if model.body_ipos[bodies].any() or (model.body_iquat[bodies] != (1, 0, 0, 0)).any():
            raise ValueError("model: the inertial frame of a free body is not its own frame")
        self._mass = model.body_mass[bodies]
        self._inertia = model.body_inertia[bodies]
        self._gravity = model.opt.gravity.copy()
        self._position = model.jnt_qposadr[:, None] + np.arange(3)
        self._linear = model.jnt_dofadr[:, None] + np.arange(3)
        self._angular = self._linear + 3

    def positions(self, qpos: NDArray[np.float64]) -> NDArray[np.float64]:
        """Centres of mass, shape (n_bodies, 3), m."""
        positions: NDArray[np.float64] = qpos[self._position]
        return positions

    def kinetic_energy(self, qvel: NDArray[np.float64]) -> float:
        """Sum of 1/2 m |v|^2 + 1/2 omega^T I omega, J; omega is in the frame of its body."""
        linear = self._mass * np.square(qvel[self._linear]).sum(axis=1)
        angular = (self._inertia * np.square(qvel[self._angular])).sum(axis=1)
        return float(linear.sum() + angular.sum()) / 2

    def potential_energy(self, qpos: NDArray[np.float64]) -> float:
        """-sum m g . x, J; zero at the origin."""
        return -float(self._mass @ (self.positions(qpos) @ self._gravity))

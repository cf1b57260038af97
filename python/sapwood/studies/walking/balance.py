"""Balance of the planner, section 7.3: the base as an inverted pendulum above its feet.

A pendulum that tips asks for a moment against its tilt. Feet that stand give it by virtual forces
along their normals, of which only those that push count (Sugihara and Nakamura 2003). The torques
that go with these forces are added to those of a controller. As desired accelerations of the
joints, which light legs would have, they would make a controller that predicts contact forces lift
the whole base with them.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.studies.walking.controllers import JOINTS, Contacts

Array = NDArray[np.float64]

#: Moment against the tilt of the base, N m/rad and N m s/rad.
GAINS = (20.0, 2.0)


def moment(data: mujoco.MjData) -> Array:
    """Moment (2,) about the world's x and y axes that sets the base upright, N m.

    Parameters
    ----------
    data
        State of the robot, after its kinematics.

    Returns
    -------
    ndarray (2,)
        Proportional to the tilt and to its rate.
    """
    R = data.xmat[1].reshape(3, 3)
    up, rate = R[:, 2], R @ data.qvel[3:6]
    # up x z is the axis about which the base has to turn, its length the sine of the angle
    tilt = np.array([up[1], -up[0]])
    return np.asarray(GAINS[0] * tilt - GAINS[1] * rate[:2])


def virtual_forces(wanted: Array, arms: Array) -> Array:
    """Normal forces (n,) of feet on the robot that give a moment, as far as they push.

    Parameters
    ----------
    wanted
        Moment (2,) about x and y, N m.
    arms
        Horizontal places (n, 2) of the feet beside the base, m.

    Returns
    -------
    ndarray (n,)
        Least forces that give it, N; those that would pull are 0.
    """
    lever = np.stack([arms[:, 1], -arms[:, 0]])
    return np.asarray(np.maximum(np.linalg.pinv(lever, rcond=1e-3) @ wanted, 0.0))


def balance(data: mujoco.MjData, standing: Contacts) -> Array:
    """Torques (12,) of the joints that keep the base level, N m.

    Parameters
    ----------
    data
        State of the robot, after its kinematics.
    standing
        Contacts of the feet that should stand, on level ground.

    Returns
    -------
    ndarray (12,)
        Those of the virtual forces.
    """
    if not len(standing.foot):
        return np.zeros(len(JOINTS))
    # rows of level ground: a normal row has 1 for z, and (y, -x) of the arm for rotations of the
    # base, which are about axes of its own frame
    R = data.xmat[1].reshape(3, 3)
    turning = standing.J_n[:, 3:6] @ R.T
    arms = np.stack([-turning[:, 1], turning[:, 0]], axis=1)
    forces = virtual_forces(moment(data), arms)
    return np.asarray(-standing.J_n[:, JOINTS].T @ forces)

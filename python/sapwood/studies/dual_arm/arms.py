"""Controllers: an arm whose palm follows a path, a hand whose fingers go to a posture.

Torques of an arm are those of a spring about the joints that inverse kinematics finds for the
palm's path, ``kp (q_d - q) + d dq_d/dt``, of which the second term cancels the passive damping
along the path; those of a hand are a spring's, which its motors bound, so that fingers told to
close further than an object lets them press on it. Gravity of the robot itself is compensated by
its motors (`sapwood.studies.dual_arm.robot`), that of what it carries is not known to it.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.studies.dual_arm.poses import Pose, smooth
from sapwood.studies.dual_arm.robot import DAMPING, N_ARM, robot
from sapwood.studies.dual_arm.scene import BASES, joints, pose

Array = NDArray[np.float64]

#: Postures of a hand (16,), rad: index, middle, ring, thumb, each from the palm outwards.
OPEN = np.array(3 * [0.0, 0.05, 0.10, 0.10] + [1.38, 0.10, 0.0, 0.10])
AROUND_JAR = np.array(3 * [0.0, 0.75, 1.0, 0.9] + [1.38, 0.45, 0.65, 0.9])
AROUND_HANDLE = np.array(3 * [0.0, 1.3, 1.3, 1.0] + [1.38, 0.45, 0.6, 0.9])

_STIFFNESS = np.array([1500.0, 1500.0, 1200.0, 1200.0, 500.0, 400.0, 250.0])
_DAMPING = np.array(DAMPING)
_HAND_STIFFNESS = 4.0
# inverse kinematics: iterations a step, damping, pull to the posture below, largest change, rad
_ITERATIONS, _LAMBDA, _PULL, _CLIP = 2, 0.02, 0.02, 0.2
_DAMPED = _LAMBDA**2 * np.eye(6)
# postures of the arms that leave their elbows out of the way, and those at the beginning
_NOMINAL = {
    "right": np.array([0.1, 1.1, 0.7, -1.6, 0.4, -1.33, 0.75]),
    "left": np.array([-0.1, 0.9, -0.8, -1.5, -0.5, -1.3, -0.5]),
}
_START = {
    "right": np.array([-0.118, 1.022, 0.677, -1.721, 0.251, -1.218, 0.900]),
    "left": np.array([0.550, 0.602, -0.911, -1.787, -0.345, -0.766, -0.839]),
}


class Arm:
    """One robot: where its palm and its fingers are to be, and the torques for it.

    Parameters
    ----------
    side
        Of `sapwood.studies.dual_arm.robot.SIDES`.
    dt
        Time step, s.
    """

    def __init__(self, side: str, dt: float) -> None:
        self.side, self._dt = side, dt
        self._joints = joints(side)
        # a robot of its own, to try joint angles on
        model = robot(side).compile()
        model.body("link_0").pos[:] = BASES[side]
        self._model, self._data = model, mujoco.MjData(model)
        self._palm = model.body("palm").id
        self._jacobian = np.zeros((6, model.nv))
        self._q = _START[side].copy()
        self._fingers = OPEN.copy()
        self.hold(self._look())
        self._finger_path = (self._fingers, self._fingers, 1.0)
        self._elapsed = 0.0

    def place(self, data: mujoco.MjData) -> None:
        """Put the robot where it begins."""
        data.qpos[self._joints] = np.concatenate([self._q, self._fingers])

    # ---- what is wanted -------------------------------------------------------------------------

    def begin(self, palm: Pose | None, fingers: Array | None, seconds: float) -> None:
        """Begin a motion; what is None stays where it is wanted now.

        Parameters
        ----------
        palm
            Where the palm is to be.
        fingers
            Posture of the hand (16,), rad.
        seconds
            When it is to be there, s.
        """
        here = self.wanted
        self._path = (here, here if palm is None else palm, seconds)
        target = self._fingers if fingers is None else fingers
        self._finger_path = (self._fingers, target, seconds)
        self._elapsed = 0.0

    def hold(self, palm: Pose) -> None:
        """Want the palm at a pose from now on."""
        self.wanted = palm
        self._path = (palm, palm, 1.0)

    def _look(self) -> Pose:
        """Where the palm is with the joints that were found last."""
        self._data.qpos[:N_ARM] = self._q
        mujoco.mj_kinematics(self._model, self._data)
        return pose(self._data, "palm")

    # ---- torques --------------------------------------------------------------------------------

    def act(self, data: mujoco.MjData) -> None:
        """Go on by a time step: set the motors of the robot.

        Parameters
        ----------
        data
            The scene; its positions are read, its controls written.
        """
        self._elapsed += self._dt
        start, end, seconds = self._path
        self.wanted = start.towards(end, smooth(self._elapsed / seconds))
        relaxed, closed, seconds = self._finger_path
        self._fingers = relaxed + min(self._elapsed / seconds, 1.0) * (closed - relaxed)

        before = self._q
        for _ in range(_ITERATIONS):
            self._q = self._nearer(self._q)
        rate = (self._q - before) / self._dt
        now = data.qpos[self._joints]
        torque = data.ctrl[self._joints]
        torque[:N_ARM] = _STIFFNESS * (self._q - now[:N_ARM]) + _DAMPING * rate
        torque[N_ARM:] = _HAND_STIFFNESS * (self._fingers - now[N_ARM:])

    def _nearer(self, q: Array) -> Array:
        """Joints that bring the palm nearer to where it is wanted: damped least squares."""
        self._data.qpos[:N_ARM] = q
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_comPos(self._model, self._data)
        J = self._jacobian
        mujoco.mj_jacBody(self._model, self._data, J[:3], J[3:], self._palm)
        J = J[:, :N_ARM]
        palm = Pose(self._data.xpos[self._palm], self._data.xquat[self._palm])
        pull = _PULL * (_NOMINAL[self.side] - q)
        missing = palm.error(self.wanted) - J @ pull
        step = J.T @ np.linalg.solve(J @ J.T + _DAMPED, missing) + pull
        nearer: Array = q + np.minimum(np.maximum(step, -_CLIP), _CLIP)
        return nearer

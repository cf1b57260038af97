"""Legged robots of the data folder that stand and squat under task control."""

from __future__ import annotations

import lzma
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray

import sapwood.mujoco
from sapwood.invdyn import BaseTask, JointTask, TaskController, TaskResult, TaskStatus
from sapwood.invdyn.robot import mass_matrix

Array = NDArray[np.float64]

# files of the folder `models`
ROBOTS = {
    "G1": "playground__xmls_scene_mjx_feetonly_flat_terrain",
    "T1": "playground__xmls_scene_mjx_feetonly_rough_terrain__",
    "H1": "menagerie__unitree_h1_scene",
    "ANYmal C": "menagerie__anybotics_anymal_c_scene",
    "Go1": "playground__xmls_scene_mjx_feetonly_flat_terrain_",
    "Spot": "menagerie__boston_dynamics_spot_scene_arm",
}
TIME_STEP = 2e-3
# period of a squat, s, and its depth, m
PERIOD, DEPTH = 2.0, 0.05
GRAVITY = 9.81


def load(folder: Path, name: str) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """A robot at its first keyframe, on flat ground, with the time step of the controller."""
    packed = folder / "models" / f"{ROBOTS[name]}.mjb.xz"
    with tempfile.TemporaryDirectory() as scratch:
        binary = Path(scratch) / "model.mjb"
        binary.write_bytes(lzma.decompress(packed.read_bytes()))
        model = mujoco.MjModel.from_binary_path(str(binary))
    model.opt.timestep = TIME_STEP
    model.hfield_data[:] = 0.0
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    # a keyframe may be in the air, or deep in the ground
    while not (data.contact.dist <= 0.0).any():
        data.qpos[2] -= 1e-4
        mujoco.mj_forward(model, data)
    while (data.contact.dist < -1e-3).any():
        data.qpos[2] += 1e-4
        mujoco.mj_forward(model, data)
    return model, data


@dataclass
class Course:
    """The course of a robot, step by step.

    Attributes
    ----------
    height : ndarray (n,)
        Height of the base less the one at the start, m.
    tilt : ndarray (n,)
        Angle of the base's axis from that at the start, rad.
    force_error : ndarray (n,)
        Planned less simulated contact force on the robot, over its weight.
    torque_change : ndarray (n,)
        Largest change of a torque since the last step, N m.
    excess : ndarray (n,)
        Largest torque beyond a limit of the model, N m.
    seconds : ndarray (n,)
        Processor time of `TaskController.solve`, s.
    solved : ndarray (n,) of bool
        Whether the status was ``solved``.
    """

    height: Array
    tilt: Array
    force_error: Array
    torque_change: Array
    excess: Array
    seconds: Array
    solved: NDArray[np.bool_]


class Loop:
    """A robot under task control in the stepper at 500 Hz."""

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData, depth: float) -> None:
        self.model, self.data, self.depth = model, data, depth
        self.base = BaseTask()
        self.control = TaskController(model, [JointTask(stiffness=100.0), self.base], [1e-4, 1.0])
        self.stepper = sapwood.mujoco.Stepper(model)
        joint = int(np.flatnonzero(model.jnt_type == mujoco.mjtJoint.mjJNT_FREE)[0])
        self.body, self.dof = int(model.jnt_bodyid[joint]), int(model.jnt_dofadr[joint])
        self.weight = float(model.body_subtreemass[self.body]) * GRAVITY

    def squat(self, start: Array) -> None:
        """Set the base's target on a vertical cosine."""
        rate = 2.0 * np.pi / PERIOD
        up = np.array([0.0, 0.0, self.depth / 2.0])
        self.base.position = start - up * (1.0 - np.cos(rate * self.data.time))
        self.base.velocity = -up * rate * np.sin(rate * self.data.time)
        self.base.acceleration = -up * rate**2 * np.cos(rate * self.data.time)

    def plan(self) -> tuple[TaskResult, float]:
        """Torques of the present state, and the time that they took."""
        mujoco.mj_forward(self.model, self.data)
        begin = time.thread_time()
        result = self.control.solve(self.data)
        taken = time.thread_time() - begin
        result.apply(self.model, self.data)
        return result, taken

    def step(self) -> Array:
        """Step, and return the contact force on the robot: M (v+ - v) / dt + h of its base."""
        data, model = self.data, self.model
        M, v = mass_matrix(model, data), data.qvel.copy()
        h = data.qfrc_bias - data.qfrc_passive
        self.stepper.step(data)
        force: Array = (M @ (data.qvel - v) / model.opt.timestep + h)[self.dof : self.dof + 3]
        return force


def run(model: mujoco.MjModel, data: mujoco.MjData, seconds: float, depth: float) -> Course:
    """Let a robot stand, or squat by some depth."""
    loop = Loop(model, data, depth)
    start, upright = data.xpos[loop.body].copy(), data.xmat[loop.body][6:].copy()
    rows, last = [], None
    for _ in range(round(seconds / model.opt.timestep)):
        loop.squat(start)
        result, taken = loop.plan()
        lower, upper = loop.control.torque_limits(data)
        beyond = float(np.maximum(lower - result.tau, result.tau - upper).max())
        change = 0.0 if last is None else float(np.abs(result.tau - last).max())
        last = result.tau
        off = loop.step() - result.world_forces.sum(axis=0)
        rows.append((
            data.xpos[loop.body, 2] - start[2],
            np.arccos(min(1.0, float(upright @ data.xmat[loop.body][6:]))),
            np.linalg.norm(off) / loop.weight, change, max(beyond, 0.0), taken,
            result.status is TaskStatus.solved,
        ))  # fmt: skip
    columns = np.array(rows, dtype=float).T
    return Course(*columns[:6], columns[6] > 0)

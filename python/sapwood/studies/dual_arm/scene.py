"""The whole scene as a MuJoCo model, and whether the task is done."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.studies.dual_arm.objects import (
    BOWL_HEIGHT,
    JAR,
    JAR_HEIGHT,
    N_MARBLES,
    RIM,
    add_objects,
)
from sapwood.studies.dual_arm.poses import Pose
from sapwood.studies.dual_arm.robot import N_JOINTS, SIDES, robot

Array = NDArray[np.float64]

#: Time step of the paper, s.
DT = 0.005
#: Where the arms stand, m: right, left.
BASES = {"right": (0.0, -0.40, 0.0), "left": (0.0, 0.40, 0.0)}

# robots touch objects and each other, but not themselves
_BITS = {"right": (2, 5), "left": (4, 3)}


def scene(dt: float = DT) -> mujoco.MjModel:
    """Arms, table and objects.

    Parameters
    ----------
    dt
        Time step, s.

    Returns
    -------
    mujoco.MjModel
        160 velocities: 23 joints of the right robot, 23 of the left, jar, lid, bowl, and 16
        marbles; motors of the right robot, then of the left. Names of a robot begin with its side.
    """
    spec = mujoco.MjSpec()
    spec.modelname = "dual arm"
    spec.compiler.degree = False
    spec.option.timestep = dt
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = 10
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.visual.headlight.ambient = (0.45, 0.45, 0.45)
    spec.visual.global_.offwidth, spec.visual.global_.offheight = 1280, 960
    spec.add_texture(
        name="sky", type=mujoco.mjtTexture.mjTEXTURE_SKYBOX, width=64, height=64,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT, rgb1=(0.95, 0.96, 0.98),
        rgb2=(0.70, 0.76, 0.84),
    )  # fmt: skip
    world = spec.worldbody
    world.add_light(pos=(0.2, -0.6, 2.5), dir=(0.2, 0.25, -1), castshadow=True)
    world.add_camera(
        name="front", pos=(2.05, 0.30, 1.10), fovy=38, targetbody="sight",
        mode=mujoco.mjtCamLight.mjCAMLIGHT_TARGETBODY,
    )  # fmt: skip
    world.add_body(name="sight", pos=(0.60, 0.02, 0.38))
    for side in SIDES:
        frame = world.add_frame(pos=BASES[side])
        spec.attach(robot(side, _BITS[side]), prefix=f"{side}_", frame=frame)
    add_objects(spec)
    return spec.compile()


def pose(data: mujoco.MjData, body: str) -> Pose:
    """Where a body is, as of the last kinematics."""
    found = data.body(body)
    return Pose(found.xpos.copy(), found.xquat.copy())


@dataclass(frozen=True)
class Outcome:
    """The outcome of the task.

    Attributes
    ----------
    marbles
        Number of marbles in the bowl.
    lid_offset, lid_gap
        How far the lid is from the axis of the jar, and its underside over the jar's rim, m.
    jar_offset, jar_tilt
        How far the jar is from where it stood, m, and its axis from the vertical, rad.
    """

    marbles: int
    lid_offset: float
    lid_gap: float
    jar_offset: float
    jar_tilt: float

    @property
    def lid_on(self) -> bool:
        """Whether the lid closes the jar."""
        return self.lid_offset < 0.010 and abs(self.lid_gap) < 0.003

    @property
    def jar_back(self) -> bool:
        """Whether the jar stands where it stood."""
        return self.jar_offset < 0.030 and self.jar_tilt < 0.05

    @property
    def success(self) -> bool:
        """Whether all of it is done."""
        return self.marbles == N_MARBLES and self.lid_on and self.jar_back


def outcome(model: mujoco.MjModel, qpos: Array) -> Outcome:
    """Measure a configuration (nq,) of the scene."""
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    bowl, jar, lid = (pose(data, body) for body in ("bowl", "jar", "lid"))
    inside = 0
    for i in range(N_MARBLES):
        x, y, z = bowl.inverse().point(data.body(f"marble_{i}").xpos)
        inside += bool(np.hypot(x, y) < RIM and 0.0 < z < BOWL_HEIGHT + 0.02)
    x, y, z = jar.inverse().point(lid.position)
    axis = jar.point((0.0, 0.0, 1.0)) - jar.position
    return Outcome(
        marbles=inside,
        lid_offset=float(np.hypot(x, y)),
        lid_gap=float(z - JAR_HEIGHT),
        jar_offset=float(np.linalg.norm(jar.position - JAR)),
        jar_tilt=float(np.arccos(np.clip(axis[2], -1.0, 1.0))),
    )


def joints(side: str) -> slice:
    """Positions, velocities and motors of a robot: the same numbers in all three."""
    start = SIDES.index(side) * N_JOINTS
    return slice(start, start + N_JOINTS)

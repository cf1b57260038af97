"""Bullet by its Python package, `pybullet`, at its default solver settings.

Only free bodies of one shape each: Bullet has no springs in joints and no armature. It takes the
product of both coefficients of friction, so that each geom gets the root. Damping and sleep are
off. A step is a call from Python, some microseconds.
"""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pybullet
from numpy.typing import NDArray

from sapwood.studies.engines.base import (
    CannotSimulate,
    Engine,
    Scene,
    free_velocity,
    refuse_beyond_bodies,
)

_GEOM = mujoco.mjtGeom


class Bullet(Engine):
    """Sequential impulses."""

    def __init__(self, scene: Scene) -> None:
        model = self._model = scene.model
        refuse_beyond_bodies(model)
        if np.any(model.jnt_type != mujoco.mjtJoint.mjJNT_FREE):
            raise CannotSimulate("no springs in joints, no armature")
        self._client = pybullet.connect(pybullet.DIRECT)
        pybullet.setGravity(*model.opt.gravity, physicsClientId=self._client)
        pybullet.setTimeStep(model.opt.timestep, physicsClientId=self._client)
        self._bodies = [self._add(geom, scene) for geom in range(model.ngeom)]
        self._moving = {
            int(model.geom_bodyid[geom]): self._bodies[geom]
            for geom in range(model.ngeom)
            if model.geom_bodyid[geom]
        }
        self._force, self._pushed, self._steps = tuple(scene.force), bool(np.any(scene.force)), 0

    def advance(self, steps: int) -> None:
        """Take steps."""
        for _ in range(steps):
            if self._pushed:
                body = self._moving[1]
                place = pybullet.getBasePositionAndOrientation(body, self._client)[0]
                pybullet.applyExternalForce(
                    body, -1, self._force, place, pybullet.WORLD_FRAME, self._client
                )
            pybullet.stepSimulation(self._client)
        self._steps += steps

    def read(self, data: mujoco.MjData) -> None:
        """Write positions and velocities into MuJoCo's data."""
        data.time = self._steps * self._model.opt.timestep
        for body, handle in self._moving.items():
            joint = self._model.body_jntadr[body]
            at, dof = self._model.jnt_qposadr[joint], self._model.jnt_dofadr[joint]
            place, (x, y, z, w) = pybullet.getBasePositionAndOrientation(handle, self._client)
            linear, angular = map(np.array, pybullet.getBaseVelocity(handle, self._client))
            data.qpos[at : at + 7] = *place, w, x, y, z
            rotation = np.empty(9)
            mujoco.mju_quat2Mat(rotation, np.array((w, x, y, z)))
            data.qvel[dof : dof + 6] = free_velocity(rotation.reshape(3, 3), angular, linear)

    def close(self) -> None:
        """Disconnect."""
        pybullet.disconnect(self._client)

    def _add(self, geom: int, scene: Scene) -> int:
        """A body of one shape at its start."""
        model, body = scene.model, int(scene.model.geom_bodyid[geom])
        shape = pybullet.createCollisionShape(
            physicsClientId=self._client,
            **_shape(int(model.geom_type[geom]), model.geom_size[geom]),
        )
        mass, place, turn = 0.0, model.geom_pos[geom], model.geom_quat[geom]
        if body:
            if np.any(place) or not np.array_equal(turn, (1.0, 0.0, 0.0, 0.0)):
                raise CannotSimulate("only geoms at the origin of their body")
            at = model.jnt_qposadr[model.body_jntadr[body]]
            mass, place = float(model.body_mass[body]), model.qpos0[at : at + 3]
            turn = model.qpos0[at + 3 : at + 7]
        handle = int(
            pybullet.createMultiBody(
                mass, shape, -1, place, np.roll(turn, -1), physicsClientId=self._client
            )
        )
        pybullet.changeDynamics(
            handle,
            -1,
            lateralFriction=math.sqrt(model.geom_friction[geom, 0]),
            restitution=0.0,
            linearDamping=0.0,
            angularDamping=0.0,
            physicsClientId=self._client,
        )
        if body:
            pybullet.changeDynamics(
                handle,
                -1,
                localInertiaDiagonal=tuple(model.body_inertia[body]),
                physicsClientId=self._client,
            )
            dof = model.body_dofadr[body]
            spin = np.empty(3)
            mujoco.mju_rotVecQuat(spin, scene.qvel[dof + 3 : dof + 6], turn)
            pybullet.resetBaseVelocity(
                handle,
                tuple(scene.qvel[dof : dof + 3]),
                tuple(spin),
                physicsClientId=self._client,
            )
        return handle


def _shape(kind: int, size: NDArray[np.float64]) -> dict[str, object]:
    if kind == _GEOM.mjGEOM_PLANE:
        return {"shapeType": pybullet.GEOM_PLANE}
    if kind == _GEOM.mjGEOM_SPHERE:
        return {"shapeType": pybullet.GEOM_SPHERE, "radius": float(size[0])}
    if kind == _GEOM.mjGEOM_BOX:
        return {"shapeType": pybullet.GEOM_BOX, "halfExtents": size.tolist()}
    raise CannotSimulate("only planes, spheres and boxes")

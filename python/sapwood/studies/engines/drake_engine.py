"""Drake's MultibodyPlant with discrete contact, by SAP and by its lagged approximation.

A plant is built from the compiled model: bodies with MuJoCo's masses and inertias, springs, dampers
and armature of hinges, and geometries for point contact. Drake finds a single point between a box
and anything else, on which no box stands: boxes have small spheres in their corners beside. Contact
is near-rigid: of relaxation times Drake takes the sum, so that each geometry gets half of tau_d;
stiffness beyond what the step resolves is bounded by SAP itself. The lagged approximation has no
such bound, and Hunt and Crossley's dissipation in place of a relaxation time: it gets the stiffness
of the near-rigid regime for a body of mean mass.
"""

from __future__ import annotations

import math

import mujoco
import numpy as np
from numpy.typing import NDArray
from pydrake.common.eigen_geometry import Quaternion
from pydrake.geometry import (
    Box,
    Capsule,
    CollisionFilterDeclaration,
    Cylinder,
    GeometrySet,
    HalfSpace,
    ProximityProperties,
    Shape,
    Sphere,
)
from pydrake.math import RigidTransform, RotationMatrix
from pydrake.multibody.math import SpatialForce, SpatialVelocity
from pydrake.multibody.plant import (
    AddMultibodyPlant,
    CoulombFriction,
    ExternallyAppliedSpatialForce,
    MultibodyPlantConfig,
)
from pydrake.multibody.tree import (
    FixedOffsetFrame,
    RevoluteJoint,
    RevoluteSpring,
    RigidBody,
    RotationalInertia,
    SpatialInertia,
)
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder

from sapwood.studies.engines.base import (
    CannotSimulate,
    Engine,
    Scene,
    free_velocity,
    refuse_beyond_bodies,
)

_GEOM, _JOINT = mujoco.mjtGeom, mujoco.mjtJoint

# N/m: SAP bounds it by what the time step resolves, Eq. (21)
_NEAR_RIGID = 1e12
# s/m, of Hunt and Crossley: next to no rebound
_DISSIPATION = 5.0
# radius of the spheres in the corners of a box, m
_CORNER = 1e-3


class DrakeSap(Engine):
    """The convex approximation."""

    approximation = "sap"

    def __init__(self, scene: Scene) -> None:
        model, builder = scene.model, DiagramBuilder()
        refuse_beyond_bodies(model)
        config = MultibodyPlantConfig(
            time_step=model.opt.timestep,
            contact_model="point",
            discrete_contact_approximation=self.approximation,
            use_sampled_output_ports=False,
        )
        self._model = model
        self._plant, self._scene_graph = AddMultibodyPlant(config, builder)
        self._plant.mutable_gravity_field().set_gravity_vector(model.opt.gravity)
        self._bodies: list[RigidBody] = [self._plant.world_body()]
        self._hinges: dict[int, RevoluteJoint] = {}
        for body in range(1, model.nbody):
            self._add_body(body)
        for geom in range(model.ngeom):
            self._add_geometry(geom, scene.dissipation_time)
        self._plant.Finalize()
        self._filter()
        self._simulator = Simulator(builder.Build())
        self._context = self._plant.GetMyMutableContextFromRoot(
            self._simulator.get_mutable_context()
        )
        self._start(scene)
        self._simulator.Initialize()
        self._time_step, self._taken = float(model.opt.timestep), 0

    def advance(self, steps: int) -> None:
        """Take steps."""
        self._taken += steps
        # updates happen at the start of each step: rounding neither adds nor leaves out one
        self._simulator.AdvanceTo((self._taken - 0.5) * self._time_step)

    def read(self, data: mujoco.MjData) -> None:
        """Write positions and velocities into MuJoCo's data."""
        data.time = self._taken * self._time_step
        for joint in range(self._model.njnt):
            at, dof = self._model.jnt_qposadr[joint], self._model.jnt_dofadr[joint]
            if joint in self._hinges:
                hinge = self._hinges[joint]
                data.qpos[at] = hinge.get_angle(self._context) + self._model.qpos0[at]
                data.qvel[dof] = hinge.get_angular_rate(self._context)
                continue
            body = self._bodies[self._model.jnt_bodyid[joint]]
            pose = self._plant.EvalBodyPoseInWorld(self._context, body)
            speed = self._plant.EvalBodySpatialVelocityInWorld(self._context, body)
            data.qpos[at : at + 3] = pose.translation()
            data.qpos[at + 3 : at + 7] = pose.rotation().ToQuaternion().wxyz()
            data.qvel[dof : dof + 6] = free_velocity(
                pose.rotation().matrix(), speed.rotational(), speed.translational()
            )

    # ---- building -------------------------------------------------------------------------------

    def _add_body(self, body: int) -> None:
        """A body and the joints to its parent, one massless body between two of them."""
        model, plant = self._model, self._plant
        start, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        joints = range(start, start + count)
        kinds = [int(model.jnt_type[joint]) for joint in joints]
        parent = self._bodies[model.body_parentid[body]]
        here = _pose(model.body_pos[body], model.body_quat[body])
        if kinds == [_JOINT.mjJNT_FREE]:
            self._bodies.append(plant.AddRigidBody(f"body_{body}", _inertia(model, body)))
            return
        if not kinds or any(kind != _JOINT.mjJNT_HINGE for kind in kinds):
            raise CannotSimulate("the plant is built from free bodies and hinges only")
        for joint in joints:
            last = joint == start + count - 1
            inertia = _inertia(model, body) if last else SpatialInertia.Zero()
            child = plant.AddRigidBody(f"body_{body}_{joint}", inertia)
            self._add_hinge(joint, parent, here, child)
            parent, here = child, RigidTransform()
        self._bodies.append(parent)

    def _add_hinge(
        self, joint: int, parent: RigidBody, here: RigidTransform, child: RigidBody
    ) -> None:
        model, plant = self._model, self._plant
        if model.jnt_limited[joint] or np.any(model.jnt_pos[joint]):
            raise CannotSimulate("the plant is built from hinges at a body's origin without limits")
        dof, at = int(model.jnt_dofadr[joint]), int(model.jnt_qposadr[joint])
        hinge = plant.AddJoint(
            RevoluteJoint(
                name=f"joint_{joint}",
                frame_on_parent=plant.AddFrame(
                    FixedOffsetFrame(f"frame_{joint}", parent.body_frame(), here)
                ),
                frame_on_child=child.body_frame(),
                axis=model.jnt_axis[joint],
                damping=float(model.dof_damping[dof]),
            )
        )
        stiffness = float(np.ravel(model.jnt_stiffness[joint])[0])
        nominal = float(model.qpos_spring[at] - model.qpos0[at])
        if stiffness > 0.0:
            plant.AddForceElement(RevoluteSpring(hinge, nominal, stiffness))
        if model.dof_armature[dof] > 0.0:
            motor = plant.AddJointActuator(f"motor_{joint}", hinge)
            motor.set_default_rotor_inertia(float(model.dof_armature[dof]))
            motor.set_default_gear_ratio(1.0)
        self._hinges[joint] = hinge

    def _add_geometry(self, geom: int, dissipation_time: float) -> None:
        model = self._model
        shape, here = _shape(model, geom)
        body = self._bodies[model.geom_bodyid[geom]]
        mu = float(model.geom_friction[geom, 0])
        properties = self._properties(mu, dissipation_time)
        name = f"geom_{geom}"
        self._plant.RegisterCollisionGeometry(body, here, shape, name, properties)
        if isinstance(shape, Box) and model.geom_bodyid[geom] > 0:
            inner = model.geom_size[geom] - _CORNER
            for k, signs in enumerate(np.ndindex(2, 2, 2)):
                corner = RigidTransform((2.0 * np.array(signs) - 1.0) * inner)
                self._plant.RegisterCollisionGeometry(
                    body, here @ corner, Sphere(_CORNER), f"{name}_{k}", properties
                )

    def _properties(self, mu: float, dissipation_time: float) -> ProximityProperties:
        properties = ProximityProperties()
        properties.AddProperty("material", "coulomb_friction", CoulombFriction(mu, mu))
        # two of the same in series have half the stiffness, and twice the relaxation time
        stiffness = 2.0 * self._stiffness(dissipation_time)
        properties.AddProperty("material", "point_contact_stiffness", stiffness)
        properties.AddProperty("material", "relaxation_time", dissipation_time / 2.0)
        properties.AddProperty("material", "hunt_crossley_dissipation", _DISSIPATION)
        return properties

    def _stiffness(self, _dissipation_time: float) -> float:
        return _NEAR_RIGID

    def _filter(self) -> None:
        """Leave out contacts of a parent with its child where a massless body is between them."""
        manager = self._scene_graph.collision_filter_manager()
        for body in range(1, self._model.nbody):
            parent = int(self._model.body_parentid[body])
            if parent > 0:
                pair = [
                    GeometrySet(self._plant.GetCollisionGeometriesForBody(self._bodies[b]))
                    for b in (parent, body)
                ]
                manager.Apply(CollisionFilterDeclaration().ExcludeBetween(*pair))

    def _start(self, scene: Scene) -> None:
        model, plant, context = self._model, self._plant, self._context
        for joint in range(model.njnt):
            at, dof = model.jnt_qposadr[joint], model.jnt_dofadr[joint]
            if joint in self._hinges:
                self._hinges[joint].set_angle(context, 0.0)
                self._hinges[joint].set_angular_rate(context, scene.qvel[dof])
                continue
            body = self._bodies[model.jnt_bodyid[joint]]
            pose = _pose(model.qpos0[at : at + 3], model.qpos0[at + 3 : at + 7])
            plant.SetFreeBodyPose(context, body, pose)
            velocity = scene.qvel[dof : dof + 6]
            plant.SetFreeBodySpatialVelocity(
                context, body, SpatialVelocity(pose.rotation() @ velocity[3:], velocity[:3])
            )
        if np.any(scene.force):
            force = ExternallyAppliedSpatialForce()
            force.body_index = self._bodies[1].index()
            force.p_BoBq_B = model.body_ipos[1]
            force.F_Bq_W = SpatialForce(np.zeros(3), np.asarray(scene.force))
            plant.get_applied_spatial_force_input_port().FixValue(context, [force])


class DrakeLagged(DrakeSap):
    """The lagged approximation, the plant's default."""

    approximation = "lagged"

    def _stiffness(self, dissipation_time: float) -> float:
        moving = self._model.body_mass[1:]
        dt = float(self._model.opt.timestep)
        mass = float(moving[moving > 0.0].mean())
        return 4.0 * math.pi**2 * mass / (dt * (dt + dissipation_time))


# ---- shapes and poses ----------------------------------------------------------------------------


def _shape(model: mujoco.MjModel, geom: int) -> tuple[Shape, RigidTransform]:
    """The shape of a geom and its pose on its body."""
    size = model.geom_size[geom]
    kind = int(model.geom_type[geom])
    shapes = {
        int(_GEOM.mjGEOM_PLANE): HalfSpace,
        int(_GEOM.mjGEOM_SPHERE): lambda: Sphere(size[0]),
        int(_GEOM.mjGEOM_BOX): lambda: Box(2.0 * size),
        int(_GEOM.mjGEOM_CAPSULE): lambda: Capsule(size[0], 2.0 * size[1]),
        int(_GEOM.mjGEOM_CYLINDER): lambda: Cylinder(size[0], 2.0 * size[1]),
    }
    if kind not in shapes:
        raise CannotSimulate("the plant is built from planes and simple shapes only")
    return shapes[kind](), _pose(model.geom_pos[geom], model.geom_quat[geom])


def _inertia(model: mujoco.MjModel, body: int) -> SpatialInertia:
    turn = _pose(np.zeros(3), model.body_iquat[body]).rotation()
    moments = RotationalInertia(*model.body_inertia[body]).ReExpress(turn)
    mass = float(model.body_mass[body])
    return SpatialInertia.MakeFromCentralInertia(mass, model.body_ipos[body], moments)


def _pose(position: NDArray[np.float64], quaternion: NDArray[np.float64]) -> RigidTransform:
    unit = np.asarray(quaternion) / np.linalg.norm(quaternion)
    return RigidTransform(RotationMatrix(Quaternion(unit)), np.asarray(position))

"""The slip control of section X-D in Drake."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from pydrake.common.eigen_geometry import Quaternion
from pydrake.geometry import (
    AddCompliantHydroelasticProperties,
    AddContactMaterial,
    Cylinder,
    Ellipsoid,
    ProximityProperties,
)
from pydrake.math import RigidTransform, RotationMatrix
from pydrake.multibody.plant import AddMultibodyPlant, CoulombFriction, MultibodyPlantConfig
from pydrake.multibody.tree import (
    FixedOffsetFrame,
    PrismaticJoint,
    RotationalInertia,
    SpatialInertia,
    UnitInertia,
)
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder, LeafSystem

from sapwood.studies.slip_control.scene import (
    FIELDS,
    HANDLE,
    OPEN,
    PAD,
    SIDES,
    TAU_D,
    TIME_STEP,
    grip_force,
    slip_model,
)


class _Grip(LeafSystem):  # type: ignore[misc]
    """The grip force on both fingers."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareVectorOutputPort("force", 2, self._force, {self.time_ticket()})

    def _force(self, context: Any, output: Any) -> None:
        force = grip_force(context.get_time())
        output.SetFromVector([force, -force])


def _properties(name: str) -> ProximityProperties:
    properties, field = ProximityProperties(), FIELDS[name]
    AddCompliantHydroelasticProperties(field.resolution, field.modulus, properties)
    AddContactMaterial(None, None, CoulombFriction(1.0, 1.0), properties)
    properties.AddProperty("material", "relaxation_time", TAU_D / 2)
    return properties


def slip_seconds(seconds: float) -> tuple[float, float]:
    """CPU time of a run on the thread's clock, s, and the roll angle of the spatula after it, rad.

    Parameters
    ----------
    seconds
        Time to simulate, s.
    """
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlant(
        MultibodyPlantConfig(
            time_step=TIME_STEP,
            contact_model="hydroelastic",
            discrete_contact_approximation="sap",
            contact_surface_representation="polygon",
        ),
        builder,
    )
    gripper = RigidTransform(RotationMatrix.MakeYRotation(-1.57), [0.0, 0.0, 0.25])
    fingers = plant.AddModelInstance("gripper")
    for name, side in zip(SIDES, (-1, 1), strict=True):
        inertia = SpatialInertia(0.1, np.zeros(3), UnitInertia(1.6, 1.6, 1.6))
        body = plant.AddRigidBody(name, fingers, inertia)
        frame = FixedOffsetFrame(f"{name} slide", plant.world_frame(), gripper)
        joint = PrismaticJoint(name, plant.AddFrame(frame), body.body_frame(), [0.0, 1.0, 0.0])
        plant.AddJointActuator(name, plant.AddJoint(joint))
        place = RigidTransform([0.0, side * 0.041665, -0.182])
        plant.RegisterCollisionGeometry(
            body, place, Ellipsoid(*PAD), name, _properties(f"{name} pad")
        )
    spatula, start = _spatula(plant)
    plant.Finalize()
    grip = builder.AddSystem(_Grip())
    builder.Connect(grip.get_output_port(), plant.get_actuation_input_port(fingers))
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    own = plant.GetMyMutableContextFromRoot(context)
    for name, opening in zip(SIDES, (-OPEN, OPEN), strict=True):
        plant.GetJointByName(name).set_translation(own, opening)
    plant.SetFreeBodyPose(own, spatula, start)
    simulator = Simulator(diagram, context)
    simulator.Initialize()
    begun = time.thread_time()
    simulator.AdvanceTo(seconds)
    taken = time.thread_time() - begun
    R = plant.EvalBodyPoseInWorld(own, spatula).rotation().matrix()
    return taken, float(np.arctan2(R[2, 1], R[2, 2]))


def _spatula(plant: Any) -> tuple[Any, RigidTransform]:
    """The spatula with its handle, and its pose at the start: numbers of the MuJoCo model."""
    model = slip_model()
    body, geom = model.body("spatula"), model.geom("handle")
    R = RotationMatrix(Quaternion(body.iquat / np.linalg.norm(body.iquat))).matrix()
    about = R @ np.diag(body.inertia) @ R.T
    inertia = RotationalInertia(*np.diag(about), about[0, 1], about[0, 2], about[1, 2])
    made = plant.AddRigidBody(
        "spatula",
        plant.AddModelInstance("spatula"),
        SpatialInertia.MakeFromCentralInertia(float(body.mass[0]), body.ipos, inertia),
    )
    place = RigidTransform(Quaternion(geom.quat / np.linalg.norm(geom.quat)), geom.pos)
    plant.RegisterCollisionGeometry(made, place, Cylinder(*HANDLE), "handle", _properties("handle"))
    return made, RigidTransform(Quaternion(body.quat / np.linalg.norm(body.quat)), body.pos)

"""Simulation of MuJoCo models: :class:`Stepper` takes the place of ``mujoco.mj_step``.

MuJoCo does the kinematics, the mass matrix, the smooth forces, collision detection, sensors and the
integration; the contact forces and the next velocity are those of this package::

    model = mujoco.MjModel.from_xml_path("robot.xml")
    data = mujoco.MjData(model)
    stepper = sapwood.mujoco.Stepper(model, contact=sapwood.ContactMaterial(stiffness=1e6))
    while data.time < 1.0:
        stepper.step(data)
    print(stepper.solution)
    print(stepper.run(data, steps=1000))  # the same with the loop in C

:func:`rollout` steps many worlds on all cores, :func:`patch` those of an environment of Gymnasium
or dm_control. :func:`inverse_dynamics` finds torques that realise desired accelerations in contact.
"""

from sapwood.base.optional import imported_for

with imported_for("sapwood.mujoco", "mujoco"):
    import mujoco as _  # noqa: F401

from sapwood.constraints.materials import ConstraintMaterial
from sapwood.invdyn.robot import actuated_dofs
from sapwood.laws.materials import ContactMaterial
from sapwood.mujoco.batch import Batch
from sapwood.mujoco.batches.errors import SimulationError
from sapwood.mujoco.differentiable import DifferentiableModel
from sapwood.mujoco.differentiable_soft import DifferentiableSoftModel
from sapwood.mujoco.environments import Patch, patch
from sapwood.mujoco.gradients.linearizations import Linearization
from sapwood.mujoco.identification import Sensitivities, sensitivities, sysid_rollout
from sapwood.mujoco.linearization import linearize, linearize_batch
from sapwood.mujoco.poses import body_pose
from sapwood.mujoco.reading.support import NotSupported
from sapwood.mujoco.results.contact_reader import ContactReader
from sapwood.mujoco.results.contacts import StepContacts
from sapwood.mujoco.results.drawing import add_patches
from sapwood.mujoco.results.patches import StepPatch
from sapwood.mujoco.results.results import (
    RolloutResult,
    RunResult,
    StepConstraints,
    StepError,
)
from sapwood.mujoco.rollout import Rollout, rollout
from sapwood.mujoco.soft_linearization import SoftStepLinearization
from sapwood.mujoco.stepper import Stepper
from sapwood.mujoco.torques import inverse_dynamics

__all__ = [
    "Batch",
    "ConstraintMaterial",
    "ContactMaterial",
    "ContactReader",
    "DifferentiableModel",
    "DifferentiableSoftModel",
    "Linearization",
    "NotSupported",
    "Patch",
    "Rollout",
    "RolloutResult",
    "RunResult",
    "Sensitivities",
    "SimulationError",
    "SoftStepLinearization",
    "StepConstraints",
    "StepContacts",
    "StepError",
    "StepPatch",
    "Stepper",
    "actuated_dofs",
    "add_patches",
    "body_pose",
    "inverse_dynamics",
    "linearize",
    "linearize_batch",
    "patch",
    "rollout",
    "sensitivities",
    "sysid_rollout",
]

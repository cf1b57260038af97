"""Worlds of the robot: a compliant one, with contact by the stepper, and a rigid one."""

from __future__ import annotations

from typing import Protocol

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.invdyn import forward
from sapwood.invdyn.robot import bias_force, mass_matrix
from sapwood.laws import ContactMaterial
from sapwood.mujoco import Stepper
from sapwood.mujoco.torques import contact_jacobians
from sapwood.studies.walking.controllers import JOINTS, Contacts
from sapwood.studies.walking.robot import LEGS

Array = NDArray[np.float64]

#: Stiffness, N/m, and dissipation time, s, of compliant ground: the robot sinks by 1 mm at rest.
COMPLIANT = ContactMaterial(stiffness=1.18e4, dissipation_time=0.02)
#: Contacts that are as near as this are touched, m.
_TOUCH = 1e-4


class World(Protocol):
    """A simulation of the robot, with the state in `data`."""

    model: mujoco.MjModel
    data: mujoco.MjData

    def look(self) -> Contacts:
        """Go to the middle of a step: contacts as they are, with mass matrix and bias force."""
        ...

    def act(self, tau: Array) -> tuple[Array, Array]:
        """End the step: contact Jacobians (n, 3, nv), forces (n, 3); tangents, then normal."""
        ...


def _foot_of_geom(model: mujoco.MjModel) -> NDArray[np.int64]:
    """Which foot each geom is, -1 for none."""
    feet = np.full(model.ngeom, -1)
    feet[[model.geom(f"{leg}_foot").id for leg in LEGS]] = np.arange(len(LEGS))
    return feet


def _contacts(
    model: mujoco.MjModel, data: mujoco.MjData, foot_of_geom: NDArray[np.int64]
) -> Contacts:
    """All contacts of MuJoCo's list; the ground is the first geom of each."""
    J_n, J_t, _ = contact_jacobians(model, data)
    foot = foot_of_geom[data.contact.geom[:, 1]]
    return Contacts(J_n, J_t, data.contact.friction[:, 0].copy(), data.contact.dist.copy(), foot)


class StepperWorld:
    """Contact by `sapwood.mujoco.Stepper`: Coulomb's friction, near-rigid or compliant.

    Parameters
    ----------
    model
        The robot.
    data
        Its state, advanced in place.
    material
        Of the ground; None for one that is as rigid as the time step allows.
    """

    def __init__(
        self, model: mujoco.MjModel, data: mujoco.MjData, material: ContactMaterial | None = None
    ) -> None:
        self._stepper = Stepper(model, contact=material)
        self.model, self.data = self._stepper.model, data
        self._foot_of_geom = _foot_of_geom(model)

    def look(self) -> Contacts:
        """Go to the middle of a step; see `World`."""
        self._stepper.step1(self.data)
        contacts = _contacts(self.model, self.data, self._foot_of_geom)
        return contacts.chosen(contacts.phi <= _TOUCH)

    def act(self, tau: Array) -> tuple[Array, Array]:
        """End the step; see `World`."""
        self.data.ctrl[:] = tau
        self._stepper.step2(self.data)
        found = self._stepper.contacts
        listed = found.index >= 0
        # the kinematics in the data are those of the start of the step
        J_n, J_t, _ = contact_jacobians(self.model, self.data)
        J = np.concatenate([J_t, J_n[:, None]], axis=1)
        return J[found.index[listed]], found.force[listed]


class RigidWorld:
    """Contact by a rigid model that inverse dynamics inverts, between bodies that touch.

    Parameters
    ----------
    model, data
        As for `StepperWorld`.
    contact
        Name of the model: "lcp" or "qp", see `sapwood.invdyn.forward`.
    """

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData, contact: str) -> None:
        self.model, self.data, self._contact = model, data, contact
        self._foot_of_geom = _foot_of_geom(model)
        self._touching = self.look()

    def look(self) -> Contacts:
        """Go to the middle of a step; see `World`."""
        mujoco.mj_step1(self.model, self.data)
        contacts = _contacts(self.model, self.data, self._foot_of_geom)
        self._touching = contacts.chosen(contacts.phi <= 0.0)
        return self._touching

    def act(self, tau: Array) -> tuple[Array, Array]:
        """End the step; see `World`."""
        model, data, at = self.model, self.data, self._touching
        step = forward(
            mass_matrix(model, data), bias_force(model, data, JOINTS), data.qvel, tau, at.J_n,
            at.J_t, at.mu, actuated=JOINTS, dt=model.opt.timestep, model=self._contact,  # type: ignore[arg-type]
        )  # fmt: skip
        data.qvel[:] = step.v_plus
        mujoco.mj_integratePos(model, data.qpos, data.qvel, model.opt.timestep)
        data.time += model.opt.timestep
        return np.concatenate([at.J_t, at.J_n[:, None]], axis=1), step.forces

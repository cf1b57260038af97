"""Parameters of steps from a model and the arguments of a stepper."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import mujoco
import numpy as np

from sapwood.constraints.materials import ConstraintMaterial
from sapwood.laws.materials import ContactMaterial
from sapwood.mujoco.reading.adaptations import (
    choose_integrator,
    clear_flags,
    leave_out,
    make_isotropic,
    report_flexes,
)
from sapwood.mujoco.reading.arrays import forest_arrays
from sapwood.mujoco.reading.changes import ALL, GAINS, SLOPES, Changes
from sapwood.mujoco.reading.controllers import controllers, release_controllers
from sapwood.mujoco.reading.elements import element_arrays, element_materials
from sapwood.mujoco.reading.field_numbers import fields_in_numbers
from sapwood.mujoco.reading.flexes import inside_flexes
from sapwood.mujoco.reading.implicit_forces import has_implicit_forces
from sapwood.mujoco.reading.joined_trees import joined_trees
from sapwood.mujoco.reading.release import release_speeds, slip_speeds
from sapwood.mujoco.reading.solver_settings import settings_of_steps
from sapwood.mujoco.reading.support import check_model, colliding_flexes
from sapwood.settings import Friction, SapSettings
from sapwood.stepping.schemes import SYMPLECTIC_EULER, Scheme


@dataclasses.dataclass(frozen=True, eq=False)
class ModelReading:
    """The arguments of :class:`Stepper` that the reading of a model depends on.

    Attributes
    ----------
    time_step, contact, materials, constraint, constraints, implicit_actuators, ignore, settings, \
friction, speculative, release_speed, sigma
        The arguments of the stepper.
    discrete : bool
        Whether the integrator is MuJoCo's `discrete`, which takes springs implicitly.
    """

    time_step: float | None
    contact: ContactMaterial | None
    materials: Mapping[str | int, ContactMaterial] | None
    constraint: ConstraintMaterial | None
    constraints: Mapping[str, ConstraintMaterial] | None
    implicit_actuators: bool
    ignore: Collection[str]
    settings: SapSettings | None
    friction: Friction | None
    speculative: bool | None
    release_speed: float | None
    sigma: float | None
    discrete: bool

    def adapt(self, model: mujoco.MjModel, scheme: Scheme) -> Iterator[str]:
        """Change the private model where the stepper differs from MuJoCo.

        Parameters
        ----------
        model : mujoco.MjModel
            The private copy of the stepper; changed.
        scheme : Scheme
            Scheme of the steps.

        Yields
        ------
        str
            Text on each change.
        """
        yield from leave_out(model, self.ignore)
        yield from clear_flags(model)
        yield from make_isotropic(model)
        if scheme == SYMPLECTIC_EULER:
            yield from choose_integrator(model)
            yield from report_flexes(model)

    def read(
        self,
        model: mujoco.MjModel,
        scheme: Scheme,
        last: Mapping[str, Any] | None = None,
        changes: Changes = ALL,
        dissipation_time: float | None = None,
    ) -> dict[str, Any]:
        """Check and read a model; bounds of implicit actuators are taken from MuJoCo.

        Parameters
        ----------
        model : mujoco.MjModel
            The private copy of the stepper; changed.
        scheme : Scheme
            Scheme of the steps.
        last : dict, optional
            The last result; unchanged parts are the same objects again.
        changes : Changes
            The changes since then.
        dissipation_time : float, optional
            Of materials that give none, s; by default the time step.

        Returns
        -------
        dict
            What the model gives, by the names of attributes of :class:`StepParameters`.
        """
        symplectic = scheme == SYMPLECTIC_EULER
        tau_d = float(model.opt.timestep) if dissipation_time is None else dissipation_time
        changes = ALL if last is None else changes
        faults: list[str] = []
        found: dict[str, Any] = {} if last is None else dict(last)
        inside = inside_flexes(model) if symplectic else []
        n_flexes = model.nflex if not inside and colliding_flexes(model).size else 0
        joined = joined_trees(model, inside)
        if last is not None and (
            not np.array_equal(joined, last["joined"])
            or len(last["forest"]["geom_bodyid"]) != model.ngeom + n_flexes
        ):
            found, changes = {}, ALL
        found["joined"] = joined
        if changes.any_of(*GAINS):
            for name, cleared in ({} if last is None else last["released"]).items():
                getattr(model, name)[cleared] = True
            acts = self.implicit_actuators and symplectic
            found["controlled"] = controllers(model, joined) if acts else []
        if changes.any_of(*SLOPES):
            found["implicit"] = symplectic and (
                self.discrete or has_implicit_forces(model, found["controlled"])
            )
        found["forest"] = forest_arrays(
            model, self.contact, self.materials, tau_d, found["implicit"], faults,
            joined, n_flexes, found.get("forest"), changes, symplectic and self.discrete,
        )  # fmt: skip
        if changes.are_all:
            found["stiffness"] = element_materials(
                model, self.constraint, self.constraints, tau_d, faults
            )
        found["elements"] = element_arrays(
            model, found["stiffness"], found["controlled"], joined, n_flexes,
            found.get("elements"), changes,
        )  # fmt: skip
        forest, core = found["forest"], found["forest"]["core"]
        special = {
            "rigid core": np.flatnonzero(core),
            "restitution": np.flatnonzero(forest["restitution"]),
            "static friction": np.flatnonzero(forest["static_friction"] > forest["friction"]),
        }
        if changes.are_all:
            fields_in_numbers(model, faults)  # pressure fields are read later
        check_model(model, None if symplectic else scheme, special, faults)
        if changes.are_all:
            settings = settings_of_steps(self.settings, self.friction, model, core, scheme)
            by_law = symplectic and settings.friction == "coulomb"
            found["settings"] = settings
            found["speculative"] = by_law if self.speculative is None else self.speculative
        if changes.any_of(*GAINS):
            found["released"] = release_controllers(model, found["controlled"])
        if changes.any_of("opt.gravity"):
            found |= self.speeds(model, scheme)
        return found

    def speeds(self, model: mujoco.MjModel, scheme: Scheme) -> dict[str, Any]:
        """Speeds that follow gravity and the size of the bodies.

        Parameters
        ----------
        model : mujoco.MjModel
            The model.
        scheme : Scheme
            Scheme of the steps.

        Returns
        -------
        dict
            ``release`` and ``slip`` of :class:`StepParameters`.
        """
        return {
            "release": release_speeds(model, self.release_speed, scheme),
            "slip": slip_speeds(model, self.sigma),
        }

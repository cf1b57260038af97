"""What the steps of a model follow from, read once when a stepper is made."""

from __future__ import annotations

import copy
import dataclasses
import functools
import math
import warnings
from collections.abc import Collection, Mapping
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.constraints.materials import ConstraintMaterial
from sapwood.laws.materials import ContactMaterial
from sapwood.mujoco import options as model_options
from sapwood.mujoco.adaptations import (
    choose_integrator,
    clear_flags,
    hold_ahead,
    is_implicit,
    leave_out,
    make_isotropic,
)
from sapwood.mujoco.arrays import forest_arrays
from sapwood.mujoco.contacts import GeomNames
from sapwood.mujoco.controllers import controllers, release_controllers
from sapwood.mujoco.elements import element_arrays
from sapwood.mujoco.friction import settings_of_steps
from sapwood.mujoco.support import check_ignore, check_model
from sapwood.problem.arrays import Delassus
from sapwood.settings import Friction, SapSettings
from sapwood.stepping.schemes import SCHEMES, Scheme, scheme_of

SYMPLECTIC_EULER = SCHEMES["symplectic_euler"]


def _release_speed(value: float) -> float:
    speed = float(_core.as_float64(value, "release_speed", ()))
    if not speed > 0.0:
        raise ValueError(f"release_speed = {speed:g}: must be > 0")
    return speed


@dataclasses.dataclass(frozen=True, eq=False)
class StepParameters:
    """Everything that the steps of a model follow from, but for its state.

    Attributes
    ----------
    model : mujoco.MjModel
        The private copy of the model.
    scheme : Scheme
        Scheme of the theta-method.
    settings : SapSettings
        Settings of the solver, with the law of friction of the steps.
    sigma, beta : float
        Tangential regularization and near-rigid parameter, Eqs. (21) and (22).
    delassus : {"block", "diagonal"}
        Estimate of the Delassus blocks.
    forest : dict
        Constant arrays of trees, bodies and geoms, by the names of struct sap_forest of the C core.
    implicit : bool
        Whether all smooth forces are implicit, as the integrator of the model has them.
    elements : dict or None
        Those of limits, equality constraints, friction loss and implicit actuators, by the names of
        struct sap_elements; None where the model has none.
    options : tuple
        The options of the model that the steps stand on.
    speculative : bool
        Whether contacts that would close within a step are listed, where the engine allows it.
    release_speed : float
        Up to which violations are corrected within a step or two, m/s and rad/s.
    """

    model: mujoco.MjModel
    scheme: Scheme
    settings: SapSettings
    sigma: float
    beta: float
    delassus: Delassus
    forest: dict[str, NDArray[Any]]
    implicit: bool
    elements: dict[str, Any] | None
    options: model_options.Options
    speculative: bool
    release_speed: float

    @classmethod
    def of(
        cls,
        model: mujoco.MjModel,
        *,
        time_step: float | None,
        contact: ContactMaterial | None,
        materials: Mapping[str | int, ContactMaterial] | None,
        sigma: float,
        beta: float,
        delassus: Delassus,
        settings: SapSettings | None,
        friction: Friction | None,
        ignore: Collection[str],
        constraint: ConstraintMaterial | None,
        constraints: Mapping[str, ConstraintMaterial] | None,
        implicit_actuators: bool,
        scheme: str | Scheme,
        speculative: bool | None,
        release_speed: float,
    ) -> StepParameters:
        """Check a model and read what belongs to its stepper; see :class:`Stepper`."""
        if not isinstance(model, mujoco.MjModel):
            raise TypeError(f"model must be a mujoco.MjModel, not {type(model).__name__}")
        if time_step is None:
            time_step = float(model.opt.timestep)
        time_step = float(_core.as_float64(time_step, "time_step", (), "positive"))
        check_ignore(ignore)
        found = scheme_of(scheme)
        symplectic = found == SYMPLECTIC_EULER

        own = copy.copy(model)
        own.opt.timestep = time_step
        own.opt.disableflags |= model_options.DISABLED
        changes = [*leave_out(own, ignore), *clear_flags(own), *make_isotropic(own)]
        if symplectic:
            changes += [*choose_integrator(own), *hold_ahead(own)]
        for text in changes:
            # at the caller of Stepper
            warnings.warn(text, stacklevel=3)
        implicit = symplectic and is_implicit(own)
        forest = forest_arrays(own, contact, materials, time_step, implicit)
        cores = np.flatnonzero(forest["core"])
        check_model(own, None if symplectic else found, cores)
        controlled = controllers(own) if implicit_actuators and symplectic else []
        elements = element_arrays(own, constraint, constraints, time_step, controlled)
        release_controllers(own, controlled)
        settings = settings_of_steps(settings, friction, own, forest["core"], found)
        if speculative is None:
            speculative = settings.friction == "coulomb"
        return cls(
            model=own,
            scheme=found,
            settings=settings,
            sigma=sigma,
            beta=beta,
            delassus=delassus,
            forest=forest,
            implicit=implicit,
            elements=elements,
            options=model_options.options_of(own),
            speculative=bool(speculative) and symplectic,
            release_speed=_release_speed(release_speed),
        )

    @property
    def time_step(self) -> float:
        """Time step, s."""
        return float(self.model.opt.timestep)

    @functools.cached_property
    def geom_names(self) -> GeomNames:
        """Names of the geoms and of their bodies."""
        return GeomNames.of(self.model)

    @property
    def constrained(self) -> bool:
        """Whether there are other constraints than contacts."""
        return self.elements is not None

    def check_options(self) -> None:
        """Raise where the model no longer has the options that the steps stand on."""
        model_options.check_options(self.model, self.options)

    def make_core(self) -> _core.ModelStepper:
        """Memory of its own to gather, solve and write contacts in.

        Returns
        -------
        _core.ModelStepper
            For one thread at a time.
        """
        pyramidal = self.model.opt.cone == mujoco.mjtCone.mjCONE_PYRAMIDAL
        return _core.ModelStepper(
            self.forest,
            self.time_step,
            self.sigma,
            self.beta,
            self.delassus,
            "pyramidal" if pyramidal else "elliptic",
            mujoco.mjMAXVAL,
            self.settings,
            self.elements,
            self.speculative,
            self.release_speed if self.scheme == SYMPLECTIC_EULER else math.inf,
        )

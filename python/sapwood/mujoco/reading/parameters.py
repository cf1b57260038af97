"""What the steps of a model follow from, and how it is read of the model."""

from __future__ import annotations

import copy
import dataclasses
import functools
import os
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.base.checks import boolean
from sapwood.base.hints import warn_caller
from sapwood.constraints.materials import ConstraintMaterial
from sapwood.laws.materials import ContactMaterial
from sapwood.mujoco.reading import options as model_options
from sapwood.mujoco.reading.adaptations import (
    choose_integrator,
    clear_flags,
    hold_ahead,
    leave_out,
    make_isotropic,
)
from sapwood.mujoco.reading.arrays import forest_arrays
from sapwood.mujoco.reading.controllers import BOUNDED, controllers, release_controllers
from sapwood.mujoco.reading.elements import element_arrays
from sapwood.mujoco.reading.field_numbers import fields_in_numbers
from sapwood.mujoco.reading.fields import Field, Fields, fields_of
from sapwood.mujoco.reading.implicit_forces import has_implicit_forces
from sapwood.mujoco.reading.names import GeomNames
from sapwood.mujoco.reading.release import ReleaseSpeeds, release_speeds
from sapwood.mujoco.reading.solver_settings import settings_of_steps
from sapwood.mujoco.reading.support import check_ignore, check_model
from sapwood.problem.arrays import Delassus
from sapwood.settings import Friction, SapSettings
from sapwood.stepping.schemes import SYMPLECTIC_EULER, Scheme, scheme_of

_HOW_TO_LOAD = (
    ": mujoco.MjModel.from_xml_path loads a file, mujoco.MjModel.from_xml_string a text of XML"
)


@dataclasses.dataclass(frozen=True, eq=False)
class Reading:
    """What is read of a model follows from these arguments of :class:`Stepper`.

    Attributes
    ----------
    time_step, contact, materials, constraint, constraints, implicit_actuators, ignore, settings, \
friction, speculative, release_speed
        As given there.
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

    def adapt(self, model: mujoco.MjModel, scheme: Scheme) -> Iterator[str]:
        """Change what the stepper takes in another way than MuJoCo.

        Parameters
        ----------
        model : mujoco.MjModel
            The private copy of the stepper; changed.
        scheme : Scheme
            Of the steps.

        Yields
        ------
        str
            What is changed.
        """
        yield from leave_out(model, self.ignore)
        yield from clear_flags(model)
        yield from make_isotropic(model)
        if scheme == SYMPLECTIC_EULER:
            yield from choose_integrator(model)
            yield from hold_ahead(model)

    def read(self, model: mujoco.MjModel, scheme: Scheme) -> dict[str, Any]:
        """Check and read a model; bounds of implicit actuators are taken from MuJoCo.

        Parameters
        ----------
        model : mujoco.MjModel
            The private copy of the stepper; changed.
        scheme : Scheme
            Of the steps.

        Returns
        -------
        dict
            ``forest``, ``implicit``, ``elements``, ``released``, ``settings``, ``speculative`` and
            ``release`` of :class:`StepParameters`.
        """
        symplectic, dt = scheme == SYMPLECTIC_EULER, float(model.opt.timestep)
        controlled = controllers(model) if self.implicit_actuators and symplectic else []
        implicit = symplectic and has_implicit_forces(model, controlled)
        faults: list[str] = []
        forest = forest_arrays(model, self.contact, self.materials, dt, implicit, faults)
        elements = element_arrays(model, self.constraint, self.constraints, dt, controlled, faults)
        fields_in_numbers(model, faults)  # which are read after this
        cores = np.flatnonzero(forest["core"])
        check_model(model, None if symplectic else scheme, cores, faults)
        settings = settings_of_steps(self.settings, self.friction, model, forest["core"], scheme)
        by_law = symplectic and settings.friction == "coulomb"
        bounded = {name: np.array(getattr(model, name), dtype=bool) for name in BOUNDED}
        release_controllers(model, controlled)
        released = {name: was & (getattr(model, name) == 0) for name, was in bounded.items()}
        return {
            "forest": forest,
            "implicit": implicit,
            "elements": elements,
            "released": released,
            "settings": settings,
            "speculative": by_law if self.speculative is None else self.speculative,
            "release": release_speeds(model, self.release_speed, scheme),
        }


def _speculative(value: bool | None, scheme: Scheme) -> bool | None:
    if value is None:
        return None
    chosen = boolean(value, "speculative, where it is not None,")
    if chosen and scheme != SYMPLECTIC_EULER:
        raise ValueError(
            f"speculative = True: scheme {scheme.name} finds no contacts ahead of time; "
            "symplectic_euler does"
        )
    return chosen


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
        Whether smooth forces other than joint damping and implicit actuators are implicit, as the
        integrator of the model has them.
    elements : dict or None
        Those of limits, equality constraints, friction loss and implicit actuators, by the names of
        struct sap_elements; None where the model has none.
    released : dict
        Where flags of the model that bound actuator forces are cleared, as the C core bounds these.
    reading : Reading
        What the arrays follow from beside the model.
    notices : tuple of str
        What was said of elements that the stepper takes in another way than MuJoCo.
    options : tuple
        The options of the model that the steps stand on.
    speculative : bool
        Whether contacts that would close within a step are listed, where the engine allows it.
    release : ReleaseSpeeds
        Up to which violations are corrected within a step or two.
    fields : Fields or None
        Geoms that meet in patches; None where there are none.
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
    released: dict[str, NDArray[np.bool_]]
    reading: Reading
    notices: tuple[str, ...]
    options: model_options.Options
    speculative: bool
    release: ReleaseSpeeds
    fields: Fields | None

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
        release_speed: float | None,
        fields: Mapping[str | int, Field] | None,
    ) -> StepParameters:
        """Check a model and read what belongs to its stepper; see :class:`Stepper`."""
        if not isinstance(model, mujoco.MjModel):
            hint = _HOW_TO_LOAD if isinstance(model, (str, os.PathLike)) else ""
            raise TypeError(f"model must be a mujoco.MjModel, not {type(model).__name__}{hint}")
        chosen = float(model.opt.timestep) if time_step is None else time_step
        chosen = float(_core.as_float64(chosen, "time_step", (), "positive"))
        check_ignore(ignore)
        found = scheme_of(scheme)
        symplectic = found == SYMPLECTIC_EULER
        reading = Reading(
            time_step=time_step,
            contact=contact,
            materials=materials,
            constraint=constraint,
            constraints=constraints,
            implicit_actuators=boolean(implicit_actuators, "implicit_actuators"),
            ignore=ignore,
            settings=settings,
            friction=friction,
            speculative=_speculative(speculative, found),
            release_speed=release_speed,
        )

        own = copy.copy(model)
        own.opt.timestep = chosen
        own.opt.disableflags |= model_options.DISABLED
        notices = tuple(reading.adapt(own, found))
        for text in notices:
            warn_caller(text)
        arrays = reading.read(own, found)
        found_fields = fields_of(own, fields)
        if found_fields is not None and not symplectic:
            raise ValueError(f"fields: scheme {found.name} knows none; symplectic_euler does")
        return cls(
            model=own,
            scheme=found,
            sigma=sigma,
            beta=beta,
            delassus=delassus,
            **arrays,
            reading=reading,
            notices=notices,
            options=model_options.options_of(own),
            fields=found_fields,
        )

    def adapt_again(self) -> StepParameters:
        """Adapt the model as it is now, and warn of what was not said yet.

        Returns
        -------
        StepParameters
            With the same model; the same object where there is nothing new to say.
        """
        notices = tuple(self.reading.adapt(self.model, self.scheme))
        new = [text for text in notices if text not in self.notices]
        for text in new:
            warn_caller(text)
        return dataclasses.replace(self, notices=self.notices + tuple(new)) if new else self

    def read_again(self) -> StepParameters:
        """The same, with all that is read of the model as it is now.

        Returns
        -------
        StepParameters
            With the same model.

        Raises
        ------
        NotSupported, ValueError
            As for :class:`Stepper`.
        """
        for name, cleared in self.released.items():
            getattr(self.model, name)[cleared] = True
        fields = None if self.fields is None else self.fields.read_again(self.model)
        return dataclasses.replace(
            self, **self.reading.read(self.model, self.scheme), fields=fields
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
            *self.release,
            None if self.fields is None else self.fields.for_core(),
        )

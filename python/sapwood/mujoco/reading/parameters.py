"""The parameters of a model's steps."""

from __future__ import annotations

import copy
import dataclasses
import functools
import os
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.base.checks import boolean
from sapwood.base.hints import warn_caller
from sapwood.base.processors import thread_count
from sapwood.constraints.materials import ConstraintMaterial, Stiffness
from sapwood.fem.bodies import SoftBody
from sapwood.laws.materials import ContactMaterial
from sapwood.mujoco.reading import options as model_options
from sapwood.mujoco.reading.adaptations import is_discrete
from sapwood.mujoco.reading.changes import Changes
from sapwood.mujoco.reading.controllers import Controller
from sapwood.mujoco.reading.fields import Field, Fields, fields_of
from sapwood.mujoco.reading.model_reading import ModelReading
from sapwood.mujoco.reading.names import GeomNames
from sapwood.mujoco.reading.release import ReleaseSpeeds, SlipSpeeds
from sapwood.mujoco.reading.soft_bodies import SoftModel, soft_model
from sapwood.mujoco.reading.support import check_ignore
from sapwood.problem.arrays import Delassus
from sapwood.settings import Friction, SapSettings
from sapwood.stepping.schemes import SYMPLECTIC_EULER, Scheme, scheme_of

# largest relative tolerance of solves in parts of a time step
_OF_SHORT_STEPS = 1e-8

SIGMA = 1e-3  #: Tangential regularization of what slips, by default.

_HOW_TO_LOAD = (
    ": mujoco.MjModel.from_xml_path loads a file, mujoco.MjModel.from_xml_string a text of XML"
)


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


# arrays of a model that are read, also again
_READ = (
    "joined", "forest", "controlled", "implicit", "stiffness", "elements", "released", "settings",
    "speculative", "release", "slip",
)  # fmt: skip


def _are_same(one: Mapping[str, Any] | None, other: Mapping[str, Any] | None) -> bool:
    if one is None or other is None:
        return one is other
    return one is other or all(other[name] is array for name, array in one.items())


@dataclasses.dataclass(frozen=True, eq=False)
class StepParameters:
    """All inputs of a model's steps except the state.

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
    joined : ndarray of int32 (ntree,)
        Tree of the problem that each tree of MuJoCo belongs to.
    forest : dict
        Constant arrays of trees, bodies and geoms, by the names of struct sap_forest of the C core.
    controlled : list of Controller
        Actuators that act implicitly.
    implicit : bool
        Whether smooth forces other than joint damping and implicit actuators are implicit, as the
        integrator of the model has them.
    stiffness : dict
        Stiffness and dissipation time of limits and equality constraints, by kind.
    elements : dict or None
        Arrays of limits, equality constraints, friction loss and implicit actuators, by the names
        of struct sap_elements; None if the model has none.
    released : dict
        Cleared flags of the model that bound actuator forces; the C core bounds these forces.
    reading : ModelReading
        The arguments of the stepper that the arrays depend on.
    notices : tuple of str
        Warnings on elements where the stepper differs from MuJoCo.
    options : tuple
        The options of the model that the steps stand on.
    speculative : bool
        Whether contacts that would close within a step are listed, where the engine allows it.
    release : ReleaseSpeeds
        Up to which violations are corrected within a step or two.
    slip : SlipSpeeds
        Below which contacts and dry friction have a smaller sigma.
    fields : Fields or None
        Geoms that meet in patches; None where there are none.
    soft : SoftModel or None
        Soft bodies beside the model, and flexes; None where there are none.
    threads : int
        Threads of a step with these, or by another scheme than the default.
    """

    model: mujoco.MjModel
    scheme: Scheme
    settings: SapSettings
    sigma: float
    beta: float
    delassus: Delassus
    joined: NDArray[np.int32]
    forest: dict[str, NDArray[Any]]
    controlled: list[Controller]
    implicit: bool
    stiffness: dict[str, Stiffness]
    elements: dict[str, Any] | None
    released: dict[str, NDArray[np.bool_]]
    reading: ModelReading
    notices: tuple[str, ...]
    options: model_options.Options
    speculative: bool
    release: ReleaseSpeeds
    slip: SlipSpeeds
    fields: Fields | None
    soft: SoftModel | None
    threads: int = 1

    @classmethod
    def of(
        cls,
        model: mujoco.MjModel,
        *,
        time_step: float | None,
        contact: ContactMaterial | None,
        materials: Mapping[str | int, ContactMaterial] | None,
        sigma: float | None,
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
        soft: Iterable[SoftBody] = (),
        threads: int = 1,
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
        reading = ModelReading(
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
            sigma=sigma,
            discrete=is_discrete(model),
        )

        own = copy.copy(model)
        own.opt.timestep = chosen
        own.opt.disableflags |= model_options.DISABLED
        notices = tuple(reading.adapt(own, found))
        for text in notices:
            warn_caller(text)
        arrays = reading.read(own, found)
        found_soft = soft_model(own, soft, fields, found)
        found_fields = fields_of(own, fields)
        if found_fields is not None and not symplectic:
            raise ValueError(f"fields: scheme {found.name} knows none; symplectic_euler does")
        return cls(
            model=own,
            scheme=found,
            sigma=SIGMA if sigma is None else sigma,
            beta=beta,
            delassus=delassus,
            **arrays,
            reading=reading,
            notices=notices,
            options=model_options.options_of(own),
            fields=found_fields,
            soft=found_soft,
            threads=thread_count(threads),
        )

    def adapt_again(self) -> StepParameters:
        """Adapt the current model, and give the warnings that are new.

        Returns
        -------
        StepParameters
            Parameters with the same model; the same object without news.
        """
        notices = tuple(self.reading.adapt(self.model, self.scheme))
        new = [text for text in notices if text not in self.notices]
        for text in new:
            warn_caller(text)
        return self._with(notices=self.notices + tuple(new)) if new else self

    @property
    def arrays(self) -> dict[str, Any]:
        """All that is read of the model, by the names of attributes."""
        return {name: getattr(self, name) for name in _READ}

    def read_again(self, names: Collection[str]) -> StepParameters:
        """The same, with the parts that depend on changed arrays read again.

        Parameters
        ----------
        names : collection of str
            Arrays of the model that have changed, and options, such as ``opt.gravity``.

        Returns
        -------
        StepParameters
            Parameters with the same model.

        Raises
        ------
        NotSupported, ValueError
            The same as for :class:`Stepper`.
        """
        if set(names) == {"opt.gravity"}:
            return self._with(**self.reading.speeds(self.model, self.scheme))
        fields = None if self.fields is None else self.fields.read_again(self.model)
        found = self.reading.read(self.model, self.scheme, self.arrays, Changes(names))
        return self._with(**found, fields=fields)

    def for_any_time_step(self) -> StepParameters:
        """The same for steps of any length: dissipation times that follow it are ``TIME_STEP``.

        Solves are as exact as short steps need, whose impulses are a small part of a momentum.

        Returns
        -------
        StepParameters
            Parameters with a copy of the model.
        """
        found = self.with_model(copy.copy(self.model), _core.TIME_STEP)
        tolerance = min(found.settings.relative_tolerance, _OF_SHORT_STEPS)
        settings = dataclasses.replace(found.settings, relative_tolerance=tolerance)
        return found._with(settings=settings)

    def with_model(
        self, own: mujoco.MjModel, dissipation_time: float | None = None
    ) -> StepParameters:
        """The same with another model.

        Parameters
        ----------
        own : mujoco.MjModel
            A copy of the model with other numbers; kept, and changed as the stepper needs it.
        dissipation_time : float, optional
            Of materials that give none, s; by default the time step.

        Returns
        -------
        StepParameters
            Parameters with that model.
        """
        for name, cleared in self.released.items():
            getattr(own, name)[cleared] = True
        found = self.reading.read(own, self.scheme, dissipation_time=dissipation_time)
        fields = None if self.fields is None else self.fields.read_again(own)
        options = model_options.options_of(own)
        return self._with(model=own, **found, fields=fields, options=options)

    def for_thread(self, own: mujoco.MjModel) -> StepParameters:
        """The same for steps of another thread, which alone takes them.

        Parameters
        ----------
        own : mujoco.MjModel
            The model, or a copy of it.

        Returns
        -------
        StepParameters
            Parameters with that model, and with soft bodies that have a state of their own.
        """
        soft = None if self.soft is None else self.soft.copy()
        return self._with(model=own, soft=soft, threads=1)

    def _with(self, **fields: Any) -> StepParameters:
        """The same with other fields; the names of the geoms never change."""
        other = dataclasses.replace(self, **fields)
        if "geom_names" in self.__dict__:
            other.__dict__["geom_names"] = self.geom_names
        return other

    def differs_in_speeds(self, other: StepParameters) -> bool:
        """Whether all but the speeds of release and slip is the same, to the object."""
        return (
            _are_same(self.forest, other.forest)
            and _are_same(self.elements, other.elements)
            and self.settings is other.settings
            and self.speculative == other.speculative
            and self.fields is other.fields
        )

    @property
    def speeds(self) -> tuple[float, float, float, float, float]:
        """Release speed and rate, slip speed and rate, stiction speed, m/s and rad/s."""
        return *self.release, *self.slip

    @property
    def time_step(self) -> float:
        """Time step, s."""
        return float(self.model.opt.timestep)

    @functools.cached_property
    def geom_names(self) -> GeomNames:
        """Names of the geoms and of their bodies."""
        return GeomNames.of(self.model, self.forest["geom_bodyid"])

    def check_options(self) -> None:
        """Raise where the model no longer has the options that the steps stand on."""
        model_options.check_options(self.model, self.options)

    def make_core(self) -> _core.ModelStepper:
        """A stepper of the C core with memory of its own.

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
            *self.speeds,
            None if self.fields is None else self.fields.for_core(len(self.forest["geom_bodyid"])),
        )

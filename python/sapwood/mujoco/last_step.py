"""The properties of a stepper and of its last step, and the counters of its steps."""

from __future__ import annotations

import math
from collections.abc import Sequence

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.base.checks import instance
from sapwood.fem.bodies import SoftBody
from sapwood.fem.results import SoftStepResult
from sapwood.fem.state import SoftState
from sapwood.mujoco.reading.parameters import StepParameters
from sapwood.mujoco.results.contact_reader import ContactReader
from sapwood.mujoco.results.contacts import StepContacts
from sapwood.mujoco.results.groups import step_constraints
from sapwood.mujoco.results.patches import StepPatch, step_patches
from sapwood.mujoco.results.results import Counts, StepConstraints, add_counts
from sapwood.mujoco.stepping.steps import Steps
from sapwood.settings import SapSettings
from sapwood.solution import Solution, Status
from sapwood.stepping.schemes import Scheme

_Float = NDArray[np.float64]


class LastStep:
    """Results of the last step of a stepper, copied out of the C core when they are asked for."""

    _parameters: StepParameters
    _steps: Steps
    _earlier: Counts
    _contacts: StepContacts | None
    _constraints: tuple[StepConstraints, ...] | None
    _patches: tuple[StepPatch, ...] | None
    _solution: Solution | None
    _left: tuple[Steps, StepParameters] | None

    def _forget(self) -> None:
        """Drop cached results after a new step."""
        self._contacts = self._constraints = self._patches = self._solution = self._left = None

    def _of_last_step(self) -> tuple[Steps, StepParameters]:
        """The steps, and their parameters, that took the last step."""
        return (self._steps, self._parameters) if self._left is None else self._left

    @property
    def parameters(self) -> StepParameters:
        """All inputs of a step except the state."""
        return self._parameters

    @property
    def model(self) -> mujoco.MjModel:
        """The private copy of the model that is simulated."""
        return self._parameters.model

    @property
    def settings(self) -> SapSettings:
        """Settings of the solver."""
        return self._parameters.settings

    @property
    def scheme(self) -> Scheme:
        """Scheme of the theta-method."""
        return self._parameters.scheme

    @property
    def time_step(self) -> float:
        """Time step, s."""
        return self._parameters.time_step

    @property
    def solution(self) -> Solution | None:
        """The solution of the last step; None before the first one."""
        if self._solution is None:
            self._solution = self._of_last_step()[0].result()
        return self._solution

    @property
    def contacts(self) -> StepContacts:
        """The contacts of the last step; none before the first one."""
        if self._contacts is None:
            steps, parameters = self._of_last_step()
            self._contacts = StepContacts(steps.contacts(), parameters.geom_names)
        return self._contacts

    @property
    def body_forces(self) -> _Float:
        """Sum of the contact forces of the last step on each body (nbody, 3), N, in the world."""
        return self._of_last_step()[0].body_forces()

    def contact_reader(
        self, geoms: Sequence[str | int], others: Sequence[str | int] | None = None
    ) -> ContactReader:
        """Prepare a reader of the contact forces on geoms; a geom touches by force alone.

        Parameters
        ----------
        geoms : sequence of str or int
            Names or indices of geoms, such as feet.
        others : sequence of str or int, optional
            Geoms that they touch, such as the floor; None is all.

        Returns
        -------
        ContactReader
            Its ``read()`` sets ``acting`` (n,), ``force`` (n, 3) and ``air_time`` (n,) by the last
            step, of any data. A call takes less than a microsecond.

        Raises
        ------
        NotSupported
            For schemes other than the default.
        TypeError, ValueError
            If there is no such geom; the text names it.

        Examples
        --------
        >>> import mujoco, sapwood.mujoco
        >>> model = sapwood.studies.scenes.sphere_on_floor(-1e-4).compile()
        >>> stepper, data = sapwood.mujoco.Stepper(model), mujoco.MjData(model)
        >>> touch = stepper.contact_reader([1])
        >>> result = stepper.run(data, 100)
        >>> touch.read().acting.tolist()
        [True]
        """
        return ContactReader(self._contact_source, self._parameters.geom_names, geoms, others)

    def _contact_source(self) -> _core.ModelStepper:
        return self._of_last_step()[0].contact_source()

    @property
    def patches(self) -> tuple[StepPatch, ...]:
        """Patches of geoms with pressure fields in the last step; none before the first one.

        Each contact of a patch is in ``contacts`` and ``solution`` too, after those of MuJoCo.
        """
        if self._patches is None:
            steps, parameters = self._of_last_step()
            fields = parameters.fields
            self._patches = (
                () if fields is None else step_patches(steps.patches(), self.contacts, fields.geoms)
            )
        return self._patches

    @property
    def soft(self) -> tuple[SoftBody, ...]:
        """The soft bodies, with their present state."""
        return () if self._parameters.soft is None else self._parameters.soft.bodies

    @property
    def soft_result(self) -> SoftStepResult | None:
        """The outcome of the last step for the soft bodies; None before the first one."""
        return self._of_last_step()[0].soft_result

    @property
    def soft_state(self) -> SoftState:
        """State of the soft bodies with its time, which data of a step must have; may be set."""
        soft = self._parameters.soft
        return SoftState.of(self.soft, math.nan if soft is None else soft.time)

    @soft_state.setter
    def soft_state(self, state: SoftState) -> None:
        instance(state, SoftState, "soft_state").restore(self.soft)
        if self._parameters.soft is not None:
            self._parameters.soft.time = state.time

    @property
    def constraints(self) -> tuple[StepConstraints, ...]:
        """The other constraints of the last step, one entry per kind; none before the first one."""
        if self._constraints is None:
            steps, parameters = self._of_last_step()
            arrays = steps.groups()
            solved = len(arrays["gamma"]) == len(arrays["label"])
            self._constraints = step_constraints(parameters.model, arrays) if solved else ()
        return self._constraints

    @property
    def n_contacts(self) -> int:
        """Contacts of the last step."""
        return len(self.contacts.index)

    @property
    def slip_speed(self) -> _Float:
        """Tangential speed of each contact at the end of the last step, m/s."""
        return self.contacts.slip_speed

    @property
    def penetration(self) -> _Float:
        """Depth of the overlap of each contact at the start of the last step, m."""
        return self.contacts.penetration

    def _counts(self) -> Counts:
        """Steps by status; a copied stepper counts on from the original."""
        return add_counts(self._steps.counts(), self._earlier)

    @property
    def steps(self) -> int:
        """Steps taken; with ``accuracy`` the halves of parts that were taken."""
        return sum(self._counts())

    @property
    def stalled_steps(self) -> int:
        """Steps in which the solver stopped at round-off before its tolerance was met."""
        return self._counts()[Status.stalled]

    @property
    def iteration_limit_steps(self) -> int:
        """Steps in which the solver met its iteration limit."""
        return self._counts()[Status.iteration_limit]

    @property
    def friction_limit_steps(self) -> int:
        """Steps without forces that obey Coulomb's law: the solver found none."""
        return self._counts()[Status.friction_limit]

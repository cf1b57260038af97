"""The parts of a step, each one call into the C core, which calls MuJoCo's stages."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.mujoco.reading.parameters import StepParameters
from sapwood.mujoco.results.faults import error_of

_Float = NDArray[np.float64]


class Stages:
    """Parts of the steps of one model, in memory of their own.

    Each raises StepError if no step can be taken, and exceptions of MuJoCo's callbacks.

    Parameters
    ----------
    parameters : StepParameters
        Parameters of the stepper.
    engine : object
        The loaded MuJoCo, of :func:`sapwood.mujoco.reading.engine.engine`.

    Attributes
    ----------
    core : _core.ModelStepper
        The stepper of the C core, with the gathered problem and its solution.
    engine : object
        The loaded MuJoCo.
    """

    def __init__(self, parameters: StepParameters, engine: object) -> None:
        self.core, self.engine = parameters.make_core(), engine
        self._model = parameters.model

    def _check(self, failure: Any, data: mujoco.MjData) -> None:
        error = error_of(failure, self._model, data)
        if error is not None:
            raise error

    def start(self, data: mujoco.MjData) -> None:
        """First half of a step, up to the velocity-dependent quantities."""
        self._check(self.core.start(self.engine, self._model, data), data)

    def evaluate(self, data: mujoco.MjData) -> None:
        """Find positions, velocities and forces of a state, without sensors and controls."""
        self._check(self.core.evaluate(self.engine, self._model, data), data)

    def gather(
        self,
        data: mujoco.MjData,
        velocity: _Float | None = None,
        memory: _core.FrictionMemory | None = None,
    ) -> None:
        """Gather the contact problem of data whose forces were found.

        Parameters
        ----------
        data : mujoco.MjData
            The data.
        velocity : ndarray (nv,), optional
            Velocity at the start of the step; by default the velocity of the data.
        memory : _core.FrictionMemory, optional
            Gives the contacts their bounds of lagged friction.
        """
        self._check(self.core.gather(self.engine, self._model, data, velocity, memory), data)

    def begin(self, data: mujoco.MjData) -> None:
        """All stages of a step before its contact part."""
        self.start(data)
        self.find_forces(data)

    def find_forces(self, data: mujoco.MjData) -> None:
        """The stages of a step from its first half to its contact part."""
        self._check(self.core.find_forces(self.engine, self._model, data), data)

    def solve(self, data: mujoco.MjData) -> None:
        """Gather, solve and write back the contact part of data whose forces were found."""
        self._check(self.core.solve(self.engine, self._model, data), data)

    def write(
        self,
        data: mujoco.MjData,
        v: _Float,
        gamma: _Float,
        group_gamma: _Float,
        spin_gamma: _Float,
        efc_force: _Float,
    ) -> None:
        """Write qacc, qfrc_constraint, efc_force and sensors for a solution found elsewhere.

        Parameters
        ----------
        data : mujoco.MjData
            The data whose problem was gathered last.
        v, gamma, group_gamma, spin_gamma : ndarray
            Velocity, and impulses of contacts, other constraints, and torsional and rolling
            friction.
        efc_force : ndarray (nefc,) or (0,)
            Forces of contacts that the problem does not have, in MuJoCo's rows.
        """
        impulses = gamma, group_gamma, spin_gamma, efc_force
        self._check(self.core.write(self.engine, self._model, data, v, *impulses), data)

    def remember(self, data: mujoco.MjData, memory: _core.FrictionMemory) -> None:
        """Keep the forces written last, and the state of the data, which the step left."""
        self.core.remember(self.engine, self._model, data, memory)

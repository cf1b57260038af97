"""Time steps in parts that meet a tolerance: step doubling on halved time steps, in C.

``sapwood/mujoco.h`` says how parts follow each other; their mirror in Python is
:func:`sapwood.reference.take_in_parts`. With materials in N/m and s the limit of small parts
exists; a near-rigid contact has a stiffness that depends on the length of the part.
"""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.mujoco.following.following import READ
from sapwood.mujoco.following.watch import MOTION, ModelWatch
from sapwood.mujoco.reading.parameters import StepParameters
from sapwood.mujoco.results.results import Counts, add_counts
from sapwood.mujoco.stepping.engine_steps import EngineSteps
from sapwood.mujoco.stepping.ways import loaded_engine

_STATE = int(mujoco.mjtState.mjSTATE_INTEGRATION)


def position_scales(model: mujoco.MjModel) -> NDArray[np.float64]:
    """The unit of the error of each velocity's position.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.

    Returns
    -------
    ndarray (nv,)
        ``model.stat.extent`` in m for translations, 1 rad for rotations.
    """
    scales = np.ones(model.nv)
    for kind, first in zip(model.jnt_type, model.jnt_dofadr, strict=True):
        if kind == mujoco.mjtJoint.mjJNT_SLIDE:
            scales[first] = model.stat.extent
        elif kind == mujoco.mjtJoint.mjJNT_FREE:
            scales[first : first + 3] = model.stat.extent
    return scales


class AccurateSteps(EngineSteps):
    """Takes time steps in parts, each with an error of positions within a tolerance.

    Parameters
    ----------
    parameters : StepParameters
        Parameters of the whole time steps.

    Attributes
    ----------
    records : ndarray of PARTS_RECORD (steps,)
        Records of a run, written step by step.
    """

    records: NDArray[np.void]

    def __init__(self, parameters: StepParameters) -> None:
        self._make(parameters)

    def follow(self, parameters: StepParameters) -> None:
        """Step by parameters that may be other ones, or have a model with other numbers.

        Parameters
        ----------
        parameters : StepParameters
            Present parameters of the whole time steps.
        """
        if self._followed is not parameters or self._watch.changed():
            self._make(parameters)

    def _make(self, parameters: StepParameters) -> None:
        self._followed = parameters
        self._watch = ModelWatch(parameters.model, {*MOTION, *READ})
        super().__init__(parameters.for_any_time_step(), loaded_engine())
        self._counted: Counts = (0, 0, 0, 0)
        self._scales = position_scales(parameters.model)

    def begin(self, accuracy: float, halvings: int, steps: int) -> None:
        """Begin a run with a whole part.

        Parameters
        ----------
        accuracy : float
            The tolerance: largest error of a part over the scale of its position.
        halvings : int
            The smallest step is the time step over 2^halvings.
        steps : int
            Largest number of steps.
        """
        self._tolerance, self._halvings = accuracy, halvings
        self.records = np.zeros(steps, dtype=_core.PARTS_RECORD)
        self._taken = 0

    def new_counts(self) -> Counts:
        """Steps by the status of their solve since the last call; trials do not count."""
        before, self._counted = self._counted, self.counts()
        return add_counts(self._counted, (-before[0], -before[1], -before[2], -before[3]))

    def _accuracy(self) -> tuple[Any, ...]:
        taken = self._taken
        level = int(self.records["level"][taken - 1]) if taken else 0
        return self._tolerance, self._halvings, level, _STATE, self._scales, self.records[taken:]

    def _note(self, taken: int) -> None:
        self._taken += taken

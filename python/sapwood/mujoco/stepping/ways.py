"""The choice of the way to take the steps of a model."""

from __future__ import annotations

import mujoco

from sapwood.mujoco.reading.engine import EngineError, engine
from sapwood.mujoco.reading.parameters import StepParameters
from sapwood.mujoco.reading.support import NotSupported
from sapwood.mujoco.stepping.engine_steps import EngineSteps
from sapwood.mujoco.stepping.soft_steps import SoftSteps
from sapwood.mujoco.stepping.steps import Steps
from sapwood.mujoco.stepping.theta_steps import ThetaSteps
from sapwood.stepping.schemes import SYMPLECTIC_EULER


def loaded_engine() -> object:
    """The loaded MuJoCo, driven from C.

    Raises
    ------
    NotSupported
        If this version of MuJoCo cannot be driven from C; the message says why.
    """
    try:
        return engine()
    except EngineError as error:
        raise NotSupported(
            f"MuJoCo {mujoco.__version__} cannot be driven from C ({error}): install another "
            "version of it"
        ) from error


def steps_of(parameters: StepParameters) -> Steps:
    """Take the steps of a model, by its scheme and its soft bodies.

    Parameters
    ----------
    parameters : StepParameters
        Parameters of the stepper.

    Returns
    -------
    Steps
        Steps with memory of their own.

    Raises
    ------
    NotSupported
        If this version of MuJoCo cannot be driven from C.
    """
    if parameters.soft is not None:
        return SoftSteps(parameters, loaded_engine())
    steps = EngineSteps if parameters.scheme == SYMPLECTIC_EULER else ThetaSteps
    return steps(parameters, loaded_engine())

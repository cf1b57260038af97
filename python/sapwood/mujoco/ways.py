"""Which way the steps of a model are taken."""

from __future__ import annotations

import dataclasses

import mujoco

from sapwood.mujoco.core_steps import CoreSteps, EngineSteps
from sapwood.mujoco.engine import EngineError, engine
from sapwood.mujoco.parameters import SYMPLECTIC_EULER, StepParameters
from sapwood.mujoco.steps import Steps
from sapwood.mujoco.support import NotSupported
from sapwood.mujoco.theta_steps import ThetaSteps


def steps_of(parameters: StepParameters) -> Steps:
    """Take the steps of a model in C where that can be.

    Parameters
    ----------
    parameters : StepParameters
        Of the stepper.

    Returns
    -------
    Steps
        With memory of their own.

    Raises
    ------
    NotSupported
        Where MuJoCo cannot be driven from C, and the integrator takes all smooth forces implicitly.
    """
    if parameters.scheme != SYMPLECTIC_EULER:
        return ThetaSteps(parameters)
    try:
        return EngineSteps(parameters, engine())
    except EngineError as error:
        if parameters.implicit:
            raise NotSupported(
                f"an implicit integrator with MuJoCo {mujoco.__version__}: {error}; set "
                "model.opt.integrator to mujoco.mjtIntegrator.mjINT_EULER"
            ) from error
        return CoreSteps(dataclasses.replace(parameters, speculative=False))

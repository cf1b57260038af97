"""Which way the steps of a model are taken."""

from __future__ import annotations

import mujoco

from sapwood.mujoco.reading.engine import EngineError, engine
from sapwood.mujoco.reading.parameters import StepParameters
from sapwood.mujoco.reading.support import NotSupported
from sapwood.mujoco.stepping.core_steps import CoreSteps, EngineSteps
from sapwood.mujoco.stepping.steps import Steps
from sapwood.mujoco.stepping.theta_steps import ThetaSteps
from sapwood.stepping.schemes import SYMPLECTIC_EULER


def steps_of(parameters: StepParameters) -> Steps:
    """Take the steps of a model: in C, or in stages from Python where that gives the same steps.

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
        Where MuJoCo cannot be driven from C, and the steps need that: to find contacts ahead of
        time, or to take all smooth forces implicitly. It says which argument or option does
        without.
    """
    if parameters.scheme != SYMPLECTIC_EULER:
        return ThetaSteps(parameters)
    try:
        return EngineSteps(parameters, engine())
    except EngineError as error:
        without = {
            "an implicit integrator": (
                parameters.implicit,
                "set model.opt.integrator to mujoco.mjtIntegrator.mjINT_EULER",
            ),
            "speculative contacts": (
                parameters.speculative,
                "speculative=False takes other steps, which find contacts once geoms overlap",
            ),
        }
        reasons = [
            f"{what} with MuJoCo {mujoco.__version__}, which cannot be driven from C ({error}); "
            f"{remedy}"
            for what, (needed, remedy) in without.items()
            if needed
        ]
        if reasons:
            raise NotSupported(*reasons) from error
        return CoreSteps(parameters)

"""MuJoCo's stages of a step as Python calls them, and the options of a model they stand on."""

from __future__ import annotations

from typing import Any, NoReturn

import mujoco
import numpy as np

from sapwood import _core
from sapwood.mujoco.arrays import STATE_NAMES, Bound, contact_arrays, model_name
from sapwood.mujoco.groups import constraint_groups
from sapwood.mujoco.results import StepError
from sapwood.mujoco.support import (
    MORE_MEMORY,
    bad_value_text,
    check_flags,
    fault_text,
    mujoco_error_text,
)
from sapwood.problem.contact_problem import ContactProblem

# set on the private copy of the model: mj_Euler then takes qacc as it is, and no islands are built
DISABLED = int(mujoco.mjtDisableBit.mjDSBL_EULERDAMP | mujoco.mjtDisableBit.mjDSBL_ISLAND)

# limits are found without MuJoCo, when the stepper is made
_LIMITS = int(mujoco.mjtDisableBit.mjDSBL_LIMIT)

Options = tuple[float, int, int, int]


def options_of(model: mujoco.MjModel) -> Options:
    """The options of a model that its stepper stands on."""
    opt = model.opt
    return opt.timestep, opt.integrator, opt.cone, opt.disableflags & (DISABLED | _LIMITS)


def check_options(model: mujoco.MjModel, expected: Options) -> None:
    """Raise where the C core and MuJoCo would no longer do the same step.

    Parameters
    ----------
    model : mujoco.MjModel
        The model as it is now.
    expected : tuple
        Its :func:`options_of` when the stepper was made.

    Raises
    ------
    NotSupported, ValueError
        Where a flag is set that is refused, or an option is not as it was.
    """
    check_flags(model)
    if options_of(model) != expected:
        raise ValueError(
            "stepper.model.opt: timestep, integrator, cone and the flags eulerdamp, island and "
            "limit belong to the stepper; make a new one to change them"
        )


def start_step(model: mujoco.MjModel, bound: Bound) -> None:
    """Check the state and run MuJoCo's stages up to the velocity-dependent ones.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    bound : Bound
        Its data.

    Raises
    ------
    StepError
        Where no step can be taken from this state.
    """
    data = bound.data
    bad = _core.first_bad(bound.state, mujoco.mjMAXVAL)
    if bad is not None:
        array, index = bad
        raise StepError(bad_value_text(STATE_NAMES[array], bound.state[array], index), data.time)
    full = bound.contacts_full.number, bound.rows_full.number
    try:
        mujoco.mj_step1(model, data)
    except mujoco.FatalError as error:
        raise StepError(mujoco_error_text(str(error)), data.time) from None
    if (bound.contacts_full.number, bound.rows_full.number) != full:
        raise StepError(MORE_MEMORY, data.time)


def raise_fault(core: _core.ModelStepper, model: mujoco.MjModel, data: mujoco.MjData) -> NoReturn:
    """Raise StepError for the fault that a core found in a step of ``data``."""
    code, index = core.fault()
    raise StepError(fault_text(_core.FAULTS[code], index, model, data), data.time)


def gather_problem(
    core: _core.ModelStepper,
    model: mujoco.MjModel,
    data: mujoco.MjData,
    constrained: bool,
    **parameters: Any,
) -> ContactProblem:
    """The contact problem of a state.

    Parameters
    ----------
    core : _core.ModelStepper
        A core of its own for this call.
    model : mujoco.MjModel
        The model.
    data : mujoco.MjData
        State and controls; not changed.
    constrained : bool
        Whether the core has other constraints than contacts.
    **parameters
        sigma, beta and delassus, as for ContactProblem.

    Returns
    -------
    ContactProblem
        With copies; the stiffness of a rigid pair is the largest finite number.

    Raises
    ------
    StepError
        Where no step can be taken from this state.
    """
    scratch = mujoco.MjData(model)
    mujoco.mj_copyData(scratch, model, data)
    bound = Bound.of(model, scratch)
    start_step(model, bound)
    mujoco.mj_fwdActuation(model, scratch)
    mujoco.mj_fwdAcceleration(model, scratch)
    try:
        elements = bound.elements(model) if constrained else None
        code = core.gather(bound.inputs, contact_arrays(scratch), bound.outputs(), elements)
    except ValueError as error:
        raise StepError(str(error), data.time) from None
    if code < 0:
        raise_fault(core, model, scratch)
    arrays = core.problem()
    np.minimum(arrays["k"], np.finfo(np.float64).max, out=arrays["k"])
    return ContactProblem(
        **arrays,
        constraints=constraint_groups(core.groups()),
        dt=model.opt.timestep,
        source=f"MuJoCo model '{model_name(model)}', time {data.time:.6g} s",
        **parameters,
    )

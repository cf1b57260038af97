"""MuJoCo's stages of a step as Python calls them."""

from __future__ import annotations

from typing import NoReturn

import mujoco

from sapwood import _core
from sapwood.mujoco.reading.arrays import STATE_NAMES, Bound
from sapwood.mujoco.results.faults import MORE_MEMORY, bad_value_text, fault_text, mujoco_error_text
from sapwood.mujoco.results.results import StepError


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

"""Options of a MuJoCo model that a stepper reads once."""

from __future__ import annotations

import mujoco

from sapwood.mujoco.reading.support import check_flags

# set on the private model: mj_Euler then takes qacc as it is, and MuJoCo builds no islands
DISABLED = int(mujoco.mjtDisableBit.mjDSBL_EULERDAMP | mujoco.mjtDisableBit.mjDSBL_ISLAND)

# limits are found without MuJoCo, by arrays read when the stepper is made
_LIMITS = int(mujoco.mjtDisableBit.mjDSBL_LIMIT)

Options = tuple[float, int, int, int]


def options_of(model: mujoco.MjModel) -> Options:
    """The options that a stepper reads once."""
    opt = model.opt
    return opt.timestep, opt.integrator, opt.cone, opt.disableflags & (DISABLED | _LIMITS)


def check_options(model: mujoco.MjModel, expected: Options) -> None:
    """Raise if the options changed so that the C core and MuJoCo would differ.

    Parameters
    ----------
    model : mujoco.MjModel
        The model as it is now.
    expected : tuple
        :func:`options_of` the model when the stepper was made.

    Raises
    ------
    NotSupported, ValueError
        If a refused flag is set, or an option has changed.
    """
    check_flags(model)
    if options_of(model) != expected:
        raise ValueError(
            "stepper.model.opt: timestep, integrator, cone and the flags eulerdamp, island and "
            "limit belong to the stepper; make a new one to change them"
        )

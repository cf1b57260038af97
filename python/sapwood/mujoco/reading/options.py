"""The options of a MuJoCo model that its steps stand on."""

from __future__ import annotations

import mujoco

from sapwood.mujoco.reading.support import check_flags

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

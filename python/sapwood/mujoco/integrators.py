"""Which forces the steps of a model take implicitly, by its integrator."""

from __future__ import annotations

import warnings

import mujoco

_INTEGRATOR = mujoco.mjtIntegrator
_IMPLICIT = {int(_INTEGRATOR.mjINT_IMPLICIT), int(_INTEGRATOR.mjINT_IMPLICITFAST)}


def choose_integrator(model: mujoco.MjModel, stacklevel: int) -> bool:
    """Put `implicitfast` in the place of an integrator that the stepper does not have.

    Parameters
    ----------
    model : mujoco.MjModel
        The private copy of the stepper; changed.
    stacklevel : int
        Of the warning, seen from here.

    Returns
    -------
    bool
        Whether all smooth forces are implicit; else joint damping alone is.

    Warns
    -----
    UserWarning
        Where another integrator takes the place of the model's own.
    """
    integrator = int(model.opt.integrator)
    if integrator == _INTEGRATOR.mjINT_EULER:
        return False
    if integrator not in _IMPLICIT:
        name = _INTEGRATOR(integrator).name.removeprefix("mjINT_")
        warnings.warn(
            f"integrator {name}: steps are those of implicitfast; model.opt.integrator = "
            "mujoco.mjtIntegrator.mjINT_IMPLICITFAST asks for them, mjINT_EULER for explicit "
            "forces",
            stacklevel=stacklevel,
        )
        model.opt.integrator = _INTEGRATOR.mjINT_IMPLICITFAST
    return True

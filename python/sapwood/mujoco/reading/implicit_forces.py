"""Whether a model has forces that are implicit by MuJoCo's derivative of all smooth forces."""

from __future__ import annotations

from collections.abc import Collection

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.mujoco.reading.adaptations import is_implicit
from sapwood.mujoco.reading.controllers import Controller

# numbers instead of enums, to compare arrays with them
_FIXED_GAIN, _AFFINE_GAIN = int(mujoco.mjtGain.mjGAIN_FIXED), int(mujoco.mjtGain.mjGAIN_AFFINE)
_NO_BIAS, _AFFINE_BIAS = int(mujoco.mjtBias.mjBIAS_NONE), int(mujoco.mjtBias.mjBIAS_AFFINE)


def _has_damped_tendons(model: mujoco.MjModel) -> bool:
    """Whether a tendon has damping of its own or of its actuator."""
    damped = bool(model.tendon_damping.any())
    # fields since MuJoCo 4.0
    if hasattr(model, "tendon_actuatorid"):
        actuators = model.tendon_actuatorid[model.tendon_actuatorid >= 0]
        damped |= bool(
            model.tendon_dampingpoly.any()
            or model.actuator_damping[actuators].any()
            or model.actuator_dampingpoly[actuators].any()
        )
    return damped


def _has_fixed_gain(model: mujoco.MjModel) -> NDArray[np.bool_]:
    """Actuators with a gain that does not depend on velocities."""
    gain = model.actuator_gaintype
    affine = (gain == _AFFINE_GAIN) & (model.actuator_gainprm[:, 2] == 0.0)
    fixed: NDArray[np.bool_] = (gain == _FIXED_GAIN) | affine
    return fixed


def _has_fixed_bias(model: mujoco.MjModel) -> NDArray[np.bool_]:
    """Actuators with a bias that does not depend on velocities."""
    bias = model.actuator_biastype
    affine = (bias == _AFFINE_BIAS) & (model.actuator_biasprm[:, 2] == 0.0)
    fixed: NDArray[np.bool_] = (bias == _NO_BIAS) | affine
    return fixed


def has_implicit_forces(model: mujoco.MjModel, controlled: Collection[Controller]) -> bool:
    """Whether smooth forces are implicit beyond joint damping and implicit controllers.

    Without them MuJoCo's derivative is not needed: damping adds to the diagonal of A, and
    controllers are constraints. Most robots have no other forces that depend on velocities.

    Parameters
    ----------
    model : mujoco.MjModel
        The model; its integrator decides whether such forces are implicit.
    controlled : collection of Controller
        Its implicit controllers.

    Returns
    -------
    bool
        True unless they can be ruled out; flexes and plugins cannot.
    """
    if not is_implicit(model):
        return False
    fixed_bias = _has_fixed_bias(model)
    fixed_bias[[c.actuator for c in controlled]] = True
    in_fluid = model.opt.density > 0.0 or model.opt.viscosity > 0.0
    return bool(
        in_fluid
        or model.nflex > 0
        or model.nplugin > 0
        or _has_damped_tendons(model)
        or not np.all(_has_fixed_gain(model) & fixed_bias)
    )

"""How fast rigid constraints that start violated are released, by the scale of a model."""

from __future__ import annotations

import math
from typing import NamedTuple

import mujoco
import numpy as np

from sapwood import _core
from sapwood.stepping.schemes import SYMPLECTIC_EULER, Scheme

# V = FROUDE sqrt(gravity size): of bodies of 0.1 m on earth 0.1 m/s
FROUDE = 0.1
# without gravity bodies are released by their own size in this time, s
IDLE_TIME = 1.0
# rad/s of angles, for each m/s and the inverse of the size
ANGULAR = 0.1


class ReleaseSpeeds(NamedTuple):
    """Speeds up to which violations are corrected within a step or two.

    Attributes
    ----------
    speed : float
        Of contacts and other constraints of lengths, m/s.
    rate : float
        Of constraints of angles, rad/s.
    """

    speed: float
    rate: float


def _size_of(model: mujoco.MjModel) -> float:
    """A length that stands for the bodies of a model, m."""
    for size in (model.stat.meansize, model.stat.extent):
        if math.isfinite(size) and size > 0.0:
            return float(size)
    return 1.0


def release_speeds(
    model: mujoco.MjModel, given: float | None, scheme: Scheme = SYMPLECTIC_EULER
) -> ReleaseSpeeds:
    """The speeds of a model, or the one that was given for both.

    With the size s of its bodies, ``stat.meansize``, and its gravity g these are 0.1 sqrt(g s) and
    0.01 sqrt(g/s), and without gravity s/(1 s) and 0.1 rad/s: they go with the units of the model.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    given : float or None
        Argument ``release_speed`` of :class:`Stepper`, m/s and rad/s.
    scheme : Scheme
        Of the steps; all but the default release nothing.

    Returns
    -------
    ReleaseSpeeds
        Both > 0; infinite where nothing is to be released.

    Raises
    ------
    TypeError, ValueError
        Where it is no number > 0, or finite with another scheme than the default.
    """
    if given is None and scheme != SYMPLECTIC_EULER:
        return ReleaseSpeeds(math.inf, math.inf)
    if given is not None:
        speed = float(_core.as_float64(given, "release_speed", ()))
        if not speed > 0.0:
            raise ValueError(f"release_speed = {speed:g}: must be > 0")
        if scheme != SYMPLECTIC_EULER and math.isfinite(speed):
            raise ValueError(
                f"release_speed = {speed:g}: scheme {scheme.name} corrects violations in a step, "
                "as with math.inf; symplectic_euler has a speed"
            )
        return ReleaseSpeeds(speed, speed)
    size = _size_of(model)
    off = model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY
    gravity = 0.0 if off else float(np.linalg.norm(model.opt.gravity))
    speed = FROUDE * math.sqrt(gravity * size) if gravity > 0.0 else size / IDLE_TIME
    return ReleaseSpeeds(speed, ANGULAR * speed / size)

"""Speeds that follow the scale of a model: of the release of violations, and of slip."""

from __future__ import annotations

import math
from typing import NamedTuple

import mujoco
import numpy as np

from sapwood import _core
from sapwood.stepping.schemes import SYMPLECTIC_EULER, Scheme

# V = FROUDE sqrt(gravity size): 0.1 m/s for bodies of 0.1 m on earth
FROUDE = 0.1
# time in which a body moves by its own size without gravity, s
IDLE_TIME = 1.0
# rate of angles, rad/s, per m/s and inverse size
ANGULAR = 0.1
# speeds over that of the release: of slip, and of the end of static friction
SLIP, STICTION = 0.1, 0.01


class ReleaseSpeeds(NamedTuple):
    """Speed limits below which violations are corrected within one or two steps.

    Attributes
    ----------
    speed : float
        For contacts and constraints of lengths, m/s.
    rate : float
        For constraints of angles, rad/s.
    """

    speed: float
    rate: float


class SlipSpeeds(NamedTuple):
    """Speeds of slip at which contacts change.

    Attributes
    ----------
    speed : float
        V_s from which on sigma does not depend on the slip, for contacts and friction along
        lengths, m/s; 0 where sigma holds at any slip.
    rate : float
        The same for friction of angles, rad/s.
    stiction : float
        V from which on contacts have their dynamic coefficient of friction, m/s.
    """

    speed: float
    rate: float
    stiction: float


def _size_of(model: mujoco.MjModel) -> float:
    """A typical length of the bodies of a model, m."""
    for size in (model.stat.meansize, model.stat.extent):
        if math.isfinite(size) and size > 0.0:
            return float(size)
    return 1.0


def release_speeds(
    model: mujoco.MjModel, given: float | None, scheme: Scheme = SYMPLECTIC_EULER
) -> ReleaseSpeeds:
    """The speeds of a model, or the given one for both.

    With the mean size s of the bodies, ``stat.meansize``, and gravity g the speeds are
    0.1 sqrt(g s) and 0.01 sqrt(g/s); without gravity they are s/(1 s) and 0.1 rad/s. They scale
    with the units.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    given : float or None
        Argument ``release_speed`` of :class:`Stepper`, m/s and rad/s.
    scheme : Scheme
        Scheme of the steps; only the default one limits the speed.

    Returns
    -------
    ReleaseSpeeds
        Both > 0; infinite without a limit.

    Raises
    ------
    TypeError, ValueError
        If it is no number > 0, or finite with another scheme than the default.
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
    return ReleaseSpeeds(*_scale_speeds(model))


def slip_speeds(model: mujoco.MjModel, given: float | None) -> SlipSpeeds:
    """The slip speeds of a model: a tenth and a hundredth of its release speeds.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    given : float or None
        Argument ``sigma`` of :class:`Stepper`; a number holds at any slip.

    Returns
    -------
    SlipSpeeds
        The first two are 0 where sigma is given, all others > 0.
    """
    speed, rate = _scale_speeds(model)
    if given is not None:
        return SlipSpeeds(0.0, 0.0, STICTION * speed)
    return SlipSpeeds(SLIP * speed, SLIP * rate, STICTION * speed)


def _scale_speeds(model: mujoco.MjModel) -> tuple[float, float]:
    """0.1 sqrt(g s) and 0.01 sqrt(g/s), m/s and rad/s."""
    size = _size_of(model)
    off = model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY
    gravity = 0.0 if off else float(np.linalg.norm(model.opt.gravity))
    speed = FROUDE * math.sqrt(gravity * size) if gravity > 0.0 else size / IDLE_TIME
    return speed, ANGULAR * speed / size

"""Steppers whose steps have derivatives, and the arguments of their linearizations."""

from __future__ import annotations

from typing import Literal

from sapwood import _core
from sapwood.mujoco.reading.support import NotSupported
from sapwood.mujoco.stepper import Stepper
from sapwood.stepping.schemes import SYMPLECTIC_EULER

DIFFERENCE = 1e-6
"""Largest difference of a position of ``step="auto"``, m or rad."""
MOST_SOFTENING = 1e12
"""Largest `soften`, and the reciprocal of the least one."""


def check_linearizable(stepper: Stepper, *, soft: bool = False) -> None:
    """Refuse a stepper whose steps have no derivative.

    Parameters
    ----------
    stepper : Stepper
        The stepper.
    soft : bool
        Whether it may have soft bodies.

    Raises
    ------
    TypeError, ValueError
        The message says what excludes derivatives.
    """
    if not isinstance(stepper, Stepper):
        raise TypeError(f"stepper must be a Stepper, not {type(stepper).__name__}")
    if stepper.scheme != SYMPLECTIC_EULER:
        raise ValueError(f"stepper.scheme = {stepper.scheme.name!r}: must be the default one")
    if stepper.settings.friction == "lagged":
        raise ValueError("stepper.friction = 'lagged': its bounds are of the step before")
    found = stepper.parameters.soft
    if found is not None and not soft:
        raise NotSupported(
            "derivatives of steps with soft bodies, or elastic or large flexes, are those of "
            "linearize, linearize_batch, sensitivities, SoftStepLinearization and "
            "DifferentiableSoftModel"
        )
    if stepper.parameters.fields is not None and found is None:
        raise ValueError("stepper.fields: patches have no derivatives, as their faces come and go")
    if stepper.parameters.forest["core"].any():
        raise ValueError("stepper.contact: steps of contacts with a rigid core have no derivatives")
    model = stepper.model
    if model.npluginstate or getattr(model, "nhistory", 0):
        raise ValueError("the model has plugins or delays with a state of their own")


def difference_of(step: float | Literal["auto"]) -> float:
    """Read the largest difference of a position.

    Parameters
    ----------
    step : float or "auto"
        The argument of :func:`linearize`.

    Returns
    -------
    float
        m or rad.
    """
    if isinstance(step, str):
        if step != "auto":
            raise ValueError(f"step = {step!r}: must be 'auto' or a number > 0")
        return DIFFERENCE
    return positive(step, "step")


def softening(value: float) -> float:
    """Read `soften`, a number from 1e-12 to 1e12: R must neither overflow nor vanish."""
    factor = positive(value, "soften")
    if not 1.0 / MOST_SOFTENING <= factor <= MOST_SOFTENING:
        raise ValueError(f"soften = {value!r}: must be from 1e-12 to 1e12")
    return factor


def positive(value: float, name: str) -> float:
    """Read a finite number > 0; the name is for errors."""
    return float(_core.as_float64(value, name, (), "positive"))

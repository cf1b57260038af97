"""Settings of the solver of a model's steps."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.mujoco.reading.names import name_of
from sapwood.mujoco.reading.support import NotSupported
from sapwood.settings import Friction, SapSettings, with_friction
from sapwood.stepping.schemes import SYMPLECTIC_EULER, Scheme

MOST_ITERATIONS = 200
"""Iteration limit of a step by default; the next step continues from the last iterate."""


def settings_of_steps(
    settings: SapSettings | None,
    friction: Friction | None,
    model: mujoco.MjModel,
    core: NDArray[np.int8],
    scheme: Scheme,
) -> SapSettings:
    """Settings of the solver, with the law of friction of the steps.

    Parameters
    ----------
    settings : SapSettings, optional
        By default the solver's own, with at most `MOST_ITERATIONS` iterations, which bounds the
        time of a step.
    friction : {"convex", "lagged", "coulomb"}, optional
        Law of friction; by default as in :class:`sapwood.mujoco.Stepper`.
    model : mujoco.MjModel
        The model, for names in messages.
    core : ndarray of int8 (ngeom,)
        :class:`sapwood.CoreKind` of each geom.
    scheme : Scheme
        Scheme of the steps.

    Returns
    -------
    SapSettings
        Settings with that law of friction.

    Raises
    ------
    TypeError, ValueError
        If an argument is wrong; the message names it.
    NotSupported
        If this scheme or a rigid core has no such friction.
    """
    cores = np.flatnonzero(core)
    if friction is None:
        friction = "convex" if cores.size else "coulomb"
    if settings is None:
        settings = SapSettings(max_iterations=MOST_ITERATIONS)
    found = with_friction(settings, friction)
    if friction != "convex" and cores.size:
        name = name_of(model, mujoco.mjtObj.mjOBJ_GEOM, int(cores[0]))
        raise NotSupported(
            f"friction = '{friction}': {name} has a rigid core, which takes 'convex'"
        )
    if friction == "lagged" and scheme != SYMPLECTIC_EULER:
        raise NotSupported(f"friction = 'lagged': scheme {scheme.name} takes 'convex' or 'coulomb'")
    return found

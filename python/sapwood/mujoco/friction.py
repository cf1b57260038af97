"""Which law of friction the steps of a model have."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.mujoco.names import name_of
from sapwood.settings import Friction, SapSettings, with_friction


def settings_of_steps(
    settings: SapSettings | None,
    friction: Friction | None,
    model: mujoco.MjModel,
    core: NDArray[np.int8],
) -> SapSettings:
    """Settings of the solver, with the law of friction of the steps.

    Parameters
    ----------
    settings : SapSettings, optional
        Defaults where it is None.
    friction : {"convex", "lagged", "coulomb"}, optional
        The law of friction; None is the default of :class:`sapwood.mujoco.Stepper`.
    model : mujoco.MjModel
        For the text.
    core : ndarray of int8 (ngeom,)
        :class:`sapwood.CoreKind` of each geom.

    Returns
    -------
    SapSettings
        With that law.

    Raises
    ------
    TypeError, ValueError
        For a wrong argument; the text names it.
    """
    cores = np.flatnonzero(core)
    if friction is None:
        friction = "convex" if cores.size else "coulomb"
    found = with_friction(settings, friction)
    if friction != "convex" and cores.size:
        name = name_of(model, mujoco.mjtObj.mjOBJ_GEOM, int(cores[0]))
        raise ValueError(f"friction = '{friction}': {name} has a rigid core, which takes 'convex'")
    return found

"""Contacts that stay in a plan while their geoms are near, whether or not they are listed."""

from __future__ import annotations

import dataclasses

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import _core

Array = NDArray[np.float64]
Indices = NDArray[np.int32]


@dataclasses.dataclass
class Contacts:
    """Contacts at one instant; the force of each acts on the second geom.

    Attributes
    ----------
    geoms, bodies : ndarray (n, 2) of int
        The two geoms, and their bodies.
    positions : ndarray (n, 3)
        Positions, m.
    frames : ndarray (n, 3, 3)
        Rows: two tangents, then the normal from the first geom to the second.
    mu : ndarray (n,)
        Friction coefficients; 0 of a contact without friction.
    radii : ndarray (n, 3)
        Rolling friction about both tangents and torsional friction, m.
    gaps : ndarray (n,)
        Gaps, m, negative where the geoms overlap.
    """

    geoms: Indices
    bodies: Indices
    positions: Array
    frames: Array
    mu: Array
    radii: Array
    gaps: Array


class HeldContacts:
    """The contacts of a plan, followed by the bodies that they are fixed to.

    A pair of geoms that lists at least as many contacts as are held takes the listed ones.
    Otherwise those that are nearest to listed ones take their place, and the others stay where
    they are on their bodies until their gap exceeds the hysteresis.

    Parameters
    ----------
    model : mujoco.MjModel
    hysteresis : float
        Gap at which a contact is given up, m.
    """

    def __init__(self, model: mujoco.MjModel, hysteresis: float) -> None:
        self._geom_bodies = model.geom_bodyid
        self._hysteresis = hysteresis
        self.reset()

    def reset(self) -> None:
        """Forget all contacts."""
        self._held, self._geoms = b"", np.zeros((0, 2), dtype=np.int32)

    def update(self, data: mujoco.MjData) -> Contacts:
        """The contacts at the positions in `data`."""
        listed = data.contact
        self._held, same, geoms, bodies, positions, frames, mu, radii, gaps = _core.held_contacts(
            listed.geom, listed.dist, listed.pos, listed.frame, listed.friction, listed.dim,
            self._geom_bodies, data.xpos, data.xmat, self._hysteresis, self._held,
        )  # fmt: skip
        if not same:
            self._geoms = geoms
        return Contacts(self._geoms, bodies, positions, frames, mu, radii, gaps)

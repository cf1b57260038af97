"""Contacts that stay in a plan while their geoms are near, whether or not they are listed."""

from __future__ import annotations

import dataclasses

import mujoco
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

# contacts have 1, 3, 4 or 6 dimensions: normal, tangents, torsion, rolling. Columns of friction of
# the radii of rolling and torsion, and the dimensions from which on they count
_RADII, _DIMENSIONS = np.array([3, 4, 2]), np.array([6, 6, 4])


@dataclasses.dataclass
class Contacts:
    """Contacts at one instant; the force of each acts on the second geom.

    Attributes
    ----------
    geoms : ndarray (n, 2) of int
        The two geoms.
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
    positions: Array
    frames: Array
    mu: Array
    radii: Array
    gaps: Array

    def of(self, chosen: Indices | NDArray[np.bool_] | slice) -> Contacts:
        """Some of the contacts."""
        return Contacts(*(getattr(self, f.name)[chosen] for f in dataclasses.fields(self)))


def listed_contacts(data: mujoco.MjData) -> Contacts:
    """The contacts in `data` whose geoms touch."""
    contact = data.contact
    geom, touching = contact.geom, contact.dist <= 0.0
    if (geom < 0).any():  # contacts of flexes
        touching &= (geom >= 0).all(axis=1)
    dim, friction = contact.dim[touching], contact.friction[touching]
    frames = contact.frame[touching].reshape(-1, 3, 3)
    return Contacts(
        geom[touching].astype(np.intp), contact.pos[touching], frames[:, [1, 2, 0]],
        friction[:, 0] * (dim > 1), friction[:, _RADII] * (dim[:, None] >= _DIMENSIONS),
        contact.dist[touching],
    )  # fmt: skip


def _join(parts: list[Contacts]) -> Contacts:
    return Contacts(
        *(np.concatenate([getattr(p, f.name) for p in parts]) for f in dataclasses.fields(Contacts))
    )


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
        self._model = model
        self._hysteresis = hysteresis
        self._held: Contacts | None = None
        # positions and rotations of both bodies of each held contact, when it was last seen
        self._xpos: Array = np.zeros((0, 2, 3))
        self._xmat: Array = np.zeros((0, 2, 3, 3))

    def reset(self) -> None:
        """Forget all contacts."""
        self._held = None

    def update(self, data: mujoco.MjData) -> Contacts:
        """The contacts at the positions in `data`."""
        listed = listed_contacts(data)
        held = self._held
        if held is not None and not np.array_equal(held.geoms, listed.geoms):
            listed = self._merge(self._moved(data, held), listed)
        self._remember(data, listed)
        return listed

    def _bodies(self, contacts: Contacts) -> Indices:
        bodies: Indices = self._model.geom_bodyid[contacts.geoms].astype(np.intp)
        return bodies

    def _remember(self, data: mujoco.MjData, contacts: Contacts) -> None:
        """Keep the contacts with the poses of their bodies."""
        bodies = self._bodies(contacts)
        self._xpos, self._xmat = data.xpos[bodies], data.xmat[bodies].reshape(-1, 2, 3, 3)
        self._held = contacts

    def _moved(self, data: mujoco.MjData, held: Contacts) -> Contacts:
        """The held contacts where their bodies are now: a point of each, the frame on the first."""
        half = 0.5 * (held.gaps[:, None] * held.frames[:, 2])[:, None]
        ends = held.positions[:, None] + half * np.array([[-1.0], [1.0]])
        points = np.einsum("nbij,nbi->nbj", self._xmat, ends - self._xpos)
        axes = held.frames @ self._xmat[:, 0]
        bodies = self._bodies(held)
        turned = data.xmat[bodies].reshape(-1, 2, 3, 3)
        ends = data.xpos[bodies] + np.einsum("nbij,nbj->nbi", turned, points)
        frames = axes @ turned[:, 0].transpose(0, 2, 1)
        gaps = np.einsum("ni,ni->n", frames[:, 2], ends[:, 1] - ends[:, 0])
        return Contacts(held.geoms, ends.mean(axis=1), frames, held.mu, held.radii, gaps)

    def _merge(self, held: Contacts, listed: Contacts) -> Contacts:
        """Held contacts in their order, some replaced by listed ones, then new ones."""
        pairs, n_held = (
            np.unique(np.vstack([held.geoms, listed.geoms]), axis=0, return_inverse=True)[
                1
            ].reshape(-1),
            len(held.mu),
        )
        parts = []
        for pair in dict.fromkeys(pairs.tolist()):
            old = np.flatnonzero(pairs[:n_held] == pair)
            new = np.flatnonzero(pairs[n_held:] == pair)
            if len(new) < len(old):
                # each listed contact replaces the nearest held one that is left
                stay = old.tolist()
                for one in new:
                    apart = held.positions[stay] - listed.positions[one]
                    stay.pop(int(np.argmin((apart**2).sum(axis=1))))
                near = [i for i in stay if held.gaps[i] <= self._hysteresis]
                parts.append(held.of(np.array(near, dtype=np.intp)))
            parts.append(listed.of(new))
        return _join(parts) if parts else listed

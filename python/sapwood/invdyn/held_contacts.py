"""Contacts that stay in a plan while their geoms are near, whether or not they are listed."""

from __future__ import annotations

import dataclasses
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

# contacts have 1, 3, 4 or 6 dimensions: normal, tangents, torsion, rolling. Columns of friction of
# the radii of rolling and torsion, and the dimensions from which on they count
_RADII, _DIMENSIONS = np.array([3, 4, 2]), np.array([6, 6, 4])
# rows of the engine's frame: normal, then both tangents
_AXES = np.array([1, 2, 0])


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

    def of(self, chosen: Indices) -> Contacts:
        """Some of the contacts."""
        return Contacts(
            self.geoms[chosen], self.positions[chosen], self.frames[chosen], self.mu[chosen],
            self.radii[chosen], self.gaps[chosen],
        )  # fmt: skip

    def and_then(self, other: Contacts) -> Contacts:
        """These contacts, and then others."""
        return Contacts(
            np.concatenate([self.geoms, other.geoms]),
            np.concatenate([self.positions, other.positions]),
            np.concatenate([self.frames, other.frames]),
            np.concatenate([self.mu, other.mu]),
            np.concatenate([self.radii, other.radii]),
            np.concatenate([self.gaps, other.gaps]),
        )


def listed_contacts(data: mujoco.MjData, last: Contacts | None = None) -> Contacts:
    """The contacts in `data` whose geoms touch, with the array of geoms of `last` if it holds."""
    contact = data.contact
    geom, dist = contact.geom, contact.dist
    touching = dist <= 0.0
    if geom.size and geom.min() < 0:  # contacts of flexes
        touching &= (geom >= 0).all(axis=1)
    chosen = touching.nonzero()[0]
    geom = geom[chosen]
    frames = contact.frame[chosen].reshape(-1, 3, 3)[:, _AXES]
    dim, friction = contact.dim[chosen], contact.friction[chosen]
    return Contacts(
        _as_before(geom, last), contact.pos[chosen], frames, friction[:, 0] * (dim > 1),
        friction[:, _RADII] * (dim[:, None] >= _DIMENSIONS), dist[chosen],
    )  # fmt: skip


def _as_before(geoms: NDArray[Any], last: Contacts | None) -> Indices:
    """The array of geoms of `last` where it has the same ones."""
    if last is not None and last.geoms.shape == geoms.shape and (last.geoms == geoms).all():
        return last.geoms
    return geoms.astype(np.intp)


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

    Attributes
    ----------
    bodies : ndarray (n, 2) of int
        The two bodies of each contact.
    """

    def __init__(self, model: mujoco.MjModel, hysteresis: float) -> None:
        self._geom_bodies = model.geom_bodyid
        self._hysteresis = hysteresis
        self._held: Contacts | None = None
        # positions and rotations of both bodies of each held contact, when it was last seen
        self._xpos: Array = np.zeros((0, 2, 3))
        self._xmat: Array = np.zeros((0, 2, 9))
        self.bodies = np.zeros((0, 2), dtype=np.int32)

    def reset(self) -> None:
        """Forget all contacts."""
        self._held = None

    def update(self, data: mujoco.MjData) -> Contacts:
        """The contacts at the positions in `data`."""
        held = self._held
        listed = listed_contacts(data, held)
        if held is not None and held.geoms is not listed.geoms:
            listed = self._merge(self._moved(data, held), listed)
            listed.geoms = _as_before(listed.geoms, held)
        self._remember(data, listed)
        return listed

    def _bodies(self, contacts: Contacts) -> NDArray[np.int32]:
        bodies: NDArray[np.int32] = self._geom_bodies[contacts.geoms]
        return bodies

    def _remember(self, data: mujoco.MjData, contacts: Contacts) -> None:
        """Keep the contacts with the poses of their bodies."""
        if self._held is None or self._held.geoms is not contacts.geoms:
            self.bodies = self._bodies(contacts)
        self._xpos, self._xmat = data.xpos[self.bodies], data.xmat[self.bodies]
        self._held = contacts

    def _moved(self, data: mujoco.MjData, held: Contacts) -> Contacts:
        """The held contacts where their bodies are now: a point of each, the frame on the first."""
        half = 0.5 * (held.gaps[:, None] * held.frames[:, 2])[:, None]
        ends = held.positions[:, None] + half * np.array([[-1.0], [1.0]])
        before = self._xmat.reshape(-1, 2, 3, 3)
        points = np.einsum("nbij,nbi->nbj", before, ends - self._xpos)
        axes = held.frames @ before[:, 0]
        bodies = self._bodies(held)
        turned = data.xmat[bodies].reshape(-1, 2, 3, 3)
        ends = data.xpos[bodies] + np.einsum("nbij,nbj->nbi", turned, points)
        frames = axes @ turned[:, 0].transpose(0, 2, 1)
        gaps = np.einsum("ni,ni->n", frames[:, 2], ends[:, 1] - ends[:, 0])
        return Contacts(held.geoms, ends.mean(axis=1), frames, held.mu, held.radii, gaps)

    def _merge(self, held: Contacts, listed: Contacts) -> Contacts:
        """Held contacts in their order, some replaced by listed ones, then new ones."""
        both, n_held = held.and_then(listed), len(held.mu)
        # places of held and of listed contacts by their pair
        pairs: dict[tuple[int, ...], tuple[list[int], list[int]]] = {}
        for i, pair in enumerate(map(tuple, both.geoms.tolist())):
            pairs.setdefault(pair, ([], []))[i >= n_held].append(i)
        gaps, chosen = both.gaps.tolist(), []
        for old, new in pairs.values():
            if len(new) < len(old):
                # each listed contact replaces the nearest held one that is left
                for one in new:
                    apart = both.positions[old] - both.positions[one]
                    old.pop(int(np.argmin((apart**2).sum(axis=1))))
                chosen += [i for i in old if gaps[i] <= self._hysteresis]
            chosen += new
        return both.of(np.array(chosen, dtype=np.intp))

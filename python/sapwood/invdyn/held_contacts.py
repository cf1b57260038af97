"""Contacts that stay in a plan while their geoms are near, whether or not they are listed."""

from __future__ import annotations

import dataclasses

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import _core

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


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
    listed = data.contact
    return Contacts(
        *_core.touching_contacts(
            listed.geom, listed.dist, listed.pos, listed.frame, listed.friction, listed.dim,
            None if last is None else last.geoms,
        )
    )  # fmt: skip


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
        # positions and rotations of all bodies when the contacts were last seen
        self._xpos: Array = np.zeros((0, 3))
        self._xmat: Array = np.zeros((0, 9))
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
            if np.array_equal(listed.geoms, held.geoms):
                listed.geoms = held.geoms
        self._remember(data, listed)
        return listed

    def _bodies(self, contacts: Contacts) -> NDArray[np.int32]:
        bodies: NDArray[np.int32] = self._geom_bodies[contacts.geoms]
        return bodies

    def _remember(self, data: mujoco.MjData, contacts: Contacts) -> None:
        """Keep the contacts with the poses of their bodies."""
        if self._held is None or self._held.geoms is not contacts.geoms:
            self.bodies = self._bodies(contacts)
        self._xpos, self._xmat = data.xpos.copy(), data.xmat.copy()
        self._held = contacts

    def _moved(self, data: mujoco.MjData, held: Contacts) -> Contacts:
        """The held contacts where their bodies are now: a point of each, the frame on the first."""
        half = 0.5 * (held.gaps[:, None] * held.frames[:, 2])[:, None]
        ends = held.positions[:, None] + half * np.array([[-1.0], [1.0]])
        bodies = self.bodies
        before = self._xmat[bodies].reshape(-1, 2, 3, 3)
        points = np.einsum("nbij,nbi->nbj", before, ends - self._xpos[bodies])
        axes = held.frames @ before[:, 0]
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

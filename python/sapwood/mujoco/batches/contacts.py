"""Contacts of all worlds of a batch: one list, and prepared readers of forces on geoms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.mujoco.reading.names import GeomNames

_Float = NDArray[np.float64]


class ContactLists:
    """The contacts of the last substep of each world.

    Parameters
    ----------
    n_worlds : int
        Number of worlds.

    Attributes
    ----------
    logs : tuple of _core.ContactLog
        The list of each world, which C fills.
    """

    def __init__(self, n_worlds: int) -> None:
        self.logs = tuple(_core.ContactLog() for _ in range(n_worlds))

    def gathered(self) -> tuple[NDArray[np.int64], NDArray[np.void]]:
        """All contacts: offsets (n_worlds + 1) of the worlds, and one structured array."""
        arrays = [log.array() for log in self.logs]
        offsets = np.zeros(len(arrays) + 1, np.int64)
        np.cumsum([len(array) for array in arrays], out=offsets[1:])
        return offsets, np.concatenate(arrays)


class Lists(Protocol):
    """A batch, as a reader of contacts uses it."""

    @property
    def time(self) -> _Float:
        """Time of each world, s."""

    @property
    def contacts(self) -> tuple[NDArray[np.int64], NDArray[np.void]]:
        """Offsets of the worlds, and all contacts."""


class ContactReader:
    """Forces on some geoms of all worlds, and how long they have had none.

    A contact counts by its force, never by being listed: contacts that may close within a step are
    listed ahead.

    Parameters
    ----------
    batch : Batch
        The batch.
    names : GeomNames
        Names of its geoms.
    geoms : sequence of str or int
        Names or indices of the geoms.
    others : sequence of str or int, optional
        Geoms that they touch; None is all.

    Attributes
    ----------
    acting : ndarray of bool (nsim, n)
        Whether a contact with force acts on each geom, at the last :meth:`read`.
    force : ndarray (nsim, n, 3)
        Sum of the contact forces on each geom in the frame of the world, N.
    air_time : ndarray (nsim, n)
        Time of the world since a read in which a contact acted, s; from the first read if there
        was none, and again from 0 once the time of a world runs back.
    """

    def __init__(
        self,
        batch: Lists,
        names: GeomNames,
        geoms: Sequence[str | int],
        others: Sequence[str | int] | None,
    ) -> None:
        if isinstance(geoms, str) or isinstance(others, str):
            raise TypeError("geoms and others must be sequences of names, not a string")
        self._batch = batch
        chosen = [names.find("geom", key, "geoms") for key in geoms]
        if len(set(chosen)) < len(chosen):
            raise ValueError("geoms must be different ones")
        n_geoms, n_worlds = len(names.geoms), len(batch.time)
        self._column = np.full(n_geoms, -1)
        self._column[chosen] = np.arange(len(chosen))
        self._meets = np.full(n_geoms, others is None)
        self._meets[[names.find("geom", key, "others") for key in others or ()]] = True
        self.acting = np.zeros((n_worlds, len(chosen)), bool)
        self.force = np.zeros((n_worlds, len(chosen), 3))
        self.air_time = np.zeros((n_worlds, len(chosen)))
        self._since = np.repeat(batch.time[:, None], len(chosen), axis=1)

    def read(self) -> ContactReader:
        """Read the contacts of the last substep of each world.

        Returns
        -------
        ContactReader
            Itself.
        """
        offsets, contacts = self._batch.contacts
        world = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        along = np.einsum("ijk,ij->ik", contacts["frame"], contacts["force"])
        acts = np.abs(contacts["force"]).sum(axis=1) > 0.0
        self.force[:] = 0.0
        self.acting[:] = False
        for side, sign in ((0, -1.0), (1, 1.0)):
            geom, other = contacts["geom"][:, side], contacts["geom"][:, 1 - side]
            column = self._column[geom]
            taken = (column >= 0) & self._meets[other] & acts & (geom >= 0)
            np.add.at(self.force, (world[taken], column[taken]), sign * along[taken])
            self.acting[world[taken], column[taken]] = True
        now = np.asarray(self._batch.time)[:, None]
        self._since = np.where(self.acting | (self._since > now), now, self._since)
        self.air_time[:] = now - self._since
        return self

"""Prepared readers of the contact forces on geoms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.mujoco.reading.names import GeomNames

_Float = NDArray[np.float64]

Source = _core.ModelStepper | tuple[_core.ContactLog, ...]


class ContactReader:
    """Forces on some geoms, and how long these have had none.

    A contact counts by its force, never by being listed. The arrays stay the same objects;
    :meth:`read` writes to them. Their first axis (nsim) is that of a batch; a stepper has none.

    Parameters
    ----------
    source : callable
        Where the contacts of the last step are: a ModelStepper, or a ContactLog for each world.
    names : GeomNames
        Names of the geoms.
    geoms : sequence of str or int
        Names or indices of the geoms.
    others : sequence of str or int, optional
        Geoms that they touch; None is all.
    n_worlds : int, optional
        Number of worlds; None for a stepper.
    time : callable, optional
        The time of each world (nsim,), s; None for a stepper.

    Attributes
    ----------
    acting : ndarray of bool (nsim, n)
        Whether a contact with force acts on each geom, at the last :meth:`read`.
    force : ndarray (nsim, n, 3)
        Sum of the contact forces on each geom in the frame of the world, N.
    air_time : ndarray (nsim, n)
        Time since a read in which a contact acted, s. It is 0 again once the time runs back. Before
        the first contact it counts from the making of the reader, by a stepper from the first read.

    Raises
    ------
    TypeError, ValueError
        If there is no such geom, or one is named twice; the text names it.
    """

    def __init__(
        self,
        source: Callable[[], Source],
        names: GeomNames,
        geoms: Sequence[str | int],
        others: Sequence[str | int] | None,
        n_worlds: int | None = None,
        time: Callable[[], _Float] | None = None,
    ) -> None:
        if isinstance(geoms, str) or isinstance(others, str):
            raise TypeError("geoms and others must be sequences of names, not a string")
        chosen = [names.find("geom", key, "geoms") for key in geoms]
        if len(set(chosen)) < len(chosen):
            raise ValueError("geoms must be different ones")
        self._find_source, self._time = source, time
        n_geoms, shape = len(names.geoms), (1 if n_worlds is None else n_worlds, len(chosen))
        column = np.full(n_geoms, -1, np.int32)
        column[chosen] = np.arange(len(chosen))
        meets = np.full(n_geoms, others is None)
        meets[[names.find("geom", key, "others") for key in others or ()]] = True
        acting, air_time = np.zeros(shape, bool), np.zeros(shape)
        force = np.zeros((*shape, 3))
        since = np.full(shape, np.nan)
        if time is not None:
            since[:] = time()[:, None]
        self._arrays: tuple[NDArray[Any], ...] = (column, meets, acting, force, air_time, since)
        self._prepare(source())
        of_one = n_worlds is None
        self.acting: NDArray[np.bool_] = acting[0] if of_one else acting
        self.force: _Float = force[0] if of_one else force
        self.air_time: _Float = air_time[0] if of_one else air_time

    def _prepare(self, source: Source) -> None:
        self._source, self._core = source, _core.ContactReader(source, *self._arrays)

    def read(self) -> ContactReader:
        """Read the contacts of the last step.

        Returns
        -------
        ContactReader
            Itself.
        """
        source = self._find_source()
        if source is not self._source:
            # the stepper was made anew
            self._prepare(source)
        if self._time is None:
            self._core.read()
        else:
            self._core.read(self._time())
        return self

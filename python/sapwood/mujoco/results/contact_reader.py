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
    :meth:`read` writes to them. Their first axis (nsim) is that of a batch; a stepper has none. A
    copy, or what comes out of a pickle, reads a copy of the batch or stepper, and counts on.

    Parameters
    ----------
    source : callable
        Where the contacts of the last step are: a ModelStepper, or a ContactLog for each world. A
        method of the batch or stepper, so that a copy of both belongs together.
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
        self._start((column, meets, acting, force, air_time, since))

    def __getstate__(self) -> dict[str, Any]:
        return {"source": self._find_source, "time": self._time, "arrays": self._arrays}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._find_source, self._time = state["source"], state["time"]
        self._start(tuple(array.copy() for array in state["arrays"]))

    def _start(self, arrays: tuple[NDArray[Any], ...]) -> None:
        self._arrays = arrays
        self._prepare(self._find_source())
        of_one = self._time is None
        acting, force, air_time = arrays[2:5]
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

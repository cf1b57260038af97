"""The contacts of all worlds of a batch as one list."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sapwood import _core


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

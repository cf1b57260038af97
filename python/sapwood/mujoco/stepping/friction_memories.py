"""The friction that a stepper remembers of each data's last step."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

import mujoco

from sapwood.settings import SapSettings

_Memory = TypeVar("_Memory")


class FrictionMemories(Generic[_Memory]):
    """The memories of lagged friction, one for each data while these live.

    Parameters
    ----------
    make : callable
        Makes the memory of new data.
    settings : SapSettings
        Settings of the steps; without lagged friction nothing is remembered.
    """

    def __init__(self, make: Callable[[], _Memory], settings: SapSettings) -> None:
        self._make, self._lags = make, settings.friction == "lagged"
        self._of: weakref.WeakKeyDictionary[mujoco.MjData, _Memory]
        self._of = weakref.WeakKeyDictionary()

    def of(self, data: mujoco.MjData) -> _Memory | None:
        """The memory for these data; None without lagged friction."""
        if not self._lags:
            return None
        memory = self._of.get(data)
        if memory is None:
            memory = self._of.setdefault(data, self._make())
        return memory

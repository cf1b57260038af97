"""The friction that a stepper remembers of each data's last step."""

from __future__ import annotations

import weakref

import mujoco

from sapwood import _core
from sapwood.settings import SapSettings


class FrictionMemories:
    """The memories of lagged friction, one for each data while these live.

    Parameters
    ----------
    core : _core.ModelStepper
        The stepper of the C core.
    settings : SapSettings
        Settings of the steps; without lagged friction nothing is remembered.
    """

    def __init__(self, core: _core.ModelStepper, settings: SapSettings) -> None:
        self._core, self._lags = core, settings.friction == "lagged"
        self._of: weakref.WeakKeyDictionary[mujoco.MjData, _core.FrictionMemory]
        self._of = weakref.WeakKeyDictionary()

    def of(self, data: mujoco.MjData) -> _core.FrictionMemory | None:
        """The memory for these data; None without lagged friction."""
        if not self._lags:
            return None
        memory = self._of.get(data)
        if memory is None:
            memory = self._of.setdefault(data, _core.FrictionMemory(self._core))
        return memory

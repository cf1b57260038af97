"""The friction that a stepper remembers of each data's last step."""

from __future__ import annotations

import weakref

import mujoco

from sapwood import _core
from sapwood.settings import SapSettings


class FrictionMemories:
    """What lagged friction remembers of the last step of each data, as long as these live.

    Parameters
    ----------
    core : _core.ModelStepper
        Takes the steps.
    settings : SapSettings
        Of the steps; nothing is remembered where their friction does not lag.
    """

    def __init__(self, core: _core.ModelStepper, settings: SapSettings) -> None:
        self._core, self._lags = core, settings.friction == "lagged"
        self._of: weakref.WeakKeyDictionary[mujoco.MjData, _core.FrictionMemory]
        self._of = weakref.WeakKeyDictionary()

    def of(self, data: mujoco.MjData) -> _core.FrictionMemory | None:
        """What is remembered of these data; None where nothing ever is."""
        if not self._lags:
            return None
        memory = self._of.get(data)
        if memory is None:
            memory = self._of.setdefault(data, _core.FrictionMemory(self._core))
        return memory

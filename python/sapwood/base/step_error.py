"""The error of a step that could not be taken."""

from __future__ import annotations

import math


class StepError(RuntimeError):
    """A step could not be taken; the state of the data is the one before the step.

    It may be made from a text alone, as Gymnasium does with errors of its worker processes.

    Attributes
    ----------
    time : float
        Simulated time at the start of the step, s; NaN if unknown.
    step : int or None
        Position of the step in its run or rollout, from 0.
    world : int or None
        Position of the world in its rollout.
    """

    def __init__(
        self,
        message: object,
        time: float = math.nan,
        step: int | None = None,
        world: int | None = None,
    ) -> None:
        super().__init__(str(message), time, step, world)
        self.time = time
        self.step = step
        self.world = world

    def __str__(self) -> str:
        if self.step is None and self.world is None and math.isnan(self.time):
            return str(self.args[0])
        world = "" if self.world is None else f"world {self.world}, "
        step = "step" if self.step is None else f"step {self.step}"
        return f"{world}{step} at time {self.time:.6g} s: {self.args[0]}"

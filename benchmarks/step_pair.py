"""The steppers of two builds on one model: both take the same steps, in blocks A B B A.

In each block every build has a fresh process, `step_sample`, that waits while the other one works:
where a process happens to have its memory changes its times by some percent.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.revisions import BLOCK, Process, SideError


@dataclasses.dataclass(frozen=True)
class Task:
    """The work of both builds."""

    model: Path
    """Binary model of MuJoCo."""
    states: Sequence[Sequence[float]]
    """Integration states of MuJoCo at which windows begin."""
    steps: int
    """Number of steps of a window."""
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Arguments of the stepper."""
    ways: Sequence[str] = ("run",)
    """``run``, the loop over the steps in C; ``calls``, one call from Python for each step."""
    seconds: float = 0.0
    """For the samples of one window in a visit; at least one is taken."""


@dataclasses.dataclass(frozen=True)
class Times:
    """The times of both builds, by one way of taking steps."""

    before: float
    """s per step of A, the least of all visits, mean of the windows"""
    after: float
    """the same of B"""
    ratio: float
    """B over A: the median over blocks, each the ratio of the geometric means of two visits"""
    spread: float
    """half of the distance between the quartiles of the blocks' ratios"""


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The results of both builds."""

    windows: Mapping[str, Sequence[Mapping[str, Any]]]
    """For A and B what each window is like: iterations, unconverged, contacts, end."""
    times: Mapping[str, Times]
    """By way."""

    @property
    def changed(self) -> int:
        """Windows after which the states of A and B are not the same bits."""
        pairs = zip(self.windows["A"], self.windows["B"], strict=True)
        return sum(a["end"] != b["end"] for a, b in pairs)

    def mean(self, side: str, name: str) -> float:
        """Mean of a number over the windows of one build."""
        return statistics.fmean(window[name] for window in self.windows[side])


def compare(environments: Mapping[str, Mapping[str, str]], task: Task, blocks: int) -> Comparison:
    """Let both builds take the same steps.

    Parameters
    ----------
    environments
        For A and B the environment of its processes.
    task
        What they do.
    blocks
        Of four visits.

    Raises
    ------
    SideError
        A build does not take the model or its steps.
    """
    visits: dict[str, list[list[float]]] = {way: [] for way in task.ways}
    for block in range(blocks):
        with ExitStack() as stack:
            # neither is always the first to start
            samplers = {
                side: stack.enter_context(_Sampler(side, environments[side], task))
                for side in sorted(environments, reverse=block % 2 == 1)
            }
            for way, taken in visits.items():
                taken.append([samplers[side].visit(way, task.seconds) for side in BLOCK])
    windows = {side: sampler.windows for side, sampler in samplers.items()}
    return Comparison(windows, {way: _times(taken) for way, taken in visits.items()})


class _Sampler(Process):
    """The process of one build; a context manager."""

    def __init__(self, side: str, environment: Mapping[str, str], task: Task) -> None:
        super().__init__(side, "step_sample.py", environment)
        self._side, self._task = side, task
        self.windows: list[dict[str, Any]] = []

    def __enter__(self) -> _Sampler:
        task = self._task
        order = {"model": str(task.model), "states": task.states, "steps": task.steps}
        try:
            told = self.ask(order | {"options": task.options})
            if isinstance(told, dict):
                raise SideError(f"{self._side}: {told['error']}")
        except BaseException:
            self.__exit__()
            raise
        self.windows = told
        return self

    def visit(self, way: str, seconds: float) -> float:
        """Seconds of a step, mean of the windows."""
        return statistics.fmean(self.ask({"way": way, "seconds": seconds}))


def _times(blocks: Sequence[Sequence[float]]) -> Times:
    before, after = (
        min(
            time
            for block in blocks
            for this, time in zip(BLOCK, block, strict=True)
            if this == side
        )
        for side in "AB"
    )
    return Times(before, after, *median_and_spread(map(block_ratio, blocks)))


def block_ratio(visits: Sequence[float]) -> float:
    """Time of B over that of A of one block, from the times of its four visits."""
    signs = [0.5 if side == "B" else -0.5 for side in BLOCK]
    return math.exp(sum(s * math.log(time) for s, time in zip(signs, visits, strict=True)))


def median_and_spread(ratios: Iterable[float]) -> tuple[float, float]:
    """Median, and half of the distance between the quartiles; 0 for a single ratio."""
    values = list(ratios)
    if len(values) == 1:
        return values[0], 0.0
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return middle, 0.5 * (high - low)

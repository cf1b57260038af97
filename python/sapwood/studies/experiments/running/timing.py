"""Clocks and interleaved repetitions."""

from __future__ import annotations

import gc
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

# a sample lasts about this long at least, so that reading the clocks costs nothing
SAMPLE_SECONDS = 1e-3


@dataclass
class Times:
    """Seconds per call of each sample, on the CPU clock of the thread and on the wall clock."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    @property
    def cpu_min(self) -> float:
        """Least time on the CPU clock."""
        return min(self.cpu)

    @property
    def cpu_median(self) -> float:
        """Median time on the CPU clock."""
        return statistics.median(self.cpu)

    @property
    def wall_min(self) -> float:
        """Least time on the wall clock."""
        return min(self.wall)

    @property
    def wall_median(self) -> float:
        """Median time on the wall clock."""
        return statistics.median(self.wall)

    def sample(self, call: Callable[[], Any], calls: int = 1) -> Any:
        """Time some calls, add their mean, and return what the last one did."""
        wall, cpu = time.perf_counter(), time.thread_time()
        for _ in range(calls):
            result = call()
        cpu, wall = time.thread_time() - cpu, time.perf_counter() - wall
        self.cpu.append(cpu / calls)
        self.wall.append(wall / calls)
        return result


def interleaved(
    calls: Sequence[Callable[[], Any]], first: Sequence[Times], repeat: int, budget: float
) -> list[Times]:
    """Time functions round by round, so that all meet the same noise.

    Each sample follows a call of the same function that is not counted: otherwise the one that runs
    after another solver pays for the caches which that one has filled, by up to a third. The order
    is drawn anew for each round, the same in every run.

    Parameters
    ----------
    calls
        What to time.
    first
        A sample of each, taken before.
    repeat
        Rounds.
    budget
        Seconds after which a function takes part in no further round. One that needed more for its
        first sample keeps that as its only one.

    Returns
    -------
    list of Times
        One for each function.
    """
    times = [sample if sample.wall_min > budget else Times() for sample in first]
    spent = [sample.wall_min if sample.wall_min > budget else 0.0 for sample in first]
    order = list(range(len(calls)))
    draw = random.Random(0)
    with no_garbage_collection():
        for _ in range(repeat):
            draw.shuffle(order)
            for k in order:
                if spent[k] > budget:
                    continue
                uncounted = Times()
                uncounted.sample(calls[k])
                count = max(1, round(SAMPLE_SECONDS / max(uncounted.wall_min, 1e-9)))
                times[k].sample(calls[k], count)
                spent[k] += uncounted.wall_min + times[k].wall[-1] * count
    return times


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Keep Python's garbage collector away, as timeit does."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()

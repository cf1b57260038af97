"""Whole simulations of a scene by every engine: time per step, and how well.

Each engine simulates the scene again and again, in turn with the others; of each few steps the
least time counts, on the CPU clock of the thread. What is good is measured in the first of its
runs, for all engines by the same functions of MuJoCo from the positions and velocities that they
return.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import mujoco
import numpy as np

from benchmarks.engines.quality import Watch
from benchmarks.engines.scenes import Scene, make
from benchmarks.rows import Table
from sapwood.studies.engines import CannotSimulate, Engine

RAN, BROKE, LATE, CANNOT = "ran", "broke", "late", "cannot"

#: Engines that are compared.
ENGINES = (
    "sapwood",
    "sapwood-convex",
    "mujoco",
    "mujoco-recommended",
    "mujoco-matched",
    "drake-sap",
    "drake-lagged",
    "bullet",
)

# steps that are timed at once
_AT_ONCE = 5


@dataclasses.dataclass(frozen=True)
class Row:
    """One engine in one scene."""

    scene: str
    engine: str
    status: str
    """ran, broke (not finite, or an error), late (stopped by the budget), cannot"""
    detail: str
    time_step: float
    steps: int
    """taken"""
    runs: int
    step: float
    """time per step, microseconds"""
    penetration: float
    """deepest contact in the second half of the simulation, m"""
    slip: float
    """mean tangential speed of overlapping contacts in its last quarter, m/s"""
    gain: float
    """most that the energy rose above what it had been before, J; not of a box that is pushed"""
    clearance: float
    """largest height of the box's lowest corner over the floor, m"""
    speed_error: float
    """largest error of the box's speed, m/s"""


class _Entrant:
    """An engine in a scene: its runs and what they took."""

    def __init__(self, name: str, kind: type[Engine], scene: Scene) -> None:
        self.name, self._kind, self._scene = name, kind, scene
        self.status, self.detail = RAN, ""
        self.runs, self.spent = 0, 0.0
        self.watch = Watch(scene)
        self._seconds: list[float] = []

    def run(self, budget: float) -> None:
        """Simulate once more; what is not finished within the budget ends there."""
        try:
            engine = self._kind(self._scene)
        except CannotSimulate as error:
            self.status, self.detail = CANNOT, str(error)
            return
        data = mujoco.MjData(self._scene.model)
        watched = self.runs == 0
        self.runs += 1
        if watched:
            engine.read(data)
            self.watch.see(data)
        try:
            for chunk, first in enumerate(range(0, self._scene.steps, _AT_ONCE)):
                # rows that an earlier run has not come to are not timed
                if not watched and chunk >= len(self._seconds):
                    break
                steps = min(_AT_ONCE, self._scene.steps - first)
                self._time(engine, chunk, steps)
                if watched:
                    engine.read(data)
                    if not (np.isfinite(data.qpos).all() and np.isfinite(data.qvel).all()):
                        raise FloatingPointError("not finite")
                    self.watch.see(data)
                if watched and self.spent > budget:
                    self.status, self.detail = LATE, f"stopped after {budget:g} s"
                    break
        except Exception as error:  # of many kinds, by engine
            self.status = BROKE
            self.detail = f"at {data.time:.3g} s: {' '.join(str(error).split())[:200]}"
        finally:
            engine.close()

    def _time(self, engine: Engine, chunk: int, steps: int) -> None:
        start = time.thread_time()
        engine.advance(steps)
        seconds = time.thread_time() - start
        self.spent += seconds
        if chunk == len(self._seconds):
            self._seconds.append(seconds)
        else:
            self._seconds[chunk] = min(self._seconds[chunk], seconds)

    def row(self) -> Row:
        """The outcome."""
        steps = min(self._scene.steps, _AT_ONCE * len(self._seconds))
        measures = {key: float(f"{value:.4g}") for key, value in self.watch.measures().items()}
        return Row(
            scene=self._scene.name,
            engine=self.name,
            status=self.status,
            detail=self.detail,
            time_step=float(self._scene.model.opt.timestep),
            steps=steps,
            runs=self.runs,
            step=round(1e6 * sum(self._seconds) / steps, 2) if steps else math.nan,
            **measures,
        )


def measure(
    scene: Scene, engines: dict[str, type[Engine]], repeat: int, budget: float
) -> list[Row]:
    """Simulate a scene by every engine.

    Parameters
    ----------
    scene
        What to simulate.
    engines
        By name.
    repeat
        Runs of each.
    budget
        Seconds of one engine in one scene: the first run ends there, and no other begins later.
    """
    entrants = [_Entrant(name, kind, scene) for name, kind in engines.items()]
    for _ in range(repeat):
        for entrant in entrants:
            if entrant.status == RAN and (entrant.runs == 0 or entrant.spent < budget):
                entrant.run(budget)
    return [entrant.row() for entrant in entrants]


def run(
    names: Sequence[str],
    engines: dict[str, type[Engine]],
    path: Path,
    seconds: float | None,
    repeat: int,
    budget: float,
    progress: Callable[[str], None],
) -> None:
    """Measure scenes, writing rows to a CSV file as they come; arguments as of `measure`."""
    with Table(path, Row) as table:
        for name in names:
            for row in measure(make(name, seconds), engines, repeat, budget):
                table.add(row)
            progress(name)

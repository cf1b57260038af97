"""The cost of a simulation step, ours against MuJoCo's own, and its parts.

Per scene two windows of steps, early and late in the simulation, see :mod:`benchmarks.windows`.
Times are per step, least of the samples unless it says median, on the CPU clock of the thread:

    step     our step: `Stepper.run` over the window, or `Stepper.step` one by one (column `how`)
    stages   the stages of MuJoCo in it, called as it calls them, with nothing in between
    solve    regularization and solve, as the core times them
    rest     step - stages - solve: contacts and Jacobians gathered, checks, writing back
    mj_default, mj_recommended, mj_matched
             `mj_step` from the same state, at MuJoCo's default settings, with the options that its
             manual recommends for contact, and with elliptic cone, Newton and contact parameters
             that give our regularization
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from benchmarks.rows import Table
from benchmarks.scenes import parse
from benchmarks.windows import Window, seconds_of
from sapwood.studies.experiments.running.timing import Times, interleaved


@dataclasses.dataclass(frozen=True)
class Row:
    """One window; times in microseconds per step."""

    scene: str
    window: str
    """early or late"""
    time: float
    """simulated, at its start, s"""
    how: str
    """run or step"""
    trees: int
    nv: int
    contacts: float
    iterations: float
    """iterations of the island that took most, mean over the steps"""
    step: float
    step_median: float
    stages: float
    solve: float
    rest: float
    mj_default: float
    mj_default_median: float
    mj_recommended: float
    mj_recommended_median: float
    mj_matched: float
    mj_matched_median: float
    samples: int


def measure(scene: str, length: int, repeat: int, budget: float) -> Iterator[Row]:
    """Measure the early and the late window of a scene.

    Parameters
    ----------
    scene
        Name, see :mod:`benchmarks.scenes`.
    length
        Steps of a window.
    repeat
        Samples of each function.
    budget
        Seconds for the samples of one function; where one sample takes longer, a single step is
        that sample.
    """
    kind, size = parse(scene)
    window = Window(kind, size, length)
    for label, seconds in (("early", kind.early(size)), ("late", kind.late(size))):
        window.move_to(seconds)
        yield _measure_window(scene, label, window, repeat, budget)
        window.leave()


def _measure_window(scene: str, label: str, window: Window, repeat: int, budget: float) -> Row:
    start = window.data.time - window.steps * window.stepper.time_step
    calls: list[Callable[[], object]] = [window.ours, window.stages, window.restores]
    steps = [window.steps] * 3
    variants = (window.default_model(), window.recommended_model(), window.matched_model())
    for model in variants:
        one = seconds_of(partial(window.mujoco_steps, model, 1))
        count = window.steps if one * window.steps <= budget else 1
        calls.append(partial(window.mujoco_steps, model, count))
        steps.append(count)
    first = []
    for call in calls:
        first.append(Times())
        first[-1].sample(call)
    measured = interleaved(calls, first, repeat, budget)
    ours, stages, restores, default, recommended, matched = measured
    solve = window.solve / window.steps
    step = ours.cpu_min / window.steps
    alone = (stages.cpu_min - restores.cpu_min) / window.steps
    return Row(
        scene=scene,
        window=label,
        time=round(start, 9),
        how=window.how,
        trees=int(window.model.ntree),
        nv=int(window.model.nv),
        contacts=window.contacts,
        iterations=window.iterations,
        step=1e6 * step,
        step_median=1e6 * ours.cpu_median / window.steps,
        stages=1e6 * alone,
        solve=1e6 * solve,
        rest=1e6 * (step - alone - solve),
        mj_default=1e6 * default.cpu_min / steps[3],
        mj_default_median=1e6 * default.cpu_median / steps[3],
        mj_recommended=1e6 * recommended.cpu_min / steps[4],
        mj_recommended_median=1e6 * recommended.cpu_median / steps[4],
        mj_matched=1e6 * matched.cpu_min / steps[5],
        mj_matched_median=1e6 * matched.cpu_median / steps[5],
        samples=len(ours.cpu),
    )


def run(
    scenes: Sequence[str],
    path: Path,
    length: int = 10,
    repeat: int = 20,
    budget: float = 5.0,
    progress: Callable[[str], None] = lambda _text: None,
) -> None:
    """Measure scenes, writing each row to a CSV file as it comes."""
    with Table(path, Row) as table:
        for scene in scenes:
            for row in measure(scene, length, repeat, budget):
                table.add(row)
            progress(scene)

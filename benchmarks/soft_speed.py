"""Time of a step of a soft cube on the floor, beside Drake's and MuJoCo's."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import soft_cube
from benchmarks.rows import Table
from benchmarks.soft_cube import Cube
from sapwood.studies.experiments.running.timing import no_garbage_collection

#: steps before the first sample: the cube has come to rest, or nearly so with steps of 2 ms
SETTLED = 100
#: shortest sample, s
SAMPLE_SECONDS = 0.01

Make = Callable[[Cube, float], Callable[[], object]]


@dataclass(frozen=True)
class Row:
    """A step of one engine.

    Attributes
    ----------
    engine, model : str
        What takes the steps.
    time_step : float
        Step, s.
    vertices, tetrahedra : int
        Of the mesh.
    least, median : float
        CPU seconds of a step, over samples.
    over_ours : float
        Least time over that of sapwood's step of the same group and size.
    """

    engine: str
    model: str
    time_step: float
    vertices: int
    tetrahedra: int
    least: float
    median: float
    over_ours: float


@dataclass(frozen=True)
class Runner:
    """An engine that is measured; the first of a group is the one that others are compared with."""

    engine: str
    model: str
    time_step: float
    most_vertices: int
    make: Make


def groups() -> list[list[Runner]]:
    """Engines that are compared with each other; those that are not installed are left out."""
    drake, flex = _drake(), _flex()

    def ours(model: str, passes: int, time_step: float) -> Runner:
        make = lambda cube, dt: soft_cube.step_call(cube, model, dt, passes)  # noqa: E731
        return Runner("sapwood", model, time_step, 100_000, make)

    quadratic = [ours("linear_corotated", 1, 0.01)]
    nonlinear = [ours("corotated", 2, 0.01)]
    energy = [ours("st_venant_kirchhoff", 3, 0.002)]
    if drake:
        quadratic.append(drake("linear_corotated", 3000))
        nonlinear.append(drake("corotated", 1000))
    if flex:
        energy += [flex("Newton"), flex("CG")]
    return [quadratic, nonlinear, energy]


def _drake() -> Callable[[str, int], Runner] | None:
    try:
        from benchmarks import soft_drake
    except ImportError as error:
        print(f"skipped: drake ({error})", file=sys.stderr)
        return None
    return lambda model, most: Runner(
        "drake", model, 0.01, most, lambda cube, dt: soft_drake.step_call(cube, model, dt)
    )


def _flex() -> Callable[[str], Runner] | None:
    try:
        from benchmarks import soft_flex
    except ImportError as error:
        print(f"skipped: mujoco ({error})", file=sys.stderr)
        return None
    return lambda solver: Runner(
        "mujoco", f"flex, {solver}", 0.002, 3000,
        lambda cube, dt: soft_flex.step_call(cube, solver, dt),
    )  # fmt: skip


def measure(
    cells: Iterable[int],
    samples: int,
    path: Path,
    progress: Callable[[str], None],
) -> list[Row]:
    """Time all engines on all sizes.

    Parameters
    ----------
    cells : iterable of int
        Cells of the cube along an edge.
    samples : int
        Samples of each engine, taken in turn.
    path : Path
        CSV file of the rows.
    progress : callable
        Is told each group and size.

    Returns
    -------
    list of Row
        One for each engine and size.
    """
    rows: list[Row] = []
    with Table(path, Row) as table:
        for n in cells:
            cube = Cube(n)
            for group in groups():
                progress(f"{group[0].model} {len(cube.mesh.vertices)}")
                for row in _measure_group(group, cube, samples):
                    table.add(row)
                    rows.append(row)
    return rows


def _measure_group(group: Sequence[Runner], cube: Cube, samples: int) -> list[Row]:
    n = len(cube.mesh.vertices)
    listed = [runner for runner in group if n <= runner.most_vertices]
    steps = [runner.make(cube, runner.time_step) for runner in listed]
    sizes = [_settle(step) for step in steps]
    times: list[list[float]] = [[] for _ in listed]
    with no_garbage_collection():
        for _ in range(samples):
            for step, size, taken in zip(steps, sizes, times, strict=True):
                taken.append(_time(step, size))
    return [
        Row(
            runner.engine,
            runner.model,
            runner.time_step,
            n,
            len(cube.mesh.tetrahedra),
            min(taken),
            statistics.median(taken),
            min(taken) / min(times[0]),
        )
        for runner, taken in zip(listed, times, strict=True)
    ]


def _settle(step: Callable[[], object]) -> int:
    """Let the cube come to rest; return the steps of a sample."""
    for _ in range(SETTLED):
        step()
    return max(1, round(SAMPLE_SECONDS / _time(step, 1)))


def _time(step: Callable[[], object], size: int) -> float:
    """CPU seconds of a step."""
    begun = time.thread_time()
    for _ in range(size):
        step()
    return (time.thread_time() - begun) / size


def table(rows: Iterable[Row]) -> str:
    """The rows as text."""
    header = f"{'engine':8s} {'model':20s} {'dt ms':>6s} {'vertices':>8s} {'least ms':>9s} "
    lines = [f"{header}{'median':>9s} {'over ours':>9s}"]
    for row in rows:
        lines.append(
            f"{row.engine:8s} {row.model:20s} {1e3 * row.time_step:6.0f} {row.vertices:8d} "
            f"{1e3 * row.least:9.3f} {1e3 * row.median:9.3f} {row.over_ours:9.2f}"
        )
    return "\n".join(lines)

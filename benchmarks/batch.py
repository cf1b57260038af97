"""The cost of a step of a batch of worlds beside ``mujoco.batch``, in a closed loop.

Each call sets controls of all worlds and takes some substeps. Times are CPU times of the process,
the least of the samples:

    ours, theirs     per world and substep, `Batch.step` and `mujoco.batch.Batch.step`, us
    ours/s, theirs/s thousand steps per second and core of both
    ratio            theirs/ours
    cpu 2            ours with two threads over ours with one
    rate 2           steps per second with two threads over those with one, on all cores
    expanded         ours with four fields of the model that differ between worlds, over ours
    call             a call with one world without substeps, us
    world            each further world of such a call, us
    set_const        `Batch.set_const` per world, us
    reset            `Batch.reset(stage=NONE)` per world, us
"""

from __future__ import annotations

import dataclasses
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from benchmarks.machine import all_cores
from benchmarks.models import files
from sapwood.mujoco import Batch

#: Fields that differ between the worlds: MuJoCo's stages read the first two, a stepper the others.
EXPANDED = ("body_mass", "geom_pos", "geom_friction", "dof_damping")


@dataclasses.dataclass(frozen=True)
class Row:
    """One model; times in microseconds, see the module."""

    name: str
    nv: int
    worlds: int
    substeps: int
    threads: int
    ours: float
    theirs: float
    """NaN where this MuJoCo has no batches, or refuses the model"""
    ratio: float
    second_cpu: float
    """NaN where there is one core"""
    second_rate: float
    expanded: float
    call: float
    world: float
    set_const: float
    reset: float


def least(call: Callable[[], object], repeat: int) -> float:
    """The least CPU time of the process for a call, s."""
    times = []
    for _ in range(repeat):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def _loop(batch: Any, calls: int, substeps: int, controls: Any) -> Callable[[], None]:
    ctrl = batch.bind("ctrl")

    def run() -> None:
        for call in range(calls):
            ctrl[:] = controls[call]
            batch.step(nstep=substeps)

    return run


def _theirs(model: mujoco.MjModel, worlds: int, threads: int) -> Any:
    try:
        from mujoco import batch

        return batch.Batch(model, worlds, threads)
    except (ImportError, ValueError, mujoco.FatalError):
        return None


def _second_thread(
    make: Callable[[int], Batch],
    start: Any,
    loop_of: Callable[[Any], Callable[[], None]],
    repeat: int,
) -> tuple[float, float]:
    """CPU time with two threads over that with one, and the ratio of rates.

    Windows of one and of two threads take turns; the least times count.
    """
    with all_cores() as cores:
        if cores < 2:
            return np.nan, np.nan
        batches = [make(threads) for threads in (1, 2)]
        loops = [loop_of(batch) for batch in batches]
        times = np.empty((repeat, 2, 2))
        for window in times:
            for seconds, batch, run in zip(window, batches, loops, strict=True):
                batch.state[:] = start
                begun = np.array([time.process_time(), time.perf_counter()])
                run()
                seconds[:] = np.array([time.process_time(), time.perf_counter()]) - begun
    cpu, wall = times.min(axis=0).T
    return cpu[1] / cpu[0], wall[0] / wall[1]


def measure(path: Path, worlds: int, substeps: int, threads: int, calls: int, repeat: int) -> Row:
    """Measure one model.

    Raises
    ------
    NotSupported
        If sapwood does not support it.
    """
    model = files.load(path)
    rng = np.random.default_rng(1)
    controls = rng.uniform(-0.2, 0.2, (calls, worlds, model.nu))

    def make(threads: int) -> Batch:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Batch(model, worlds, threads, on_error="keep")

    batch = make(threads)
    start = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, start, 0)
    whole = np.empty(batch.nstate)
    mujoco.mj_getState(model, start, whole, mujoco.mjtState.mjSTATE_INTEGRATION)
    other = _theirs(model, worlds, threads)
    steps = worlds * substeps * calls

    def loop_of(each: Any) -> Callable[[], None]:
        return _loop(each, calls, substeps, controls)

    batches = [batch] if other is None else [batch, other]
    loops = [loop_of(each) for each in batches]
    best = [np.inf] * len(loops)
    for _ in range(repeat):
        for i, (each, loop) in enumerate(zip(batches, loops, strict=True)):
            each.state[:] = whole
            best[i] = min(best[i], least(loop, 1))
    ours, theirs = best[0], best[1] if other is not None else np.nan
    second_cpu, second_rate = _second_thread(make, whole, loop_of, repeat)
    one = least(lambda: batch.step([0], 0), 20 * repeat)
    all_of_them = least(lambda: batch.step(None, 0), 5 * repeat)
    reset = least(lambda: batch.reset(stage=0), repeat)
    for name in EXPANDED:
        batch.expand(name)
    set_const = least(batch.set_const, repeat)
    expanded = np.inf
    for _ in range(repeat):
        batch.state[:] = whole
        expanded = min(expanded, least(loops[0], 1))
    return Row(
        name=files.name_of(path),
        nv=int(model.nv),
        worlds=worlds,
        substeps=substeps,
        threads=threads,
        ours=1e6 * ours / steps,
        theirs=1e6 * theirs / steps,
        ratio=theirs / ours,
        second_cpu=second_cpu,
        second_rate=second_rate,
        expanded=expanded / ours,
        call=1e6 * one,
        world=1e6 * (all_of_them - one) / max(1, worlds - 1),
        set_const=1e6 * set_const / worlds,
        reset=1e6 * reset / worlds,
    )


def table(rows: list[Row]) -> list[list[str]]:
    """The table, its head first and medians last."""
    ratios = {"ratio": "ratio", "second_cpu": "cpu 2", "second_rate": "rate 2"}
    others = ("expanded", "call", "world", "set_const", "reset")
    lines = [["model", "nv", "ours/s", "theirs/s", "ours", "theirs", *ratios.values(), *others]]
    for row in rows:
        values = [1e3 / row.ours, 1e3 / row.theirs, row.ours, row.theirs]
        values += [getattr(row, name) for name in (*ratios, *others)]
        lines.append([row.name, str(row.nv), *(f"{value:.3g}" for value in values)])
    medians = [median([getattr(row, name) for row in rows]) for name in (*ratios, *others)]
    return [*lines, ["median", *[""] * 5, *medians]]


def median(values: list[float]) -> str:
    """The median of those that are finite."""
    finite = [value for value in values if np.isfinite(value)]
    return f"{np.median(finite):.3g}" if finite else "nan"

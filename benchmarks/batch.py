"""The cost of a step of a batch of worlds beside ``mujoco.batch``, in a closed loop.

Each call sets controls of all worlds and takes some substeps. Times are CPU times of the process,
the least of the samples:

    ours, theirs     per world and substep, `Batch.step` and `mujoco.batch.Batch.step`, us
    ours/s, theirs/s thousand steps per second and core of both
    ratio            theirs/ours
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        batch = Batch(model, worlds, threads, on_error="keep")
    start = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, start, 0)
    whole = np.empty(batch.nstate)
    mujoco.mj_getState(model, start, whole, mujoco.mjtState.mjSTATE_INTEGRATION)
    other = _theirs(model, worlds, threads)
    steps = worlds * substeps * calls
    batches = [batch] if other is None else [batch, other]
    loops = [_loop(each, calls, substeps, controls) for each in batches]
    best = [np.inf] * len(loops)
    for _ in range(repeat):
        for i, (each, loop) in enumerate(zip(batches, loops, strict=True)):
            each.state[:] = whole
            best[i] = min(best[i], least(loop, 1))
    ours, theirs = best[0], best[1] if other is not None else np.nan
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
        expanded=expanded / ours,
        call=1e6 * one,
        world=1e6 * (all_of_them - one) / max(1, worlds - 1),
        set_const=1e6 * set_const / worlds,
        reset=1e6 * reset / worlds,
    )


def table(rows: list[Row]) -> list[list[str]]:
    """The table, its head first and the median of the ratios last."""
    names = ("ours", "theirs", "ratio", "expanded", "call", "world", "set_const", "reset")
    lines = [["model", "nv", "ours/s", "theirs/s", *names]]
    for row in rows:
        numbers = [1e3 / row.ours, 1e3 / row.theirs, *(getattr(row, name) for name in names)]
        lines.append([row.name, str(row.nv), *(f"{number:.3g}" for number in numbers)])
    ratios = [row.ratio for row in rows if np.isfinite(row.ratio)]
    median = f"{np.median(ratios):.3g}" if ratios else "nan"
    return [*lines, ["median", *[""] * 5, median, *[""] * 5]]

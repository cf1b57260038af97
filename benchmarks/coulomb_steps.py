"""The cost of Coulomb friction in a simulation: each law on its own way from one start.

Steps are the same bits in every run, so that of each step the least time over several runs counts.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray

from benchmarks.rows import Table
from benchmarks.scenes import parse
from sapwood import Status
from sapwood.mujoco import Stepper
from sapwood.settings import Friction

LAWS: tuple[Friction, ...] = ("convex", "lagged", "coulomb")
LISTED = {"overlapping": False, "speculative": True}


@dataclasses.dataclass(frozen=True)
class Row:
    """One law in one scene over one part of the simulation; means per step."""

    scene: str
    listed: str
    """contacts that there are: overlapping ones, or speculative, that would close in the step"""
    law: str
    part: str
    """all of it, or settled: the last second"""
    steps: int
    contacts: float
    islands: float
    total_iterations: float
    """summed over islands"""
    solve: float
    """regularization and solve, wall clock, s"""
    step: float
    """the whole step, MuJoCo's stages included, wall clock, s"""
    unconverged: int
    """steps"""
    error: float
    """largest e_c of all steps, nan for the convex law"""


def measure(scene: str, seconds: float | None, repeat: int) -> list[Row]:
    """Simulate with every law and list of contacts.

    Parameters
    ----------
    scene
        Name, see :mod:`benchmarks.scenes`.
    seconds
        Simulated; None is until the scene has settled, and a second.
    repeat
        Runs of each law.
    """
    kind, size = parse(scene)
    model = kind.make(size).compile()
    last = math.ceil(1.0 / model.opt.timestep)
    steps = math.ceil((kind.late(size) + 1.0 if seconds is None else seconds) / model.opt.timestep)
    cases = [(listed, law) for listed in LISTED for law in LAWS]
    taken: dict[tuple[str, str], list[NDArray[np.void]]] = {case: [] for case in cases}
    for _ in range(repeat):
        for listed, law in cases:
            taken[listed, law].append(_run(model, law, LISTED[listed], steps))
    return [
        _row(scene, *case, part, taken[case], slice(first, None))
        for case in cases
        for part, first in (("all", 0), ("settled", max(0, steps - last)))
    ]


def _run(model: mujoco.MjModel, law: Friction, speculative: bool, steps: int) -> NDArray[np.void]:
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    with warnings.catch_warnings():
        # steps without a solution are counted
        warnings.simplefilter("ignore", RuntimeWarning)
        stepper = Stepper(model, friction=law, speculative=speculative)
        records: NDArray[np.void] = stepper.run(data, steps).records
    return records


def _row(
    scene: str, listed: str, law: str, part: str, runs: Sequence[NDArray[np.void]], of: slice
) -> Row:
    records = runs[0][of]
    return Row(
        scene=scene,
        listed=listed,
        law=law,
        part=part,
        steps=len(records),
        contacts=float(records["contacts"].mean()),
        islands=float(records["islands"].mean()),
        total_iterations=float(records["total_iterations"].mean()),
        solve=float(_least(runs, "solver_seconds")[of].mean()),
        step=float(_least(runs, "seconds")[of].mean()),
        unconverged=int(np.count_nonzero(records["status"] != Status.converged)),
        error=float(records["coulomb_error"].max()),
    )


def _least(runs: Sequence[NDArray[np.void]], name: str) -> NDArray[np.float64]:
    least: NDArray[np.float64] = np.min([records[name] for records in runs], axis=0)
    return least


def run(
    scenes: Sequence[str],
    path: Path,
    seconds: float | None = None,
    repeat: int = 3,
    progress: Callable[[str], None] = lambda _text: None,
) -> None:
    """Measure scenes, writing each row to a CSV file as it comes."""
    with Table(path, Row) as table:
        for scene in scenes:
            for row in measure(scene, seconds, repeat):
                table.add(row)
            progress(scene)

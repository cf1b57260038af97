"""Falling piles with Coulomb's friction under two builds: iterations and time of a step.

Spheres and boxes of the clutter drop into its box; in a pile of a mass ratio every second layer of
bodies is as many times as dense as the first. Each build takes its own way from the same start.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

import mujoco
import numpy as np

from benchmarks.revisions import environment_of
from benchmarks.rows import Table, aligned
from benchmarks.step_pair import Comparison, Task, compare
from sapwood.studies import scenes

_STATE = mujoco.mjtState.mjSTATE_INTEGRATION
# bodies of a layer: the clutter has four columns
_LAYER = 4


@dataclasses.dataclass(frozen=True)
class Plan:
    """The piles, and how long they fall."""

    bodies: Sequence[int] = (40, 100)
    mass_ratios: Sequence[int] = (1, 10, 100)
    seeds: int = 3
    seconds: float = 2.5
    blocks: int = 3

    @property
    def piles(self) -> list[tuple[int, int, int]]:
        """Bodies, mass ratio and seed of each."""
        return list(itertools.product(self.bodies, self.mass_ratios, range(self.seeds)))


@dataclasses.dataclass(frozen=True)
class Row:
    """One pile; means per step."""

    bodies: int
    mass_ratio: int
    seed: int
    steps: int
    contacts: float
    """contacts in B"""
    iterations_before: float
    """iterations of A, summed over islands"""
    iterations_after: float
    """iterations of B, summed over islands"""
    unconverged_before: int
    """steps of A without a solution"""
    unconverged_after: int
    before: float
    """CPU time of the whole step of A, s, the least of all runs"""
    after: float
    """CPU time of the whole step of B, s, the least of all runs"""
    ratio: float
    """time of B over that of A, median of the blocks"""
    spread: float
    """half of the distance between the quartiles of the blocks"""
    changed: int
    """1 where the states at the end are not the same bits"""


def pile(bodies: int, mass_ratio: float, seed: int) -> mujoco.MjModel:
    """The model of a pile."""
    spec = scenes.clutter(bodies=bodies, seed=seed)
    dropped = [geom for body in spec.bodies if body.name != "world" for geom in body.geoms]
    for i, geom in enumerate(dropped):
        if i // _LAYER % 2:
            geom.density *= mass_ratio
    return spec.compile()


def run(
    sites: Mapping[str, Path],
    plan: Plan,
    path: Path,
    progress: Callable[[str], None] = lambda _text: None,
) -> None:
    """Let both builds simulate all piles, writing each row to a CSV file as it comes.

    Raises
    ------
    SideError
        A process failed, or would import another package than that of its folder.
    """
    environments = {side: environment_of(site) for side, site in sites.items()}
    with Table(path, Row) as table, tempfile.TemporaryDirectory() as folder:
        for bodies, mass_ratio, seed in plan.piles:
            model = pile(bodies, mass_ratio, seed)
            binary = Path(folder) / "pile.mjb"
            mujoco.mj_saveModel(model, str(binary))
            start = np.empty(mujoco.mj_stateSize(model, _STATE))
            mujoco.mj_getState(model, mujoco.MjData(model), start, _STATE)
            steps = math.ceil(plan.seconds / model.opt.timestep)
            task = Task(binary, [start.tolist()], steps, options={"friction": "coulomb"})
            found = compare(environments, task, plan.blocks)
            table.add(_row(bodies, mass_ratio, seed, steps, found))
            progress(f"{bodies} bodies, 1:{mass_ratio}, seed {seed}")


def _row(bodies: int, mass_ratio: int, seed: int, steps: int, found: Comparison) -> Row:
    times = found.times["run"]
    return Row(
        bodies,
        mass_ratio,
        seed,
        steps,
        contacts=found.mean("B", "contacts"),
        iterations_before=found.mean("A", "iterations"),
        iterations_after=found.mean("B", "iterations"),
        unconverged_before=round(found.mean("A", "unconverged")),
        unconverged_after=round(found.mean("B", "unconverged")),
        before=times.before,
        after=times.after,
        ratio=times.ratio,
        spread=times.spread,
        changed=found.changed,
    )


# ---- table -------------------------------------------------------------------------------------


def table(rows: Sequence[Row], before: str, after: str) -> str:
    """A line for each kind of pile, means over the seeds; ratios of time are medians."""
    lines = [
        ["bodies", "mass ratio", "contacts", "iterations: A", "B", "without solution: A", "B",
         "ms per step: A", "B", "B over A", "least", "most", "changed"]
    ]  # fmt: skip
    kinds: dict[tuple[int, int], list[Row]] = {}
    for row in rows:
        kinds.setdefault((row.bodies, row.mass_ratio), []).append(row)
    for (bodies, mass_ratio), here in kinds.items():
        ratios = [row.ratio for row in here]
        lines.append([
            str(bodies), f"1:{mass_ratio}", f"{_mean(here, 'contacts'):.0f}",
            f"{_mean(here, 'iterations_before'):.2f}", f"{_mean(here, 'iterations_after'):.2f}",
            _share(here, "unconverged_before"), _share(here, "unconverged_after"),
            f"{1e3 * _mean(here, 'before'):.3f}", f"{1e3 * _mean(here, 'after'):.3f}",
            *(f"{part(ratios):.3f}" for part in (median, min, max)),
            str(sum(row.changed for row in here)),
        ])  # fmt: skip
    head = f"falling piles, Coulomb's friction: B ({after}) over A ({before})"
    return f"{head}\n\n{aligned(lines)}"


def _mean(rows: Sequence[Row], name: str) -> float:
    return float(np.mean([getattr(row, name) for row in rows]))


def _share(rows: Sequence[Row], name: str) -> str:
    steps = sum(row.steps for row in rows)
    return f"{100 * sum(getattr(row, name) for row in rows) / steps:.1f} %"

"""The cost of a contact surface: ours, one pair a call and many in one, and Drake's.

All from Python. A call gives objects whose arrays are made when they are read, here as with Drake;
ours is timed with all of them read, too. Meshes and trees stand beforehand
on both sides, and so does what Drake keeps of poses that do not change; its collision filter and
its bounding boxes of the scene are asked in every call, as they are in a simulation.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.rows import Table
from benchmarks.surface_cases import Pair
from sapwood.geometry import contact_surface, contact_surfaces
from sapwood.studies.experiments.running.timing import Times, interleaved

BATCH = 32
DrakeCall = Callable[[Pair], Callable[[], Any]]


@dataclasses.dataclass(frozen=True)
class Row:
    """Times of one pair, s per surface."""

    part: str
    """``pairs`` of the reference data, or ``growth``."""
    name: str
    cells: int
    faces: int
    call: float
    """One pair a call."""
    arrays: float
    """The same, and all arrays of the surface read."""
    batch: float
    """BATCH times the pair in one call."""
    drake: float
    """nan where it is not installed."""


def measure(part: str, pair: Pair, drake: DrakeCall | None, repeat: int) -> Row:
    """Least times of one pair, samples of all in turn."""
    one = (pair.a.shape, pair.a.pose, pair.b.shape, pair.b.pose)
    many = [one] * BATCH
    faces = len(contact_surface(*one))
    calls: list[Callable[[], Any]] = [
        lambda: contact_surface(*one),
        lambda: contact_surface(*one).areas,
        lambda: contact_surfaces(many),
    ]
    if drake is not None:
        calls.append(drake(pair))
    first = [Times() for _ in calls]
    for call, time in zip(calls, first, strict=True):
        time.sample(call)
    least = [time.cpu_min for time in interleaved(calls, first, repeat, budget=5.0)]
    return Row(
        part, pair.name, pair.cells, faces, least[0], least[1], least[2] / BATCH,
        least[3] if drake is not None else math.nan,
    )  # fmt: skip


def run(
    pairs: Iterable[tuple[str, Pair]],
    drake: DrakeCall | None,
    repeat: int,
    path: Path,
    progress: Callable[[str], None],
) -> list[Row]:
    """Measure all pairs; rows are written as they come."""
    rows = []
    with Table(path, Row) as table:
        for part, pair in pairs:
            row = measure(part, pair, drake, repeat)
            table.add(row)
            rows.append(row)
            progress(pair.name)
    return rows


def mean_ratio(rows: Iterable[Row], ours: str) -> float:
    """Geometric mean of Drake's times over ours: `call`, `arrays` or `batch`."""
    ratios = [row.drake / getattr(row, ours) for row in rows]
    return float(np.exp(np.mean(np.log(ratios))))

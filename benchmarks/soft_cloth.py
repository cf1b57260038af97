"""Steps of cloths of rigid edges on a ball: one dense tree, or sparse equations."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import mujoco

from benchmarks.rows import Table
from sapwood.mujoco import Stepper
from sapwood.mujoco.reading import flexes

#: vertices along an edge
SIZES = (5, 7, 9, 11, 13)
_SETTLED = 20  # steps before the first sample; all vertices touch the ball or hang beside it
_XML = """
<mujoco><option timestep="0.002" integrator="discrete" cone="elliptic"/><worldbody>
<geom size=".08" pos=".01 .02 .4"/>
<body name="place" pos=".01 .02 .484">
<flexcomp name="cloth" type="grid" count="{n} {n} 1" dim="2" mass=".3" radius=".002"
spacing="{spacing} {spacing} .1"><edge equality="true"/>
<contact selfcollide="none"/></flexcomp></body></worldbody></mujoco>"""


@dataclass(frozen=True)
class Row:
    """Steps of one cloth.

    Attributes
    ----------
    vertices : int
        Its vertices.
    dense, sparse : float
        Median of the steps with one dense tree, and with sparse equations, s.
    """

    vertices: int
    dense: float
    sparse: float


def _measure(n: int, samples: int) -> Row:
    model = mujoco.MjModel.from_xml_string(_XML.format(n=n, spacing=0.3 / (n - 1)))
    kept, runs = flexes.MOST_JOINED, []
    try:
        for most in (n * n, 0):
            flexes.MOST_JOINED = most
            runs.append((Stepper(model), mujoco.MjData(model)))
    finally:
        flexes.MOST_JOINED = kept
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(_SETTLED + samples):
        for (stepper, data), taken in zip(runs, times, strict=True):
            begun = time.thread_time()
            stepper.step(data)
            taken.append(time.thread_time() - begun)
    return Row(n * n, *(statistics.median(taken[_SETTLED:]) for taken in times))


def measure(
    sizes: Iterable[int], samples: int, path: Path, progress: Callable[[str], None]
) -> list[Row]:
    """Time the steps of all cloths.

    Parameters
    ----------
    sizes : iterable of int
        Vertices along an edge.
    samples : int
        Steps that are timed.
    path : Path
        CSV file of the rows.
    progress : callable
        Is told each size.

    Returns
    -------
    list of Row
        One for each size.
    """
    rows: list[Row] = []
    with Table(path, Row) as table:
        for n in sizes:
            progress(f"{n} by {n} vertices")
            rows.append(_measure(n, samples))
            table.add(rows[-1])
    return rows


def table(rows: Iterable[Row]) -> str:
    """The rows as text."""
    lines = [f"{'vertices':>8s} {'dense ms':>9s} {'sparse ms':>9s} {'dense / sparse':>14s}"]
    lines += [
        f"{row.vertices:8d} {1e3 * row.dense:9.2f} {1e3 * row.sparse:9.2f} "
        f"{row.dense / row.sparse:14.2f}"
        for row in rows
    ]
    return "\n".join(lines)

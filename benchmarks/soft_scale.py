"""Time and memory of a step of large soft bodies in contact with the floor."""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.rows import Table
from benchmarks.soft_cube import DAMPING, DENSITY, FRICTION, POISSON, YOUNG
from sapwood import fem

_CELL = 0.0125  # edge of a cell, m


@dataclass(frozen=True)
class Scale:
    """A size, and what a step of it may take.

    Attributes
    ----------
    cells : tuple of int
        Cells along the edges of the body.
    seconds : float
        Limit of the least time of a step, s.
    settled : int
        Steps before the first sample: 70 after the impact no vertex above the floor is in S.
    """

    cells: tuple[int, int, int]
    seconds: float
    settled: int = 70


#: 1,000 vertices in real time, 2,000 at 30 frames a second, 5,000 in a quarter of a second, and
#: 20,000 within the memory
SCALES = (
    Scale((9, 9, 9), 0.01),
    Scale((9, 9, 19), 1 / 30),
    Scale((9, 19, 24), 0.25),
    Scale((19, 24, 39), np.inf, 5),
)
MEMORY = 8.0  # GB


@dataclass(frozen=True)
class Row:
    """Steps of one size.

    Attributes
    ----------
    vertices, tetrahedra, contacts : int
        Of the body, and in the last step.
    threads : int
        Threads of a step.
    least, median : float
        Seconds of a step at rest: of its CPU with one thread, else by the clock.
    moving : float
        Median of those of the steps in contact before, in which the body bounces, s.
    limit : float
        Of the least time, s.
    memory : float
        Largest memory of the process so far, GB.
    converged : bool
        Whether all steps met their tolerance.
    """

    vertices: int
    tetrahedra: int
    contacts: int
    threads: int
    least: float
    median: float
    moving: float
    limit: float
    memory: float
    converged: bool

    @property
    def holds(self) -> bool:
        """Whether time and memory are within their limits, and all steps converged."""
        return self.least <= self.limit and self.memory <= MEMORY and self.converged


def _measure(scale: Scale, samples: int, threads: int) -> Row:
    mesh = fem.box(_CELL * np.array(scale.cells), scale.cells)
    material = fem.Material(
        young=YOUNG, poisson=POISSON, density=DENSITY, stiffness_damping=DAMPING
    )
    pose = np.eye(4)
    pose[2, 3] = 0.001 - mesh.vertices[:, 2].min()
    body = fem.SoftBody(mesh, material, friction=FRICTION, pose=pose)
    plane = fem.HalfSpace(friction=FRICTION)
    world = fem.World([body], planes=[plane], time_step=0.01, threads=threads)
    now = time.thread_time if threads == 1 else time.perf_counter
    converged, times, touching = True, [], []
    for _ in range(scale.settled + samples):
        begun = now()
        result = world.step()
        times.append(now() - begun)
        touching.append(len(result.solution.gamma) > 0)
        converged &= result.status == "converged" and str(result.solution.status) == "converged"
    kept, n = times[scale.settled :], scale.settled
    moving = [time for time, touches in zip(times[:n], touching[:n], strict=True) if touches]
    return Row(
        len(mesh.vertices),
        len(mesh.tetrahedra),
        len(result.solution.gamma),
        threads,
        min(kept),
        statistics.median(kept),
        statistics.median(moving),
        scale.seconds,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9,
        converged,
    )


def measure(
    scales: Iterable[Scale],
    samples: int,
    threads: int,
    path: Path,
    progress: Callable[[str], None],
) -> list[Row]:
    """Time the steps of all sizes, the smallest first.

    Parameters
    ----------
    scales : iterable of Scale
        The sizes.
    samples : int
        Steps that are timed.
    threads : int
        Threads of a step.
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
        for scale in scales:
            progress(f"cells {scale.cells}")
            rows.append(_measure(scale, samples, threads))
            table.add(rows[-1])
    return rows


def table(rows: Iterable[Row]) -> str:
    """The rows as text."""
    header = f"{'vertices':>8s} {'tetrahedra':>10s} {'contacts':>8s} {'threads':>7s} "
    lines = [f"{header}{'least ms':>9s} {'median':>9s} {'moving':>9s} {'limit':>8s} {'GB':>6s}"]
    for row in rows:
        limit = f"{1e3 * row.limit:8.0f}" if np.isfinite(row.limit) else f"{'-':>8s}"
        lines.append(
            f"{row.vertices:8d} {row.tetrahedra:10d} {row.contacts:8d} {row.threads:7d} "
            f"{1e3 * row.least:9.2f} {1e3 * row.median:9.2f} {1e3 * row.moving:9.2f} "
            f"{limit} {row.memory:6.2f}{'' if row.holds else '  broken'}"
        )
    return "\n".join(lines)

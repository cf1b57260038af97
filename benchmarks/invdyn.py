"""Time of inverse dynamics against the number of contacts, for every controller.

A quadruped of twelve joints with its contacts spread over four feet; bias forces vary from sample
to sample. A time is that of one call from Python, its conversions with it.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.rows import Table
from sapwood.invdyn import InverseDynamics

Array = NDArray[np.float64]

CONTROLLERS = ("lcp_noslip", "qp_noslip", "qp_coulomb", "one_stage", "lcp_coulomb")
_FEET = np.array([[0.2, 0.1], [0.2, -0.1], [-0.2, 0.1], [-0.2, -0.1]])


@dataclasses.dataclass(frozen=True)
class Row:
    """Times of one controller at one number of contacts."""

    controller: str
    contacts: int
    samples: int
    median: float  # s
    p99: float  # s
    most: float  # s
    pivots: float  # mean
    solved: int  # samples with the status `solved`


def quadruped(n: int, rng: np.random.Generator) -> dict[str, Array]:
    """Mass, bias, Jacobians and friction of a robot that stands on `n` points."""
    legs = 0.1 * rng.normal(size=(4, 3, 3)) + 0.2 * np.eye(3)
    J = np.zeros((n, 3, 18))
    for i in range(n):
        leg = i % 4
        x, y = _FEET[leg] + 0.02 * rng.normal(size=2)
        z = -0.3
        J[i, :, :3] = np.eye(3)
        J[i, :, 3:6] = [[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]]
        J[i, :, 6 + 3 * leg : 9 + 3 * leg] = legs[leg] + 0.05 * rng.normal(size=(3, 3))
    root = 0.1 * rng.normal(size=(18, 18))
    M = root @ root.T / 18 + np.diag([5.0] * 3 + [0.2] * 3 + [0.02] * 12)
    h = 0.1 * rng.normal(size=18)
    h[2] += 9.81 * M[2, 2]
    return {"M": M, "h": h, "J_n": J[:, 2], "J_t": J[:, :2], "mu": np.full(n, 0.7)}


def measure(controller: str, n: int, samples: int) -> Row:
    """Time `samples` calls at `n` contacts."""
    rng = np.random.default_rng(n)
    system = quadruped(n, rng)
    made = InverseDynamics(controller, actuated=range(6, 18), dt=1e-3)  # type: ignore[arg-type]
    times, pivots, solved = np.zeros(samples), 0, 0
    ids = np.arange(n)
    for k in range(-3, samples):  # three to warm up
        h = system["h"] * (1.0 + 0.05 * rng.normal(size=18))
        begin = time.perf_counter()
        result = made.solve(
            system["M"], h, np.zeros(18), np.zeros(12), system["J_n"], system["J_t"],
            system["mu"], None, ids,
        )  # fmt: skip
        if k >= 0:
            times[k] = time.perf_counter() - begin
            pivots += result.pivots
            solved += result.success
    return Row(
        controller, n, samples, float(np.median(times)), float(np.quantile(times, 0.99)),
        float(times.max()), pivots / samples, solved,
    )  # fmt: skip


def run(
    contacts: Sequence[int], samples: int, path: Path, progress: Callable[[str], None]
) -> list[Row]:
    """Measure all controllers at all numbers of contacts; rows are written as they come."""
    rows = []
    with Table(path, Row) as table:
        for n in contacts:
            for controller in CONTROLLERS:
                row = measure(controller, n, samples)
                table.add(row)
                rows.append(row)
                progress(f"{controller} {n}")
    return rows


def table(rows: Sequence[Row]) -> str:
    """Median, 99 % and largest times in milliseconds, a line per controller and size."""
    lines = ["controller     contacts   median      p99      max   ms, pivots"]
    for row in rows:
        ms = [1e3 * value for value in (row.median, row.p99, row.most)]
        lines.append(
            f"{row.controller:<14}{row.contacts:>9}"
            + "".join(f"{value:>9.3f}" for value in ms)
            + f"{row.pivots:>13.1f}"
            + ("" if row.solved == row.samples else f"   {row.solved} of {row.samples} solved")
        )
    return "\n".join(lines)


def figure(rows: Sequence[Row], path: Path) -> None:
    """Medians with the band up to 99 %, against contacts, on logarithmic axes."""
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for controller in CONTROLLERS:
        of = [row for row in rows if row.controller == controller]
        n = [row.contacts for row in of]
        (line,) = axes.loglog(n, [1e3 * row.median for row in of], "o-", label=controller)
        axes.fill_between(
            n, [1e3 * row.median for row in of], [1e3 * row.p99 for row in of],
            color=line.get_color(), alpha=0.15, linewidth=0,
        )  # fmt: skip
    axes.axhline(1.0, color="grey", linewidth=0.8)
    axes.set(xlabel="contacts", ylabel="time of a call, ms")
    axes.legend()
    fig.savefig(path, dpi=150)
    plt.close(fig)

"""The distance of derivatives from central differences, on problem files.

Of random losses and random changes of all numbers of a problem, with steps over six decades. A
difference counts where no contact changes its region between both of its ends. Two errors are its
own: round-off of the solves, which falls with the step, and the curvature of the solution, which
rises with its square and is the larger the nearer a contact comes to the boundary of its region:
`reach` is how much of the way there the step takes it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import sapwood
from benchmarks.rows import Table
from sapwood import Differential
from sapwood.studies.peers.sparse import matrices

STEPS = tuple(10.0 ** (-0.5 * n) for n in range(6, 19))  # 1e-3 to 1e-9
NAMES = ("v_star", "J", "mu", "R_t", "R_n", "v_hat_n")


@dataclasses.dataclass(frozen=True)
class Row:
    """A change of a problem file and a step."""

    file: str
    change: int
    step: float
    kept: int
    """Whether all contacts kept their regions; where not, the rest is 0."""
    vjp: float
    """Relative distance of reverse mode from the difference."""
    jvp: float
    reach: float
    """The largest way of a contact's velocity over its distance to the boundary."""

    @property
    def off(self) -> float:
        """Relative distance of the worse mode from the difference."""
        return max(self.vjp, self.jvp)


def random_change(problem: sapwood.ContactProblem, rng: np.random.Generator) -> Differential:
    """A change of the numbers of a problem: relative, but for the free motion and v_hat."""
    speed = np.abs(problem.v_star).max(initial=1e-3)

    def part(x: np.ndarray) -> np.ndarray:
        return x * rng.uniform(-1.0, 1.0, x.shape)

    return Differential(
        v_star=speed * rng.uniform(-1.0, 1.0, problem.nv), J=part(problem.J), mu=part(problem.mu),
        R_t=part(problem.R_t), R_n=part(problem.R_n), v_hat_n=part(problem.v_hat_n),
    )  # fmt: skip


def changed(
    problem: sapwood.ContactProblem, change: Differential, h: float
) -> sapwood.ContactProblem:
    """The problem, its numbers its own, with h times the change added."""
    return sapwood.ContactProblem(
        problem.tree_nv, problem.A, tree_a=problem.tree_a, tree_b=problem.tree_b, dt=problem.dt,
        **{name: getattr(problem, name) + h * getattr(change, name) for name in NAMES},
    )  # fmt: skip


def measure(path: Path, seed: int) -> list[Row]:
    """All steps of a random change; none of a problem with more than compliant contacts."""
    rng = np.random.default_rng(seed)
    problem = sapwood.load_problem(path)
    if problem.constraints or problem.core is not None:
        return []
    settings = sapwood.SapSettings(relative_tolerance=1e-14)
    change, v_bar = random_change(problem, rng), rng.standard_normal(problem.nv)
    solution = sapwood.solve(changed(problem, change, 0.0), settings=settings, sensitivity=True)
    gradient = solution.vjp(v_bar)
    pulled = sum(float(np.sum(getattr(gradient, name) * getattr(change, name))) for name in NAMES)
    pushed = solution.jvp(change).v
    rows = []
    for h in STEPS:
        problems = [changed(problem, change, x) for x in (h, -h)]
        ends = [sapwood.solve(end, solution.v, settings) for end in problems]
        if any(np.any(end.regions != solution.regions) for end in ends):
            rows.append(Row(path.stem, seed, h, 0, 0.0, 0.0, 0.0))
            continue
        slope = (ends[0].v - ends[1].v) / (2 * h)
        size = np.linalg.norm(slope)
        v_c = [matrices(of)[1] @ end.v for of, end in zip(problems, ends, strict=True)]
        way = 0.5 * np.linalg.norm((v_c[0] - v_c[1]).reshape(-1, 3), axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.nan_to_num(way / gradient.distance, nan=0.0)
        rows.append(
            Row(
                path.stem, seed, h, 1,
                float(abs(pulled - v_bar @ slope) / (np.linalg.norm(v_bar) * size)),
                float(np.linalg.norm(pushed - slope) / size),
                float(reach.max(initial=0.0)),
            )
        )  # fmt: skip
    return rows


def run(
    files: Sequence[Path], changes: int, path: Path, progress: Callable[[str], None]
) -> list[Row]:
    """Measure all files; rows are written as they come."""
    rows = []
    with Table(path, Row) as table:
        for file in files:
            for seed in range(changes):
                for row in measure(file, seed):
                    table.add(row)
                    rows.append(row)
            progress(file.stem)
    return rows


def best_of(rows: Sequence[Row]) -> list[Row | None]:
    """The step of every change at which the difference is nearest; None without one."""
    changes: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        changes.setdefault((row.file, row.change), []).append(row)
    return [
        min((row for row in steps if row.kept), key=lambda row: row.off, default=None)
        for steps in changes.values()
    ]

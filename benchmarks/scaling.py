"""The growth of cost with bodies, contacts, threads and the size of a batch.

    bodies    a simulation of the clutter from the drop on, on open floor and in the box: mean time
              of a step over the whole run, and over its end, where it has settled
    contacts  one problem with every contact replaced by k, each with k times the regularization:
              the same motion, iterations and islands, k times the contacts
    threads   one solve with its islands on several threads, and a batch of problems on several
              threads
    batch     time per problem of batches of different sizes

The steps of a simulation are the same bits in every run, so that of each chunk of steps the least
time over several runs counts. Times are of the CPU clock of the thread, but where threads take
part that of the wall.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import mujoco
import numpy as np

import sapwood
from benchmarks import machine
from benchmarks.rows import Table
from benchmarks.scenes import parse
from benchmarks.windows import Steps, advance
from sapwood import ContactProblem, SapSolver
from sapwood.mujoco import Stepper
from sapwood.studies.experiments.running.timing import Times, interleaved

PARTS = ("bodies", "contacts", "threads", "batch")

# steps whose time is one number
_CHUNK = 10


@dataclasses.dataclass(frozen=True)
class Row:
    """One point of a curve."""

    part: str
    """one of PARTS"""
    series: str
    x: float
    """bodies, contacts, threads or problems"""
    contacts: float
    """mean per step or problem"""
    iterations: float
    """iterations on the island that took most, mean per step or problem; nan if unknown"""
    seconds: float
    """per step, solve, batch or problem"""
    solve: float
    """regularization and solve, s per step; else nan"""


@dataclasses.dataclass(frozen=True)
class Plan:
    """The measurements."""

    open_bodies: Sequence[int] = (50, 100, 200, 400, 800, 1600)
    box_bodies: Sequence[int] = (50, 100, 200, 400)
    settled: float = 1.0
    """simulated beyond the time at which the clutter has settled, s"""
    repeat: int = 3
    """runs of each simulation, and samples elsewhere times ten"""
    copies: Sequence[int] = (1, 2, 4, 8, 16, 32)
    """k of contacts"""
    contact_scenes: Sequence[str] = ("clutter-40", "humanoids-5", "quadrupeds-1")
    thread_scenes: Sequence[str] = ("open-100", "open-400", "open-1600")
    batches: Sequence[int] = (1, 3, 10, 30, 100, 300, 1000)
    batch_scene: str = "clutter-10"


QUICK = Plan(
    open_bodies=(4, 8, 16),
    box_bodies=(4, 8, 16),
    settled=0.1,
    repeat=1,
    copies=(1, 2, 4),
    contact_scenes=("clutter-4",),
    thread_scenes=("open-16",),
    batches=(1, 4, 16),
    batch_scene="clutter-4",
)


def count(part: str, plan: Plan) -> int:
    """Points that a part has at most."""
    with machine.all_cores() as cores:
        return {
            "bodies": 2 * (len(plan.open_bodies) + len(plan.box_bodies)),
            "contacts": len(plan.contact_scenes) * len(plan.copies),
            "threads": len(_thread_numbers(cores)) * (len(plan.thread_scenes) + 1),
            "batch": len({1, cores}) * len(plan.batches),
        }[part]


def points(part: str) -> Callable[[Plan], Iterator[Row]]:
    """The function that measures one of PARTS, point by point."""
    return {"bodies": bodies, "contacts": contacts, "threads": threads, "batch": batch}[part]


# ---- bodies ------------------------------------------------------------------------------------


def bodies(plan: Plan) -> Iterator[Row]:
    """Mean time of a step against the number of bodies."""
    series = (("open floor", "open", plan.open_bodies), ("box", "clutter", plan.box_bodies))
    for label, kind, sizes in series:
        for size in sizes:
            yield from _simulate(label, f"{kind}-{size}", size, plan)


def _simulate(label: str, scene: str, size: int, plan: Plan) -> Iterator[Row]:
    kind, count = parse(scene)
    model = kind.make(count).compile()
    step = _CHUNK * model.opt.timestep
    steps = _CHUNK * math.ceil((kind.late(count) + plan.settled) / step)
    at_rest = steps - _CHUNK * math.ceil(plan.settled / step)
    chunks, solve = np.full(steps // _CHUNK, math.inf), np.full(steps, math.inf)
    for _ in range(plan.repeat):
        seconds, taken = _run(model, steps)
        chunks, solve = np.minimum(chunks, seconds), np.minimum(solve, taken.solver_seconds)
    for name, first in (("", 0), (", settled", at_rest)):
        yield Row(
            part="bodies",
            series=label + name,
            x=size,
            contacts=float(taken.contacts[first:].mean()),
            iterations=float(taken.iterations[first:].mean()),
            seconds=float(chunks[first // _CHUNK :].mean()) / _CHUNK,
            solve=float(solve[first:].mean()),
        )


def _run(model: mujoco.MjModel, steps: int) -> tuple[np.ndarray, Steps]:
    """CPU seconds of each chunk of a run from the start, and how its steps went."""
    stepper, data = Stepper(model, friction="convex"), mujoco.MjData(model)
    seconds, taken = [], []
    for _ in range(steps // _CHUNK):
        start = time.thread_time()
        taken.append(advance(stepper, data, _CHUNK))
        seconds.append(time.thread_time() - start)
    return np.array(seconds), Steps(*map(np.concatenate, zip(*taken, strict=True)))


# ---- contacts ----------------------------------------------------------------------------------


def contacts(plan: Plan) -> Iterator[Row]:
    """Time of a solve against the number of contacts, everything else being equal."""
    for scene in plan.contact_scenes:
        problem = settled_problem(scene)
        for k in plan.copies:
            copied = copies_of(problem, k)
            solver = SapSolver()
            solution = solver.solve(copied)
            seconds = _least(partial(solver.solve, copied), plan)
            yield Row(
                part="contacts",
                series=scene,
                x=copied.n_contacts,
                contacts=copied.n_contacts,
                iterations=solution.iterations,
                seconds=seconds,
                solve=math.nan,
            )


def settled_problem(scene: str) -> ContactProblem:
    """The contact problem of a scene that has settled."""
    kind, size = parse(scene)
    model = kind.make(size).compile()
    stepper, data = Stepper(model, friction="convex"), mujoco.MjData(model)
    advance(stepper, data, math.ceil(kind.late(size) / stepper.time_step))
    return stepper.problem(data)


def problems_of(scene: str, count: int) -> list[ContactProblem]:
    """The contact problems of consecutive steps of a scene, from the impact on."""
    kind, size = parse(scene)
    model = kind.make(size).compile()
    stepper, data = Stepper(model, friction="convex"), mujoco.MjData(model)
    problems: list[ContactProblem] = []
    while len(problems) < count:
        if data.time >= kind.early(size):
            problems.append(stepper.problem(data))
        stepper.step(data)
    return problems


def copies_of(problem: ContactProblem, k: int) -> ContactProblem:
    """The problem with each contact replaced by k that carry 1/k of its impulse each.

    y is 1/k of what it was, so that gamma and the costs are too: their sums are unchanged, and
    with them v.
    """
    J = []
    at = 0
    for a, b in zip(problem.tree_a, problem.tree_b, strict=True):
        width = 3 * int(problem.tree_nv[a] + (problem.tree_nv[b] if b >= 0 else 0))
        J.append(np.tile(problem.J[at : at + width], k))
        at += width
    v_hat_t = problem.v_hat_t
    return ContactProblem(
        problem.tree_nv,
        problem.A,
        problem.v_star,
        np.repeat(problem.tree_a, k),
        np.repeat(problem.tree_b, k),
        np.concatenate(J),
        np.repeat(problem.mu, k),
        dt=problem.dt,
        R_t=np.repeat(k * problem.R_t, k),
        R_n=np.repeat(k * problem.R_n, k),
        v_hat_n=np.repeat(problem.v_hat_n, k),
        v_hat_t=None if v_hat_t is None else np.repeat(v_hat_t, k, axis=0),
        v_guess=problem.v_guess,
    )


def _least(call: Callable[[], object], plan: Plan, wall: bool = False) -> float:
    """Least seconds of a call over interleaved samples."""
    first = Times()
    first.sample(call)
    (times,) = interleaved([call], [first], 10 * plan.repeat, budget=10.0)
    return times.wall_min if wall else times.cpu_min


# ---- threads -----------------------------------------------------------------------------------


def threads(plan: Plan) -> Iterator[Row]:
    """Wall time against the number of threads: islands of one problem, and a batch."""
    with machine.all_cores() as cores:
        numbers = _thread_numbers(cores)
        for scene in plan.thread_scenes:
            problem = settled_problem(scene)
            for n in numbers:
                solver = SapSolver(threads=n)
                solution = solver.solve(problem)
                yield Row(
                    part="threads",
                    series=f"islands, {scene}",
                    x=n,
                    contacts=problem.n_contacts,
                    iterations=solution.iterations,
                    seconds=_least(partial(solver.solve, problem), plan, wall=True),
                    solve=math.nan,
                )
        problems = problems_of(plan.batch_scene, max(plan.batches))
        mean = float(np.mean([problem.n_contacts for problem in problems]))
        for n in numbers:
            call = partial(sapwood.solve_batch, problems, threads=n)
            seconds = _least(call, plan, wall=True)
            series = f"batch of {len(problems)}, {plan.batch_scene}"
            yield Row("threads", series, n, mean, math.nan, seconds, math.nan)


# ---- batch -------------------------------------------------------------------------------------


def batch(plan: Plan) -> Iterator[Row]:
    """Wall time per problem against the number of problems, on one thread and on all cores."""
    problems = problems_of(plan.batch_scene, max(plan.batches))
    # any part of them is like the whole
    order = np.random.default_rng(0).permutation(len(problems))
    with machine.all_cores() as cores:
        for n in sorted({1, cores}):
            for size in plan.batches:
                chosen = [problems[k] for k in order[:size]]
                call = partial(sapwood.solve_batch, chosen, threads=n)
                seconds = _least(call, plan, wall=True)
                yield Row(
                    part="batch",
                    series=f"{n} thread{'s' if n > 1 else ''}, {plan.batch_scene}",
                    x=size,
                    contacts=float(np.mean([problem.n_contacts for problem in chosen])),
                    iterations=math.nan,
                    seconds=seconds / size,
                    solve=math.nan,
                )


def _thread_numbers(cores: int) -> list[int]:
    """Powers of two up to the number of cores, and that."""
    numbers = [2**k for k in range(int(math.log2(cores)) + 1)]
    return numbers if numbers[-1] == cores else [*numbers, cores]


def run(
    part: str, plan: Plan, path: Path, progress: Callable[[str], None] = lambda _text: None
) -> None:
    """Measure one of PARTS, writing each point to a CSV file as it comes."""
    with Table(path, Row) as table:
        for row in points(part)(plan):
            table.add(row)
            progress(f"{row.series}, {row.x:g}")

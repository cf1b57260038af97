"""Falling piles with exact Coulomb friction beside the convex law, on the same problems.

Spheres and boxes, or boxes alone, drop into a box or on open floor. The stepper takes every step
with Coulomb's friction; some of its problems are also solved by both laws from the velocity before
the step, for their iterations and their time.
"""

from __future__ import annotations

import dataclasses
import time

import mujoco
import numpy as np

import sapwood
from sapwood.mujoco import Stepper
from sapwood.settings import Friction
from sapwood.studies import scenes


@dataclasses.dataclass(frozen=True)
class Pile:
    """One pile that falls."""

    bodies: int
    kind: str
    """mixed, or boxes"""
    walls: bool
    seed: int
    friction: float = 1.0

    @property
    def name(self) -> str:
        """The name in the table."""
        place = "in a box" if self.walls else "on open floor"
        return f"{self.bodies} {self.kind} {place}"

    def model(self) -> mujoco.MjModel:
        """Its model, with a time step of 10 ms."""
        spec = scenes.clutter(self.bodies, self.walls, self.seed, friction=self.friction)
        for body in spec.bodies:
            for geom in body.geoms if self.kind == "boxes" and body.name != "world" else []:
                geom.type, geom.size = mujoco.mjtGeom.mjGEOM_BOX, [0.05, 0.05, 0.05]
        return spec.compile()


PILES = (
    Pile(40, "mixed", True, 0),
    Pile(100, "mixed", True, 0),
    Pile(100, "mixed", True, 2, 0.5),
    Pile(200, "mixed", False, 1),
    Pile(200, "mixed", True, 0),
    Pile(400, "mixed", True, 0),
    Pile(40, "boxes", True, 10),
    Pile(100, "boxes", True, 11),
    Pile(100, "boxes", False, 12),
    Pile(200, "boxes", True, 13),
    Pile(200, "boxes", True, 14, 0.6),
)
"""All piles, with their seeds."""


@dataclasses.dataclass(frozen=True)
class Row:
    """One sequence."""

    name: str
    friction: float
    seed: int
    steps: int
    contacts: float
    """mean over the problems"""
    problems: int
    """solved by both laws"""
    convex: float
    """iterations of the convex law, mean over the problems"""
    coulomb: float
    """iterations of Coulomb's law, mean"""
    median: float
    """the same, median"""
    most: int
    """the same, largest"""
    ratio: float
    """CPU time of all problems with Coulomb's law over that with the convex law"""
    missed: int
    """steps of the stepper that end without a solution"""


def measure(pile: Pile, steps: int, every: int, repeat: int) -> Row:
    """Simulate one sequence, with both laws on every so many steps.

    Parameters
    ----------
    pile
        Which.
    steps
        Number of steps.
    every
        Steps between two problems that both laws solve.
    repeat
        Solves of each problem by each law; the least time counts.
    """
    model = pile.model()
    data, stepper = mujoco.MjData(model), Stepper(model, friction="coulomb")
    laws: tuple[Friction, ...] = ("convex", "coulomb")
    solvers = [sapwood.SapSolver(sapwood.SapSettings(friction=law)) for law in laws]
    found: list[list[tuple[int, float]]] = []
    contacts, missed = [], 0
    for step in range(steps):
        if step % every == every - 1:
            problem = stepper.problem(data)
            contacts.append(problem.n_contacts)
            found.append([_solve(solver, problem, repeat) for solver in solvers])
        records = stepper.run(data, 1).records
        missed += int(np.count_nonzero(records["status"] != sapwood.Status.converged))
    iterations = np.array([[law[0] for law in laws_] for laws_ in found])
    seconds = np.sum([[law[1] for law in laws_] for laws_ in found], axis=0)
    return Row(
        pile.name,
        pile.friction,
        pile.seed,
        steps,
        contacts=float(np.mean(contacts)),
        problems=len(found),
        convex=float(iterations[:, 0].mean()),
        coulomb=float(iterations[:, 1].mean()),
        median=float(np.median(iterations[:, 1])),
        most=int(iterations[:, 1].max()),
        ratio=float(seconds[1] / seconds[0]),
        missed=missed,
    )


def _solve(
    solver: sapwood.SapSolver, problem: sapwood.ContactProblem, repeat: int
) -> tuple[int, float]:
    """Iterations, most of an island, and least CPU seconds."""
    samples = []
    for _ in range(repeat + 1):  # the first one fills the solver's memory
        begin = time.process_time()
        solution = solver.solve(problem)
        samples.append(time.process_time() - begin)
    return solution.iterations, min(samples[1:])

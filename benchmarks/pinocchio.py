"""Rigid contact beside Pinocchio: problems solved and time, for three compliances.

The solvers are ours, and ADMM and PGS of Pinocchio: ADMM on its sparse Cholesky factorization of
the robot and on a dense Delassus matrix, PGS on the dense one. All get R = share w of each contact,
Coulomb's friction, and no guess. One function judges the impulses of all, by themselves: the
natural residual |F|/|gamma| of `sapwood.reference.solver.proximal`, which shares no code with any
solver's iterations. A problem is solved where that is at most the target. Each solver is asked for
tolerances from the target downwards until its impulses reach it, or the last one is tried.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from benchmarks.pinocchio_problems import Posed, make, names
from benchmarks.rows import Table, aligned, digits
from sapwood import ContactProblem, SapSettings, SapSolver
from sapwood.reference.solver.proximal import Natural
from sapwood.studies.experiments.running.timing import no_garbage_collection

Array = NDArray[np.float64]
Run = Callable[[], tuple[Array, int]]

OURS = "sapwood"
SOLVERS = (OURS, "ADMM sparse", "ADMM dense", "PGS")


@dataclasses.dataclass(frozen=True)
class Row:
    """One solver on one problem."""

    problem: str
    kind: str
    """robot or pile"""
    share: float
    """R/w"""
    solver: str
    residual: float
    """natural residual of the impulses, |F|/|gamma|"""
    solved: bool
    """whether it is at most the target"""
    iterations: int
    seconds: float
    """least wall time of the samples, factorization included"""


@dataclasses.dataclass(frozen=True)
class Plan:
    """The choice of measurements."""

    problems: tuple[str, ...] = dataclasses.field(default_factory=lambda: tuple(names()))
    shares: tuple[float, ...] = (1e-3, 1e-6, 1e-9)
    """R/w of all contacts"""
    target: float = 1e-9
    """natural residual"""
    repeat: int = 5
    """samples"""
    most_iterations: int = 20000
    """Limit of iterations for ADMM and PGS."""


def _ours(problem: ContactProblem, tolerance: float) -> Run:
    settings = SapSettings(
        friction="coulomb", relative_tolerance=0.1 * tolerance, natural_tolerance=tolerance
    )
    solver = SapSolver(settings)

    def run() -> tuple[Array, int]:
        solution = solver.solve(problem)
        return solution.gamma.ravel(), solution.iterations

    return run


def _theirs(posed: Posed, problem: ContactProblem, solver: str, tolerance: float, most: int) -> Run:
    admm = solver.startswith("ADMM")
    settings = pin.ADMMSolverSettings() if admm else pin.PGSSolverSettings()
    settings.absolute_feasibility_tol = settings.absolute_complementarity_tol = tolerance
    settings.relative_feasibility_tol = settings.relative_complementarity_tol = tolerance
    settings.max_iterations = most
    settings.solve_ncp = True
    g, R = posed.J @ posed.v_star, np.repeat(problem.R_n, 3)
    constraints = posed.constraints
    datas = pin.StdVec_ConstraintData()
    for constraint in constraints:
        data = constraint.createData()
        constraint.calc(posed.model, posed.data, data)
        datas.append(data)
    W = posed.W

    def operator() -> object:
        if solver == "ADMM sparse":
            cholesky = pin.ConstraintCholeskyDecomposition(
                posed.model, posed.data, constraints, datas
            )
            cholesky.compute(posed.model, posed.data, constraints, datas, 1e-9)
            delassus = cholesky.getDelassusOperatorCholeskyExpression()
        else:
            delassus = pin.DelassusOperatorDense(W)
        delassus.updateCompliance(R)
        return delassus

    def run() -> tuple[Array, int]:
        made = pin.ADMMConstraintSolver(len(g)) if admm else pin.PGSConstraintSolver(len(g))
        result = pin.ADMMSolverResult() if admm else pin.PGSSolverResult()
        made.solve(operator(), g, constraints, datas, settings, result)
        return np.array(result.retrieveConstraintImpulses()).ravel(), int(result.iterations)

    return run


def measure(posed: Posed, share: float, solver: str, plan: Plan) -> Row:
    """The row of one solver on one problem."""
    problem = posed.at(share)
    natural = Natural(problem, "coulomb")
    row = Row(posed.name, posed.kind, share, solver, math.inf, False, 0, math.nan)
    for factor in (1.0, 1e-1, 1e-2, 1e-3):
        tolerance = factor * plan.target
        run = (
            _ours(problem, tolerance)
            if solver == OURS
            else _theirs(posed, problem, solver, tolerance, plan.most_iterations)
        )
        gamma, iterations = run()
        natural.evaluate(gamma)
        residual = natural.residual if np.all(np.isfinite(gamma)) else math.inf
        if residual < row.residual:
            row = dataclasses.replace(
                row, residual=residual, iterations=iterations, solved=residual <= plan.target
            )
        if row.solved or iterations >= plan.most_iterations:
            break
    return dataclasses.replace(row, seconds=_least_time(run, plan.repeat)) if row.solved else row


def _least_time(run: Run, repeat: int) -> float:
    least = math.inf
    with no_garbage_collection():
        for _ in range(repeat):
            begin = time.perf_counter()
            run()
            least = min(least, time.perf_counter() - begin)
    return least


def run(plan: Plan, path: Path, progress: Callable[[str], None] = lambda _text: None) -> None:
    """Measure all problems, writing each row to a CSV file as it comes."""
    with Table(path, Row) as table:
        for name in plan.problems:
            posed = make(name)
            for share in plan.shares:
                for solver in SOLVERS:
                    table.add(measure(posed, share, solver, plan))
            progress(name)


def table(rows: Sequence[Row]) -> str:
    """Problems solved, and the time of each solver over ours on what both solve."""
    lines = [["problems", "R/w", "solver", "solved", "of", "iterations", "ms", "over ours"]]
    ours = {(row.problem, row.share): row for row in rows if row.solver == OURS and row.solved}
    groups = dict.fromkeys((row.kind, row.share, row.solver) for row in rows)
    for kind, share, solver in groups:
        group = [row for row in rows if (row.kind, row.share, row.solver) == (kind, share, solver)]
        solved = [row for row in group if row.solved]
        both = [row for row in solved if (row.problem, row.share) in ours]
        ratios = [row.seconds / ours[row.problem, row.share].seconds for row in both]
        lines.append(
            [
                f"{kind}s", f"{share:g}", solver, str(len(solved)), str(len(group)),
                _median([row.iterations for row in solved]),
                _median([1e3 * row.seconds for row in solved]), _median(ratios),
            ]
        )  # fmt: skip
    return aligned(lines) + "\n\nMedians, of problems that were solved."


def _median(values: Sequence[float]) -> str:
    return digits(float(np.median(values)) if values else math.nan)

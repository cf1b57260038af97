"""Figure 10: cost against iteration, down to round-off.

The clutter with walls runs by Algorithm 1 up to a step; that step's problem is then solved from the
velocity before it, with no tolerance, until nothing is left but round-off. The distance from the
minimum is summed from the decreases of the iterations that follow, which the solver computes as
differences: costs themselves agree to all digits long before. Where the solver takes islands one by
one, iteration k of the whole is iteration k, or the last, of each.

Step 60 is in the middle of the impacts, step 520 at rest.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from sapwood import SapSolver
from sapwood.studies.experiments.clutter_runs import METHODS, advance, simulation
from sapwood.studies.experiments.figures import Files, Plan
from sapwood.studies.experiments.sweep import Sweep
from sapwood.studies.plotting import convergence_figure, read_steps, select

ROWS = np.dtype(
    [
        ("iteration", np.int64),
        ("gap", np.float64),
        ("relative_gap", np.float64),
        ("converged", np.bool_),
    ]
)


def history(step: int, method: str, bodies: int, seed: int) -> NDArray[np.void]:
    """Solve the problem of one step down to round-off.

    Parameters
    ----------
    step
        Number of the step, from 1.
    method
        Name of the settings in `sapwood.studies.experiments.clutter_runs.METHODS`.
    bodies, seed
        Number and assortment of the bodies.

    Returns
    -------
    ndarray of `ROWS`
        One row per iteration, from 0, the initial guess: cost minus minimum, J; the same over its
        value at the guess; whether the tolerance of section X-C is met. In the last row the
        distance is 0.
    """
    scene = simulation(bodies, True, seed, "algorithm_1")
    advance(scene, step - 1)
    problem = scene.stepper.problem(scene.data)
    settings = METHODS[method]
    iterations = SapSolver(settings).solve(problem, problem.v_guess).iterations
    exact = dataclasses.replace(settings, relative_tolerance=0.0, record_history=True)
    records = SapSolver(exact).solve(problem, problem.v_guess).history
    assert records is not None
    gap = cost_gap(records)
    rows = np.zeros(len(gap), ROWS)
    rows["iteration"] = np.arange(len(gap))
    rows["gap"] = gap
    rows["relative_gap"] = gap / gap[0]
    rows["converged"] = rows["iteration"] >= iterations
    return rows


def cost_gap(records: NDArray[np.void]) -> NDArray[np.float64]:
    """Cost of every iterate minus that of the last one, summed as differences.

    Parameters
    ----------
    records
        `Solution.history`.

    Returns
    -------
    ndarray, shape (most iterations of an island + 1,)
        Summed over the islands, J.
    """
    gap = np.zeros(records["iteration"].max(initial=0) + 1)
    for island in np.unique(records["island"]):
        decrease = records["decrease"][records["island"] == island]
        # reduction of the cost after iteration k
        gap[: len(decrease) - 1] += np.cumsum(decrease[:0:-1])[::-1]
    return gap


def figure_10(_quick: bool) -> Plan:
    """Convergence at steps 60 and 520 of 40 bodies; takes a second, so there is no quick version.

    The assortment is one whose step 520 is not solved at the first iteration.

    One sweep, ``figure10``.
    """
    points = [
        {"step": step, "method": method, "bodies": 40, "seed": 2}
        for step in (60, 520)
        for method in METHODS
    ]
    return Plan(
        sweeps=(Sweep("figure10", history, points, ROWS),),
        draw=lambda files, path: convergence_figure(files["figure10"], path),
        report=_report,
    )


def _report(files: Files) -> str:
    """Iterations that meet the tolerance, and those down to round-off."""
    rows = read_steps(files["figure10"])
    lines = []
    for step, method in np.unique(rows[["step", "method"]]):
        run = select(rows, step=step, method=method)
        needed = int((run["converged"] == 0).sum())
        lines.append(
            f"step {step}, {method}: {needed} iterations to the tolerance of section X-C, where "
            f"{run['relative_gap'][needed]:.1e} of the decrease is left"
        )
    return "\n".join(lines)

"""Figures 14 and 15: what the slip parameter sigma of (22) does (section X-C2).

The clutter runs until it rests. Then the mean slip of its contacts is held against the estimate
sigma mu dt g of (23), and the condition number of the Hessian is taken; the Newton iterations are
those of the whole run. The two figures share one sweep: the second is there at once after the
first.

The estimate is that of a point mass that carries its own weight. A contact in stiction slips by
v_t = -R_t gamma_t, at most mu R_t gamma_n = sigma mu dt g load, where the load gamma_n w/(g dt)
is that of section IX; the mean of both sides is recorded too. Contacts at the bottom of a pile
carry several weights.

Some piles still move when they are measured: a body tips over or slides down, and one such contact
outweighs all that creep. `moving` tells them by the largest slip of a contact under load, which no
load of a pile makes 100 times the estimate; they are counted, and left out of the medians.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sapwood import Region, Status
from sapwood.reference import Objective
from sapwood.studies.experiments.clutter_report import median_table
from sapwood.studies.experiments.clutter_runs import DT, METHODS, advance, simulation
from sapwood.studies.experiments.figures import Files, Plan
from sapwood.studies.experiments.measured_steps import mean_slip
from sapwood.studies.experiments.sweep import Sweep
from sapwood.studies.plotting import (
    conditioning_figure,
    median_over_seeds,
    moving,
    read_steps,
    select,
    slip_figure,
)

ROWS = np.dtype(
    [
        ("contacts", np.int64),
        ("sliding_contacts", np.int64),
        ("mean_slip", np.float64),
        ("largest_slip", np.float64),
        ("slip_estimate", np.float64),
        ("stiction_slip", np.float64),
        ("stiction_bound", np.float64),
        ("largest_speed", np.float64),
        ("contact_force", np.float64),
        ("weight", np.float64),
        ("iterations_mean", np.float64),
        ("iterations_settled", np.float64),
        ("unconverged_steps", np.int64),
        ("condition", np.float64),
    ]
)


#: Up to this sigma friction sets the largest eigenvalue of the Hessian, beyond it the normals do.
_FRICTION_RULES = 1e-2


def resting_state(
    sigma: float, walls: bool, method: str, bodies: int, seed: int, seconds: float
) -> NDArray[np.void]:
    """Simulate the clutter until it rests, and measure slip, iterations and condition number.

    Parameters
    ----------
    sigma
        Friction regularization (22).
    walls, method, bodies, seed
        As for `sapwood.studies.experiments.clutter_runs.simulation`.
    seconds
        Time to simulate, s.

    Returns
    -------
    ndarray of `ROWS`, shape (1,)
        Of the last step: its contacts, and those in the sliding region; the mean and the largest
        slip of those that carry load and the estimate (23), m/s; the mean slip of those in stiction
        and the mean of their bounds mu R_t gamma_n, m/s; the largest speed of a body, m/s; the sum
        of the vertical contact forces on all bodies and their weight, N; the condition number of
        its Hessian. Of the run: mean iterations per step, the same over the second half, and the
        number of steps that did not converge.
    """
    scene = simulation(bodies, walls, seed, method, sigma)
    n_steps = round(seconds / DT)
    runs = [advance(scene, n_steps - 1)]
    problem = scene.stepper.problem(scene.data)
    runs.append(advance(scene, 1))
    iterations = np.concatenate([run.iterations for run in runs])
    outcomes = np.concatenate([run.status for run in runs])
    solution = scene.stepper.solution
    assert solution is not None

    stuck = solution.regions == Region.stiction
    slip = np.hypot(solution.v_c[:, 0], solution.v_c[:, 1])
    bound = problem.mu * problem.R_t * solution.gamma[:, 2]
    # forces between two bodies cancel; the first three velocities of each are those of its centre
    impulse = (problem.to_dense()[1].T @ solution.gamma.ravel()).reshape(bodies, 6)
    speed = np.linalg.norm(solution.v.reshape(bodies, 6)[:, :3], axis=1)
    gravity = float(np.linalg.norm(scene.model.opt.gravity))
    objective = Objective(problem)
    H = objective.hessian(objective.point(solution.v).G)
    eigenvalues = np.linalg.eigvalsh(H)
    row = (
        problem.n_contacts,
        np.count_nonzero(solution.regions == Region.sliding),
        mean_slip(solution.v_c, solution.gamma[:, 2]),
        slip[solution.gamma[:, 2] > 0].max(initial=0.0),
        sigma * problem.mu.max(initial=0.0) * DT * gravity,
        slip[stuck].mean() if stuck.any() else 0.0,
        bound[stuck].mean() if stuck.any() else 0.0,
        speed.max(),
        impulse[:, 2].sum() / DT,
        scene.model.body_mass.sum() * gravity,
        iterations.mean(),
        iterations[n_steps // 2 :].mean(),
        np.count_nonzero((outcomes != Status.converged) & (outcomes != Status.stalled)),
        eigenvalues[-1] / eigenvalues[0],
    )
    return np.array([row], ROWS)


def sweep(quick: bool) -> Sweep:
    """sigma from 1e-6 to 1e-1, with and without walls, several assortments of bodies.

    Parameters
    ----------
    quick
        5 s in place of 10 s, and fewer points.

    Returns
    -------
    Sweep
        ``slip_parameter``.
    """
    bodies, seconds, per_decade, seeds = (40, 5.0, 1, 3) if quick else (40, 10.0, 2, 5)
    points = [
        {
            "sigma": float(f"{sigma:.3g}"),
            "walls": walls,
            "method": method,
            "bodies": bodies,
            "seed": seed,
            "seconds": seconds,
        }
        for sigma in np.logspace(-6, -1, 5 * per_decade + 1)
        for walls in (True, False)
        for method in METHODS
        for seed in range(seeds)
    ]
    return Sweep("slip_parameter", resting_state, points, ROWS)


def figure_14(quick: bool) -> Plan:
    """Mean slip at rest against sigma, with the estimate (23).

    One sweep, shared with figure 15.
    """
    return Plan(
        sweeps=(sweep(quick),),
        draw=lambda files, path: slip_figure(files["slip_parameter"], path),
        report=_report_14,
    )


def figure_15(quick: bool) -> Plan:
    """Mean iterations per step and condition number of the Hessian against sigma.

    Where the paper sees iterations grow roughly like log(1/sigma), those of Algorithm 1 grow by a
    factor of some 1.5 per decade here, which `iteration_growth` measures.

    One sweep, shared with figure 14.
    """
    return Plan(
        sweeps=(sweep(quick),),
        draw=lambda files, path: conditioning_figure(files["slip_parameter"], path),
        report=_report_15,
    )


def iteration_growth(runs: NDArray[np.void]) -> tuple[float, float]:
    """Growth of the mean iterations as sigma falls, medians over the assortments of bodies.

    Parameters
    ----------
    runs
        Rows of one place and one method, with two values of sigma at least.

    Returns
    -------
    tuple of two floats
        Exponent p of the power law ``iterations ~ sigma^p`` that fits best, and R^2 of the straight
        line over log sigma that does.
    """
    sigma, iterations = median_over_seeds(runs, "sigma", "iterations_mean")
    x = np.log(sigma)
    exponent = np.polyfit(x, np.log(iterations), 1)[0]
    return float(exponent), float(np.corrcoef(x, iterations)[0, 1] ** 2)


def _report_14(files: Files) -> str:
    rows = read_steps(files["slip_parameter"])
    still = rows[~moving(rows)]
    columns = {"mean_slip": "mean slip, m/s", "slip_estimate": "its estimate sigma mu dt g, m/s"}
    lines = [median_table(still, "sigma", *column) for column in columns.items()]
    lines.append(f"left out as they still move: {len(rows) - len(still)} of {len(rows)} piles")
    return "\n".join(lines)


def _report_15(files: Files) -> str:
    rows = read_steps(files["slip_parameter"])
    columns = {"iterations_mean": "iterations per step", "condition": "condition number"}
    lines = [median_table(rows, "sigma", *column) for column in columns.items()]
    for walls, place in ((1, "walls"), (0, "no walls")):
        for method in METHODS:
            runs = select(rows, walls=walls, method=method)
            if len(np.unique(runs["sigma"])) > 1:
                exponent, fit = iteration_growth(runs)
                sigma, condition = median_over_seeds(runs, "sigma", "condition")
                soft = sigma <= _FRICTION_RULES
                power = np.polyfit(np.log(sigma[soft]), np.log(condition[soft]), 1)[0]
                lines.append(
                    f"{place + ', ' + method:<24}iterations x {10**-exponent:.2f} per decade of "
                    f"1/sigma; R^2 over log sigma {fit:.2f}; condition as sigma to the {power:.2f}"
                )
    return "\n".join(lines)

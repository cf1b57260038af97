"""The clutter of section X-C as the figures of the paper use it, by Algorithm 1 and by sapwood.

Bodies drop in four columns, into a box or onto open floor; k = 10^12 N/m, mu = 1, tau_d = dt,
eps_r = 1e-5 (`sapwood.studies.scenes.clutter`). `METHODS` names the solvers whose curves are laid
side by side: the algorithm as it is printed, and sapwood as it is set by default.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from sapwood import ContactProblem, SapSettings
from sapwood.mujoco import RunResult
from sapwood.studies import scenes
from sapwood.studies.experiments.clutter import TOLERANCE
from sapwood.studies.experiments.measured_steps import STEP_DTYPE, SapSimulation

#: Time step of section X-C, s.
DT = 0.01

#: Settings by the name of the method.
METHODS = {
    "algorithm_1": SapSettings(
        relative_tolerance=TOLERANCE,
        islands=False,
        start="newton",
        turning=False,
        mixed_precision=False,
        line_search_tolerance=1e-8,
        # the smallest sigma of figure 15 asks for more than the usual 100
        max_iterations=1000,
    ),
    "sapwood": SapSettings(relative_tolerance=TOLERANCE),
}


def simulation(
    bodies: int, walls: bool, seed: int, method: str, sigma: float = 1e-3
) -> SapSimulation:
    """The scene at its start, ready to be stepped.

    Parameters
    ----------
    bodies
        Number of bodies, in four columns.
    walls
        Whether the walls of the box stand around them.
    seed
        Of the assortment of spheres and boxes.
    method
        Name in `METHODS`.
    sigma
        Friction regularization (22).

    Returns
    -------
    SapSimulation
        With the time step `DT`.
    """
    model = scenes.clutter(bodies=bodies, walls=walls, seed=seed, time_step=DT).compile()
    return SapSimulation(model, sigma=sigma, beta=1.0, settings=METHODS[method])


def measured(simulation: SapSimulation, n_steps: int) -> Iterator[np.void]:
    """Take steps; yield the record of each, which the next one overwrites.

    Parameters
    ----------
    simulation
        The scene.
    n_steps
        Number of steps.

    Yields
    ------
    record of `STEP_DTYPE`
        The step that was taken.
    """
    steps = np.zeros(1, STEP_DTYPE)
    with _outcomes_in_records():
        for i in range(n_steps):
            simulation.step(steps[0])
            steps[0]["step"] = i + 1
            yield steps[0]


def advance(simulation: SapSimulation, n_steps: int) -> RunResult:
    """Take steps with the loop in C.

    Parameters
    ----------
    simulation
        The scene.
    n_steps
        Number of steps.

    Returns
    -------
    RunResult
        What the solver did in each.
    """
    with _outcomes_in_records():
        return simulation.stepper.run(simulation.data, n_steps)


@contextmanager
def _outcomes_in_records() -> Iterator[None]:
    """Keep the stepper from warning of outcomes: every one is recorded."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*the contact solver ended in", RuntimeWarning)
        yield


def all_steps(
    bodies: int, walls: bool, seed: int, method: str, seconds: float, repeat: int = 1
) -> NDArray[np.void]:
    """Simulate for some seconds and measure every step: the rows of figure 9.

    Parameters
    ----------
    bodies, walls, seed, method
        As for `simulation`.
    seconds
        Time to simulate, s.
    repeat
        How often the same steps are taken; the least time of each counts, which is the one that
        the machine disturbed least.

    Returns
    -------
    ndarray of `STEP_DTYPE`
        One record per step.
    """
    steps = np.zeros((repeat, round(seconds / DT)), STEP_DTYPE)
    for run in steps:
        for i, record in enumerate(measured(simulation(bodies, walls, seed, method), len(run))):
            run[i] = record
    for name in ("solver_time", "total_time"):
        steps[0][name] = steps[name].min(axis=0)
    least: NDArray[np.void] = steps[0]
    return least


def problems_in_time(
    method: str, bodies: int, walls: bool, seed: int, seconds: float, every: int
) -> Iterator[tuple[float, ContactProblem]]:
    """Times and contact problems of the clutter, as a method simulates it.

    Parameters
    ----------
    method, bodies, walls, seed
        As for `simulation`.
    seconds
        Time to simulate, s.
    every
        Steps from one problem to the next; steps without contacts have none.

    Yields
    ------
    tuple
        Time before the step, s, and its problem, with the velocity before it as v_guess.
    """
    scene = simulation(bodies, walls, seed, method)
    steps = measured(scene, round(seconds / DT))
    for taken in range(round(seconds / DT)):
        if taken % every == every // 2:
            problem = scene.stepper.problem(scene.data)
            if problem.n_contacts:
                yield scene.data.time, problem
        next(steps)

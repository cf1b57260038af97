"""The time of `solve_dense` for the matrices of a legged robot on four feet, and its share in C.

The matrices are random: 18 velocities of one tree, 4 contacts. A time is the median over problems
of the least of the samples, on the CPU clock of the process; each sample is many calls.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import sapwood
from benchmarks.batch import least

NV, CONTACTS, PROBLEMS, CALLS = 18, 4, 12, 100
WAYS: dict[str, dict[str, Any]] = {
    "k, Coulomb": {"k": 1e5, "dt": 0.01, "friction": "coulomb"},
    "R, Coulomb": {"R": 1e-3, "friction": "coulomb"},
    "k, convex": {"k": 1e5, "dt": 0.01},
    "R, convex": {"R": 1e-3},
}


def matrices(seed: int) -> dict[str, Any]:
    """Arguments of a call: a mass matrix, a velocity, a Jacobian and friction."""
    rng = np.random.default_rng(seed)
    L = rng.normal(size=(NV, NV))
    return {
        "M": L @ L.T / NV + np.eye(NV),
        "v_star": rng.normal(size=NV),
        "J": rng.normal(size=(3 * CONTACTS, NV)),
        "mu": rng.uniform(0.1, 1.0, CONTACTS),
    }


def measure(way: dict[str, Any], seed: int, repeat: int) -> tuple[float, float, int]:
    """Seconds of a call and of the solve in it, and its Newton iterations."""
    arguments = {**matrices(seed), **way}

    def calls() -> list[sapwood.Solution]:
        return [sapwood.solve_dense(**arguments) for _ in range(CALLS)]

    call = least(calls, repeat) / CALLS
    solutions = [solution for _ in range(repeat) for solution in calls()]
    inside = min(solution.timing["seconds"] for solution in solutions)
    return call, inside, solutions[0].iterations


def lines(repeat: int, problems: int = PROBLEMS) -> list[str]:
    """A line for each way to give the regularization and each law of friction."""
    found = []
    for name, way in WAYS.items():
        rows = [measure(way, seed, repeat) for seed in range(problems)]
        call, inside, iterations = np.median(rows, axis=0)
        found.append(
            f"solve_dense by {name}: {1e6 * call:.1f} us, {1e6 * inside:.1f} in the solver, "
            f"{iterations:.0f} iterations"
        )
    return found

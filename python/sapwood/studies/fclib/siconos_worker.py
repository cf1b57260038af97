"""Solves one problem with Siconos and leaves the result in a file; a program of its own.

    python siconos_worker.py PROBLEM.npz RESULT.npz SOLVER TOLERANCE ITERATIONS SAMPLES SECONDS

Siconos comes with the system's Python, which has NumPy and nothing of ours. PROBLEM has W as
triplets (row, column, value), q and mu. RESULT has r, the iterations, the outcome (0: converged)
and the seconds of each sample on the CPU clock of the thread.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import siconos.numerics as numerics


def main(problem: str, result: str, solver: str, *numbers: str) -> None:
    """Solve, from r = 0, until there are as many samples or seconds as asked for."""
    tolerance, seconds = float(numbers[0]), float(numbers[3])
    iterations, samples = int(numbers[1]), int(numbers[2])
    arrays = dict(np.load(problem))
    times: list[float] = []
    spent = 0.0
    while not times or (len(times) < samples and spent < seconds):
        # all that a solve leaves in problem and options is made anew, and is not timed
        contact = numerics.FrictionContactProblem(3, _matrix(arrays), arrays["q"], arrays["mu"])
        options = numerics.SolverOptions(getattr(numerics, f"SICONOS_FRICTION_3D_{solver}"))
        options.dparam[numerics.SICONOS_DPARAM_TOL] = tolerance
        options.iparam[numerics.SICONOS_IPARAM_MAX_ITER] = iterations
        r, u = np.zeros_like(arrays["q"]), np.zeros_like(arrays["q"])
        wall, cpu = time.perf_counter(), time.thread_time()
        outcome = numerics.fc3d_driver(contact, r, u, options)
        times.append(time.thread_time() - cpu)
        spent += time.perf_counter() - wall
    done = options.iparam[numerics.SICONOS_IPARAM_ITER_DONE]
    np.savez(result, r=r, outcome=outcome, iterations=done, seconds=times)


def _matrix(arrays: dict[str, Any]) -> Any:
    """W as a sparse matrix of Siconos."""
    size = len(arrays["q"])
    matrix = numerics.NM_create(numerics.NM_SPARSE, size, size)
    numerics.NM_triplet_alloc(matrix, len(arrays["value"]))
    entries = (arrays[name].tolist() for name in ("row", "column", "value"))
    for row, column, value in zip(*entries, strict=True):
        numerics.NM_entry(matrix, row, column, value)
    return matrix


if __name__ == "__main__":
    main(*sys.argv[1:])

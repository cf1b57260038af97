"""One fresh process of the benchmark `noise`: times problem files with the sapwood it is given.

Reads what to do as JSON from the standard input, writes the times as JSON to the standard output.
It uses nothing of sapwood that could differ between the versions compared, and nothing of the other
benchmarks: run as a file, with the folder of one build first on PYTHONPATH.
"""

from __future__ import annotations

import gc
import hashlib
import json
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

# a sample lasts about this long at least, s
_SAMPLE = 1e-3


def sample(call: Callable[[], object], count: int) -> tuple[float, float]:
    """Least and median CPU seconds per call over some samples."""
    call()
    start = time.thread_time()
    call()
    calls = max(1, round(_SAMPLE / max(time.thread_time() - start, 1e-7)))
    seconds = []
    for _ in range(count):
        start = time.thread_time()
        for _ in range(calls):
            call()
        seconds.append((time.thread_time() - start) / calls)
    return min(seconds), statistics.median(seconds)


def main() -> None:
    """Time all files, from a new solver each time and with one that is kept."""
    order = json.load(sys.stdin)
    import sapwood

    gc.disable()
    rows = []
    for file in order["files"]:
        problem = sapwood.load_problem(file)
        solver = sapwood.SapSolver()
        solution = solver.solve(problem)
        digest = hashlib.sha1(solution.v.tobytes() + solution.gamma.tobytes()).hexdigest()
        calls = {"cold": partial(sapwood.solve, problem), "warm": partial(solver.solve, problem)}
        for mode, call in calls.items():
            least, median = sample(call, order["samples"])
            rows.append([Path(file).name, mode, least, median, digest[:12]])
    json.dump(rows, sys.stdout)


if __name__ == "__main__":
    main()

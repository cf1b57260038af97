"""Times of solvers on the same problems, side by side, with ratios to ours.

A time is that of the processor for the calling thread, the least of three: what else runs on the
machine is not in it. Solvers run on one thread.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.program_peers import PEERS, Program, is_solved
from sapwood.studies.experiments.running.timing import no_garbage_collection

Array = NDArray[np.float64]

REPEAT = 3
# seconds of a peer on one size; problems that it does not reach are left out
PATIENCE = 20.0

SICONOS = """
import sys, time
import numpy as np, siconos.numerics as sn
data = np.load(sys.argv[1])
times = []
for M, q in zip(data["M"], data["q"]):
    samples = []
    for _ in range(int(sys.argv[3])):
        lcp, options = sn.LCP(M, q), sn.SolverOptions(sn.SICONOS_LCP_LEMKE)
        z, w = np.zeros_like(q), np.zeros_like(q)
        begin = time.thread_time()
        code = sn.linearComplementarity_driver(lcp, z, w, options)
        taken = time.thread_time() - begin
        error = np.abs(np.minimum(z, M @ z + q)).max()
        solved = code == 0 and error <= 1e-6 * (1 + np.abs(q).max())
        samples.append(taken if solved else np.nan)
    times.append(min(samples))
np.save(sys.argv[2], times)
"""


class Comparison:
    """Lines of a table: solver, size, quantiles, and the ratio of medians to ours."""

    def __init__(self, size: str = "contacts") -> None:
        self.lines = [f"{'ms':34} {size:>8}   median      p99      max  solved   over ours"]
        self._ours = np.nan

    def ours(self, name: str, contacts: int, times: Array) -> None:
        """Add a solver of ours: those that follow are compared with it."""
        self._ours = float(np.median(times))
        self._add(name, contacts, times, "")

    def peer(self, name: str, contacts: int, times: Array | str) -> None:
        """Add another solver; its times are NaN of problems that it does not solve."""
        if isinstance(times, str):
            self.lines.append(f"{name:34} {contacts:>8}   {times}")
            return
        ratio = f"{float(np.nanmedian(times)) / self._ours:12.2f}"
        self._add(name, contacts, times, ratio)

    def _add(self, name: str, contacts: int, times: Array, ratio: str) -> None:
        median, p99, most = (1e3 * np.nanquantile(times, p) for p in (0.5, 0.99, 1.0))
        solved = int(np.isfinite(times).sum())
        self.lines.append(
            f"{name:34} {contacts:>8} {median:8.3f} {p99:8.3f} {most:8.3f} "
            f"{solved:>4}/{len(times)}{ratio}"
        )


def seconds(calls: Sequence[Callable[[], Any]]) -> Array:
    """Time of each call, the least of some."""
    times = np.zeros(len(calls))
    with no_garbage_collection():
        for k, call in enumerate(calls):
            samples = []
            for _ in range(REPEAT):
                begin = time.thread_time()
                call()
                samples.append(time.thread_time() - begin)
            times[k] = min(samples)
    return times


def of_peer(name: str, programs: Sequence[Program], objectives: Sequence[float]) -> Array | str:
    """Times of a solver of quadratic programs, NaN where it does not reach the objective."""
    times: list[float] = []
    begin = time.thread_time()
    for program, objective in zip(programs, objectives, strict=True):
        if time.thread_time() - begin > PATIENCE:
            break
        solve = PEERS[name](program)
        try:
            taken = seconds([solve])[0]
            times.append(taken if is_solved(program, solve(), objective) else np.nan)
        except ValueError:
            times.append(np.nan)
    return np.array(times) if np.isfinite(times).any() else "solves none"


def of_siconos(problems: Sequence[tuple[Array, Array]]) -> Array | str:
    """Times of Siconos' lexicographic Lemke, in a process of its own, or why there are none."""
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder, "given.npz"), Path(folder, "found.npy")
        M, q = (np.array(arrays) for arrays in zip(*problems, strict=True))
        np.savez(given, M=M, q=q)
        command = ["/usr/bin/python3", "-c", SICONOS, str(given), str(found), str(REPEAT)]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=600)
        except (OSError, subprocess.SubprocessError):
            return "is not installed for /usr/bin/python3 (apt install python3-siconos)"
        times: Array = np.load(found)
    return times if np.isfinite(times).any() else "solves none"

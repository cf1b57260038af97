"""Siconos on problems of FCLIB, in a process of the Python that it is installed for.

On Debian and Ubuntu ``apt install python3-siconos`` gives it to ``/usr/bin/python3``.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sapwood.studies.fclib.problems import Array, LocalProblem

PYTHON = "/usr/bin/python3"
SOLVERS = {
    "NSGS": "Gauss-Seidel over contacts",
    "NSN_AC": "semismooth Newton on Alart and Curnier's function",
    "NSN_AC_TEST": "the same, with a newer line search",
    "PROX": "proximal points, each by NSN_AC",
    "ADMM": "alternating directions",
}
# memory of a process beside its samples
_START_SECONDS = 10.0


class SiconosError(Exception):
    """Siconos gave no impulses; the text says why."""


@dataclass(frozen=True)
class SiconosAnswer:
    """The result of a solver of Siconos."""

    r: Array
    """Impulses (3 n_contacts,), rows (n, t1, t2), N s."""
    converged: bool
    """By its own word."""
    iterations: int
    seconds: NDArray[np.float64]
    """CPU time of each solve, from r = 0, the solver's set-up included."""


class Siconos:
    """Siconos with W as a sparse matrix.

    Parameters
    ----------
    python
        The interpreter that it is installed for.

    Raises
    ------
    ImportError
        It is not; the text says so.
    """

    def __init__(self, python: str = PYTHON) -> None:
        self._python = python
        hint = f"Siconos is not installed for {python} (Debian: apt install python3-siconos)"
        try:
            subprocess.run(
                [python, "-c", "import siconos.numerics"], check=True, capture_output=True
            )
        except (OSError, subprocess.CalledProcessError) as error:
            raise ImportError(hint) from error

    def solve(
        self,
        problem: LocalProblem,
        solver: str,
        tolerance: float,
        *,
        iterations: int = 100_000,
        samples: int = 1,
        budget: float = 10.0,
        patience: float = 60.0,
    ) -> SiconosAnswer:
        """Solve a problem, again and again until there are enough samples.

        Parameters
        ----------
        problem
            In local form.
        solver
            One of `SOLVERS`.
        tolerance
            Of the relative residual, by which Siconos stops.
        iterations
            Most that a solve may take.
        samples
            Solves.
        budget
            Seconds after which no further solve begins.
        patience
            Seconds after which a solve is given up.

        Raises
        ------
        SiconosError
            It failed, or took too long.
        """
        W = problem.W.tocoo()
        with tempfile.TemporaryDirectory(prefix="sapwood-siconos-") as folder:
            given, result = Path(folder, "problem.npz"), Path(folder, "result.npz")
            np.savez(given, row=W.row, column=W.col, value=W.data, q=problem.q, mu=problem.mu)
            options = (solver, tolerance, iterations, samples, budget)
            command = [self._python, str(_WORKER), str(given), str(result), *map(str, options)]
            try:
                done = subprocess.run(
                    command,
                    capture_output=True,
                    text=True,
                    timeout=_START_SECONDS + budget + patience,
                    env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
                )
            except subprocess.TimeoutExpired:
                raise SiconosError(f"no answer in {patience:g} s") from None
            if done.returncode != 0 or not result.exists():
                last = (done.stderr.strip().splitlines() or ["no message"])[-1]
                raise SiconosError(f"exit code {done.returncode}: {last}")
            found = dict(np.load(result))
        return SiconosAnswer(
            found["r"], int(found["outcome"]) == 0, int(found["iterations"]), found["seconds"]
        )


_WORKER = Path(__file__).with_name("siconos_worker.py")

"""What a stepper warns of, once for each kind."""

from __future__ import annotations

import math
import warnings

import numpy as np
from numpy.typing import NDArray

from sapwood.mujoco.results import UNCONVERGED
from sapwood.solution import Solution, Status


class Notices:
    """Warns the first time that the solver stalls, and that it meets its iteration limit.

    Parameters
    ----------
    tolerance : float
        Relative tolerance of the solver, for the text.
    counts : tuple of int
        Steps by status before now: of what came up then, nothing is told any more.
    """

    def __init__(self, tolerance: float, counts: tuple[int, int, int]) -> None:
        self._tolerance = tolerance
        self._told = {status for status in UNCONVERGED if counts[status]}

    def of_last_step(
        self,
        counts: tuple[int, int, int],
        solution: Solution | None,
        time: float,
        stacklevel: int,
    ) -> None:
        """Warn where the step at ``time`` s was the first to end as it did.

        Parameters
        ----------
        counts : tuple of int
            Steps by status, with this one.
        solution : Solution or None
            Of this step.
        time : float
            Time at its start, s.
        stacklevel : int
            Of the warning, seen from the caller.
        """
        reached = math.nan if solution is None else solution.momentum_error
        for status in UNCONVERGED:
            if counts[status] and status not in self._told:
                self._tell(status, time, reached, stacklevel + 2)

    def of_run(self, records: NDArray[np.void], start: float, stacklevel: int) -> None:
        """Warn of the first records of their kind.

        Parameters
        ----------
        records : structured ndarray
            Of the steps of a run.
        start : float
            Time at the start of the first one, s.
        stacklevel : int
            Of the warnings, seen from the caller.
        """
        for status in UNCONVERGED:
            found = np.flatnonzero(records["status"] == status)
            if found.size and status not in self._told:
                i = int(found[0])
                time = start if i == 0 else float(records["time"][i - 1])
                self._tell(status, time, float(records["momentum_error"][i]), stacklevel + 2)

    def _tell(self, status: Status, time: float, reached: float, stacklevel: int) -> None:
        self._told.add(status)
        warnings.warn(
            f"step at time {time:.6g} s: the contact solver ended in {status} at a momentum error "
            f"of {reached:.2g} (tolerance {self._tolerance:.2g}); the step was taken; further ones "
            "are counted in stalled_steps and iteration_limit_steps",
            RuntimeWarning,
            stacklevel=stacklevel,
        )

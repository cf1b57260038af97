"""Warnings of steppers, each kind given once in a process."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sapwood.base.hints import warn_caller
from sapwood.mujoco.results.results import DEEP_OVERLAP, UNCONVERGED, Counts
from sapwood.solution import Solution, Status

TOLD: set[str] = set()
"""Kinds of warnings that this process has given; an environment makes many steppers."""


def _error_of(status: Status) -> str:
    """The error that a solve of this status left above the tolerance."""
    return "coulomb_error" if status == Status.friction_limit else "momentum_error"


class Notices:
    """Warns the first time in a process that a solve ends in a status, other than at its tolerance.

    Parameters
    ----------
    tolerance : float
        Relative tolerance of the solver, for the message.
    counts : tuple of int
        Steps by status so far, which are not reported.
    """

    def __init__(self, tolerance: float, counts: Counts) -> None:
        self._tolerance = tolerance
        self._earlier = counts

    def of_last_step(
        self,
        counts: Counts,
        solution: Callable[[], Solution | None],
        overlap: float,
        time: float,
    ) -> None:
        """Warn if the step at ``time`` s was the first to end in its status.

        Parameters
        ----------
        counts : tuple of int
            Steps by status, including this one.
        solution : callable
            Returns the solution of this step, or None if it is gone; called for a warning alone.
        overlap : float
            Largest overlap of rigid contacts after the step, in widths of the narrower geom.
        time : float
            Time at the start of the step, s.
        """
        for status in UNCONVERGED:
            if counts[status] > self._earlier[status] and status.name not in TOLD:
                found = solution()
                reached = math.nan if found is None else getattr(found, _error_of(status))
                self._tell(status, time, reached)
        if overlap > DEEP_OVERLAP:
            self._tell_of_overlap(time, overlap)

    def of_run(self, records: NDArray[np.void], start: float) -> None:
        """Warn of the first records of their kind.

        Parameters
        ----------
        records : structured ndarray
            The records of the steps of a run.
        start : float
            Time at the start of the first step, s.
        """
        starts = np.concatenate([[start], records["time"]])
        for status in UNCONVERGED:
            found = np.flatnonzero(records["status"] == status)
            if found.size and status.name not in TOLD:
                i = int(found[0])
                self._tell(status, float(starts[i]), float(records[_error_of(status)][i]))
        deep = np.flatnonzero(records["overlap"] > DEEP_OVERLAP)
        if deep.size:
            i = int(deep[0])
            self._tell_of_overlap(float(starts[i]), float(records["overlap"][i]))

    def _tell_of_overlap(self, time: float, overlap: float) -> None:
        if "overlap" in TOLD:
            return
        TOLD.add("overlap")
        warn_caller(
            f"step at time {time:.6g} s: ended with a rigid contact whose overlap is {overlap:.2g} "
            f"of the width of its narrower geom, more than {DEEP_OVERLAP:g}: it started deep, or "
            "carries more than the time step allows; the step was taken; stepper.contacts and "
            "overlap of the results of runs tell of further ones",
            RuntimeWarning,
        )

    def _tell(self, status: Status, time: float, reached: float) -> None:
        TOLD.add(status.name)
        name = _error_of(status).replace("_", " ")
        warn_caller(
            f"step at time {time:.6g} s: the contact solver ended in {status} at a {name} of "
            f"{reached:.2g} (tolerance {self._tolerance:.2g}); the step was taken; further ones "
            f"are counted in {status}_steps",
            RuntimeWarning,
        )

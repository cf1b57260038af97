"""Warnings of steppers, each kind given once in a process."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sapwood.base.hints import warn_caller
from sapwood.mujoco.results.results import DEEP_OVERLAP, UNCONVERGED
from sapwood.solution import Status

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
    """

    def __init__(self, tolerance: float) -> None:
        self._tolerance = tolerance

    def tell(self, records: NDArray[np.void], start: float) -> None:
        """Warn of the first records of their kind.

        Parameters
        ----------
        records : structured ndarray
            The records of steps that follow one another.
        start : float
            Time at the start of the first step, s.
        """
        starts = np.concatenate([[start], records["time"]])
        for status in UNCONVERGED:
            found = np.flatnonzero(records["status"] == status)
            if found.size and status.name not in TOLD:
                i = int(found[0])
                self._tell_of_status(status, float(starts[i]), float(records[_error_of(status)][i]))
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

    def _tell_of_status(self, status: Status, time: float, reached: float) -> None:
        TOLD.add(status.name)
        name = _error_of(status).replace("_", " ")
        warn_caller(
            f"step at time {time:.6g} s: the contact solver ended in {status} at a {name} of "
            f"{reached:.2g} (tolerance {self._tolerance:.2g}); the step was taken; further ones "
            f"are counted in {status}_steps",
            RuntimeWarning,
        )

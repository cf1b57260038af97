"""Steps of a run, kept for their derivatives."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_Float = NDArray[np.float64]


class StepTape(NamedTuple):
    """The start of one step, and the positions after it."""

    q: _Float
    v: _Float
    inputs: _Float
    q_next: _Float


def kink_distance(status: str, distance: float) -> float:
    """How far a linearized step is from a kink, for a run.

    Parameters
    ----------
    status : str
        Status of the linearization.
    distance : float
        Its distance.

    Returns
    -------
    float
        The distance; 0 near a kink.
    """
    return 0.0 if status == "near_kink" else distance

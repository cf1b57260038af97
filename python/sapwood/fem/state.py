"""The state of soft bodies, to be kept and set again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sapwood.base.equality import compared_by_value

from .bodies import SoftBody

_Float = NDArray[np.float64]


@compared_by_value
@dataclass(frozen=True, eq=False)
class SoftState:
    """Positions and velocities of soft bodies at one time; copies, which may be pickled.

    Attributes
    ----------
    time : float
        Simulated time, s; NaN before the first step of a stepper.
    positions, velocities : tuple of ndarray (n, 3)
        One array for each body, m and m/s.
    """

    time: float
    positions: tuple[_Float, ...]
    velocities: tuple[_Float, ...]

    @classmethod
    def of(cls, bodies: Sequence[SoftBody], time: float = math.nan) -> SoftState:
        """Copy the state of bodies.

        Parameters
        ----------
        bodies : sequence of SoftBody
            The bodies.
        time : float
            Simulated time, s.

        Returns
        -------
        SoftState
            Their state.
        """
        return cls(
            time,
            tuple(body.positions.copy() for body in bodies),
            tuple(body.velocities.copy() for body in bodies),
        )

    def restore(self, bodies: Sequence[SoftBody]) -> None:
        """Set the state of bodies.

        Parameters
        ----------
        bodies : sequence of SoftBody
            The same bodies, or equal ones.

        Raises
        ------
        ValueError
            If there are more or fewer bodies or vertices.
        """
        shapes = [np.shape(each) for each in self.positions]
        expected = [body.positions.shape for body in bodies]
        if shapes != expected or [np.shape(each) for each in self.velocities] != expected:
            raise ValueError(f"state has bodies of shapes {shapes}, expected {expected}")
        for body, x, v in zip(bodies, self.positions, self.velocities, strict=True):
            body.positions, body.velocities = np.array(x), np.array(v)

"""The schemes of the theta-method, Eq. (6)."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sapwood import _core

_Float = NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Scheme:
    """Where within a step the variables are taken, Eq. (6): x^θ = θ x + (1 - θ) x_0.

    Parameters
    ----------
    name : str
        For texts.
    theta_q, theta_v, theta_vq : float
        Positions in the forces, velocities in the forces, and velocities that move the positions;
        in [0, 1].

    Raises
    ------
    TypeError, ValueError
        If a theta is no number in [0, 1]; the message names it.

    Examples
    --------
    >>> SCHEMES["midpoint"]
    Scheme(name='midpoint', theta_q=0.5, theta_v=0.5, theta_vq=0.5)
    """

    name: str
    theta_q: float
    theta_v: float
    theta_vq: float

    def __post_init__(self) -> None:
        for name in ("theta_q", "theta_v", "theta_vq"):
            theta = float(_core.as_float64(getattr(self, name), name, (), "non-negative"))
            if theta > 1.0:
                raise ValueError(f"{name} = {theta:g}: must be <= 1")
            object.__setattr__(self, name, theta)

    @property
    def implicit(self) -> bool:
        """Whether the forces of a step depend on the velocity at its end."""
        return self.theta_v > 0.0 or self.theta_q * self.theta_vq > 0.0

    def force_velocity(self, v: _Float, v_0: _Float) -> _Float:
        """v^θv, Eq. (6).

        Parameters
        ----------
        v, v_0 : ndarray (nv,)
            Velocities at the end and the start of the step.

        Returns
        -------
        ndarray (nv,)
            Velocity that the forces see.
        """
        return self.theta_v * v + (1.0 - self.theta_v) * v_0

    def position_velocity(self, v: _Float, v_0: _Float) -> _Float:
        """v^θvq, Eq. (6).

        Parameters
        ----------
        v, v_0 : ndarray (nv,)
            Velocities at the end and the start of the step.

        Returns
        -------
        ndarray (nv,)
            Velocity that moves the positions.
        """
        return self.theta_vq * v + (1.0 - self.theta_vq) * v_0


#: The named schemes by their names.
SCHEMES: Mapping[str, Scheme] = types.MappingProxyType(
    {
        scheme.name: scheme
        for scheme in (
            Scheme("explicit_euler", 0.0, 0.0, 0.0),
            Scheme("symplectic_euler", 0.0, 0.0, 1.0),
            Scheme("implicit_euler", 1.0, 1.0, 1.0),
            Scheme("midpoint", 0.5, 0.5, 0.5),
        )
    }
)

#: The scheme of the C core, and the default of steppers.
SYMPLECTIC_EULER = SCHEMES["symplectic_euler"]


def scheme_of(scheme: str | Scheme) -> Scheme:
    """Return a scheme as given or by its name.

    Parameters
    ----------
    scheme : str or Scheme
        One of the names of :data:`SCHEMES`, or a scheme with thetas of its own.

    Returns
    -------
    Scheme
        The scheme.

    Raises
    ------
    TypeError, ValueError
        If it is neither.
    """
    if isinstance(scheme, Scheme):
        return scheme
    if not isinstance(scheme, str):
        raise TypeError(f"scheme must be a str or a Scheme, not {type(scheme).__name__}")
    if scheme not in SCHEMES:
        raise ValueError(f"scheme = {scheme!r}: must be one of {', '.join(SCHEMES)}")
    return SCHEMES[scheme]

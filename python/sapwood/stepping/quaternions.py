"""Rotations as unit quaternions (w, x, y, z), moved by the exponential map."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core


def integrate_quaternion(quaternion: ArrayLike, omega: ArrayLike, dt: float) -> NDArray[np.float64]:
    """Turn an orientation at constant angular velocity: p exp(dt ω/2).

    Parameters
    ----------
    quaternion : array_like (4,)
        Orientation p of the body, (w, x, y, z), of length 1.
    omega : array_like (3,)
        Angular velocity in the frame of the body, rad/s.
    dt : float
        Time, s.

    Returns
    -------
    ndarray (4,)
        Orientation after the time, of length 1 to round-off.

    Raises
    ------
    TypeError, ValueError
        For a wrong shape, or numbers that are not finite; the text names the argument.

    Examples
    --------
    A quarter turn about z in one second:

    >>> integrate_quaternion([1, 0, 0, 0], [0, 0, np.pi / 2], 1.0).round(4)
    array([0.7071, 0.    , 0.    , 0.7071])
    """
    w, *p = _core.as_float64(quaternion, "quaternion", (4,), "finite").tolist()
    half = 0.5 * dt * _core.as_float64(omega, "omega", (3,), "finite")
    angle = float(np.linalg.norm(half))
    # sin(angle)/angle is 1 to round-off where the square of the angle is below it
    sine = np.sinc(angle / np.pi) * half
    cosine = np.cos(angle)
    turned = np.empty(4)
    turned[0] = w * cosine - np.dot(p, sine)
    turned[1:] = w * sine + cosine * np.asarray(p) + np.cross(p, sine)
    normalized: NDArray[np.float64] = turned / np.linalg.norm(turned)
    return normalized

"""Checks of the numbers and poses of bodies; the text of an error names the argument."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.checks import real

_Float = NDArray[np.float64]


def ranged(value: object, name: str, *, positive: bool = False) -> float:
    """Return a finite real number >= 0, or > 0, as a float.

    Parameters
    ----------
    value : object
        The number.
    name : str
        Name of the argument, for the error.
    positive : bool
        Whether it must be > 0.

    Returns
    -------
    float
        The number.

    Raises
    ------
    TypeError, ValueError
        If it is no such number.
    """
    number = real(value, name)
    if not (0 <= number < math.inf) or (positive and number == 0):
        raise ValueError(f"{name} = {number}: must be finite and {'>' if positive else '>='} 0")
    return number


def checked_pose(pose: ArrayLike | None) -> _Float:
    """Return a pose as a matrix, the identity for None.

    Parameters
    ----------
    pose : array_like (4, 4) or None
        Rotation and translation.

    Returns
    -------
    ndarray (4, 4)
        The pose.

    Raises
    ------
    ValueError
        If it is no rigid motion.
    """
    X = np.eye(4) if pose is None else _core.as_float64(pose, "pose", (4, 4))
    R = X[:3, :3]
    is_rotation = np.allclose(R @ R.T, np.eye(3), rtol=0, atol=1e-6) and np.linalg.det(R) > 0
    if not is_rotation or not np.array_equal(X[3], [0, 0, 0, 1]):
        raise ValueError("pose: must be a rotation and a translation, its last row 0, 0, 0, 1")
    return X

"""Many rotations at once: unit quaternions (w, x, y, z), their matrices, and derivatives of both.

A small turn delta in the world changes a matrix by [delta] R; one phi in the body by R [phi].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_Float = NDArray[np.float64]


def skew(a: _Float) -> _Float:
    """[a], with [a] b = a x b.

    Parameters
    ----------
    a : ndarray (..., 3)
        Vectors.

    Returns
    -------
    ndarray (..., 3, 3)
        Their matrices.
    """
    found = np.zeros((*a.shape, 3))
    x, y, z = a[..., 0], a[..., 1], a[..., 2]
    found[..., 0, 1], found[..., 1, 0] = -z, z
    found[..., 2, 0], found[..., 0, 2] = -y, y
    found[..., 1, 2], found[..., 2, 1] = -x, x
    return found


def cross(a: _Float, b: _Float) -> _Float:
    """A x b of vectors (..., 3): a few times faster on few of them than NumPy's.

    Parameters
    ----------
    a, b : ndarray (..., 3)
        Vectors.

    Returns
    -------
    ndarray (..., 3)
        Their products.
    """
    products: _Float = (skew(a) @ b[..., None])[..., 0]
    return products


def matrices(quaternions: _Float) -> _Float:
    """Rotation matrices, from the body to the world.

    Parameters
    ----------
    quaternions : ndarray (n, 4)
        Unit quaternions.

    Returns
    -------
    ndarray (n, 3, 3)
        The matrices I + 2 w [p] + 2 [p]^2.
    """
    w, p = quaternions[:, :1, None], skew(quaternions[:, 1:])
    found: _Float = np.eye(3) + 2.0 * (w * p + p @ p)
    return found


def by_body_turns(quaternions: _Float) -> _Float:
    """Twice the derivatives of quaternions by turns in the body: of p * (0, phi).

    Parameters
    ----------
    quaternions : ndarray (..., 4)
        Unit quaternions.

    Returns
    -------
    ndarray (..., 4, 3)
        Matrices Q with Q^T Q = 1; half of Q phi is the change.
    """
    found = np.empty((*quaternions.shape[:-1], 4, 3))
    found[..., 0, :] = -quaternions[..., 1:]
    found[..., 1:, :] = skew(quaternions[..., 1:])
    found[..., [1, 2, 3], [0, 1, 2]] += quaternions[..., :1]
    return found


def turned(quaternions: _Float, angles: _Float) -> _Float:
    """Orientations after turns in the body, p exp(phi/2), of length 1 to round-off.

    Parameters
    ----------
    quaternions : ndarray (n, 4)
        Unit quaternions.
    angles : ndarray (n, 3)
        Rotation vectors phi, rad.

    Returns
    -------
    ndarray (n, 4)
        Orientations.
    """
    half = 0.5 * np.sqrt(np.einsum("ij,ij->i", angles, angles))[:, None]
    along = by_body_turns(quaternions) @ (0.5 * np.sinc(half / np.pi) * angles)[..., None]
    found = np.cos(half) * quaternions + along[..., 0]
    normalized: _Float = found / np.sqrt(np.einsum("ij,ij->i", found, found))[:, None]
    return normalized


def exponential_and_slope(angles: _Float) -> tuple[_Float, _Float]:
    """exp [phi], and how the turn in the body that follows it changes with phi.

    Parameters
    ----------
    angles : ndarray (n, 3)
        Rotation vectors phi, rad.

    Returns
    -------
    ndarray (n, 3, 3), ndarray (n, 3, 3)
        exp [phi] = 1 + a [phi] + b [phi]^2, and the right Jacobian J of the rotation group,
        1 - b [phi] + c [phi]^2, for which exp [phi + dphi] = exp [phi] exp [J dphi].
    """
    square = np.einsum("ij,ij->i", angles, angles)[:, None, None]
    angle = np.sqrt(square)
    a = np.sinc(angle / np.pi)
    b = 0.5 * np.sinc(0.5 * angle / np.pi) ** 2
    # (1 - a)/angle^2 cancels where the angle is small
    series = 1 / 6 - square * (1 / 120 - square * (1 / 5040 - square / 362880))
    small = square < 0.05
    c = np.where(small, series, (1.0 - a) / np.where(small, 1.0, square))
    first = skew(angles)
    second = first @ first
    one = np.eye(3)
    return one + a * first + b * second, one - b * first + c * second

"""Jacobians and rays in all worlds, from their states alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core

_Float = NDArray[np.float64]


def broadcast(value: ArrayLike, shape: tuple[int, ...], name: str) -> _Float:
    """Numbers as float64, broadcast to a shape.

    Parameters
    ----------
    value : array_like
        The numbers.
    shape : tuple of int
        Shape of the result.
    name : str
        Name of the argument in errors.

    Returns
    -------
    ndarray
        A contiguous array.

    Raises
    ------
    TypeError, ValueError
        If they are no numbers, or the shape does not fit.
    """
    array = _core.as_float64(value, name)
    try:
        return np.ascontiguousarray(np.broadcast_to(array, shape))
    except ValueError:
        raise ValueError(f"{name} has shape {array.shape}, expected {shape}") from None


Places = Iterable[tuple[int, mujoco.MjModel, mujoco.MjData]]
"""The position of each world of a call, its model, and data in its state."""


def jacobians(
    places: Places, bodies: NDArray[np.int32], points: _Float, nv: int
) -> tuple[_Float, _Float]:
    """Jacobians of a point on a body of each world.

    Parameters
    ----------
    places : iterable
        The worlds.
    bodies : ndarray of int (n,)
        Body of each world.
    points : ndarray (n, 3)
        Point of each world, in its frame, m.
    nv : int
        Number of velocities.

    Returns
    -------
    tuple of ndarray (n, 3, nv)
        Translational and rotational Jacobians.
    """
    found = np.zeros((2, len(points), 3, nv))
    for i, model, data in places:
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_jac(model, data, found[0, i], found[1, i], points[i], int(bodies[i]))
    return found[0], found[1]


def cast_rays(
    places: Places,
    points: _Float,
    directions: _Float,
    groups: NDArray[np.uint8] | None,
    with_static: bool,
    excluded: NDArray[np.int32],
    normals: _Float | None,
) -> tuple[_Float, NDArray[np.int32]]:
    """Distances along rays to the geoms of each world, as ``mj_ray`` has them.

    Parameters
    ----------
    places : iterable
        The worlds.
    points, directions : ndarray (n, n_rays, 3)
        Origins, m, and directions.
    groups : ndarray of uint8 (mjNGROUP,), optional
        Geom groups to hit; None is all.
    with_static : bool
        Whether static geoms are hit.
    excluded : ndarray of int (n, n_rays)
        Bodies to miss; -1 is none.
    normals : ndarray (n, n_rays, 3), optional
        Receives normals of the surfaces, 0 where nothing is hit.

    Returns
    -------
    distance : ndarray (n, n_rays)
        In units of the direction; -1 where nothing is hit.
    geom : ndarray of int (n, n_rays)
        The geoms; -1 where nothing is hit.
    """
    distance = np.zeros(points.shape[:2])
    geoms = np.zeros(points.shape[:2], np.int32)
    geom = np.zeros(1, np.int32)
    ray: Callable[..., Any] = mujoco.mj_ray
    for i, model, data in places:
        mujoco.mj_kinematics(model, data)
        if model.nflex:
            mujoco.mj_flex(model, data)
        for k in range(points.shape[1]):
            given = (
                model, data, points[i, k], directions[i, k], groups, with_static,
                int(excluded[i, k]), geom,
            )  # fmt: skip
            distance[i, k] = ray(*given) if normals is None else ray(*given, normals[i, k])
            geoms[i, k] = geom[0]
    return distance, geoms

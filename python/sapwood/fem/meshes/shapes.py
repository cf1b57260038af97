"""Meshes of simple bodies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.checks import integer, real

from .mesh import Mesh

_Float = NDArray[np.float64]

# numbers of vertices are int32
_MOST_VERTICES = 2**31 - 1


def box(size: ArrayLike, cells: int | ArrayLike) -> Mesh:
    """Make a box of cells of six tetrahedra each.

    Parameters
    ----------
    size : array_like (3,)
        Lengths of the edges, m; the box is centred at the origin.
    cells : int or array_like of int (3,)
        Number of cells along each axis.

    Returns
    -------
    Mesh
        (cells + 1)^3 vertices; the last axis varies fastest.

    Raises
    ------
    TypeError, ValueError
        For a size that is not positive, or fewer than one cell.
    """
    lengths = _core.as_float64(size, "size", (3,))
    if not np.all(lengths > 0):
        raise ValueError(f"size[{np.argmin(lengths)}] = {np.min(lengths)}: must be > 0")
    x, tetrahedra = _grid(_numbers(cells, 3))
    return Mesh(x * lengths, tetrahedra)


def ball(radius: float, cells: int) -> Mesh:
    """Make a ball: a cube of cells, each shell of which becomes a sphere.

    Parameters
    ----------
    radius : float
        Radius, m; the ball is centred at the origin.
    cells : int
        Number of cells across.

    Returns
    -------
    Mesh
        (cells + 1)^3 vertices.

    Raises
    ------
    TypeError, ValueError
        For a radius that is not positive, or fewer than one cell.
    """
    x, tetrahedra = _grid([integer(cells, "cells", 1)] * 3)
    return Mesh(2 * _positive(radius, "radius") * _rounded(x), tetrahedra, orient=True)


def rod(length: float, radius: float, cells: ArrayLike) -> Mesh:
    """Make a round rod along z.

    Parameters
    ----------
    length, radius : float
        Size, m; the rod is centred at the origin.
    cells : array_like of int (2,)
        Number of cells across and along.

    Returns
    -------
    Mesh
        The rod.

    Raises
    ------
    TypeError, ValueError
        For a size that is not positive, or fewer than one cell.
    """
    across, along = _numbers(cells, 2)
    x, tetrahedra = _grid([across, across, along])
    x[:, :2] = 2 * _positive(radius, "radius") * _rounded(x[:, :2])
    x[:, 2] *= _positive(length, "length")
    return Mesh(x, tetrahedra, orient=True)


def _numbers(cells: int | ArrayLike, n: int) -> list[int]:
    """Numbers of cells along n axes; a single number is that of all three."""
    given: Any = cells
    is_listed = isinstance(given, Sequence) or (isinstance(given, np.ndarray) and given.ndim)
    if not is_listed and n == 3:
        return [integer(given, "cells", 1)] * 3
    if not is_listed or len(given) != n:
        raise ValueError(f"cells = {given!r}: must be {n} integers")
    return [integer(each, f"cells[{i}]", 1) for i, each in enumerate(given)]


def _positive(value: float, name: str) -> float:
    number = real(value, name)
    if not 0 < number < np.inf:
        raise ValueError(f"{name} = {number}: must be finite and > 0")
    return number


def _grid(cells: Sequence[int]) -> tuple[_Float, NDArray[np.int32]]:
    """Grid of the unit cube about the origin, each cell cut along the diagonal (1, 1, 1)."""
    count = math.prod(n + 1 for n in cells)
    if count > _MOST_VERTICES:
        raise ValueError(f"cells make {count} vertices: at most {_MOST_VERTICES} have a number")
    axes = [np.linspace(-0.5, 0.5, n + 1) for n in cells]
    x = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    strides = np.array([(cells[1] + 1) * (cells[2] + 1), cells[2] + 1, 1])
    corner = np.stack(np.meshgrid(*(np.arange(n) for n in cells), indexing="ij"), axis=-1)
    origin = corner.reshape(-1, 3) @ strides
    paths = []
    for order in permutations(range(3)):
        path = np.r_[0, np.cumsum(strides[list(order)])]
        is_even = order in ((0, 1, 2), (1, 2, 0), (2, 0, 1))
        paths.append(path if is_even else path[[0, 1, 3, 2]])
    tetrahedra = origin[:, None, None] + np.array(paths)
    return x, tetrahedra.reshape(-1, 4).astype(np.int32)


def _rounded(x: _Float) -> _Float:
    """Move each shell max |x_i| = r radially to |x| = r."""
    length = np.linalg.norm(x, axis=1, keepdims=True)
    largest = np.max(np.abs(x), axis=1, keepdims=True)
    moved: _Float = x * np.divide(largest, length, out=np.zeros_like(length), where=length > 0)
    return moved

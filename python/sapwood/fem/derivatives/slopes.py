"""Sparse derivatives by central differences."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_Float = NDArray[np.float64]


class Slopes(NamedTuple):
    """A sparse matrix: the derivatives of some numbers by others."""

    rows: NDArray[np.int64]
    """Row of each entry."""
    columns: NDArray[np.int64]
    """Column of each entry."""
    values: _Float
    """The entries."""
    shape: tuple[int, int]
    """Numbers of rows and columns."""

    def push(self, x: _Float) -> _Float:
        """Multiply by a vector.

        Parameters
        ----------
        x : ndarray (n_columns,)
            The vector.

        Returns
        -------
        ndarray (n_rows,)
            The product.
        """
        found = np.bincount(self.rows, self.values * x[self.columns], self.shape[0])
        return found.astype(np.float64, copy=False)

    def pull(self, bar: _Float) -> _Float:
        """Multiply the transpose by a vector.

        Parameters
        ----------
        bar : ndarray (n_rows,)
            The vector.

        Returns
        -------
        ndarray (n_columns,)
            The product.
        """
        found = np.bincount(self.columns, self.values * bar[self.rows], self.shape[1])
        return found.astype(np.float64, copy=False)


def central_difference(above: _Float, centre: _Float, below: _Float, change: _Float) -> _Float:
    """Differentiate numbers; NaN stands for what is not known on a side.

    Parameters
    ----------
    above, centre, below : ndarray (n,)
        The numbers on both sides of the difference, and in its middle.
    change : ndarray
        Width of the difference.

    Returns
    -------
    ndarray (n,)
        The central difference; a one-sided one where a side is not known, 0 where both are not.
    """
    slope: _Float = (above - below) / change
    for one_sided in (above - centre, centre - below, np.zeros_like(slope)):
        slope = np.where(np.isnan(slope), 2 * one_sided / change, slope)
    return slope


class ChangedSet(NamedTuple):
    """Vertices that change at once in a difference, since each number depends on one of them."""

    vertices: NDArray[np.int64]
    """The vertices."""
    owners: NDArray[np.int64]
    """For each number the one of them that it depends on, or -1."""


def find_slopes(
    find: Callable[[], _Float], x: _Float, sets: Iterable[ChangedSet], width: float
) -> Slopes:
    """Differentiate numbers by an array of vectors at the vertices of a mesh.

    Parameters
    ----------
    find : callable
        The numbers at the present `x`; NaN for what is not known there.
    x : ndarray (n, 3)
        The array; it is as before at the end.
    sets : iterable of ChangedSet
        For each vertex that a number depends on, a set that has it.
    width : float
        Half of a difference.

    Returns
    -------
    Slopes
        The derivatives, of shape (n_rows, 3 n).
    """
    middle, none = find(), np.zeros(0, np.int64)
    rows, columns, values = [none], [none], [np.zeros(0)]
    for chosen, owners in sets:
        listed = np.flatnonzero(owners >= 0)
        for axis in range(3):
            centre = x[chosen, axis].copy()
            try:
                x[chosen, axis] = centre + width
                change, high = np.zeros(len(x)), x[chosen, axis].copy()
                above = find()
                x[chosen, axis] = centre - width
                change[chosen] = high - x[chosen, axis]
                below = find()
            finally:
                x[chosen, axis] = centre
            slope = central_difference(
                above[listed], middle[listed], below[listed], change[owners[listed]]
            )
            kept = np.flatnonzero(slope)
            rows.append(listed[kept])
            columns.append(3 * owners[listed[kept]] + axis)
            values.append(slope[kept])
    shape = len(middle), x.size
    return Slopes(np.concatenate(rows), np.concatenate(columns), np.concatenate(values), shape)


def stacked(above: Slopes, below: Slopes) -> Slopes:
    """Put the rows of two matrices of the same columns below each other.

    Parameters
    ----------
    above, below : Slopes
        The matrices.

    Returns
    -------
    Slopes
        The joint matrix.
    """
    rows = np.concatenate([above.rows, above.shape[0] + below.rows])
    columns = np.concatenate([above.columns, below.columns])
    shape = above.shape[0] + below.shape[0], above.shape[1]
    return Slopes(rows, columns, np.concatenate([above.values, below.values]), shape)


def added(one: Slopes, other: Slopes | None) -> Slopes:
    """Add two matrices of the same shape.

    Parameters
    ----------
    one : Slopes
        A matrix.
    other : Slopes or None
        The other one; None is 0.

    Returns
    -------
    Slopes
        The sum.
    """
    if other is None:
        return one
    rows, columns, values = (np.concatenate(pair) for pair in zip(one[:3], other[:3], strict=True))
    return Slopes(rows, columns, values, one.shape)

"""Sparse derivatives by central differences, of numbers that depend on vertices nearby alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_Float = NDArray[np.float64]
_Index = NDArray[np.int32]


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


def _difference(above: _Float, centre: _Float, below: _Float, change: _Float) -> _Float:
    """A central difference; one-sided where a side is not a number, 0 where both are."""
    slope: _Float = (above - below) / change
    for one_sided in (above - centre, centre - below, np.zeros_like(slope)):
        slope = np.where(np.isnan(slope), 2 * one_sided / change, slope)
    return slope


def find_slopes(
    find: Callable[[], _Float], x: _Float, spread: _Index, near: _Index, width: float
) -> Slopes:
    """Differentiate numbers by an array of vectors at the vertices of a mesh.

    All vertices of a set of ``Mesh.spread`` change at once, since each number depends on one of
    them.

    Parameters
    ----------
    find : callable
        The numbers at the present `x`; NaN for what is not known there.
    x : ndarray (n, 3)
        The array; it is as before at the end.
    spread : ndarray of int32 (sets, n)
        ``Mesh.spread``.
    near : ndarray of int32 (n_rows,)
        For each number a vertex around which are all that it depends on; -1 for none.
    width : float
        Half of a difference.

    Returns
    -------
    Slopes
        The derivatives, of shape (n_rows, 3 n).
    """
    rows, columns, values, middle = [], [], [], find()
    for owner in spread:
        chosen = np.flatnonzero(owner == np.arange(len(owner)))
        of_row = np.where(near >= 0, owner[near], -1)
        listed = np.flatnonzero(of_row >= 0)
        for axis in range(3):
            centre = x[chosen, axis].copy()
            try:
                x[chosen, axis] = centre + width
                change, high = np.zeros(len(owner)), x[chosen, axis].copy()
                above = find()
                x[chosen, axis] = centre - width
                change[chosen] = high - x[chosen, axis]
                below = find()
            finally:
                x[chosen, axis] = centre
            slope = _difference(
                above[listed], middle[listed], below[listed], change[of_row[listed]]
            )
            kept = np.flatnonzero(slope)
            rows.append(listed[kept])
            columns.append(3 * of_row[listed[kept]].astype(np.int64) + axis)
            values.append(slope[kept])
    shape = len(near), x.size
    return Slopes(np.concatenate(rows), np.concatenate(columns), np.concatenate(values), shape)

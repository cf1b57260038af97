"""Sparse matrices of callers in one form: compressed rows, checked, without duplicates."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.equality import compared_by_value

_Float = NDArray[np.float64]
_Index = NDArray[np.int32]


@compared_by_value
class SparseMatrix(NamedTuple):
    """A matrix by compressed rows with ascending columns; == compares all arrays."""

    data: _Float
    """Entries (n,)."""
    indices: _Index
    """Column of each entry (n,)."""
    indptr: NDArray[np.int64]
    """First entry of each row, and n (n_rows + 1,)."""
    shape: tuple[int, int]
    """Numbers of rows and columns."""

    @property
    def rows(self) -> NDArray[np.int64]:
        """Row of each entry (n,)."""
        return np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))

    def to_dense(self) -> _Float:
        """Return the dense matrix, a new array."""
        dense = np.zeros(self.shape)
        dense[self.rows, self.indices] = self.data
        return dense


def sparse_matrix(value: Any, name: str, n_columns: int) -> SparseMatrix:
    """Read a matrix.

    Parameters
    ----------
    value : sparse matrix, (data, indices, indptr) or array_like (n_rows, n_columns)
        A SciPy sparse matrix or array, arrays of compressed rows, or a dense matrix.
    name : str
        Its name in errors.
    n_columns : int
        Its columns.

    Returns
    -------
    SparseMatrix
        The sums of duplicate entries; its arrays are new and read-only.

    Raises
    ------
    TypeError, ValueError
        For an array that is wrong; the text names it, the index and the rule.
    """
    if hasattr(value, "tocsr"):
        value = value.tocsr()
        if value.shape[1] != n_columns:
            raise ValueError(f"{name} has shape {value.shape}, expected (any, {n_columns})")
        value = value.data, value.indices, value.indptr
    if isinstance(value, tuple) and len(value) == 3:
        return _compressed(*value, name, n_columns)
    dense = _core.as_float64(value, name, (-1, n_columns), "finite")
    rows, columns = np.nonzero(dense)
    return _sorted(dense[rows, columns], rows, columns, dense.shape)


def _compressed(
    data: ArrayLike, indices: ArrayLike, indptr: ArrayLike, name: str, n_columns: int
) -> SparseMatrix:
    """Check the arrays of compressed rows."""
    entries = _core.as_float64(data, f"{name}.data", (-1,), "finite")
    columns = _core.as_int32(indices, f"{name}.indices")
    first = _core.as_int32(indptr, f"{name}.indptr").astype(np.int64)
    n = len(entries)
    if len(columns) != n:
        raise ValueError(f"{name}.indices has shape {columns.shape}, expected ({n},)")
    for k in np.flatnonzero((columns < 0) | (columns >= n_columns)):
        raise ValueError(f"{name}.indices[{k}] = {columns[k]}: must be the index of a column")
    if len(first) == 0 or first[0] != 0:
        raise ValueError(f"{name}.indptr must begin with 0")
    for k in np.flatnonzero(np.diff(first) < 0):
        raise ValueError(f"{name}.indptr[{k + 1}] = {first[k + 1]}: must not be below the last")
    if first[-1] != n:
        raise ValueError(f"{name}.indptr ends with {first[-1]}, expected {n}")
    rows = np.repeat(np.arange(len(first) - 1), np.diff(first))
    return _sorted(entries, rows, columns, (len(first) - 1, n_columns))


def _sorted(
    data: _Float, rows: NDArray[np.intp], columns: NDArray[Any], shape: tuple[int, ...]
) -> SparseMatrix:
    """Sort entries by row and column, and sum duplicates."""
    keys, place = np.unique(rows * np.int64(shape[1]) + columns, return_inverse=True)
    entries = np.zeros(len(keys))
    np.add.at(entries, place, data)
    row, column = np.divmod(keys, shape[1])
    first = np.zeros(shape[0] + 1, np.int64)
    np.cumsum(np.bincount(row, minlength=shape[0]), out=first[1:])
    matrix = SparseMatrix(entries, column.astype(np.int32), first, (shape[0], shape[1]))
    for array in matrix[:3]:
        array.flags.writeable = False
    return matrix


def without_zeros(matrix: SparseMatrix) -> SparseMatrix:
    """Return the matrix without entries that are 0."""
    kept = matrix.data != 0
    return _sorted(matrix.data[kept], matrix.rows[kept], matrix.indices[kept], matrix.shape)


def components(n: int, a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.int64]:
    """Label the connected components of a graph.

    Parameters
    ----------
    n : int
        Number of nodes.
    a, b : ndarray of int (n_edges,)
        Nodes of each edge.

    Returns
    -------
    ndarray of int (n,)
        Number of the component of each node; components count from their first nodes.
    """
    label = np.arange(n)
    while True:
        low = label.copy()
        np.minimum.at(low, a, label[b])
        np.minimum.at(low, b, label[a])
        # labels of labels, so that a path of n nodes takes some log(n) rounds
        np.minimum.at(low, label, low.copy())
        low = low[low]
        if np.array_equal(low, label):
            break
        label = low
    return np.unique(label, return_inverse=True)[1].astype(np.int64)

"""Tables: reading the CSV files that the experiments write."""

from __future__ import annotations

import csv
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def read_steps(path: str | PathLike[str]) -> NDArray[np.void]:
    """Read a CSV file of steps with a header line.

    A last line without its line end, as a killed run can leave it, is dropped.

    Parameters
    ----------
    path
        File with one header line; columns hold numbers or words.

    Returns
    -------
    ndarray, shape (n_steps,)
        Structured array: int64 and float64 columns, text where a column holds words.

    Raises
    ------
    ValueError
        No header, or a line with the wrong number of fields.
    """
    text = Path(path).read_text(encoding="utf-8")
    lines = list(csv.reader(text.splitlines()))
    if not lines:
        raise ValueError(f"{path}: no header line")
    header, rows = lines[0], lines[1:]
    if rows and not text.endswith("\n"):
        rows = rows[:-1]
    for number, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise ValueError(
                f"{path}: line {number} has {len(row)} fields, the header {len(header)}"
            )
    columns = [_column([row[j] for row in rows]) for j in range(len(header))]
    dtype = np.dtype([(name, column.dtype) for name, column in zip(header, columns, strict=True)])
    steps = np.empty(len(rows), dtype=dtype)
    for name, column in zip(header, columns, strict=True):
        steps[name] = column
    return steps


def rows_of(path: str | PathLike[str]) -> NDArray[np.void]:
    """Read a CSV file that must hold rows; see `read_steps`.

    Parameters
    ----------
    path
        File with one header line.

    Returns
    -------
    ndarray
        Structured array with at least one row.

    Raises
    ------
    ValueError
        No rows, and as for `read_steps`.
    """
    rows = read_steps(path)
    if rows.size == 0:
        raise ValueError(f"{path}: no rows, nothing to draw")
    return rows


def select(rows: NDArray[np.void], **values: object) -> NDArray[np.void]:
    """Rows in which columns have given values.

    Parameters
    ----------
    rows
        Rows of a table.
    **values
        Values by the names of columns.

    Returns
    -------
    ndarray
        The rows that have all of them.
    """
    kept = np.ones(len(rows), np.bool_)
    for name, value in values.items():
        kept &= rows[name] == value
    return rows[kept]


def _column(words: list[str]) -> NDArray[Any]:
    """Return the words of one column as int64 if all are, else as float64, else as text."""
    for dtype in (np.int64, np.float64):
        try:
            return np.array([dtype(word) for word in words], dtype=dtype)
        except ValueError:
            continue
    return np.array(words, dtype=np.str_)


def median_over_seeds(
    rows: NDArray[np.void], x: str, y: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Values of one column in order, and the median of another over all rows that have them.

    Parameters
    ----------
    rows
        Rows of a table.
    x, y
        Names of the columns.

    Returns
    -------
    tuple of two ndarrays of equal length
        Distinct values of `x`, and the median of `y` at each.
    """
    values = np.unique(rows[x])
    medians = [np.median(rows[y][rows[x] == value]) for value in values]
    return values.astype(np.float64), np.array(medians, dtype=np.float64)

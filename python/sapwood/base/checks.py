"""Checks of arguments; the text of an error names the argument."""

from __future__ import annotations

import operator
import os
import stat
from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core

_Kind = TypeVar("_Kind")


def boolean(value: object, name: str) -> bool:
    """Return a truth value as a bool.

    Parameters
    ----------
    value : object
        A bool of Python or NumPy; no number, and no str.
    name : str
        Name of the argument, for the error.

    Returns
    -------
    bool
        The value.

    Raises
    ------
    TypeError
        If it is anything else.
    """
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} = {value!r}: must be True or False")
    return bool(value)


def array(value: ArrayLike, name: str) -> NDArray[Any]:
    """Return an array of any dtype.

    Parameters
    ----------
    value : array_like
        What NumPy can make an array of, without masked entries.
    name : str
        Name of the argument, for the error.

    Returns
    -------
    ndarray
        The array itself, or a new one.

    Raises
    ------
    ValueError
        If NumPy makes no array of it, or an entry is masked.
    """
    try:
        found = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} cannot be read as an array: {error}") from None
    if np.ma.is_masked(value):
        index = np.argwhere(np.ma.getmask(value))[0].tolist()
        raise ValueError(f"{name}{index or ''} is masked: fill it with a number")
    return found


def integer(value: object, name: str, least: int | None = None, most: int | None = None) -> int:
    """Return an integer as an int.

    Parameters
    ----------
    value : object
        An int, or what can stand for one without loss; no bool.
    name : str
        Name of the argument, for the error.
    least, most : int, optional
        Smallest and largest value allowed.

    Returns
    -------
    int
        The value.

    Raises
    ------
    TypeError
        If it is no integer.
    ValueError
        If it is smaller than `least` or larger than `most`.
    """
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None or isinstance(value, (bool, np.ma.MaskedArray)):
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}")
    if most is not None and not (least or 0) <= number <= most:
        raise ValueError(f"{name} = {number}: must be from {least or 0} to {most}")
    if least is not None and number < least:
        raise ValueError(f"{name} = {number}: must be >= {least}")
    return number


def real(value: object, name: str) -> float:
    """Return a real number as a float.

    Parameters
    ----------
    value : object
        An int or a float, or what can stand for one; no bool.
    name : str
        Name of the argument, for the error.

    Returns
    -------
    float
        The value.

    Raises
    ------
    TypeError
        If it is no real number.
    ValueError
        If it is an array of several, or an int that no float can hold.
    """
    if isinstance(value, (np.ndarray, np.generic)):
        return float(_core.as_float64(value, name, (), "any"))
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise TypeError(f"{name} must be a real number, not {type(value).__name__}")
    try:
        return float(value)
    except OverflowError as error:
        raise ValueError(f"{name}: {error}") from None


def file_name(path: object, name: str) -> str:
    """Return a path as a str.

    Parameters
    ----------
    path : object
        A str or path-like object; not a file descriptor.
    name : str
        Name of the argument, for the error.

    Returns
    -------
    str
        The path.

    Raises
    ------
    TypeError
        If it is neither.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"{name} must be a str or a path, not {type(path).__name__}")
    return os.fsdecode(path)


def instance(value: object, kind: type[_Kind], name: str) -> _Kind:
    """Return an object of a class.

    Parameters
    ----------
    value : object
        The object.
    kind : type
        Its class.
    name : str
        Name of the argument, for the error.

    Returns
    -------
    object
        The object.

    Raises
    ------
    TypeError
        If it is of another class.
    """
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be a {kind.__name__}, not {type(value).__name__}")
    return value


def instances(values: object, kind: type[_Kind], name: str) -> tuple[_Kind, ...]:
    """Return objects of a class as a tuple.

    Parameters
    ----------
    values : iterable
        The objects.
    kind : type
        Their class.
    name : str
        Name of the argument, for the error.

    Returns
    -------
    tuple
        The objects.

    Raises
    ------
    TypeError
        If one is of another class, or `values` is not iterable.
    """
    if not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a sequence of {kind.__name__}, not {values!r}")
    return tuple(instance(each, kind, f"{name}[{i}]") for i, each in enumerate(values))


def integers(value: ArrayLike, name: str, columns: int) -> NDArray[np.int32]:
    """Return a table of integers as an array (n, columns).

    Parameters
    ----------
    value : array_like of int (n, columns)
        The table.
    name : str
        Name of the argument, for the error.
    columns : int
        Its columns.

    Returns
    -------
    ndarray of int32 (n, columns)
        The table.

    Raises
    ------
    TypeError, ValueError
        If it has another shape, or other numbers than integers.
    """
    table = array(value, name)
    if table.ndim != 2 or table.shape[1] != columns:
        raise ValueError(f"{name} has shape {table.shape}, expected (any, {columns})")
    return _core.as_int32(table.ravel(), name).reshape(-1, columns)


def stiffness(value: Any, name: str) -> float:
    """Return a stiffness, which may be infinite, as a float.

    Parameters
    ----------
    value : object
        A positive number.
    name : str
        Name of the argument, for the error.

    Returns
    -------
    float
        The value.

    Raises
    ------
    TypeError
        If it is no real number.
    ValueError
        If it is not positive.
    """
    number = float(_core.as_float64(value, name, (), "any"))
    if not number > 0.0:
        raise ValueError(f"{name} = {number:g}: must be > 0; inf is rigid")
    return number


def regular_file(path: object, name: str) -> str:
    """Return the path of a file that can be read, as a str.

    Libraries that read files wait for a pipe, and tell too little of a file that is not there.

    Parameters
    ----------
    path : object
        A str or path-like object.
    name : str
        Name of the argument, for the error.

    Returns
    -------
    str
        The path.

    Raises
    ------
    OSError
        If the file cannot be opened.
    TypeError
        If `path` is no path.
    ValueError
        If it is no regular file, or no name that files can have.
    """
    text = file_name(path, name)
    try:
        mode = os.stat(text).st_mode
    except ValueError as error:
        raise ValueError(f"{text}: {error}") from error
    if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
        raise ValueError(f"{text}: not a regular file")
    open(text, "rb").close()
    return text

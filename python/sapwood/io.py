"""Problem files: one contact problem in a NumPy .npz archive.

Keys are the arguments of :class:`sapwood.ContactProblem`; a file holds at least ``dt``,
``tree_nv``, ``A``, ``v_star``, ``tree_a``, ``tree_b``, ``J``, ``mu``, and either ``phi0``, ``k``,
``tau_d`` or ``R_t``, ``R_n``, ``v_hat_n``.
"""

from __future__ import annotations

import inspect
import os
from typing import Any

import numpy as np

from sapwood.problem import ContactProblem

_KEYS = inspect.signature(ContactProblem).parameters
_TEXT = ("source", "delassus")


def load_problem(path: str | os.PathLike[str]) -> ContactProblem:
    """Read a problem file.

    Parameters
    ----------
    path : path-like
        A .npz file; keys that are no argument of :class:`ContactProblem` are ignored.

    Returns
    -------
    ContactProblem
        With R_t, R_n and v_hat_n as stored, or computed where the file has none.

    Raises
    ------
    OSError
        Where the file cannot be read.
    TypeError, ValueError
        Where it is no problem file or holds a wrong problem; the text names the file and the key.
    """
    name = os.fspath(path)
    arrays = _read(name)
    for key, parameter in _KEYS.items():
        if parameter.default is parameter.empty and key not in arrays:
            raise ValueError(f"{name}: {key} is missing")
    for key in _TEXT:
        if key in arrays:
            arrays[key] = str(arrays[key])
    try:
        return ContactProblem(**arrays)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from error


def save_problem(path: str | os.PathLike[str], problem: ContactProblem) -> None:
    """Write a problem file, under exactly this name.

    Parameters
    ----------
    path : path-like
        Where to write; an existing file is replaced.
    problem : ContactProblem
        What to write; :func:`load_problem` gives an equal problem back.

    Raises
    ------
    OSError
        Where the file cannot be written.
    """
    if not isinstance(problem, ContactProblem):
        raise TypeError(f"problem must be a ContactProblem, not {type(problem).__name__}")
    with open(path, "wb") as file:
        np.savez(file, **problem._arguments())


def _read(name: str) -> dict[str, Any]:
    """Arrays of the file that are arguments of ContactProblem."""
    try:
        with open(name, "rb") as file, np.load(file, allow_pickle=False) as archive:
            return {key: archive[key] for key in archive.files if key in _KEYS}
    except OSError:
        raise
    # what a damaged archive raises depends on where the damage is
    except Exception as error:
        raise ValueError(f"{name}: not a problem file: {error}") from error

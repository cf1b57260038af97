"""Problem files: one contact problem in a NumPy .npz archive.

Keys are the arguments of :class:`sapwood.ContactProblem`; a file holds at least ``dt``,
``tree_nv``, ``A``, ``v_star``, ``tree_a``, ``tree_b``, ``J``, ``mu``, and either ``phi0``, ``k``,
``tau_d`` or ``R_t``, ``R_n``, ``v_hat_n``. Groups of other constraints follow as
``constraints.0.kind``, ``constraints.0.J`` and so on, with the arguments of their classes.
"""

from __future__ import annotations

import inspect
import os
from typing import Any

import numpy as np

from sapwood.checks import file_name
from sapwood.constraints.group import ConstraintGroup
from sapwood.constraints.kinds import KINDS
from sapwood.problem.contact_problem import ContactProblem

_PREFIX = "constraints"
_MOST_DIGITS = 9  # of the number of a group
_KEYS = set(inspect.signature(ContactProblem).parameters) - {_PREFIX}
_NEEDED = ("dt", "tree_nv", "A", "v_star", "tree_a", "tree_b", "J", "mu")
_TEXT = ("source", "delassus")
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")  # how archives begin, the second one without members


def load_problem(path: str | os.PathLike[str]) -> ContactProblem:
    """Read a problem file.

    Parameters
    ----------
    path : path-like
        A .npz file. Keys that are no argument of :class:`ContactProblem` are ignored, but for those
        that begin with ``constraints.``, which must be arguments of the class of their group.

    Returns
    -------
    ContactProblem
        With R_t, R_n and v_hat_n as stored, or computed where the file has none.

    Raises
    ------
    OSError
        Where the file cannot be read.
    TypeError
        Where `path` is no path, or an array of the file has a wrong type; the text names the key.
    ValueError
        Where it is no problem file or holds a wrong problem; the text names the file and the key.

    See Also
    --------
    save_problem : writes such files.
    """
    name = file_name(path, "path")
    arrays, groups = _read(name)
    for key in _NEEDED:
        if key not in arrays:
            raise ValueError(f"{name}: {key} is missing")
    for key in _TEXT:
        if key in arrays:
            arrays[key] = str(arrays[key])
    try:
        return ContactProblem(**arrays, constraints=_make_groups(groups))
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
    TypeError
        Where `path` is no path or `problem` no ContactProblem.

    See Also
    --------
    load_problem : reads such files.
    """
    name = file_name(path, "path")
    if not isinstance(problem, ContactProblem):
        raise TypeError(f"problem must be a ContactProblem, not {type(problem).__name__}")
    arrays = problem._arguments()
    for k, group in enumerate(arrays.pop("constraints", ())):
        arrays[f"{_PREFIX}.{k}.kind"] = group.kind
        for key, value in group._arguments().items():
            arrays[f"{_PREFIX}.{k}.{key}"] = value
    with open(name, "wb") as file:
        np.savez(file, **arrays)


def _read(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arrays of the file that are arguments of ContactProblem, and those of its groups."""
    with open(name, "rb") as file:
        if file.read(4) not in _ZIP:
            raise ValueError(f"{name}: not a .npz archive")
        file.seek(0)
        try:
            with np.load(file, allow_pickle=False) as archive:
                groups = [key for key in archive.files if key.startswith(f"{_PREFIX}.")]
                return (
                    {key: _array(archive, key) for key in archive.files if key in _KEYS},
                    {key: _array(archive, key) for key in groups},
                )
        except OSError:
            raise
        # what a damaged archive raises depends on where the damage is
        except Exception as error:
            raise ValueError(f"{name}: not a problem file: {error}") from error


def _make_groups(arrays: dict[str, Any]) -> list[ConstraintGroup]:
    """Groups from their arrays by key, constraints.NUMBER.ARGUMENT."""
    groups: dict[int, dict[str, Any]] = {}
    for key, value in arrays.items():
        number, _, argument = key.removeprefix(f"{_PREFIX}.").partition(".")
        plain = len(number) <= _MOST_DIGITS and number.isascii() and number.isdecimal()
        if not (plain and str(int(number)) == number and argument):
            raise ValueError(f"{key}: must be {_PREFIX}.NUMBER.ARGUMENT")
        groups.setdefault(int(number), {})[argument] = value
    kinds = {kind.kind: kind for kind in KINDS}
    made: list[ConstraintGroup] = []
    for k in range(len(groups)):
        where = f"{_PREFIX}.{k}"
        if k not in groups:
            raise ValueError(f"{where}.kind is missing")
        name = str(groups[k].pop("kind", ""))
        if name not in kinds:
            raise ValueError(f"{where}.kind = {name!r}: must be one of {', '.join(kinds)}")
        known = inspect.signature(kinds[name]).parameters
        for argument in groups[k]:
            if argument not in known:
                raise ValueError(
                    f"{where}.{argument}: must be an argument of {kinds[name].__name__}"
                )
        if "J" not in groups[k]:
            raise ValueError(f"{where}.J is missing")
        try:
            made.append(kinds[name](**groups[k]))
        except (TypeError, ValueError) as error:
            raise type(error)(f"{where}.{error}") from error
    return made


def _array(archive: Any, key: str) -> Any:
    try:
        return archive[key]
    except ValueError as error:
        raise ValueError(f"{key} is no array of numbers or text") from error

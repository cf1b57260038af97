"""Problem files: one contact problem in a NumPy .npz archive.

Keys are the arguments of :class:`sapwood.ContactProblem`; a file holds at least ``dt``,
``tree_nv``, ``A``, ``v_star``, ``tree_a``, ``tree_b``, ``J``, ``mu``, and either ``phi0``, ``k``,
``tau_d`` or ``R_t``, ``R_n``, ``v_hat_n``. ``spin_contact``, ``spin_J`` and ``spin_mu`` are there
where contacts have torsional or rolling friction. Groups of other constraints follow as
``constraints.0.kind``, ``constraints.0.J`` and so on, with the arguments of their classes.

A sparse problem has no trees: ``A``, ``J`` and ``spin_J`` are the data of compressed rows, whose
columns and first entries follow as ``A_indices``, ``A_indptr`` and so on.
"""

from __future__ import annotations

import inspect
import io
import os
import warnings
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

from sapwood.base.checks import file_name, regular_file
from sapwood.base.files import write_file
from sapwood.constraints.group import ConstraintGroup
from sapwood.constraints.kinds import KINDS
from sapwood.problem.archive import Archive, ArchiveError, Header
from sapwood.problem.contact_problem import ContactProblem
from sapwood.problem.sizes import (
    MOST_ROWS,
    Blocks,
    check_group,
    check_sparse,
    check_vectors,
)
from sapwood.problem.sparse_matrix import SparseMatrix
from sapwood.problem.sparse_problem import SparseProblem
from sapwood.problem.symmetry import symmetric_blocks, symmetric_part_taken

_PREFIX = "constraints"
_MOST_DIGITS = 9  # digits of the number of a group
_KEYS = set(inspect.signature(ContactProblem).parameters) - {_PREFIX}
_NEEDED = ("dt", "tree_nv", "A", "v_star", "tree_a", "tree_b", "J", "mu")
# sparse matrices have their data under their own name
_SPARSE = ("A", "J", "spin_J")
_PLACES = tuple(f"{name}_{part}" for name in _SPARSE for part in ("indices", "indptr"))
_SPARSE_KEYS = (_KEYS | set(_PLACES)) - {"tree_nv", "tree_a", "tree_b"}
_SPARSE_NEEDED = ("dt", "A", *_PLACES[:4], "v_star", "J", "mu")
_TEXT = ("source", "delassus")
_KINDS = {kind.kind: kind for kind in KINDS}
_ARGUMENTS = {kind.kind: set(inspect.signature(kind).parameters) for kind in KINDS}

# name in the file, class and arguments
_Group = tuple[str, type[ConstraintGroup], dict[str, Any]]


def load_problem(
    path: str | os.PathLike[str],
) -> ContactProblem | SparseProblem[ContactProblem]:
    """Read a problem file.

    Parameters
    ----------
    path : path-like
        A .npz file. Keys other than arguments of :class:`ContactProblem` are ignored, except those
        that begin with ``constraints.``: they must be arguments of the class of their group.

    Returns
    -------
    ContactProblem or SparseProblem
        The problem, with R_t, R_n and v_hat_n from the file, or computed if the file has none.
        A file with the key ``A_indptr`` has a sparse one.

    Raises
    ------
    OSError
        If the file cannot be read.
    TypeError
        If `path` is no path.
    ValueError
        If it is no problem file, is damaged, or holds a wrong problem; the text names the file
        and the key. An array that is larger than the others allow is refused before it is read.

    Warns
    -----
    UserWarning
        If blocks of A are symmetric to single precision alone, entries that differ by up to
        2.4e-7 of the largest: their symmetric part is taken. Less symmetric ones are a ValueError.

    See Also
    --------
    save_problem : writes such files.
    """
    name = regular_file(path, "path")
    try:
        with open(name, "rb") as file:
            archive = Archive(file)
            if "A_indptr" in archive.keys:
                arguments, groups = _read_sparse(archive)
                return ContactProblem.from_sparse(**arguments, constraints=_make_groups(groups))
            arguments, groups = _read(archive)
        asymmetry = _symmetrize(arguments)
        if asymmetry > 0.0:
            warnings.warn(f"{name}: A {symmetric_part_taken(asymmetry)}", stacklevel=2)
        return ContactProblem(**arguments, constraints=_make_groups(groups))
    except OSError as error:
        raise OSError(error.errno, error.strerror, name) from error
    except ArchiveError as error:
        raise ValueError(f"{name}: not a problem file: {error}") from error
    except (TypeError, ValueError, ArithmeticError) as error:
        raise ValueError(f"{name}: {error}") from error


def save_problem(
    path: str | os.PathLike[str], problem: ContactProblem | SparseProblem[ContactProblem]
) -> None:
    """Write a problem file, under exactly this name.

    Parameters
    ----------
    path : path-like
        The file; an existing one is replaced after all is written.
    problem : ContactProblem or SparseProblem
        The problem; :func:`load_problem` gives an equal one back.

    Raises
    ------
    OSError
        If the file cannot be written; an existing one is as it was.
    TypeError
        If `path` is no path or `problem` no problem.

    See Also
    --------
    load_problem : reads such files.
    """
    name = file_name(path, "path")
    if not isinstance(problem, ContactProblem | SparseProblem):
        raise TypeError(f"problem must be a ContactProblem, not {type(problem).__name__}")
    arrays = problem._arguments()
    for k, group in enumerate(arrays.pop("constraints", ())):
        arrays[f"{_PREFIX}.{k}.kind"] = group.kind
        for key, value in group._arguments().items():
            arrays[f"{_PREFIX}.{k}.{key}"] = value
    for key in _SPARSE:
        matrix = arrays.get(key)
        if isinstance(matrix, SparseMatrix):
            arrays[key], arrays[f"{key}_indices"], arrays[f"{key}_indptr"] = matrix[:3]
    content = io.BytesIO()
    np.savez(content, **arrays)
    write_file(name, content.getbuffer())


def _read(archive: Archive) -> tuple[dict[str, Any], list[_Group]]:
    """Arguments of the problem, and classes and arguments of its groups."""
    keys, groups, headers = _headers(archive, _KEYS, _NEEDED)
    # the trees say how large A and J may be
    check_vectors({key: headers[key] for key in keys})
    arguments: dict[str, Any] = {key: archive.read(key) for key in ("tree_nv", "tree_a", "tree_b")}
    blocks = Blocks(arguments["tree_nv"], headers["v_star"].size)
    blocks.check_A(headers["A"])
    for name in ("J", "spin_J"):
        # no more contacts turn than there are
        if name in headers:
            blocks.check_J(name, headers[name], arguments["tree_a"], arguments["tree_b"], 3)

    _read_all(archive, keys, arguments)
    return arguments, [
        _read_group(archive, f"{_PREFIX}.{k}", group, headers, blocks)
        for k, group in enumerate(groups)
    ]


def _read_sparse(archive: Archive) -> tuple[dict[str, Any], list[_Group]]:
    """Arguments of a sparse problem, and classes and arguments of its groups."""
    keys, groups, headers = _headers(archive, _SPARSE_KEYS, _SPARSE_NEEDED)
    check_sparse({key: headers[key] for key in keys})
    arguments: dict[str, Any] = {}
    _read_all(archive, keys, arguments)
    for name in _SPARSE:
        if name in arguments:
            parts = [arguments.pop(f"{name}_{part}") for part in ("indices", "indptr")]
            arguments[name] = arguments[name], *parts
    nv = headers["v_star"].size
    one_tree = Blocks([nv] if nv else [], nv)
    return arguments, [
        _read_group(archive, f"{_PREFIX}.{k}", group, headers, one_tree)
        for k, group in enumerate(groups)
    ]


def _headers(
    archive: Archive, known: Collection[str], needed: Iterable[str]
) -> tuple[list[str], list[dict[str, str]], dict[str, Header]]:
    """Known keys of an archive, those of each group, and the headers of all."""
    keys = [key for key in archive.keys if key in known]
    for key in needed:
        if key not in keys:
            raise ValueError(f"{key} is missing")
    groups = _group_keys(archive.keys)
    return keys, groups, archive.headers([*keys, *(key for of in groups for key in of.values())])


def _read_all(archive: Archive, keys: Iterable[str], arguments: dict[str, Any]) -> None:
    """Read the arrays that are not there."""
    for key in keys:
        if key not in arguments:
            array = archive.read(key)
            arguments[key] = str(array) if key in _TEXT else array


def _symmetrize(arguments: dict[str, Any]) -> float:
    """Take the symmetric part of A; return by how much A differed, 0 where A stays as it is.

    The problem itself refuses an A of another type or size.
    """
    A, tree_nv = arguments["A"], arguments["tree_nv"]
    if A.dtype.newbyteorder("=") != np.float64 or A.shape != (
        (tree_nv.astype(np.int64) ** 2).sum(),
    ):
        return 0.0
    arguments["A"], asymmetry = symmetric_blocks(A, tree_nv)
    return asymmetry


def _group_keys(keys: Iterable[str]) -> list[dict[str, str]]:
    """Keys of each group by its arguments, from constraints.NUMBER.ARGUMENT."""
    groups: dict[int, dict[str, str]] = {}
    for key in keys:
        if not key.startswith(f"{_PREFIX}."):
            continue
        number, _, argument = key.removeprefix(f"{_PREFIX}.").partition(".")
        plain = len(number) <= _MOST_DIGITS and number.isascii() and number.isdecimal()
        if not (plain and str(int(number)) == number and argument):
            raise ValueError(f"{key}: must be {_PREFIX}.NUMBER.ARGUMENT")
        groups.setdefault(int(number), {})[argument] = key
    for k in range(len(groups)):
        if k not in groups:
            raise ValueError(f"{_PREFIX}.{k}.kind is missing")
    return [groups[k] for k in range(len(groups))]


def _read_group(
    archive: Archive,
    where: str,
    keys: dict[str, str],
    headers: Mapping[str, Header],
    blocks: Blocks,
) -> _Group:
    name = str(archive.read(keys.pop("kind"))) if "kind" in keys else ""
    if name not in _KINDS:
        raise ValueError(f"{where}.kind = {name!r}: must be one of {', '.join(_KINDS)}")
    for argument in keys:
        if argument not in _ARGUMENTS[name]:
            raise ValueError(f"{where}.{argument}: must be an argument of {_KINDS[name].__name__}")
    if "J" not in keys:
        raise ValueError(f"{where}.J is missing")
    sizes = {argument: headers[key] for argument, key in keys.items()}
    check_group(where, sizes, blocks.nv)
    arguments: dict[str, Any] = {}
    if "tree_a" in keys:
        arguments["tree_a"] = tree_a = archive.read(keys["tree_a"])
        tree_b = np.full(tree_a.shape, -1)
        if "tree_b" in keys:
            arguments["tree_b"] = tree_b = archive.read(keys["tree_b"])
        rows = MOST_ROWS if "size" in keys else 1
        blocks.check_J(f"{where}.J", sizes["J"], tree_a, tree_b, rows)
    for argument, key in keys.items():
        if argument not in arguments:
            arguments[argument] = archive.read(key)
    return where, _KINDS[name], arguments


def _make_groups(groups: list[_Group]) -> list[ConstraintGroup]:
    made: list[ConstraintGroup] = []
    for where, kind, arguments in groups:
        try:
            made.append(kind(**arguments))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{where}.{error}") from error
    return made

"""Reading of FCLIB's files, HDF5.

The format: Acary, Brémond, Koziara, Pérignon, "FCLIB: a collection of discrete 3D frictional
contact problems", INRIA RT-0444 (2014). A matrix is stored as CSparse has it: `nz` = -1 marks
compressed columns, -2 compressed rows, and a count >= 0 triplets with rows in `i` and columns in
`p`.

Files are read without trust. HDF5 can describe arrays of any size in a few bytes, by compression,
fill values, and parts of other files; FCLIB stores every array whole. So a data set is read where
the file holds all of its bytes in one piece, and its size is compared with what the others ask for
before that.
"""

from __future__ import annotations

import dataclasses
import os
import warnings
from typing import Any

import h5py
import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from sapwood.base.checks import regular_file
from sapwood.problem.symmetry import ROUND_OFF, SINGLE, must_be_symmetric, symmetric_part_taken
from sapwood.studies.fclib.problems import GlobalProblem, LocalProblem

_COLUMNS, _ROWS = -1, -2
_WHOLE = (h5py.h5d.COMPACT, h5py.h5d.CONTIGUOUS)
# matrices of equality constraints, which a problem may have beside its contacts
_JOINTS = {"fclib_global": "G", "fclib_local": "V"}


def load(path: str | os.PathLike[str]) -> GlobalProblem | LocalProblem:
    """Read a problem in global or local form.

    Parameters
    ----------
    path
        File in FCLIB's format.

    Raises
    ------
    OSError
        There is no such file, or it is no HDF5 file.
    ValueError
        It is damaged, holds no problem of contacts in three dimensions alone, or arrays that do not
        fit; the text names the file, the data set and the rule.

    Warns
    -----
    UserWarning
        Where M is symmetric to single precision alone, entries that differ by up to 2.4e-7 of the
        largest: its symmetric part is taken. A less symmetric one is a ValueError.
    """
    name = regular_file(path, "path")
    asymmetry = 0.0
    try:
        file = h5py.File(name)
    except OSError as error:
        raise OSError(f"{name}: {error}") from None
    with file:
        try:
            problem = _problem(file)
            if isinstance(problem, GlobalProblem):
                problem, asymmetry = _symmetrized(problem)
        except _Misfit as error:
            raise ValueError(f"{name}: {error}") from None
        # HDF5 raises these for damaged files
        except (KeyError, OSError, RuntimeError) as error:
            raise ValueError(f"{name}: is damaged: {error}") from error
    if asymmetry > ROUND_OFF:
        warnings.warn(f"{name}: M {symmetric_part_taken(asymmetry)}", stacklevel=2)
    return problem


class _Misfit(Exception):
    """The fault in the contents of a file."""


def _problem(file: Any) -> GlobalProblem | LocalProblem:
    form = next((name for name in _JOINTS if _member(file, name) is not None), None)
    if form is None:
        raise _Misfit(f"holds neither {' nor '.join(_JOINTS)}")
    group = file[form]
    dimensions = _integer(group, "spacedim")
    if dimensions != 3:
        raise _Misfit(f"{form}/spacedim = {dimensions}: must be 3")
    if _member(group, _JOINTS[form]) is not None:
        raise _Misfit(f"{form}/{_JOINTS[form]}: equality constraints are not read")
    mu = _floats(group, "vectors/mu")
    if np.any(mu < 0.0):
        raise _Misfit(f"{form}/vectors/mu: must be >= 0")
    rows, title = 3 * len(mu), _title(group)
    if form == "fclib_local":
        W = sparse.csr_array(_matrix(group, "W", (rows, rows)))
        return LocalProblem(W, _floats(group, "vectors/q", rows), mu, title)
    f = _floats(group, "vectors/f")
    return GlobalProblem(
        M=sparse.csc_array(_matrix(group, "M", (len(f), len(f)))),
        H=sparse.csc_array(_matrix(group, "H", (len(f), rows))),
        f=f,
        w=_floats(group, "vectors/w", rows),
        mu=mu,
        title=title,
    )


def _matrix(group: Any, name: str, shape: tuple[int, int]) -> Any:
    """A sparse matrix of a known shape, in the order that it is stored in."""
    stored = _integer(group, f"{name}/m"), _integer(group, f"{name}/n")
    if stored != shape:
        raise _Misfit(f"{group.name}/{name} is {stored}, expected {shape}")
    nz = _integer(group, f"{name}/nz")
    if nz < _ROWS:
        raise _Misfit(f"{group.name}/{name}/nz = {nz}: must be >= {_ROWS}")
    i, p = (_array(group, f"{name}/{key}", np.int32) for key in "ip")
    x = _floats(group, f"{name}/x")
    try:
        if nz >= 0:
            matrix: Any = sparse.coo_array((x[:nz], (i[:nz], p[:nz])), shape)
        else:
            kind = {_COLUMNS: sparse.csc_array, _ROWS: sparse.csr_array}[nz]
            # room for entries may be larger than their number
            used = p[-1] if len(p) else 0
            matrix = kind((x[:used], i[:used], p), shape)
            matrix.check_format(full_check=True)
    except ValueError as error:
        raise _Misfit(f"{group.name}/{name}: {error}") from None
    return matrix


def _symmetrized(problem: GlobalProblem) -> tuple[GlobalProblem, float]:
    """The problem with the symmetric part of M; and |M - M^T| over the largest entry of M."""
    M = problem.M
    largest = abs(M).max() if M.nnz else 0.0
    part = float(abs(M - M.T).max() / largest) if largest > 0.0 else 0.0
    if part > SINGLE:
        raise _Misfit(f"fclib_global/M: {must_be_symmetric(part)}")
    return dataclasses.replace(problem, M=sparse.csc_array((M + M.T) / 2)), part


def _integer(group: Any, name: str) -> int:
    return int(_array(group, name, np.int64, 1)[0])


def _floats(group: Any, name: str, length: int | None = None) -> NDArray[np.float64]:
    values: NDArray[np.float64] = _array(group, name, np.float64, length)
    if not np.all(np.isfinite(values)):
        raise _Misfit(f"{group.name}/{name}: must be finite")
    return values


def _array(group: Any, name: str, dtype: Any, length: int | None = None) -> NDArray[Any]:
    """A data set as a flat array of numbers, of this length."""
    stored = _member(group, name)
    if not isinstance(stored, h5py.Dataset):
        raise _Misfit(f"there is no {group.name}/{name}")
    if stored.dtype.kind not in "if" or (stored.dtype.kind == "f" and dtype != np.float64):
        raise _Misfit(f"{group.name}/{name} holds {stored.dtype}")
    if length is not None and stored.size != length:
        raise _Misfit(f"{group.name}/{name} has {stored.size} entries, expected {length}")
    return np.ravel(_read(stored)).astype(dtype)


def _read(stored: Any) -> Any:
    """The contents of a data set whose bytes are all in the file, one after the other."""
    made = stored.id.get_create_plist()
    if made.get_layout() not in _WHOLE or made.get_external_count() > 0:
        raise _Misfit(
            f"{stored.name}: is compressed, in chunks, or not in this file: "
            "h5repack -f NONE -l CONTI writes it whole"
        )
    if stored.nbytes > stored.id.get_storage_size():
        raise _Misfit(f"{stored.name} has shape {stored.shape}, of which the file holds a part")
    return stored[()]


def _member(group: Any, name: str) -> Any:
    """A group or data set by its path, which must not lead elsewhere, or None."""
    for part in name.split("/"):
        # h5py's own tests of membership follow links
        if not isinstance(group, h5py.Group) or not group.id.links.exists(part.encode()):
            return None
        if group.id.links.get_info(part.encode()).type != h5py.h5l.TYPE_HARD:
            raise _Misfit(f"{group.name}/{part}: is a link to another place")
        group = group[part]
    return group


def _title(group: Any) -> str:
    title = _member(group, "info/title")
    known = isinstance(title, h5py.Dataset) and title.size == 1
    text = _read(title) if known and title.dtype.kind == "S" else b""
    return bytes(np.ravel(text)[0]).decode(errors="replace").strip()

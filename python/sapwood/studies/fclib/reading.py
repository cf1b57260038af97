"""Reading of FCLIB's files, HDF5.

The format: Acary, Brémond, Koziara, Pérignon, "FCLIB: a collection of discrete 3D frictional
contact problems", INRIA RT-0444 (2014). A matrix is stored as CSparse has it: `nz` = -1 marks
compressed columns, -2 compressed rows, and a count >= 0 triplets with rows in `i` and columns in
`p`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from sapwood.studies.fclib.problems import GlobalProblem, LocalProblem

_COLUMNS, _ROWS = -1, -2
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
        It holds no problem of contacts in three dimensions alone, or arrays that do not fit; the
        text names the file, the data set and the rule.
    """
    path = Path(path)
    with h5py.File(path) as file:
        try:
            return _problem(file)
        except _Misfit as error:
            raise ValueError(f"{path}: {error}") from None


class _Misfit(Exception):
    """What is wrong with the contents of a file."""


def _problem(file: Any) -> GlobalProblem | LocalProblem:
    form = next((name for name in _JOINTS if name in file), None)
    if form is None:
        raise _Misfit(f"holds neither {' nor '.join(_JOINTS)}")
    group = file[form]
    dimensions = _integer(group, "spacedim")
    if dimensions != 3:
        raise _Misfit(f"{form}/spacedim = {dimensions}: must be 3")
    if _JOINTS[form] in group:
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
    i, p = (_array(group, f"{name}/{key}", np.int32) for key in "ip")
    x, nz = _floats(group, f"{name}/x"), _integer(group, f"{name}/nz")
    try:
        if nz >= 0:
            matrix: Any = sparse.coo_array((x[:nz], (i[:nz], p[:nz])), shape)
        else:
            kind = {_COLUMNS: sparse.csc_array, _ROWS: sparse.csr_array}[nz]
            # room for entries may be larger than their number
            used = p[-1] if len(p) else 0
            matrix = kind((x[:used], i[:used], p), shape)
            matrix.check_format(full_check=True)
    except KeyError:
        raise _Misfit(f"{group.name}/{name}/nz = {nz}: must be >= {_ROWS}") from None
    except ValueError as error:
        raise _Misfit(f"{group.name}/{name}: {error}") from None
    return matrix


def _integer(group: Any, name: str) -> int:
    values = _array(group, name, np.int64)
    if values.size != 1:
        raise _Misfit(f"{group.name}/{name} has {values.size} entries, expected 1")
    return int(values[0])


def _floats(group: Any, name: str, length: int | None = None) -> NDArray[np.float64]:
    values: NDArray[np.float64] = _array(group, name, np.float64)
    if length is not None and len(values) != length:
        raise _Misfit(f"{group.name}/{name} has {len(values)} entries, expected {length}")
    if not np.all(np.isfinite(values)):
        raise _Misfit(f"{group.name}/{name}: must be finite")
    return values


def _array(group: Any, name: str, dtype: Any) -> NDArray[Any]:
    """A data set as a flat array of numbers."""
    if not isinstance(group.get(name), h5py.Dataset):
        raise _Misfit(f"there is no {group.name}/{name}")
    stored = group[name]
    if stored.dtype.kind not in "if" or (stored.dtype.kind == "f" and dtype != np.float64):
        raise _Misfit(f"{group.name}/{name} holds {stored.dtype}")
    return np.ravel(stored[()]).astype(dtype)


def _title(group: Any) -> str:
    title = group.get("info/title")
    text = title[()] if isinstance(title, h5py.Dataset) else b""
    return text.decode(errors="replace").strip() if isinstance(text, bytes) else str(text)

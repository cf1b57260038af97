"""Upper limits for the sizes of arrays in a problem file, so that no larger ones are read.

Arrays of a problem bound each other: one number per velocity, some per contact, and blocks of A and
J as the trees say. The trees themselves are read first; there are no more of them than velocities.
That arrays fit each other exactly is checked where the problem is made.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.problem.archive import Header

Headers = Mapping[str, Header]
_Sizes = NDArray[np.int64]

_SCALARS = ("dt", "sigma", "beta", "delassus", "source")
_OF_VELOCITIES = ("tree_nv", "v_star", "v_guess", "v_ref")
# numbers per contact where it is not one, at most
_OF_CONTACTS = {"v_hat_t": 2, "gamma_ref": 3, "spin_mu": 3}
_BLOCKS = ("A", "J", "spin_J")
MOST_ROWS = 6  #: Rows of one constraint, at most.


def check_vectors(headers: Headers) -> None:
    """Refuse arrays that are larger than velocities and contacts allow.

    Parameters
    ----------
    headers : mapping
        Headers of the arguments of a problem, by name.

    Raises
    ------
    ValueError
        For an array that is too large; the message names it.
    """
    nv = min(headers["v_star"].size, headers["A"].size)
    n_contacts = min(headers[name].size for name in ("tree_a", "tree_b", "mu"))
    _check_rows(headers, nv, n_contacts)


def check_sparse(headers: Headers) -> None:
    """Refuse arrays of a sparse problem that are larger than velocities and contacts allow.

    Parameters
    ----------
    headers : mapping
        Headers of the arguments and of the places of sparse matrices, by name.

    Raises
    ------
    ValueError
        For an array that is too large, or for a sparse matrix in part; the message names it.
    """
    nv, n_contacts = headers["v_star"].size, headers["mu"].size
    for name in _BLOCKS:
        parts = [f"{name}_{part}" for part in ("indices", "indptr") if name in headers]
        for part in parts:
            if part not in headers:
                raise ValueError(f"{part} is missing")
        for part in parts[:1]:
            _refuse_more(part, headers[part], headers[name].size)
        for part in parts[1:]:
            _refuse_more(part, headers[part], nv + 1 if name == "A" else 3 * n_contacts + 1)
    _check_rows(headers, nv, n_contacts)


def _check_rows(headers: Headers, nv: int, n_contacts: int) -> None:
    """Refuse arrays that are larger than these numbers allow; matrices have checks of their own."""
    for name, header in headers.items():
        if name in _SCALARS:
            _refuse_more(name, header, 1)
        elif name in _OF_VELOCITIES:
            _refuse_more(name, header, nv)
        elif not name.startswith(_BLOCKS):
            _refuse_more(name, header, _OF_CONTACTS.get(name, 1) * n_contacts)


def check_group(name: str, headers: Headers, nv: int) -> None:
    """Refuse arrays that are larger than the constraints of a group allow.

    Parameters
    ----------
    name : str
        Name of the group, for the error.
    headers : mapping
        Headers of its arguments.
    nv : int
        Number of velocities.

    Raises
    ------
    ValueError
        For an array that is too large; the message names it.
    """
    J = headers["J"]
    if "tree_a" in headers:
        n = min(headers[key].size for key in ("J", "tree_a", "tree_b") if key in headers)
        n_rows = n * (MOST_ROWS if "size" in headers else 1)
    else:
        if len(J.shape) != 2:
            raise ValueError(f"{name}.J has shape {J.shape}, expected (any, {nv})")
        n = n_rows = J.shape[0]
        _refuse_more(f"{name}.J", J, n_rows * nv)
    for key, header in headers.items():
        if key == "beta":
            _refuse_more(f"{name}.{key}", header, 1)
        elif key != "J":
            # one number may stand for all
            of_each = key in ("tree_a", "tree_b", "size")
            _refuse_more(f"{name}.{key}", header, max(1, n if of_each else n_rows))


class Blocks:
    """Sizes of the blocks of A and J.

    Parameters
    ----------
    tree_nv : array_like of int (n_trees,)
        Velocities of each tree.
    nv : int
        Number of velocities.

    Raises
    ------
    TypeError, ValueError
        If the trees are wrong or have another number of velocities.

    Attributes
    ----------
    nv : int
        Number of velocities.
    """

    def __init__(self, tree_nv: ArrayLike, nv: int) -> None:
        sizes = _core.as_int32(tree_nv, "tree_nv").astype(np.int64)
        for t in np.flatnonzero(sizes < 1):
            raise ValueError(f"tree_nv[{t}] = {sizes[t]}: must be >= 1")
        if sizes.sum() != nv:
            raise ValueError(f"v_star has shape ({nv},), expected ({sizes.sum()},)")
        self.nv = nv
        # the last entry stands for trees that do not exist
        self._sizes = np.append(sizes, sizes.max(initial=0))
        self._entries_of_A = int((sizes**2).sum())

    def check_A(self, header: Header) -> None:
        """Refuse an A that is too large.

        Parameters
        ----------
        header : Header
            The header of A.

        Raises
        ------
        ValueError
            If A has more numbers than its blocks.
        """
        _refuse_more("A", header, self._entries_of_A)

    def check_J(
        self, name: str, header: Header, tree_a: ArrayLike, tree_b: ArrayLike, rows: int
    ) -> None:
        """Refuse a J that is too large.

        Parameters
        ----------
        name : str
            Name of J, for the error.
        header : Header
            The header of J.
        tree_a, tree_b : array_like of int (n,)
            Trees of each contact or other constraint; a tree that does not exist has any size.
        rows : int
            Rows of each, at most.

        Raises
        ------
        TypeError, ValueError
            If J has more numbers than its blocks, or the trees are no integers.
        """
        first, second = _core.as_int32(tree_a, "tree_a"), _core.as_int32(tree_b, "tree_b")
        if len(first) != len(second):
            raise ValueError(f"tree_b has shape ({len(second)},), expected ({len(first)},)")
        columns = self._columns(first) + np.where(second < 0, 0, self._columns(second))
        _refuse_more(name, header, rows * int(columns.sum()))

    def _columns(self, tree: NDArray[np.int32]) -> _Sizes:
        n_trees = len(self._sizes) - 1
        return self._sizes[np.where((tree >= 0) & (tree < n_trees), tree, n_trees)]


def _refuse_more(name: str, header: Header, most: int) -> None:
    if header.size > most:
        raise ValueError(f"{name} has shape {header.shape}: the problem takes {most} numbers")

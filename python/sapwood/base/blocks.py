"""From dense matrices to the blocks of trees and contacts."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core

_Float = NDArray[np.float64]
_Index = NDArray[np.int32]


def offsets(lengths: NDArray[Any]) -> NDArray[np.int64]:
    """Start of each piece, and the end of the last; read-only."""
    starts = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    starts.flags.writeable = False
    return starts


def jacobian_offsets(
    tree_nv: _Index, tree_a: _Index, tree_b: _Index, size: _Index | int
) -> NDArray[np.int64]:
    """First entry in the flat J of each constraint of `size` rows, and the end; read-only."""
    nv_b = np.where(tree_b >= 0, tree_nv[tree_b], 0)
    return offsets(size * (tree_nv[tree_a].astype(np.int64) + nv_b))


def diagonal_blocks(A: _Float, tree_nv: _Index) -> _Float:
    """Diagonal blocks of A (nv, nv), flat; refuses an entry that couples two trees."""
    if len(tree_nv) == 1:
        return A.reshape(-1)
    tree_of = np.repeat(np.arange(len(tree_nv)), tree_nv)
    rows, columns = np.nonzero(A)
    wrong = np.flatnonzero(tree_of[rows] != tree_of[columns])
    if len(wrong) > 0:
        i, j = rows[wrong[0]], columns[wrong[0]]
        raise ValueError(
            f"A[{i}, {j}] = {float(A[i, j])}: must be 0 between trees {tree_of[i]} and {tree_of[j]}"
        )
    blocks = [A[a:b, a:b].ravel() for a, b in itertools.pairwise(offsets(tree_nv))]
    return np.concatenate([np.zeros(0), *blocks])


def split_jacobian(
    J: _Float, tree_nv: _Index, size: _Index, name: str
) -> tuple[_Index, _Index, _Float]:
    """tree_a, tree_b and the flat blocks of J (sum(size), nv), size rows for each `name`."""
    tree_a, tree_b = touched_trees(J, tree_nv, size, name)
    return tree_a, tree_b, flat_blocks(J, tree_nv, size, tree_a, tree_b)


def touched_trees(J: _Float, tree_nv: _Index, size: _Index, name: str) -> tuple[_Index, _Index]:
    """tree_a and tree_b of J (sum(size), nv), size rows for each `name`."""
    n, n_trees = len(size), len(tree_nv)
    tree_a = np.zeros(n, np.int32)
    tree_b = np.full(n, -1, np.int32)
    if n_trees == 1 or n == 0:
        return tree_a, tree_b
    if n_trees == 0:
        raise ValueError(f"J: {name} 0 touches no tree, since there are none")

    # constraints and trees that meet, each pair once, in order
    rows, columns = np.nonzero(J)
    constraint_of = np.repeat(np.arange(n), size)
    tree_of = np.repeat(np.arange(n_trees), tree_nv)
    constraint, tree = np.divmod(
        np.unique(constraint_of[rows] * n_trees + tree_of[columns]), n_trees
    )
    touched = np.bincount(constraint, minlength=n)
    for many in np.flatnonzero(touched > 2):
        raise ValueError(f"J: {name} {many} touches {touched[many]} trees, at most 2 are possible")
    # a constraint with an empty Jacobian is given to the first tree
    first = offsets(touched)[:-1]
    tree_a[touched > 0] = tree[first[touched > 0]]
    tree_b[touched == 2] = tree[first[touched == 2] + 1]
    return tree_a, tree_b


def flat_blocks(J: _Float, tree_nv: _Index, size: _Index, tree_a: _Index, tree_b: _Index) -> _Float:
    """Blocks of J (sum(size), nv) of the trees of each constraint, flat."""
    if len(tree_nv) == 1:
        return J.reshape(-1)
    start, row = offsets(tree_nv).tolist(), offsets(size).tolist()
    blocks = [np.zeros(0)]
    for i, trees in enumerate(zip(tree_a.tolist(), tree_b.tolist(), strict=True)):
        rows_i = J[row[i] : row[i + 1]]
        blocks += [rows_i[:, start[t] : start[t + 1]].reshape(-1) for t in trees if t >= 0]
    return np.concatenate(blocks)


def split_contacts(
    J: _Float, tree_nv: _Index, spin_contact: ArrayLike | None, spin_J: ArrayLike | None
) -> tuple[_Index, _Index, _Float, _Float | None]:
    """tree_a, tree_b, and flat blocks of J and spin_J; what is given alone is left as it is."""
    n = len(J) // 3
    size = np.full(n, 3, np.int32)
    if spin_contact is None or spin_J is None:
        tree_a, tree_b = touched_trees(J, tree_nv, size, "contact")
        alone = None if spin_J is None else _core.as_float64(spin_J, "spin_J")
        return tree_a, tree_b, flat_blocks(J, tree_nv, size, tree_a, tree_b), alone
    contact = _core.as_int32(spin_contact, "spin_contact")
    for k in np.flatnonzero((contact < 0) | (contact >= n)):
        raise ValueError(f"spin_contact[{k}] = {contact[k]}: must be the index of a contact")
    shape = (3 * len(contact), J.shape[1])
    spin = _core.as_float64(spin_J, "spin_J", shape, rule="finite")
    # all rows of a contact behind each other: a tree may be touched by those that turn alone
    of = np.repeat(np.concatenate([np.arange(n), contact]), 3)
    rows = np.concatenate([J, spin])[np.argsort(of, kind="stable")]
    every = np.bincount(of, minlength=n).astype(np.int32)
    tree_a, tree_b = touched_trees(rows, tree_nv, every, "contact")
    return (
        tree_a,
        tree_b,
        flat_blocks(J, tree_nv, size, tree_a, tree_b),
        flat_blocks(spin, tree_nv, size[contact], tree_a[contact], tree_b[contact]),
    )

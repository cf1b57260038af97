"""From dense matrices to the blocks of trees and contacts."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

_Float = NDArray[np.float64]
_Index = NDArray[np.int32]


def offsets(lengths: NDArray[Any]) -> NDArray[np.int64]:
    """Start of each piece, and the end of the last; read-only."""
    starts = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    starts.flags.writeable = False
    return starts


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


def split_jacobian(J: _Float, tree_nv: _Index) -> tuple[_Index, _Index, _Float]:
    """tree_a, tree_b and the flat blocks of J (3 n_contacts, nv)."""
    n_contacts = len(J) // 3
    tree_a = np.zeros(n_contacts, np.int32)
    tree_b = np.full(n_contacts, -1, np.int32)
    if len(tree_nv) == 1:
        return tree_a, tree_b, J.reshape(-1)
    start = offsets(tree_nv)
    used = (J.reshape(n_contacts, 3, J.shape[1]) != 0).any(axis=1)
    blocks = [np.zeros(0)]
    for i in range(n_contacts):
        # a contact with an empty Jacobian is given to the first tree
        touched = [t for t in range(len(tree_nv)) if used[i, start[t] : start[t + 1]].any()] or [0]
        if len(touched) > 2:
            raise ValueError(f"J: contact {i} touches {len(touched)} trees, at most 2 are possible")
        tree_a[i], tree_b[i] = touched[0], touched[1] if len(touched) == 2 else -1
        rows = J[3 * i : 3 * i + 3]
        blocks += [rows[:, start[t] : start[t + 1]].ravel() for t in touched]
    return tree_a, tree_b, np.concatenate(blocks)

"""Trees of a problem that count as one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.base.blocks import jacobian_offsets, offsets
from sapwood.constraints.group import ConstraintGroup

_Float = NDArray[np.float64]
_Index = NDArray[np.int32]


def checked_blocks(
    J: _Float, size: _Index, tree_a: _Index, tree_b: _Index, tree_nv: _Index, prefix: str
) -> _Float:
    """J as a flat array, after trees and length were checked by the rules of ContactProblem.

    Parameters
    ----------
    J : ndarray
        Blocks (size, tree_nv[tree_a]), then, if tree_b >= 0, (size, tree_nv[tree_b]), flat.
    size, tree_a, tree_b : ndarray of int (n,)
        Rows and trees of each constraint.
    tree_nv : ndarray of int (n_trees,)
        Velocities of each tree.
    prefix : str
        Text before the names of arrays in errors.

    Returns
    -------
    ndarray
        J.

    Raises
    ------
    TypeError, ValueError
        For an array that is wrong; the text names it and the index.
    """
    n_trees = len(tree_nv)
    if len(tree_b) != len(tree_a):
        raise ValueError(f"{prefix}tree_b has shape {tree_b.shape}, expected {tree_a.shape}")
    rules = (
        ("tree_a", tree_a, (tree_a < 0) | (tree_a >= n_trees), "must be the index of a tree"),
        (
            "tree_b",
            tree_b,
            (tree_b < -1) | (tree_b >= n_trees),
            "must be the index of a tree, or -1",
        ),
        (
            "tree_b",
            tree_b,
            tree_b == tree_a,
            "must differ from tree_a (-1 where both are one tree)",
        ),
    )
    for name, trees, wrong, rule in rules:
        if wrong.any():
            i = int(wrong.argmax())
            raise ValueError(f"{prefix}{name}[{i}] = {trees[i]}: {rule}")
    length = int(jacobian_offsets(tree_nv, tree_a, tree_b, size)[-1])
    return _core.as_float64(J, f"{prefix}J", (length,), "finite")


class MergedTrees:
    """Trees of a problem, some of which are one tree of another problem.

    The velocities of a merged tree are those of its trees, in their order, then `more` others.

    Parameters
    ----------
    tree_nv : ndarray of int (n_trees,)
        Velocities of each tree.
    group : ndarray of int (n_trees,)
        Merged tree of each.
    more : ndarray of int (n_merged,), optional
        Further velocities at the end of each merged tree.

    Attributes
    ----------
    group : ndarray of int32 (n_trees,)
        Merged tree of each tree.
    begin : ndarray of int (n_trees,)
        First velocity of each tree within its merged tree.
    tree_nv : ndarray of int32 (n_merged,)
        Velocities of the merged trees.
    """

    def __init__(
        self, tree_nv: _Index, group: NDArray[np.integer], more: _Index | None = None
    ) -> None:
        n = int(group.max(initial=-1)) + 1 if more is None else len(more)
        self.group, self._old_nv = group.astype(np.int32), tree_nv
        place = np.argsort(group, kind="stable")
        before = offsets(tree_nv[place])[:-1]
        _, first = np.unique(group[place], return_index=True)
        start = np.repeat(before[first], np.diff(np.r_[first, len(group)]))
        self.begin = np.empty(len(group), np.int64)
        self.begin[place] = before - start
        nv = np.bincount(group, tree_nv, n).astype(np.int32)
        self.tree_nv: _Index = nv if more is None else nv + more

    def blocks(
        self, J: _Float, size: _Index, tree_a: _Index, tree_b: _Index
    ) -> tuple[_Index, _Index, _Float]:
        """tree_a, tree_b and the blocks of J in the merged trees."""
        blocks, end = [np.zeros(0)], 0
        second = np.full(len(size), -1, np.int32)
        for i, trees in enumerate(zip(tree_a, tree_b, strict=True)):
            parts: dict[int, _Float] = {}
            for t in trees:
                if t < 0:
                    continue
                g, n, at = int(self.group[t]), int(self._old_nv[t]), int(self.begin[t])
                part = parts.setdefault(g, np.zeros((size[i], self.tree_nv[g])))
                part[:, at : at + n] += J[end : end + size[i] * n].reshape(size[i], n)
                end += int(size[i]) * n
            blocks += [part.ravel() for part in parts.values()]
            second[i] = [*parts, -1][1]
        return self.group[tree_a], second, np.concatenate(blocks)

    def spins(self, contact: _Index, J: _Float, tree_a: _Index, tree_b: _Index) -> _Float:
        """Blocks of torsional and rolling friction in the merged trees; `contact` is checked."""
        contact = _core.as_int32(contact, "spin_contact")
        for k in np.flatnonzero((contact < 0) | (contact >= len(tree_a))):
            raise ValueError(f"spin_contact[{k}] = {contact[k]}: must be the index of a contact")
        of = np.full(len(contact), 3, np.int32), tree_a[contact], tree_b[contact]
        J = checked_blocks(J, *of, self._old_nv, "spin_")
        return self.blocks(J, *of)[2]

    def constraints(self, group: ConstraintGroup) -> ConstraintGroup:
        """Constraints with their blocks in the merged trees."""
        tree_a, tree_b, J = self.blocks(group.J, group.size, group.tree_a, group.tree_b)
        return group.with_fields(tree_a=tree_a, tree_b=tree_b, J=J)

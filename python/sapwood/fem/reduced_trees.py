"""Trees of a reduced problem: rigid ones, soft bodies, and rigid ones with soft bodies."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sapwood.base.blocks import offsets
from sapwood.problem.merged_trees import MergedTrees

from .body_step import BodyStep
from .meetings import Hold

_Float = NDArray[np.float64]
_Index = NDArray[np.int32]


class ReducedBody:
    """The touched vertices of a soft body in the trees of the problem: v_last = T v + c.

    Attributes
    ----------
    step : BodyStep
        The body, with `last` chosen.
    holds : list of Hold
        Its attachments to rigid trees.
    moves : ndarray of bool (3 n_last,) or None
        Velocities that are those of the tree; None for all of them.
    size : int
        Their number.
    tree, begin : int
        Tree of these velocities, and the first of them in it; -1 without any.
    column : ndarray of int32 (n_last,)
        The first of these velocities of each vertex, in the tree; -1 without any.
    c : ndarray (n_last, 3) or None
        Velocities of the others, m/s; None where all are 0.
    T : ndarray (3 n_last, tree_nv) or None
        Velocities by those of the tree; only for bodies that are attached to rigid trees.
    """

    def __init__(self, step: BodyStep, holds: list[Hold]) -> None:
        self.step, self.holds = step, holds
        last = step.last
        self.size = 3 * len(last)
        self.tree = self.begin = -1
        self.T: _Float | None = None
        self.moves: NDArray[np.bool_] | None = None
        self.c: _Float | None = None
        self.column = 3 * np.arange(len(last), dtype=np.int32)
        if not holds and not step.has_fixed:
            return
        c, moves = np.zeros((len(last), 3)), ~step.is_fixed[last]
        c[~moves] = step.start[last[~moves]]
        for hold in holds:
            place = step.place[hold.vertices]
            moves[place] = False
            c[place] = hold.c
        self.size = 3 * int(moves.sum())
        if self.size < 3 * len(last):
            self.moves = np.repeat(moves, 3)
            self.column[~moves] = -1
            self.column[moves] = 3 * np.arange(self.size // 3, dtype=np.int32)
        if np.any(c):
            self.c = c

    def place(self, tree: int, begin: int, merged: MergedTrees) -> None:
        """Take velocities of a tree."""
        self.tree, self.begin = tree, begin
        self.column[self.column >= 0] += begin
        if self.holds:
            n = len(self.step.last)
            T = np.zeros((n, 3, int(merged.tree_nv[tree])))
            own = slice(None) if self.moves is None else self.moves
            T.reshape(3 * n, -1)[own, begin + np.arange(self.size)] = 1
            for hold in self.holds:
                at = int(merged.begin[hold.tree])
                T[self.step.place[hold.vertices], :, at : at + hold.J.shape[2]] = hold.J
            self.T = T.reshape(3 * n, -1)

    def part(self) -> tuple[int, _Index, _Index, _Float | None, _Float | None, _Float]:
        """What rows of contacts follow from, for the core."""
        return self.tree, self.step.place, self.column, self.T, self.c, self.step.start

    def onto_tree(self, loads: _Float) -> _Float:
        """Loads (3 n_last,) on the last vertices as loads on the velocities of the tree."""
        return self.own(loads) if self.T is None else loads @ self.T

    def own(self, of_last: _Float) -> _Float:
        """The values (n_last, 3) at the last vertices that velocities of the tree have, flat."""
        flat = of_last.reshape(-1)
        return flat if self.moves is None else flat[self.moves]

    def velocities(self, v: _Float) -> _Float:
        """Velocities of the last vertices (n_last, 3) from those of the tree."""
        found = self.changes(v)
        return found if self.c is None else found + self.c

    def changes(self, v: _Float) -> _Float:
        """Changes of the velocities of the last vertices (n_last, 3) with those of the tree."""
        if self.T is not None:
            found = self.T @ v
        elif self.moves is None:
            found = v
        else:
            found = np.zeros(len(self.moves))
            found[self.moves] = v
        return found.reshape(-1, 3)


class ReducedTrees:
    """The trees of a reduced problem.

    Rigid trees that a soft body joins are one tree with it; other soft bodies are trees of their
    own, behind the rigid ones.

    Parameters
    ----------
    rigid_nv : ndarray of int32 (n,)
        Velocities of the rigid trees.
    bodies : sequence of ReducedBody
        Soft bodies that are touched or attached; they take their places.

    Attributes
    ----------
    merged : MergedTrees
        Where the rigid trees are.
    n_merged : int
        Trees with rigid ones in them; they come first.
    is_merged : bool
        Whether a tree has more than one rigid tree.
    tree_nv, starts : ndarray of int (n_trees,), (n_trees + 1,)
        Velocities of each tree, and the first of each.
    """

    def __init__(self, rigid_nv: _Index, bodies: Sequence[ReducedBody]) -> None:
        self._rigid_nv = rigid_nv
        group = np.arange(len(rigid_nv))
        held = [body for body in bodies if body.holds]
        for body in held:
            joined = np.isin(group, group[[hold.tree for hold in body.holds]])
            group[joined] = group[joined].min()
        if held:
            _, group = np.unique(group, return_inverse=True)
        self.n_merged = int(group.max(initial=-1)) + 1
        sizes: list[int] = [0] * self.n_merged
        placed = []
        for body in bodies:
            if body.holds:
                tree = int(group[body.holds[0].tree])
                placed.append((body, tree, sizes[tree]))
                sizes[tree] += body.size
            elif body.size:
                placed.append((body, len(sizes), 0))
                sizes.append(body.size)
        self.merged = _merge(tuple(rigid_nv.tolist()), tuple(group.tolist()), tuple(sizes))
        self.is_merged = bool(np.any(self.merged.begin)) or any(sizes[: self.n_merged])
        self.tree_nv: _Index = self.merged.tree_nv
        self.starts = offsets(self.tree_nv)
        for body, tree, at in placed:
            body.place(tree, int(self.tree_nv[tree]) - sizes[tree] + at, self.merged)

    def of_rigid(self, t: int) -> slice:
        """Velocities of a rigid tree."""
        begin = int(self.starts[self.merged.group[t]] + self.merged.begin[t])
        return slice(begin, begin + int(self._rigid_nv[t]))

    def of_body(self, body: ReducedBody) -> slice:
        """Velocities of a soft body, without those of rigid trees."""
        begin = int(self.starts[body.tree]) + body.begin
        return slice(begin, begin + body.size)


@functools.lru_cache(maxsize=64)
def _merge(rigid_nv: tuple[int, ...], group: tuple[int, ...], more: tuple[int, ...]) -> MergedTrees:
    """Merged trees, which are the same for most steps."""
    return MergedTrees(
        np.array(rigid_nv, np.int32), np.array(group, np.int64), np.array(more, np.int32)
    )

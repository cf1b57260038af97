"""A picture of H: its blocks, islands and supernodes, as the solver eliminates them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sapwood import _core

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ISLANDS = ("#1f5fa8", "#d1661c", "#3d8b4a", "#8a4fa3", "#57b0c9", "#b8860b")
_FILL = "#c8c8c8"

_Index = NDArray[np.intp]


def plot_structure(
    problem: _core.Problem, tree_nv: NDArray[np.int32], ax: Axes | None = None
) -> Axes:
    """Draw where H has blocks; see :meth:`sapwood.ContactProblem.plot_structure`."""
    from matplotlib.collections import PolyCollection
    from matplotlib.patches import Patch

    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.subplots(figsize=(6.0, 6.0), layout="constrained")[1]
    found = _core.structure(problem)
    begin, end, island = found["supernodes"].T.astype(np.intp)
    end_of = np.cumsum(tree_nv[found["order"][:, 0]], dtype=np.intp)
    start_of = np.concatenate([[0], end_of]).astype(np.intp)
    nodes = np.arange(len(end_of))
    low, high = np.sort(found["edges"], axis=1).T.astype(np.intp)
    colours = np.array(_ISLANDS)[np.repeat(island, end - begin) % len(_ISLANDS)]

    def draw(rows: _Index, columns: _Index, colour: NDArray[np.str_] | str) -> None:
        blocks = _boxes(start_of[rows], end_of[rows], start_of[columns], end_of[columns])
        ax.add_collection(PolyCollection(blocks, facecolors=colour))

    draw(*_fill(found, {*zip(high.tolist(), low.tolist(), strict=True)}), _FILL)
    columns = np.concatenate([nodes, low])
    draw(np.concatenate([nodes, high]), columns, colours[columns])
    squares = _boxes(start_of[begin], start_of[end], start_of[begin], start_of[end])
    ax.add_collection(PolyCollection(squares, facecolors="none", edgecolors="black"))
    size = int(start_of[-1])
    ax.set(xlim=(0, max(size, 1)), ylim=(max(size, 1), 0), aspect="equal")
    ax.set_xlabel("velocities in the order of elimination")
    n_islands = len(np.unique(island))
    ax.set_title(f"H of {size} velocities; islands: {n_islands}, supernodes: {len(begin)}")
    handles = [
        Patch(color=_ISLANDS[0], label="block of H, coloured by island"),
        Patch(color=_FILL, label="fill of its factor"),
        Patch(facecolor="none", edgecolor="black", label="supernode"),
    ]
    ax.legend(handles=handles, loc="upper right")
    return ax


def _fill(found: _core._Structure, of_H: set[tuple[int, int]]) -> tuple[_Index, _Index]:
    """Rows and columns of the blocks below the diagonal that the factor has, and H has not."""
    below: list[list[int]] = [[*range(begin, end)] for begin, end, _ in found["supernodes"]]
    for supernode, row in found["rows"].tolist():
        below[supernode].append(row)
    fill = [
        (row, column)
        for rows, (begin, end, _) in zip(below, found["supernodes"].tolist(), strict=True)
        for column in range(begin, end)
        for row in rows
        if row > column and (row, column) not in of_H
    ]
    rows, columns = np.array(fill, dtype=np.intp).reshape(-1, 2).T
    return rows, columns


def _boxes(top: _Index, bottom: _Index, left: _Index, right: _Index) -> list[NDArray[np.float64]]:
    """Corners (4, 2) of each box."""
    x = np.stack([left, right, right, left], axis=1)
    y = np.stack([top, top, bottom, bottom], axis=1)
    return list(np.stack([x, y], axis=2).astype(np.float64))

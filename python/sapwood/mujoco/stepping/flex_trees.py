"""The trees of a model without the vertices of flexes, each of which is a tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sapwood.base.blocks import offsets
from sapwood.constraints.group import ConstraintGroup
from sapwood.mujoco.reading.flexes import ElasticFlex
from sapwood.mujoco.results.groups import constraint_groups, rows_of, select
from sapwood.mujoco.stepping.edge_rows import NO_EDGES, EdgeRows

_Float = NDArray[np.float64]


class FlexTrees:
    """Takes the trees of vertices out of the problem that the C core gathers.

    Parameters
    ----------
    tree_nv : ndarray of int (n_trees,)
        Velocities of the trees.
    joined : ndarray of int (ntree,)
        Tree of each tree of MuJoCo.
    flexes : sequence of ElasticFlex
        Flexes whose vertices are taken out; only equality rows of the core move them.

    Attributes
    ----------
    place : ndarray of int (n_trees,)
        Number of each tree among the others; -1 for vertices.
    dofs : ndarray of bool (nv,)
        Dofs of the other trees.
    """

    def __init__(
        self,
        tree_nv: NDArray[np.int32],
        joined: NDArray[np.int32],
        flexes: Sequence[ElasticFlex],
    ) -> None:
        nv = tree_nv.astype(np.int64)
        stays = np.ones(len(nv), bool)
        for flex in flexes:
            stays[joined[flex.trees]] = False
        self.place = np.where(stays, np.cumsum(stays) - 1, -1)
        self.dofs = np.repeat(stays, nv)
        self._stays, self._entries = stays, np.repeat(stays, nv * nv)
        starts = offsets(nv * nv)[:-1]
        self._blocks = [starts[joined[flex.trees]][:, None] + np.arange(9) for flex in flexes]
        self._flexes = flexes
        # flex of each tree, and its place among the free vertices
        self._flex, self._free = np.full((2, len(nv)), -1)
        for f, flex in enumerate(flexes):
            trees = joined[flex.trees]
            self._flex[trees], self._free[trees] = f, np.arange(len(trees))

    def take_out(
        self, arrays: dict[str, NDArray[Any]], rows: dict[str, NDArray[Any]]
    ) -> tuple[dict[str, NDArray[Any]], tuple[ConstraintGroup, ...]]:
        """Arrays and constraints of a problem without the vertices.

        Parameters
        ----------
        arrays : dict
            Arrays by the names of ContactProblem.
        rows : dict
            Its constraints, of ``_core.ModelStepper.groups``.

        Returns
        -------
        arrays : dict
            Arrays of the other trees.
        groups : tuple of ConstraintGroup
            The same constraints, with the numbers of these trees.
        """
        found = dict(arrays)
        found["tree_nv"], found["A"] = arrays["tree_nv"][self._stays], arrays["A"][self._entries]
        for name in ("v_star", "v_guess"):
            found[name] = arrays[name][self.dofs]
        for name in ("tree_a", "tree_b"):
            found[name] = self._numbers(arrays[name])
        stays = self._flex[rows["tree_a"]] < 0
        return found, tuple(
            group.with_fields(
                tree_a=self._numbers(group.tree_a), tree_b=self._numbers(group.tree_b)
            )
            for group in constraint_groups(rows if stays.all() else select(rows, stays))
        )

    def edges(self, rows: dict[str, NDArray[Any]]) -> list[EdgeRows]:
        """Rows of the vertices of each flex, of the constraints ``_core.ModelStepper.groups``."""
        flex = self._flex[rows["tree_a"]]
        return [self._edges(rows, flex == f) for f in range(len(self._flexes))]

    def _edges(self, rows: dict[str, NDArray[Any]], chosen: NDArray[np.bool_]) -> EdgeRows:
        if not chosen.any():
            return NO_EDGES
        own = select(rows, chosen)
        free = np.column_stack([self._free[own["tree_a"]], self._free[own["tree_b"]]])
        free[own["tree_b"] < 0, 1] = -1
        J = np.zeros((len(free), 2, 3))
        # each row is a constraint of its own
        J[free >= 0] = own["J"].reshape(-1, 3)
        numbers = np.flatnonzero(rows_of(rows, chosen))
        return EdgeRows(numbers, free, J, own["R"], own["v_hat"])

    def of_vertices(self, arrays: dict[str, NDArray[Any]]) -> list[tuple[_Float, _Float]]:
        """A (n_free, 3, 3) and v* (n_free, 3) of the vertices of each flex."""
        A, v_star = arrays["A"], arrays["v_star"]
        return [
            (A[blocks].reshape(-1, 3, 3), v_star[flex.dofs])
            for flex, blocks in zip(self._flexes, self._blocks, strict=True)
        ]

    def _numbers(self, trees: NDArray[np.int32]) -> NDArray[np.int32]:
        return np.where(trees < 0, -1, self.place[trees]).astype(np.int32)

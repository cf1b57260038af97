"""Block Cholesky factorization over a junction tree (multifrontal, section VIII-D)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ..problem.graph import Clique, junction_tree, minimum_degree

Array = NDArray[np.float64]
Blocks = Mapping[tuple[int, int], Array]


def factor_dense(A: Array) -> Array:
    """Lower triangular L with L L^T = A; LinAlgError where A is not positive definite."""
    return np.asarray(np.linalg.cholesky(A), dtype=A.dtype)


def solve_lower(L: Array, b: Array) -> Array:
    """x with L x = b by forward substitution, in the precision of L; b (n) or (n, m)."""
    x = np.array(b, dtype=L.dtype)
    for j in range(len(L)):
        x[j] /= L[j, j]
        x[j + 1 :] -= np.multiply.outer(L[j + 1 :, j], x[j])
    return x


def solve_upper(L: Array, b: Array) -> Array:
    """x with L^T x = b by back substitution, in the precision of L; b (n) or (n, m)."""
    x = np.array(b, dtype=L.dtype)
    for j in reversed(range(len(L))):
        x[j] /= L[j, j]
        x[:j] -= np.multiply.outer(L[j, :j], x[j])
    return x


class NotPositiveDefinite(ArithmeticError):
    """A pivot block lost positive definiteness; `tree` is the first tree of its supernode.

    `tree` is -1 where it is unknown.
    """

    def __init__(self, message: object, tree: int = -1) -> None:
        super().__init__(str(message), tree)
        self.tree = tree

    def __str__(self) -> str:
        return str(self.args[0])

    @classmethod
    def at(cls, tree: int) -> Self:
        """The error of a supernode."""
        return cls(f"the Hessian is not positive definite at tree {tree}", tree)


class BlockCholesky:
    """L with L L^T = P H P^T, stored as one dense column block per supernode.

    Parameters
    ----------
    sizes : mapping
        Velocities n_t of each tree t that takes part.
    edges : sequence of (t, s)
        Pairs of trees that have a block in H.

    Attributes
    ----------
    single : bool
        Factor and solve in single precision; False unless set.
    """

    def __init__(self, sizes: Mapping[int, int], edges: Sequence[tuple[int, int]]) -> None:
        adjacency: dict[int, set[int]] = {t: set() for t in sizes}
        for t, s in edges:
            adjacency[t].add(s)
            adjacency[s].add(t)
        self.sizes = dict(sizes)
        self.order = minimum_degree(adjacency, sizes)
        self.cliques: list[Clique] = junction_tree(adjacency, self.order)
        self.clique_of = {t: c for c, clique in enumerate(self.cliques) for t in clique.residual}
        self.position = {t: k for k, t in enumerate(self.order)}
        self.columns: list[tuple[Array, Array]] = []
        self.single = False

    @property
    def _dtype(self) -> type[np.floating]:
        return np.float32 if self.single else np.float64

    def _slices(self, trees: Sequence[int]) -> tuple[dict[int, slice], int]:
        """The slice of each of `trees` when they are stacked, and the length of the stack."""
        slices, offset = {}, 0
        for t in trees:
            slices[t] = slice(offset, offset + self.sizes[t])
            offset += self.sizes[t]
        return slices, offset

    def factor(self, H: Blocks) -> BlockCholesky:
        """Factor H, given by its diagonal blocks (t, t) and one of (t, s), (s, t) for every edge.

        Raises
        ------
        NotPositiveDefinite
            If a pivot block has no Cholesky factor.
        """
        # hand every block to the supernode that eliminates the earlier of its two trees
        inbox: list[list[tuple[int, int, Array]]] = [[] for _ in self.cliques]
        for (t, s), block in H.items():
            if self.position[t] < self.position[s]:
                t, s, block = s, t, block.T
            inbox[self.clique_of[s]].append((t, s, block))

        updates: list[list[tuple[tuple[int, ...], Array]]] = [[] for _ in self.cliques]
        self.columns = []
        for c, clique in enumerate(self.cliques):
            at, size = self._slices(clique.residual + clique.separator)
            front = np.zeros((size, size), dtype=self._dtype)

            # assemble the blocks of H and the Schur complements of the children
            for t, s, block in inbox[c]:
                front[at[t], at[s]] += block
                if t != s:
                    front[at[s], at[t]] += block.T
            for trees, update in updates[c]:
                index = np.concatenate([np.arange(at[t].start, at[t].stop) for t in trees])
                front[np.ix_(index, index)] += update

            # [F11 F21^T]   [L11    ] [L11^T L21^T]
            # [F21 F22  ] = [L21  I ] [      U    ],  U = F22 - L21 L21^T goes to the parent
            n = sum(self.sizes[t] for t in clique.residual)
            try:
                L11 = factor_dense(front[:n, :n])
            except np.linalg.LinAlgError:
                raise NotPositiveDefinite.at(clique.residual[0]) from None
            L21 = solve_lower(L11, front[n:, :n].T).T
            self.columns.append((L11, L21))
            if clique.parent >= 0:
                updates[clique.parent].append((clique.separator, front[n:, n:] - L21 @ L21.T))
        return self

    def solve(self, b: Mapping[int, Array]) -> dict[int, Array]:
        """x with H x = b; right side and solution are one vector per tree."""
        x = {t: np.array(b[t], dtype=self._dtype) for t in self.sizes}

        # forward: L z = b
        for clique, (L11, L21) in zip(self.cliques, self.columns, strict=True):
            z = solve_lower(L11, np.concatenate([x[t] for t in clique.residual]))
            at, _ = self._slices(clique.residual)
            below, _ = self._slices(clique.separator)
            passed = L21 @ z
            for t in clique.residual:
                x[t] = z[at[t]]
            for t in clique.separator:
                x[t] -= passed[below[t]]

        # backward: L^T x = z
        for clique, (L11, L21) in zip(reversed(self.cliques), reversed(self.columns), strict=True):
            z = np.concatenate([x[t] for t in clique.residual])
            if clique.separator:
                z = z - L21.T @ np.concatenate([x[t] for t in clique.separator])
            z = solve_upper(L11, z)
            at, _ = self._slices(clique.residual)
            for t in clique.residual:
                x[t] = z[at[t]]
        return {t: np.asarray(x_t, dtype=np.float64) for t, x_t in x.items()}

"""The graph of trees: islands, elimination order and junction tree (section VIII-D).

Trees are nodes; all constraints between the same two trees form a patch, which is an edge. The
Hessian has a block (t, s) exactly where the graph has an edge, so the graph alone decides where its
Cholesky factor has blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sapwood.problem.contact_problem import ContactProblem

Adjacency = dict[int, set[int]]


def touching(problem: ContactProblem) -> tuple[list[int], list[int]]:
    """First and second tree of every constraint: of the contacts, then of every group.

    >>> problem = ContactProblem.from_dense(np.eye(6), np.zeros(6), np.eye(3, 6), 0.0, k=1e5,
    ...                                     tau_d=0.01, mu=0.5, dt=0.01, trees=[3, 3])
    >>> touching(problem)
    ([0], [-1])
    """
    a, b = problem.tree_a.tolist(), problem.tree_b.tolist()
    for group in problem.constraints:
        a, b = a + group.tree_a.tolist(), b + group.tree_b.tolist()
    return a, b


def contact_graph(
    n_trees: int, tree_a: Iterable[int], tree_b: Iterable[int]
) -> tuple[Adjacency, NDArray[np.bool_]]:
    """Neighbours of every tree, and which trees take part in any constraint.

    A tree whose constraints are all with the world takes part and has no neighbour.

    >>> contact_graph(4, [0, 1, 2], [1, -1, -1])
    ({0: {1}, 1: {0}, 2: set(), 3: set()}, array([ True,  True,  True, False]))
    """
    adjacency: Adjacency = {t: set() for t in range(n_trees)}
    touched = np.zeros(n_trees, dtype=bool)
    for a, b in zip(tree_a, tree_b, strict=True):
        touched[a] = True
        if b >= 0:
            touched[b] = True
            adjacency[int(a)].add(int(b))
            adjacency[int(b)].add(int(a))
    return adjacency, touched


def islands(
    n_trees: int, tree_a: Iterable[int], tree_b: Iterable[int]
) -> tuple[NDArray[np.int32], int]:
    """Connected components of the graph.

    Returns
    -------
    island : (n_trees) int32 array
        Island of each tree, numbered in the order of their first trees; -1 for an untouched tree.
    n_islands : int
    """
    adjacency, touched = contact_graph(n_trees, tree_a, tree_b)
    island = np.full(n_trees, -1, dtype=np.int32)
    n_islands = 0
    for root in range(n_trees):
        if not touched[root] or island[root] >= 0:
            continue
        stack = [root]
        island[root] = n_islands
        while stack:
            for s in adjacency[stack.pop()]:
                if island[s] < 0:
                    island[s] = n_islands
                    stack.append(s)
        n_islands += 1
    return island, n_islands


def eliminate(adjacency: Mapping[int, set[int]], order: Sequence[int]) -> dict[int, set[int]]:
    """Play the elimination game: the later neighbours of each node at the time it is eliminated.

    These are the block rows below the diagonal of its column of the Cholesky factor.
    """
    graph = {t: set(neighbours) for t, neighbours in adjacency.items()}
    later: dict[int, set[int]] = {}
    for t in order:
        later[t] = graph.pop(t)
        for s in later[t]:
            graph[s] |= later[t]
            graph[s] -= {s, t}
    return later


def minimum_degree(adjacency: Mapping[int, set[int]], sizes: Mapping[int, int]) -> list[int]:
    """Fill-reducing order: always eliminate the node whose neighbours are narrowest in total.

    `sizes` are the velocities per tree. Ties go to the lower index.
    """
    graph = {t: set(neighbours) for t, neighbours in adjacency.items()}
    order = []
    while graph:
        t = min(graph, key=lambda node: (sum(sizes[s] for s in graph[node]), node))
        clique = graph.pop(t)
        for s in clique:
            graph[s] |= clique
            graph[s] -= {s, t}
        order.append(t)
    return order


@dataclass(frozen=True)
class Clique:
    """A supernode: the trees it eliminates and the trees it passes on to its parent."""

    residual: tuple[int, ...]  # eliminated here, in order
    separator: tuple[int, ...]  # eliminated later, in order; contained in the parent
    parent: int  # index of the parent clique, -1 for a root


def elimination_parents(later: Mapping[int, set[int]], order: Sequence[int]) -> dict[int, int]:
    """Elimination tree: the parent is the first of the later neighbours, -1 for a root."""
    position = {t: k for k, t in enumerate(order)}
    return {t: min(later[t], key=position.__getitem__) if later[t] else -1 for t in order}


def junction_tree(adjacency: Mapping[int, set[int]], order: Sequence[int]) -> list[Clique]:
    """Maximal cliques of the filled graph as supernodes, children before parents.

    A node joins the supernode of a child whose column below the diagonal is just this node and its
    own column: then both columns have the same rows, and no zero is stored.
    """
    position = {t: k for k, t in enumerate(order)}
    later = eliminate(adjacency, order)
    parent = elimination_parents(later, order)

    # residuals: chains of nodes along the elimination tree
    residuals: list[list[int]] = []
    clique_of: dict[int, int] = {}
    for t in order:
        for c, residual in enumerate(residuals):
            last = residual[-1]
            if parent[last] == t and later[last] == later[t] | {t}:
                residual.append(t)
                clique_of[t] = c
                break
        else:
            clique_of[t] = len(residuals)
            residuals.append([t])

    # a parent clique is complete only after its children: sort by the last node of each residual
    rank = sorted(range(len(residuals)), key=lambda c: position[residuals[c][-1]])
    new_index = {c: k for k, c in enumerate(rank)}
    cliques = []
    for c in rank:
        last = residuals[c][-1]
        separator = tuple(sorted(later[last], key=position.__getitem__))
        up = new_index[clique_of[parent[last]]] if parent[last] >= 0 else -1
        cliques.append(Clique(tuple(residuals[c]), separator, up))
    return cliques

"""The order of trees in which elimination fills in least."""

from __future__ import annotations

from sapwood import ContactProblem


def minimum_degree(problem: ContactProblem) -> list[int]:
    """Trees in the order of elimination, each time one with the fewest coupled velocities.

    Trees are the nodes of the graph, weighted by their velocities; the lowest number wins a tie.
    """
    neighbours: list[set[int]] = [set() for _ in range(problem.n_trees)]
    for a, b in zip(problem.tree_a.tolist(), problem.tree_b.tolist(), strict=True):
        if b >= 0 and a != b:
            neighbours[a].add(b)
            neighbours[b].add(a)
    weight = problem.tree_nv.tolist()
    degree = [sum(weight[u] for u in near) for near in neighbours]

    left, order = set(range(problem.n_trees)), []
    while left:
        tree = min(left, key=lambda t: (degree[t], t))
        left.remove(tree)
        order.append(tree)
        near = neighbours[tree]
        for other in near:
            neighbours[other] = (neighbours[other] | near) - {other, tree}
            degree[other] = sum(weight[u] for u in neighbours[other])
    return order

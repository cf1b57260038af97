"""Where H has blocks: what is drawn is the pattern of H and of its factor, as they are ordered."""

from __future__ import annotations

import numpy as np
import pytest

import helpers
import row_groups
import sapwood
from sapwood import _core, reference
from sapwood.reference.problem.graph import eliminate


@pytest.fixture(params=range(20))
def problem(rng):
    """Some trees and contacts, on every second one other constraints too."""
    if rng.random() < 0.5:
        return row_groups.mixed_problem(int(rng.integers(2**31)))[0]
    n = int(rng.integers(2, 30))
    sizes = tuple(int(size) for size in rng.integers(1, 9, n))
    return helpers.random_problem(rng, sizes, contacts=int(rng.integers(0, 2 * n)))


def test_blocks_are_those_of_the_mirror(problem):
    found = _core.structure(problem._core)
    order = found["order"][:, 0].tolist()
    adjacency, touched = reference.contact_graph(problem.n_trees, *reference.touching(problem))
    assert sorted(order) == np.flatnonzero(touched).tolist()

    # edges are patches, islands connected components
    edges = {frozenset((order[a], order[b])) for a, b in found["edges"]}
    assert edges == {frozenset((a, b)) for a, others in adjacency.items() for b in others}
    assert len(edges) == len(found["edges"])
    island, n_islands = reference.islands(problem.n_trees, *reference.touching(problem))
    of_supernode = [{int(island[t]) for t in order[a:b]} for a, b, _ in found["supernodes"]]
    assert all(len(islands) == 1 for islands in of_supernode)
    assert (
        len(np.unique(found["supernodes"][:, 2])) == n_islands == sapwood.solve(problem).n_islands
    )

    # panels follow each other, and have room for every row of their columns
    begin, end = found["supernodes"][:, 0], found["supernodes"][:, 1]
    assert [0, *end] == [*begin, len(order)]
    later = eliminate({t: adjacency[t] for t in order}, order)
    for s, (first, last) in enumerate(zip(begin, end, strict=True)):
        rows = {order[row] for supernode, row in found["rows"] if supernode == s}
        assert rows == set().union(*(later[t] for t in order[first:last])) - {*order[first:last]}


def test_the_picture_covers_H(rng):
    """Corners of what is drawn, against the matrix."""
    pytest.importorskip("matplotlib")
    problem = helpers.random_problem(rng, contacts=8)
    ax = problem.plot_structure()
    order = _core.structure(problem._core)["order"][:, 0]
    columns = np.split(np.arange(problem.nv), np.cumsum(problem.tree_nv)[:-1])
    take = np.concatenate([columns[t] for t in order])
    A, J = problem.to_dense()
    H = (np.abs(A) + np.abs(J).T @ np.abs(J))[np.ix_(take, take)]
    node = np.repeat(np.arange(len(order)), problem.tree_nv[order])
    lower_half = (H > 0) & (node[:, None] >= node)
    fill, drawn, _ = (painted(collection, problem.nv) for collection in ax.collections)
    np.testing.assert_array_equal(drawn[: len(take), : len(take)], lower_half)
    assert not (fill & drawn).any()
    factor = np.linalg.cholesky(H + len(take) * H.max() * np.eye(len(take)))
    assert (fill | drawn)[: len(take), : len(take)][np.abs(factor) > 1e-12].all()
    assert problem.plot_structure(ax) is ax


def painted(collection, nv):
    """Entries of a matrix that boxes cover."""
    covered = np.zeros((nv, nv), dtype=bool)
    for path in collection.get_paths():
        (left, top), (right, bottom) = path.vertices.min(axis=0), path.vertices.max(axis=0)
        covered[int(top) : int(bottom), int(left) : int(right)] = True
    return covered


def test_nothing_to_draw():
    pytest.importorskip("matplotlib")
    ax = sapwood.ContactProblem([1], [1.0], [0.0], dt=0.01).plot_structure()
    assert "H of 0 velocities" in ax.get_title()


def test_what_is_no_problem_is_refused():
    with pytest.raises(TypeError, match="problem"):
        _core.structure(3)

"""Graph and factorization of the NumPy mirror, against dense algebra and graph theory."""

from __future__ import annotations

import numpy as np
import pytest

import helpers
from sapwood import reference

SEEDS = range(20)


def random_graph(seed):
    """Sizes (tree: width) and edges of a random graph on trees that are not numbered 0, 1, 2 ..."""
    rng = np.random.default_rng(seed)
    trees = rng.choice(40, rng.integers(1, 14), replace=False).tolist()
    sizes = {t: int(rng.integers(1, 9)) for t in trees}
    pairs = [(t, s) for i, t in enumerate(trees) for s in trees[:i]]
    density = rng.uniform(0.0, 0.6)
    return rng, sizes, [pair for pair in pairs if rng.random() < density]


def dense_of(sizes, blocks):
    """Dense matrix of symmetric blocks, trees in the order of sizes, and where each tree lies."""
    ends = np.cumsum(list(sizes.values()))
    at = {t: slice(e - n, e) for (t, n), e in zip(sizes.items(), ends, strict=True)}
    H = np.zeros((ends[-1], ends[-1]))
    for (t, s), block in blocks.items():
        H[at[t], at[s]] = block
        H[at[s], at[t]] = block.T
    return H, at


def random_blocks(rng, sizes, edges):
    """Blocks of a symmetric positive definite matrix with the pattern of the graph."""
    blocks = {(t, t): helpers.random_spd(rng, n) for t, n in sizes.items()}
    for t, s in edges:
        J_t, J_s = rng.standard_normal((2, sizes[t])), rng.standard_normal((2, sizes[s]))
        blocks[t, t] = blocks[t, t] + J_t.T @ J_t
        blocks[s, s] = blocks[s, s] + J_s.T @ J_s
        blocks[t, s] = J_t.T @ J_s
    return blocks


def adjacency_of(sizes, edges):
    adjacency = {t: set() for t in sizes}
    for t, s in edges:
        adjacency[t].add(s)
        adjacency[s].add(t)
    return adjacency


@pytest.mark.parametrize("seed", SEEDS)
def test_block_cholesky_solves(seed):
    rng, sizes, edges = random_graph(seed)
    blocks = random_blocks(rng, sizes, edges)
    H, at = dense_of(sizes, blocks)
    b = rng.standard_normal(len(H))
    factor = reference.BlockCholesky(sizes, edges).factor(blocks)
    x = factor.solve({t: b[here] for t, here in at.items()})
    x = np.concatenate([x[t] for t in sizes])
    residual = np.abs(H @ x - b)
    assert np.all(residual <= 100 * helpers.EPS * (np.abs(H) @ np.abs(x)).max())


@pytest.mark.parametrize("seed", SEEDS)
def test_block_cholesky_is_a_cholesky_factor(seed):
    """Put together, the supernodes' columns are the lower triangular L with L L^T = P H P^T."""
    rng, sizes, edges = random_graph(seed)
    blocks = random_blocks(rng, sizes, edges)
    factor = reference.BlockCholesky(sizes, edges).factor(blocks)
    eliminated = [t for clique in factor.cliques for t in clique.residual]
    H, at = dense_of({t: sizes[t] for t in eliminated}, blocks)
    index = {t: np.arange(here.start, here.stop) for t, here in at.items()}
    L = np.zeros_like(H)
    for clique, (L11, L21) in zip(factor.cliques, factor.columns, strict=True):
        columns = np.concatenate([index[t] for t in clique.residual])
        L[np.ix_(columns, columns)] = L11
        if clique.separator:
            rows = np.concatenate([index[t] for t in clique.separator])
            L[np.ix_(rows, columns)] = L21
    np.testing.assert_array_equal(L, np.tril(L))
    np.testing.assert_allclose(L @ L.T, H, atol=1e-12 * np.abs(H).max())


@pytest.mark.parametrize("seed", SEEDS)
def test_junction_tree(seed):
    """Residuals partition the trees; edges lie in cliques, separators in parents; none nest."""
    _, sizes, edges = random_graph(seed)
    adjacency = adjacency_of(sizes, edges)
    order = reference.minimum_degree(adjacency, sizes)
    assert sorted(order) == sorted(sizes)
    cliques = reference.junction_tree(adjacency, order)
    assert sorted(t for c in cliques for t in c.residual) == sorted(sizes)
    members = [{*c.residual, *c.separator} for c in cliques]
    for t, s in edges:
        assert any({t, s} <= m for m in members)
    for k, clique in enumerate(cliques):
        if clique.parent >= 0:
            assert clique.parent > k
            assert clique.separator
            assert set(clique.separator) <= members[clique.parent]
        else:
            assert not clique.separator
        assert not any(members[k] < other for other in members)


def test_minimum_degree_causes_no_fill_on_a_tree():
    """A path, a star and a binary tree have orders without fill, and minimum degree finds them."""
    n = 15
    graphs = {
        "path": [(k, k + 1) for k in range(n - 1)],
        "star": [(0, k) for k in range(1, n)],
        "binary": [((k - 1) // 2, k) for k in range(1, n)],
    }
    sizes = dict.fromkeys(range(n), 6)
    for name, edges in graphs.items():
        adjacency = adjacency_of(sizes, edges)
        cliques = reference.junction_tree(adjacency, reference.minimum_degree(adjacency, sizes))
        assert max(len(c.residual) + len(c.separator) for c in cliques) == 2, name


def test_minimum_degree_looks_at_widths():
    """One neighbour of 20 velocities costs more than two of one velocity each."""
    sizes = {"leaf": 20, "hub": 20, "other": 20, "a": 1, "b": 1, "c": 1}
    edges = [("leaf", "hub"), ("hub", "other"), ("a", "b"), ("b", "c"), ("c", "a")]
    order = reference.minimum_degree(adjacency_of(sizes, edges), sizes)
    assert set(order[:3]) == {"a", "b", "c"}


@pytest.mark.parametrize("seed", SEEDS)
def test_islands_are_connected_components(seed):
    """Two trees share an island exactly when a path of contacts joins them (by matrix powers)."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 20))
    contacts = int(rng.integers(0, n + 1))
    a = rng.integers(0, n, contacts)
    b = rng.integers(-1, n, contacts)
    b[b == a] = -1
    island, n_islands = reference.islands(n, a, b)
    touched = np.isin(np.arange(n), np.concatenate([a, b]))
    reach = np.diag(touched)
    two = b >= 0
    reach[a[two], b[two]] = reach[b[two], a[two]] = True
    for _ in range(n):
        reach = (reach.astype(int) @ reach.astype(int)) > 0
    np.testing.assert_array_equal(island >= 0, touched)
    np.testing.assert_array_equal(reach, touched & (island[:, None] == island[None, :]))
    assert n_islands == len(set(island[touched].tolist()))
    first = [np.flatnonzero(island == k)[0] for k in range(n_islands)]
    assert first == sorted(first)


def test_breakdown_names_the_tree():
    sizes = {3: 2, 7: 1}
    blocks = {(3, 3): np.eye(2), (7, 7): np.array([[1.0]]), (7, 3): np.array([[2.0, 0.0]])}
    with pytest.raises(reference.NotPositiveDefinite, match="tree"):
        reference.BlockCholesky(sizes, [(7, 3)]).factor(blocks)
    alone = {(3, 3): np.eye(2), (7, 7): np.array([[-1.0]])}
    with pytest.raises(reference.NotPositiveDefinite) as caught:
        reference.BlockCholesky(sizes, []).factor(alone)
    assert caught.value.tree == 7

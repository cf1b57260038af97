"""Appendix F of the paper: few contacts carry a system of few degrees of freedom."""

import numpy as np
import pytest

import complementarity
import sapwood


def dependent_contacts(rng, rank, n):
    """Normals (n, 6) of this rank, the first rows independent, and an inverse inertia (6, 6)."""
    root = rng.normal(size=(6, 6))
    N_I = rng.normal(size=(rank, 6))
    gamma = rng.normal(size=(n - rank, rank))
    return np.vstack([N_I, gamma @ N_I]), np.linalg.inv(root @ root.T + np.eye(6))


@pytest.mark.parametrize("rank", [1, 3, 6])
def test_a_solution_of_independent_contacts_solves_all(rng, rank):
    """Theorem 2, where all independent contacts carry: the others stay at rest without force."""
    N, K = dependent_contacts(rng, rank, 9)
    Q, force = N @ K @ N.T, rng.uniform(0.1, 1.0, rank)
    # a velocity v that these forces stop at the independent contacts
    v = -K @ N[:rank].T @ force
    z = np.r_[force, np.zeros(9 - rank)]
    found = sapwood.lcp.solve(Q[:rank, :rank], (N @ v)[:rank], "ppm")
    np.testing.assert_allclose(found.z, force, rtol=1e-7)
    assert complementarity.error_of(Q, N @ v, z) < 1e-12


@pytest.mark.parametrize("rank", [1, 3, 6])
def test_principal_pivoting_loads_no_more_contacts_than_the_rank(rng, rank):
    """Lemma 1: positive components of a basic solution are at most rank(N)."""
    for _ in range(20):
        N, K = dependent_contacts(rng, rank, 9)
        # gravity that some combination of the contacts can carry
        v = -K @ N.T @ rng.uniform(0.0, 1.0, 9)
        found = sapwood.lcp.solve(N @ K @ N.T, N @ v, "ppm")
        assert found.solved
        assert np.count_nonzero(found.z > 1e-9 * found.z.max(initial=0.0)) <= rank
        assert complementarity.error_of(N @ K @ N.T, N @ v, found.z) < 1e-8

"""The benchmark of complementarity problems: random ones are what they are called, and it runs."""

import numpy as np
import pytest

import complementarity as independent
import sapwood
from benchmarks import complementarity


@pytest.mark.parametrize("kind", complementarity.KINDS)
def test_problems_are_of_their_class(rng, kind):
    for _ in range(20):
        contacts = complementarity.draw(rng, kind, 6)
        M, q = complementarity.normal(contacts)
        assert np.linalg.matrix_rank(M) <= (3 if kind == "rank deficient" else 6)
        solution = sapwood.lcp.solve(M, q, "ppm")
        assert solution.solved == (kind != "infeasible")
        if solution.solved:
            assert independent.error_of(M, q, solution.z) <= 1e-7 * (1 + np.abs(q).max())


def test_tables():
    rates = complementarity.failure_rates(2)
    assert len(rates) == 12
    assert all("solved 2" in line for line in rates if "infeasible" not in line)
    assert any("friction lemke" in line for line in complementarity.speed(1, (2,)))

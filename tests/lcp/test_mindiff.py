"""Solutions of small problems against the projection on every complementary cell (MINDIFF)."""

import numpy as np
import pytest

import complementarity
import sapwood
from mindiff import nearest_solution


@pytest.mark.parametrize("kind", complementarity.KINDS)
def test_solutions_are_those_of_a_cell(rng, kind):
    for _ in range(5):
        contacts = complementarity.random_contacts(rng, kind, 4)
        M, q = complementarity.normal_problem(*contacts)
        for method in ("lemke", "ppm"):
            solution = sapwood.lcp.solve(M, q, method)
            nearest = nearest_solution(M, q, solution.z)
            assert solution.solved == (nearest is not None)
            if nearest is not None:
                assert nearest[1] <= 1e-6 * (1 + np.abs(solution.z).max())


@pytest.mark.parametrize("n", [1, 2])
def test_contacts_with_friction_are_those_of_a_cell(rng, n):
    # pyramids of a single contact have 6 unknowns; of two, the 4096 cells of 12 are for one problem
    contacts = complementarity.random_contacts(rng, "full rank", n)
    M, q = complementarity.friction_problem(*contacts)
    solution = sapwood.lcp.solve(M, q)
    z, distance = nearest_solution(M, q, solution.z)
    assert distance <= 1e-6 * (1 + np.abs(solution.z).max())
    assert complementarity.error_of(M, q, z) <= 1e-6 * (1 + np.abs(q).max())


def test_of_many_solutions_the_nearest():
    # z_1 + z_2 = 1 solves it
    M, q = np.ones((2, 2)), -np.ones(2)
    z, distance = nearest_solution(M, q, np.array([1.0, 0.5]))
    np.testing.assert_allclose(z, [0.75, 0.25], atol=1e-9)
    assert distance == pytest.approx(np.sqrt(0.125))
    assert nearest_solution(-np.ones((1, 1)), -np.ones(1), np.zeros(1)) is None

"""The benchmark of complementarity problems: random ones are what they are called, and it runs."""

import numpy as np
import pytest

import complementarity as independent
import sapwood
from benchmarks import complementarity, peer_times, program_peers


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


@pytest.mark.parametrize("kind", complementarity.KINDS)
def test_the_other_solver_finds_what_is_feasible(rng, kind):
    for _ in range(20):
        contacts = complementarity.draw(rng, kind, 6)
        velocity = complementarity.velocity_after(contacts)
        assert (velocity is None) == (kind == "infeasible")
        if velocity is not None:
            assert (contacts.N @ velocity + contacts.phi).min() >= -1e-8


def test_peers_are_judged_by_what_they_find(rng):
    program = complementarity.program(complementarity.draw(rng, "full rank", 3))
    solution = sapwood.qp.solve(**program)
    assert program_peers.is_solved(program, solution.x, solution.objective)
    assert not program_peers.is_solved(program, solution.x - 1.0, solution.objective)
    assert not program_peers.is_solved(program, solution.x, solution.objective - 1.0)
    for name in program_peers.installed():
        times = peer_times.of_peer(name, [program], [solution.objective])
        assert np.isfinite(times).all()

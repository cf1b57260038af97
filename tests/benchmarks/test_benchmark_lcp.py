"""The benchmark of complementarity problems: random ones are what they are called, and it runs."""

import dataclasses

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


def test_what_is_wrong_is_called_so(rng):
    contacts = complementarity.draw(rng, "full rank", 4)
    contacts.phi[:] = -1.0
    problem, expected = complementarity.normal(contacts), complementarity.velocity_after(contacts)
    solution = sapwood.lcp.solve(*problem)

    def judged(solution, expected):
        return complementarity.judged(contacts, problem, solution, expected)

    assert judged(solution, expected) == "solved"
    assert judged(solution, expected + 1.0) == "wrong velocity"
    assert judged(solution, None) == "wrong: there is no solution"
    assert judged(dataclasses.replace(solution, z=solution.z + 1.0), expected) == "wrong residual"
    ray = dataclasses.replace(solution, status=sapwood.lcp.LcpStatus.RAY)
    assert judged(ray, expected) == "failed: ray"
    assert judged(ray, None) == "ray"


def test_peers_are_judged_by_what_they_find(rng):
    program = complementarity.program(complementarity.draw(rng, "full rank", 3))
    solution = sapwood.qp.solve(**program)
    assert program_peers.is_solved(program, solution.x, solution.objective)
    assert not program_peers.is_solved(program, solution.x - 1.0, solution.objective)
    assert not program_peers.is_solved(program, solution.x, solution.objective - 1.0)
    for name in program_peers.installed():
        times = peer_times.of_peer(name, [program], [solution.objective])
        assert np.isfinite(times).all()

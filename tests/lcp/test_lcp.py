"""Complementarity problems: what is solved, what is said of the rest."""

import copy
import itertools
from collections import Counter

import numpy as np
import pytest
import scipy.optimize

import complementarity
import sapwood
from sapwood import lcp, qp, reference
from sapwood.lcp import METHODS, LcpStatus

implementations = pytest.mark.parametrize(
    "solve",
    [
        pytest.param(sapwood.lcp.solve, id="core"),
        pytest.param(reference.solve_lcp, id="reference"),
    ],
)
methods = pytest.mark.parametrize("method", METHODS)


@implementations
@methods
@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_problems_with_known_solutions(solve, method, n):
    for M, q in (complementarity.murty(n), complementarity.fathi(n)):
        solution = solve(M, q, method)
        assert solution.status is LcpStatus.SOLVED
        np.testing.assert_allclose(solution.z, np.eye(n)[0], atol=1e-9)
    M, q = complementarity.csizmadia(n)
    solution = solve(M, q, method)
    assert solution.solved
    np.testing.assert_allclose(solution.z, 2.0 ** np.arange(n), rtol=1e-9)


# which method solves which; where none does there is no solution
_NONE = {"lemke": LcpStatus.RAY, "ppm": LcpStatus.INFEASIBLE, "auto": LcpStatus.INFEASIBLE}
UNSOLVED = {
    "lcp_CPS_4": _NONE,
    "lcp_Pang_isolated_sol": _NONE,
    "lcp_CPS_3": {"lemke": LcpStatus.RAY, "ppm": LcpStatus.SINGULAR},
}


@implementations
@pytest.mark.parametrize("seed", [None, 27, 109])
def test_games_of_two_are_solved_from_where_their_paths_begin(rng, solve, seed):
    """Costs of two players: artificial columns lead to rays, and no diagonal has a pivot.

    Of two seeds one path is so long that its dictionary has lost five digits and more.
    """
    rng = rng if seed is None else np.random.default_rng(seed)
    for _ in range(30):
        m, n = rng.integers(2, 7, size=2)
        A, B = rng.uniform(1.0, 30.0, size=(2, m, n))
        M = np.block([[np.zeros((m, m)), A], [B.T, np.zeros((n, n))]])
        q = -np.ones(m + n)
        assert solve(M, q, "lemke").status is LcpStatus.RAY
        solution = solve(M, q, "auto")
        assert solution.status is LcpStatus.SOLVED
        assert complementarity.error_of(M, q, solution.z) <= 1e-9
        x, y = (part / part.sum() for part in np.split(solution.z, [m]))
        assert x @ A @ y <= (A @ y).min() + 1e-9
        assert x @ B @ y <= (x @ B).min() + 1e-9


@pytest.mark.parametrize("path", complementarity.files())
@pytest.mark.parametrize("method", METHODS)
def test_files(path, method):
    M, q = complementarity.read_file(path)
    solution = sapwood.lcp.solve(M, q, method)
    expected = UNSOLVED.get(path.stem, {}).get(method)
    if expected is not None:
        assert solution.status is expected
        return
    assert solution.status is LcpStatus.SOLVED
    assert complementarity.error_of(M, q, solution.z) <= 1e-9 * np.abs(q).max()


@pytest.mark.parametrize("path", complementarity.files())
def test_files_said_to_be_infeasible_are(path):
    M, q = complementarity.read_file(path)
    if sapwood.lcp.solve(M, q, "ppm").status is LcpStatus.INFEASIBLE:
        result = scipy.optimize.linprog(np.zeros(len(q)), A_ub=-M, b_ub=q)
        assert result.status == 2


@implementations
@pytest.mark.parametrize("kind", complementarity.KINDS)
def test_contacts_without_friction(rng, kind, solve):
    core = solve is sapwood.lcp.solve
    statuses = Counter()
    for _ in range(300 if core else 30):
        contacts = complementarity.random_contacts(rng, kind, int(rng.integers(2, 12)))
        M, q = complementarity.normal_problem(*contacts)
        for method in METHODS:
            solution = solve(M, q, method)
            statuses[solution.status] += 1
            if kind == "infeasible":
                assert solution.status is not LcpStatus.SOLVED
            else:
                assert solution.status is LcpStatus.SOLVED
                assert complementarity.error_of(M, q, solution.z) <= 1e-7 * (1 + abs(q).max())
    if kind == "infeasible":
        # few are neither solved nor proved to have no solution
        proved = statuses[LcpStatus.RAY] + statuses[LcpStatus.INFEASIBLE]
        assert proved >= 0.98 * statuses.total()


@implementations
@pytest.mark.parametrize("kind", complementarity.KINDS[:3])
def test_contacts_with_friction(rng, kind, solve):
    core = solve is sapwood.lcp.solve
    for _ in range(300 if core else 20):
        contacts = complementarity.random_contacts(rng, kind, int(rng.integers(1, 8)))
        M, q = complementarity.friction_problem(*contacts)
        solution = solve(M, q)
        assert solution.status is LcpStatus.SOLVED
        assert complementarity.error_of(M, q, solution.z) <= 1e-6 * (1 + abs(q).max())


def enumerate_solutions(M, q):
    """Every complementary basis of a small problem whose solution is feasible."""
    n = len(q)
    for basis in itertools.product([False, True], repeat=n):
        b = np.array(basis)
        z = np.zeros(n)
        z[b] = np.linalg.lstsq(M[np.ix_(b, b)], -q[b], rcond=None)[0]
        if complementarity.error_of(M, q, z) < 1e-9:
            yield z


def test_w_is_that_of_enumeration(rng):
    # w is unique where M is semidefinite, z is not
    for _ in range(50):
        n = int(rng.integers(1, 7))
        G = rng.normal(size=(n, int(rng.integers(1, 4))))
        M, q = G @ G.T, rng.normal(size=n)
        found = [M @ z + q for z in enumerate_solutions(M, q)]
        for method in METHODS:
            solution = sapwood.lcp.solve(M, q, method)
            if solution.z.max() > 1e6:
                continue  # round-off of M decides whether there is a solution
            assert solution.solved == bool(found)
            if found:
                np.testing.assert_allclose(solution.w, found[0], atol=1e-7)


@methods
def test_garbage_has_a_named_status(rng, method):
    for _ in range(500):
        n = int(rng.integers(1, 12))
        rank = int(rng.integers(0, n + 1))
        M = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, n))
        M *= rng.choice([0.0, 1.0, 1e8, 1e-8], size=(n, 1))
        q = np.round(rng.normal(size=n)) * rng.choice([0.0, 1.0, 1e150], size=n)
        solution = sapwood.lcp.solve(M, q, method)
        assert np.isfinite(solution.z).all()
        assert (solution.z >= 0).all()
        if solution.solved:
            scale = 1 + np.abs(q).max() + np.abs(M).max() * solution.z.max()
            w = np.minimum(M @ solution.z + q, 0.0)
            assert solution.relative_residual <= 1e-9
            # rows differ in size by 16 orders, and tolerances hold for rows of size 1
            assert np.abs(w).max() <= 1e-3 * scale


def test_a_regularization_is_told():
    M, q = [[1.0, -1.0], [-1.0, 1.0]], [-1.0, 1.0 - 1e-7]
    assert not sapwood.lcp.solve(M, q).solved
    solution = sapwood.lcp.solve(M, q, regularization_first=1e-10)
    assert solution.solved
    assert solution.regularization == 1e-10
    assert 1e-9 < solution.residual < 1e-6


@methods
def test_starts(rng, method):
    for _ in range(20):
        contacts = complementarity.random_contacts(rng, "full rank", 10)
        M, q = complementarity.normal_problem(*contacts)
        first = sapwood.lcp.solve(M, q, method)
        again = sapwood.lcp.solve(M, q, method, z0=first.basis)
        assert again.solved
        assert again.pivots <= first.basis.sum() + 1
        np.testing.assert_allclose(again.w, first.w, atol=1e-8)


@methods
def test_any_start_will_do(rng, method):
    """Also those whose block of M is singular, as of a pyramid without its edges."""
    for _ in range(20):
        M, q = complementarity.friction_problem(
            *complementarity.random_contacts(rng, "rank deficient", 4)
        )
        for _ in range(20):
            solution = sapwood.lcp.solve(M, q, method, z0=rng.random(len(q)) < 0.5)
            assert solution.solved or method == "ppm"
            if solution.solved:
                assert solution.residual <= 1e-8 * (1.0 + np.abs(q).max())


def test_batches_have_the_bits_of_single_solves(rng):
    problems = [
        complementarity.friction_problem(*complementarity.random_contacts(rng, "full rank", 4))
        for _ in range(40)
    ]
    M, q = (np.array(arrays) for arrays in zip(*problems, strict=True))
    singles = [sapwood.lcp.solve(*problem) for problem in problems]
    for threads in (1, 2, 3):
        batch = sapwood.lcp.solve_batch(M, q, threads=threads)
        assert [s.pivots for s in batch] == [s.pivots for s in singles]
        assert all((a.z == b.z).all() for a, b in zip(batch, singles, strict=True))
    assert sapwood.lcp.solve_batch(np.zeros((0, 3, 3)), np.zeros((0, 3))) == []


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"M": [[1.0, np.nan], [0.0, 1.0]]}, r"M\[0, 1\] = nan: must be finite"),
        ({"M": np.eye(3)}, r"M has shape \(3, 3\), expected \(2, 2\)"),
        ({"q": [1.0, np.inf]}, r"q\[1\] = inf: must be finite"),
        ({"method": "simplex"}, "method must be one of"),
        ({"tolerance": 0.0}, r"tolerance = 0: must be in \(0, 1\)"),
        ({"max_pivots": -1}, "max_pivots = -1: must be >= 0"),
        ({"regularization_factor": 1.0}, "regularization_factor = 1: must be"),
        ({"z0": [1.0]}, "z0 has shape"),
    ],
)
def test_errors(arguments, text):
    given = {"M": np.eye(2), "q": [1.0, 1.0]} | arguments
    with pytest.raises(ValueError, match=text):
        sapwood.lcp.solve(**given)


@pytest.mark.parametrize("solve", [lcp.solve, qp.solve])
def test_solutions_are_equal_by_their_numbers(solve):
    M, q = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([-5.0, -6.0])
    solution = solve(M, q)
    assert solution == copy.deepcopy(solution)
    assert solution != solve(M, q - 1.0)
    assert solution != 3

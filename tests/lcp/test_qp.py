"""Quadratic programs: optimality, proofs that there is none, other solvers."""

import clarabel
import numpy as np
import pytest
import scipy.sparse

import sapwood
from sapwood import reference
from sapwood.qp import QpStatus

implementations = pytest.mark.parametrize(
    "solve",
    [
        pytest.param(sapwood.qp.solve, id="core"),
        pytest.param(reference.solve_qp, id="reference"),
    ],
)


def random_program(rng, n, rank, n_equalities, n_inequalities):
    """A program that has a minimiser: x_0 is feasible and multipliers exist."""
    G = rng.normal(size=(rank, n))
    x_0 = rng.normal(size=n)
    A, C = rng.normal(size=(n_equalities, n)), rng.normal(size=(n_inequalities, n))
    slack = np.where(rng.random(n_inequalities) < 0.5, 0.0, rng.random(n_inequalities))
    lower = np.where(rng.random(n) < 0.5, x_0 - rng.random(n), -np.inf)
    g = G.T @ rng.normal(size=rank) + C.T @ (rng.random(n_inequalities) * (slack == 0))
    return {
        "H": G.T @ G,
        "g": g,
        "A": A,
        "b": A @ x_0,
        "C": C,
        "d": C @ x_0 - slack,
        "lower": lower,
    }


def check_optimal(p, s, tolerance):
    gradient = p["H"] @ s.x + p["g"]
    np.testing.assert_allclose(
        gradient, p["A"].T @ s.y + p["C"].T @ s.lam + s.bounds, atol=tolerance
    )
    np.testing.assert_allclose(p["A"] @ s.x, p["b"], atol=tolerance)
    slack = p["C"] @ s.x - p["d"]
    assert slack.min(initial=0.0) >= -tolerance
    assert s.lam.min(initial=0.0) >= 0
    np.testing.assert_allclose(slack * s.lam, 0, atol=tolerance)
    assert (s.x >= p["lower"] - tolerance).all()
    assert (s.bounds >= 0).all()
    assert (s.bounds[np.isinf(p["lower"])] == 0).all()


@implementations
def test_optimality(rng, solve):
    for _ in range(200 if solve is sapwood.qp.solve else 40):
        n = int(rng.integers(1, 30))
        sizes = int(rng.integers(0, n // 3 + 1)), int(rng.integers(0, 40))
        program = random_program(rng, n, int(rng.integers(0, n + 1)), *sizes)
        solution = solve(**program)
        assert solution.status is QpStatus.SOLVED, solution
        size = 1 + np.abs(solution.x).max() + solution.lam.max(initial=0.0)
        check_optimal(program, solution, 1e-6 * size)


def test_directions_with_few_digits_do_not_end_the_search():
    test_optimality(np.random.default_rng(110), sapwood.qp.solve)


def by_clarabel(p):
    """The objective at the minimiser of another interior point solver."""
    n, bounded = len(p["g"]), np.isfinite(p["lower"])
    rows = np.vstack([p["A"], -p["C"], -np.eye(n)[bounded]])
    right = np.concatenate([p["b"], -p["d"], -p["lower"][bounded]])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    cones = [clarabel.ZeroConeT(len(p["b"])), clarabel.NonnegativeConeT(len(right) - len(p["b"]))]
    H, rows = scipy.sparse.csc_matrix(np.triu(p["H"])), scipy.sparse.csc_matrix(rows)
    return clarabel.DefaultSolver(H, p["g"], rows, right, cones, settings).solve().obj_val


def test_objective_is_that_of_another_solver(rng):
    for _ in range(30):
        program = random_program(rng, 20, int(rng.integers(1, 20)), 3, 25)
        solution = sapwood.qp.solve(**program)
        expected = by_clarabel(program)
        assert solution.objective == pytest.approx(expected, rel=1e-6, abs=1e-6)


@implementations
def test_definite_programs_take_no_iterations(rng, solve):
    for _ in range(100 if solve is sapwood.qp.solve else 20):
        n = int(rng.integers(1, 30))
        p = random_program(rng, n, n, int(rng.integers(0, n // 3 + 1)), int(rng.integers(0, 40)))
        p["H"] = p["H"] + 0.1 * np.eye(n)
        solution = solve(**p)
        assert solution.status is QpStatus.SOLVED
        assert solution.iterations == 0
        check_optimal(p, solution, 1e-9 * (1 + np.abs(solution.x).max() + np.abs(p["g"]).max()))


@pytest.mark.parametrize("seed", [4, 6, 9, 36])
def test_round_off_of_a_vertex_with_more_rows_than_unknowns_is_no_contradiction(seed):
    test_definite_programs_take_no_iterations(np.random.default_rng(seed), sapwood.qp.solve)


@implementations
def test_dependent_rows_of_a_definite_program(rng, solve):
    """Rows that come twice, sums of others, and more active rows than unknowns."""
    for _ in range(20):
        p = random_program(rng, 6, 6, 1, 4)
        p["H"] = p["H"] + np.eye(6)
        single = solve(**p)
        p["A"], p["b"] = np.vstack([p["A"], 2 * p["A"]]), np.append(p["b"], 2 * p["b"])
        p["C"] = np.vstack([p["C"], p["C"], p["C"][:1] + p["C"][1:2]])
        p["d"] = np.concatenate([p["d"], p["d"], p["d"][:1] + p["d"][1:2]])
        twice = solve(**p)
        assert twice.status is QpStatus.SOLVED
        np.testing.assert_allclose(twice.x, single.x, atol=1e-8 * (1 + np.abs(single.x).max()))
    vertex = solve(np.eye(2), [-3.0, -3.0], C=-np.array([[1, 0], [0, 1], [1, 1], [2, 1]]),
                   d=[-1.0, -1.0, -2.0, -3.0])  # fmt: skip
    np.testing.assert_allclose(vertex.x, 1.0)
    np.testing.assert_allclose(
        -np.array([[1, 0, 1, 2], [0, 1, 1, 1]]) @ vertex.lam, [-2.0, -2.0], atol=1e-12
    )


@implementations
def test_definite_programs_without_a_feasible_point(solve):
    s = solve(np.eye(2), np.ones(2), C=[[1.0, 1.0], [-1.0, -1.0]], d=[1.0, 0.0])
    assert s.status is QpStatus.INFEASIBLE
    s = solve(np.eye(2), np.ones(2), A=[[1.0, 1.0], [2.0, 2.0]], b=[1.0, 3.0])
    assert s.status is QpStatus.INFEASIBLE


# a proof that round-off hides is told as QpStatus.INACCURATE, by one in thousands
MOST_WITHOUT_PROOF = 3


@implementations
def test_infeasible_programs_come_with_a_proof(rng, solve):
    without = 0
    for _ in range(50):
        p = random_program(rng, 8, 4, 2, 6)
        p["C"] = np.vstack([p["C"], -p["C"][:1]])
        p["d"] = np.append(p["d"], 1 - p["d"][0])
        s = solve(**p)
        if s.status is QpStatus.INACCURATE:
            without += 1
            continue
        assert s.status is QpStatus.INFEASIBLE
        np.testing.assert_allclose(p["A"].T @ s.y + p["C"].T @ s.lam + s.bounds, 0, atol=1e-4)
        bounded = np.isfinite(p["lower"])
        value = p["b"] @ s.y + p["d"] @ s.lam + p["lower"][bounded] @ s.bounds[bounded]
        assert value == pytest.approx(1)
    assert without <= MOST_WITHOUT_PROOF


@implementations
def test_unbounded_programs_come_with_a_direction(rng, solve):
    without = 0
    for _ in range(50):
        p = random_program(rng, 8, 4, 2, 6)
        p["H"][0], p["H"][:, 0], p["A"][:, 0] = 0.0, 0.0, 0.0
        p["C"][:, 0], p["g"][0], p["lower"][:] = np.abs(p["C"][:, 0]), -1.0, -np.inf
        s = solve(**p)
        if s.status is QpStatus.INACCURATE:
            without += 1
            continue
        assert s.status is QpStatus.UNBOUNDED
        assert p["g"] @ s.x == pytest.approx(-1)
        np.testing.assert_allclose(p["H"] @ s.x, 0, atol=1e-6)
        assert (p["C"] @ s.x).min() >= -1e-6
    assert without <= MOST_WITHOUT_PROOF


@implementations
def test_programs_that_are_not_convex(solve):
    assert solve(-np.eye(3), np.ones(3), lower=0.0).status is QpStatus.NOT_CONVEX


def test_batches_have_the_bits_of_single_solves(rng):
    programs = [random_program(rng, 10, 4, 2, 8) for _ in range(20)]
    singles = [sapwood.qp.solve(**p) for p in programs]
    stacked = {name: np.array([p[name] for p in programs]) for name in programs[0]}
    for threads in (1, 2):
        batch = sapwood.qp.solve_batch(**stacked, threads=threads)
        assert all((a.x == b.x).all() for a, b in zip(batch, singles, strict=True))


def test_the_kkt_conditions_as_a_complementarity_problem(rng):
    for _ in range(30):
        p = random_program(rng, 8, int(rng.integers(0, 9)), 2, 6)
        p["d"][0] = -np.inf
        p["upper"] = np.where(rng.random(8) < 0.3, np.maximum(p["lower"], 0.0) + 5.0, np.inf)
        solution, by_lcp = sapwood.qp.solve(**p), sapwood.qp.solve_as_lcp(**p)
        if not solution.solved:
            # a proof that round-off hides is told as QpStatus.INACCURATE
            assert by_lcp.status is QpStatus.UNBOUNDED
            assert solution.status in (QpStatus.UNBOUNDED, QpStatus.INACCURATE)
            continue
        assert by_lcp.status is QpStatus.SOLVED
        size = 1 + np.abs(by_lcp.x).max() + by_lcp.lam.max(initial=0.0)
        assert by_lcp.objective == pytest.approx(solution.objective, rel=1e-6, abs=1e-6 * size)
        assert max(by_lcp.primal_residual, by_lcp.dual_residual) <= 1e-6 * size
        assert abs(by_lcp.gap) <= 1e-6 * size**2
        assert by_lcp.lam.min() >= 0.0
        # it is unique in the range of H
        np.testing.assert_allclose(p["H"] @ by_lcp.x, p["H"] @ solution.x, atol=1e-4 * size)


@pytest.mark.parametrize("seed", [483, 562])
def test_steps_that_leave_the_central_path_again_and_again_do_not_end_the_search(seed):
    test_the_kkt_conditions_as_a_complementarity_problem(np.random.default_rng(seed))


@pytest.mark.parametrize("seed", [60, 102, 4273354371])
def test_a_point_so_large_that_it_hides_its_residual_proves_an_unbounded_program(seed):
    test_the_kkt_conditions_as_a_complementarity_problem(np.random.default_rng(seed))


@implementations
def test_unbounded_programs_without_inequalities(rng, solve):
    without = 0
    for _ in range(100):
        n = int(rng.integers(2, 9))
        G, g = rng.normal(size=(int(rng.integers(0, n)), n)), rng.normal(size=n)
        s = solve(G.T @ G, g)
        assert s.status in (QpStatus.UNBOUNDED, QpStatus.INACCURATE)
        without += s.status is QpStatus.INACCURATE
        if s.status is QpStatus.UNBOUNDED:
            assert g @ s.x == pytest.approx(-1)
            # the direction is long where g is nearly in the range of G^T
            largest = 1e-6 * max(np.max(np.abs(s.x)), 100.0)
            np.testing.assert_allclose(G.T @ (G @ s.x), 0, atol=largest)
    assert without <= 15


def test_a_point_so_large_that_it_hides_the_gradient_is_no_solution():
    test_unbounded_programs_without_inequalities(np.random.default_rng(116), sapwood.qp.solve)


def test_the_kkt_route_says_what_has_no_solution(rng):
    p = random_program(rng, 6, 6, 0, 4)
    p["C"] = np.vstack([p["C"], -p["C"][:1]])
    p["d"] = np.append(p["d"], 1 - p["d"][0])
    assert sapwood.qp.solve_as_lcp(**p).status is QpStatus.INFEASIBLE
    unbounded = sapwood.qp.solve_as_lcp(np.diag([1.0, 0.0]), [0.0, -1.0], lower=0.0)
    assert unbounded.status is QpStatus.UNBOUNDED
    assert sapwood.qp.solve_as_lcp(-np.eye(2), [0.0, 0.0]).status is QpStatus.NOT_CONVEX
    with pytest.raises(ValueError, match="C and d must be given together"):
        sapwood.qp.solve_as_lcp(np.eye(2), [0.0, 0.0], C=[[1.0, 0.0]])


def test_a_start_nearby_takes_no_iteration(rng):
    for _ in range(30):
        p = random_program(rng, 12, 12, 2, 10)
        first = sapwood.qp.solve(**p)
        again = sapwood.qp.solve(**p, start=first)
        assert again.solved
        assert again.iterations == 0
        p["g"] = p["g"] + 1e-9 * rng.normal(size=12)
        near = sapwood.qp.solve(**p, start=first)
        assert near.solved
        np.testing.assert_allclose(near.x, sapwood.qp.solve(**p).x, atol=1e-6)


def test_a_start_far_away_does_no_harm(rng):
    for _ in range(30):
        p, other = (random_program(rng, 8, 4, 2, 6) for _ in range(2))
        start = sapwood.qp.solve(**other)
        cold, warm = sapwood.qp.solve(**p), sapwood.qp.solve(**p, start=start)
        assert warm.status is cold.status
        assert warm.objective == pytest.approx(cold.objective, rel=1e-6, abs=1e-6)
        stacked = {name: np.array([values]) for name, values in p.items()}
        (batched,) = sapwood.qp.solve_batch(**stacked, start=[start])
        assert (batched.x == warm.x).all()


def test_wrong_starts():
    start = sapwood.qp.solve(np.eye(3), np.ones(3))
    with pytest.raises(ValueError, match=r"start.x has shape \(3,\), expected \(2,\)"):
        sapwood.qp.solve(np.eye(2), np.ones(2), start=start)
    with pytest.raises(TypeError, match="start must be a QpSolution, not ndarray"):
        sapwood.qp.solve(np.eye(2), np.ones(2), start=np.ones(2))
    with pytest.raises(ValueError, match="start must hold a QpSolution for each program"):
        sapwood.qp.solve_batch([np.eye(3)], [np.ones(3)], start=[])


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"H": [[1.0, 0.0], [0.0, np.nan]]}, r"H\[1, 1\] = nan: must be finite"),
        ({"C": [[1.0, 0.0]]}, "C and d must be given together"),
        ({"C": [[1.0, 0.0]], "d": [np.inf]}, r"d\[0\] = inf: must be finite or -inf"),
        ({"lower": 1.0, "upper": [2.0, 0.0]}, r"upper\[1\] = 0: must be >= lower"),
        ({"A": [[1.0]], "b": [0.0]}, r"A has shape \(1, 1\), expected \(1, 2\)"),
        ({"tolerance": 1.0}, r"tolerance = 1: must be in \(0, 1\)"),
    ],
)
def test_errors(arguments, text):
    given = {"H": np.eye(2), "g": [1.0, 1.0]} | arguments
    with pytest.raises(ValueError, match=text):
        sapwood.qp.solve(**given)

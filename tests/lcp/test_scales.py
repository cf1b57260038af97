"""The promise of a status, for all scales of a problem."""

import numpy as np
import pytest

import sapwood
from sapwood import reference
from sapwood.lcp import LcpStatus
from sapwood.qp import QpStatus

programs = pytest.mark.parametrize(
    "solve",
    [
        pytest.param(sapwood.qp.solve, id="core"),
        pytest.param(reference.solve_qp, id="reference"),
        pytest.param(sapwood.qp.solve_as_lcp, id="kkt"),
    ],
)
problems = pytest.mark.parametrize(
    "solve",
    [
        pytest.param(sapwood.lcp.solve, id="core"),
        pytest.param(reference.solve_lcp, id="reference"),
    ],
)
methods = pytest.mark.parametrize("method", sapwood.lcp.METHODS)


def nearly_linear(rng, n=4):
    """Exponent e, H and g: a cost whose minimum is 10^e away."""
    e, h = rng.uniform(0.0, 15.0), 10.0 ** rng.uniform(-12.0, 0.0)
    g = rng.normal(size=n)
    return e, h * np.eye(n), g * h * 10.0**e / np.abs(g).max()


def contradictory_rows(rng, n=4):
    """C and d, of which the last row contradicts the first by 1."""
    C = rng.normal(size=(5, n))
    d = C @ rng.normal(size=n) - rng.random(5)
    return np.vstack([C, -C[:1]]), np.append(d, 1.0 - d[0])


@programs
def test_no_infeasible_program_is_solved(rng, solve):
    counts = dict.fromkeys(QpStatus, 0)
    trials = 2000 if solve is sapwood.qp.solve else 60
    for _ in range(trials):
        e, H, g = nearly_linear(rng)
        C, d = contradictory_rows(rng)
        s = solve(H, g, C=C, d=d)
        counts[s.status] += 1
        assert s.status is not QpStatus.SOLVED, (e, s)
        if s.status is QpStatus.INFEASIBLE and solve is not sapwood.qp.solve_as_lcp:
            assert (s.lam >= 0.0).all()
            assert d @ s.lam == pytest.approx(1.0)
            np.testing.assert_allclose(C.T @ s.lam, 0.0, atol=1e-5 * (np.abs(C).T @ s.lam).max())
    # the mirror proves fewer, as it does not refine its factors
    proved = 0.4 if solve is reference.solve_qp else 0.9
    assert counts[QpStatus.INFEASIBLE] >= proved * trials


@pytest.mark.parametrize("polish", [True, False])
def test_rows_of_what_is_solved_hold(rng, polish):
    solved = 0
    for _ in range(1000):
        _, H, g = nearly_linear(rng)
        C = rng.normal(size=(6, 4)) * 10.0 ** rng.uniform(-3.0, 3.0, size=(6, 1))
        d = C @ rng.normal(size=4) - rng.random(6) * np.abs(C).max(axis=1)
        s = sapwood.qp.solve(H, g, C=C, d=d, lower=-10.0, upper=10.0, polish=polish)
        assert s.status in (QpStatus.SOLVED, QpStatus.INACCURATE)
        if s.solved:
            solved += 1
            assert ((d - C @ s.x) / (np.abs(d) + np.abs(C) @ np.abs(s.x))).max() <= 1e-8
            assert np.abs(s.x).max() <= 10.0
    assert solved >= 500


@pytest.mark.parametrize("polish", [True, False])
def test_rows_that_meet_at_rest(rng, polish):
    """All constants are 0, and so is x: nothing but round-off is left to judge rows by."""
    solved = 0
    for _ in range(100):
        n, m = int(rng.integers(1, 7)), int(rng.integers(1, 10))
        G, C = rng.normal(size=(n, n)), rng.normal(size=(m, n))
        H = G @ G.T + np.eye(n)
        s = sapwood.qp.solve(H, C.T @ rng.random(m), C=C, d=np.zeros(m), polish=polish)
        if s.status is QpStatus.SOLVED:
            solved += 1
            np.testing.assert_allclose(s.x, 0.0, atol=1e-6)
    # iterates alone come no closer than the root of round-off now and then, and one in a thousand
    # programs ends at the limit of iterations
    assert solved >= (100 if polish else 95)


@pytest.mark.parametrize("solve", [sapwood.qp.solve, reference.solve_qp])
def test_proofs_are_1_with_bounds_on_both_sides(rng, solve):
    proofs = 0
    for _ in range(300 if solve is sapwood.qp.solve else 60):
        n, m = int(rng.integers(1, 8)), int(rng.integers(1, 8))
        G = rng.normal(size=(int(rng.integers(0, n + 1)), n))
        A, C = rng.normal(size=(n // 3, n)), rng.normal(size=(m, n))
        upper = rng.uniform(0.0, 2.0, size=n)
        lower = -rng.uniform(0.0, 2.0, size=n)
        b, d = A @ rng.uniform(lower, upper), rng.normal(size=m)
        # beyond what the row can be within the bounds, by very little or by much
        reach = np.maximum(C[0] * lower, C[0] * upper).sum()
        d[0] = reach + np.abs(C[0]).max() * 10.0 ** rng.uniform(-3.0, 2.0)
        s = solve(G.T @ G, rng.normal(size=n), A=A, b=b, C=C, d=d, lower=lower, upper=upper)
        assert s.status in (QpStatus.INFEASIBLE, QpStatus.INACCURATE)
        if s.status is QpStatus.INACCURATE:
            continue
        proofs += 1
        up, down = np.maximum(s.bounds, 0.0), np.minimum(s.bounds, 0.0)
        assert b @ s.y + d @ s.lam + lower @ up + upper @ down == pytest.approx(1.0, rel=1e-9)
        assert (s.lam >= 0.0).all()
        left = A.T @ s.y + C.T @ s.lam + s.bounds
        sizes = np.abs(A).T @ np.abs(s.y) + np.abs(C).T @ s.lam + np.abs(s.bounds)
        assert np.abs(left).max() <= 1e-5 * sizes.max()
        assert s.dual_residual == pytest.approx(np.abs(left).max(), abs=1e-12 * sizes.max())
        assert (s.x == 0.0).all()
    assert proofs >= 55


@programs
def test_of_H_the_symmetric_part_counts(rng, solve):
    """The symmetric part of H, the only one in x^T H x."""
    s = solve([[2.0, 3.0], [-1.0, 2.0]], [-2.0, -5.0])
    np.testing.assert_allclose(s.x, [-1.0 / 3.0, 8.0 / 3.0], rtol=1e-9)
    for _ in range(20):
        G, g = rng.normal(size=(2, 5, 5)), rng.normal(size=5)
        H, askew = G[0] @ G[0].T + np.eye(5), G[1] - G[1].T
        expected, given = solve(H, g, lower=-1.0), solve(H + askew, g, lower=-1.0)
        np.testing.assert_allclose(given.x, expected.x, atol=1e-9)
        assert given.objective == pytest.approx(expected.objective)


@pytest.mark.parametrize("polish", [True, False])
def test_programs_without_variables(polish):
    nothing, none = np.zeros((0, 0)), np.zeros(0)
    kept = []
    for i in range(500):
        # memory beside what the solver takes, so that what is written past it is seen
        kept.append(np.full(3 + i % 11, 7.0))
        s = sapwood.qp.solve(nothing, none, polish=polish)
        assert s.status is QpStatus.SOLVED
        assert s.x.shape == s.bounds.shape == (0,)
    assert all((array == 7.0).all() for array in kept)
    rows = {"C": np.zeros((2, 0)), "d": [-1.0, -2.0], "polish": polish}
    assert sapwood.qp.solve(nothing, none, **rows).status is QpStatus.SOLVED
    rows["d"] = [-1.0, 2.0]
    s = sapwood.qp.solve(nothing, none, **rows)
    assert s.status is QpStatus.INFEASIBLE
    assert rows["d"] @ s.lam == pytest.approx(1.0)


@problems
@methods
def test_problems_without_unknowns(solve, method):
    s = solve(np.zeros((0, 0)), np.zeros(0), method)
    assert s.status is LcpStatus.SOLVED
    assert s.z.shape == s.w.shape == (0,)


@problems
@methods
@pytest.mark.parametrize("e", [0, 4, 8, 9, 12, 14])
def test_small_rows_beside_large_ones(solve, method, e):
    M = np.diag([10.0**-e, 10.0**e])
    s = solve(M, [-1.0, -1.0], method)
    if solve is reference.solve_lcp and e >= 12 and s.status is LcpStatus.INACCURATE:
        return  # the pivots of the mirror are not scaled row by row: it says so
    assert s.status is LcpStatus.SOLVED
    np.testing.assert_allclose(np.diag(M) * s.z, 1.0, rtol=1e-9)
    unsolvable = solve([[0.0, 0.0], [0.0, 10.0 ** -(e + 6)]], [-1.0, -1.0], method)
    assert unsolvable.status in (LcpStatus.RAY, LcpStatus.INFEASIBLE, LcpStatus.SINGULAR)


@methods
def test_rows_of_solved_problems_hold_each_by_itself(rng, method):
    """Rows of a definite matrix and of q, of very different sizes: a solution exists."""
    solved = 0
    for _ in range(500):
        n = int(rng.integers(1, 10))
        G = rng.normal(size=(n, n))
        M = G @ G.T * 10.0 ** rng.uniform(-12.0, 12.0, size=(n, 1))
        q = rng.normal(size=n) * 10.0 ** rng.uniform(-8.0, 8.0, size=n)
        s = sapwood.lcp.solve(M, q, method)
        assert s.status is not LcpStatus.INFEASIBLE
        if s.solved:
            solved += 1
            assert (s.w >= -1e-8 * (np.abs(q) + np.abs(M) @ s.z)).all()
    assert solved >= 200

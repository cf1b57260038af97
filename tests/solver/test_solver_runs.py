"""The course of a solve: islands, line searches, limits, round-off. C core and mirror."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import helpers
import sapwood
from helpers import TIGHT, assert_same_solution, implementations, seeded_problem, seeds, small_files
from rewritten import side_by_side
from row_groups import mixed_problem
from sapwood import SapSettings, Status, reference
from sapwood.reference.solver import line_search

# ---- islands -----------------------------------------------------------------------------------


def several_islands(seed):
    """Four separate parts, one of them a single tree on the world, and an untouched tree."""
    rng = np.random.default_rng(seed)
    parts = [
        helpers.random_problem(rng, sizes=(6, 6, 3), contacts=9),
        helpers.random_problem(rng, sizes=(4,), contacts=2),
        helpers.random_problem(rng, sizes=(6,), contacts=0),
        helpers.random_problem(rng, sizes=(9, 2), contacts=5),
        helpers.random_problem(rng, sizes=(6, 6), contacts=7),
    ]
    return side_by_side(parts)


@implementations
@seeds
@pytest.mark.parametrize("tolerance", [1e-1, 1e-3, 1e-6, 1e-10])
def test_islands_one_by_one_or_all_at_once(solver, seed, tolerance):
    """Both satisfy (20) for the whole problem and end at the same minimiser."""
    problem = several_islands(seed)
    settings = SapSettings(relative_tolerance=tolerance)
    apart = solver.solve(problem, settings=settings)
    together = solver.solve(problem, settings=dataclasses.replace(settings, islands=False))
    _, n_islands = reference.islands(problem.n_trees, problem.tree_a, problem.tree_b)
    assert apart.n_islands == n_islands > 1
    assert together.n_islands == 1
    helpers.assert_both_converged(problem, tolerance, apart, together)


@implementations
def test_iterations_of_islands(solver):
    """Each island takes the iterations it would take alone with the sharper rule of several."""
    problem = several_islands(5)
    solution = solver.solve(problem, settings=SapSettings(record_history=True))
    history = solution.history
    islands = np.unique(history["island"])
    assert islands.tolist() == list(range(solution.n_islands))
    taken = np.array([history["iteration"][history["island"] == k].max() for k in islands])
    assert solution.iterations == taken.max()
    assert solution.total_iterations == taken.sum()
    assert solution.line_search_trials == history["trials"].sum()
    assert len(history) == solution.total_iterations + solution.n_islands


# ---- how a solve goes --------------------------------------------------------------------------


@implementations
@small_files
@pytest.mark.parametrize("line_search", ["exact", "backtracking"])
def test_cost_never_increases(solver, path, line_search):
    """Monotone, and the recorded decreases add up to what was gained."""
    problem = sapwood.load_problem(path)
    settings = SapSettings(
        line_search=line_search,
        record_history=True,
        islands=False,
        relative_tolerance=1e-8,
    )
    solution = solver.solve(problem, settings=settings)
    assert solution.status == Status.converged
    history = solution.history
    assert history["iteration"].tolist() == list(range(len(history)))
    assert np.all(history["decrease"][1:] > 0.0)
    assert np.all(history["step"][1:] > 0.0)
    assert np.all(history["step"] <= settings.max_step)
    drop = -np.diff(history["cost"])
    rounding = 1e-12 * history["cost"][0]
    np.testing.assert_allclose(history["decrease"][1:], drop, atol=rounding)
    assert history["cost"][-1] == pytest.approx(solution.cost, rel=1e-12)
    e_m = helpers.momentum_error(problem, solution.v)
    np.testing.assert_allclose(history["momentum_error"][-1], e_m, rtol=1e-3, atol=1e-11)


@implementations
@small_files
def test_exact_guess_takes_no_iteration(solver, path):
    """Whatever the limit, 0 included; the guess is returned to the bit where a contact moves it."""
    problem = sapwood.load_problem(path)
    for max_iterations in (0, 1, 100):
        settings = SapSettings(max_iterations=max_iterations)
        solution = solver.solve(problem, problem.v_ref, settings)
        assert solution.status == Status.converged
        assert solution.iterations == solution.total_iterations == 0
        touched, moved = helpers.touched_trees(problem), helpers.moved_columns(problem)
        for t, here in enumerate(helpers.sections(problem)):
            expected = (problem.v_ref if touched[t] else problem.v_star)[here]
            stays = moved[t] if touched[t] else np.ones_like(moved[t])
            np.testing.assert_array_equal(solution.v[here][stays], expected[stays])
            np.testing.assert_allclose(solution.v[here], expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    "settings",
    [
        SapSettings(),
        SapSettings(record_history=True, relative_tolerance=1e-9),
        SapSettings(islands=False, start="newton", turning=False),
    ],
)
def test_new_solver_knows_nothing_of_those_that_are_gone(settings):
    """Its memory may be theirs: results are those of solvers that were all made before."""
    problems = [mixed_problem(k, contacts=5 + 20 * k)[0] for k in range(4)]
    kept = [sapwood.SapSolver(settings) for _ in problems]
    expected = [solver.solve(p) for solver, p in zip(kept, problems, strict=True)]
    for k in (3, 0, 2, 1, 3, 3):
        sapwood.SapSolver().solve(problems[3 - k])
        solution = sapwood.SapSolver(settings).solve(problems[k])
        assert solution == expected[k]
        assert not solution.symbolic_reused
    # each of many at once has memory of its own
    many = [sapwood.SapSolver(settings) for _ in range(40)]
    found = [solver.solve(problems[k % 4]) for k, solver in enumerate(many)]
    del many
    again = [sapwood.SapSolver(settings).solve(problems[k % 4]) for k in range(40)]
    for k in range(40):
        assert found[k] == again[k] == expected[k % 4]


@implementations
def test_no_contacts(solver):
    problem, rng = seeded_problem(1, contacts=0)
    solution = solver.solve(problem, rng.standard_normal(problem.nv))
    assert solution.status == Status.converged
    np.testing.assert_array_equal(solution.v, problem.v_star)
    assert solution.gamma.shape == (0, 3)
    assert solution.iterations == solution.n_islands == 0
    assert solution.velocity_error_bound == solution.momentum_error == solution.cost == 0.0


@implementations
def test_contacts_that_do_not_act(solver):
    """All contacts separate: v = v* and nothing pushes."""
    problem, rng = seeded_problem(2)
    problem = helpers.rebuild(problem, v_hat_n=np.full(problem.n_contacts, -100.0))
    solution = solver.solve(problem, rng.standard_normal(problem.nv))
    assert solution.status == Status.converged
    np.testing.assert_array_equal(solution.regions, 3)
    np.testing.assert_array_equal(solution.gamma, 0.0)
    np.testing.assert_allclose(solution.v, problem.v_star, atol=1e-14)


@implementations
def test_iteration_limit_is_reported(solver):
    problem = sapwood.load_problem(helpers.DATA / "clutter_12_impact_block.npz")
    guess = solver.solve(problem, settings=SapSettings(max_iterations=0))
    assert guess.status == Status.iteration_limit
    assert guess.iterations == 0
    one = solver.solve(problem, settings=SapSettings(max_iterations=1))
    assert one.status == Status.iteration_limit
    assert one.iterations == 1
    assert one.cost < guess.cost
    assert 1e-6 < one.momentum_error < guess.momentum_error
    np.testing.assert_allclose(
        one.momentum_error, helpers.momentum_error(problem, one.v), rtol=1e-8
    )


@implementations
@small_files
def test_round_off_is_reported(solver, path):
    """A tolerance nobody can reach: stalled (or lucky), soon, near the minimiser, never a loop."""
    problem = sapwood.load_problem(path)
    sharp = SapSettings(relative_tolerance=1e-12)
    impossible = SapSettings(relative_tolerance=0.0, absolute_tolerance=0.0)
    converged = solver.solve(problem, settings=sharp)
    solution = solver.solve(problem, settings=impossible)
    assert solution.status == Status.stalled
    assert solution.iterations <= converged.iterations + 20
    assert helpers.momentum_error(problem, solution.v) <= 1e-12
    assert_same_solution(problem, converged, solution)


@implementations
def test_overflow_is_reported(solver):
    """Finite input, infinite cost: a status of its own, no exception and no crash."""
    problem, _ = seeded_problem(3)
    problem = helpers.rebuild(problem, v_star=np.full(problem.nv, 1e200))
    solution = solver.solve(problem)
    assert solution.status == Status.non_finite


@implementations
@small_files
def test_line_searches_agree(solver, path):
    problem = sapwood.load_problem(path)
    exact = solver.solve(problem, settings=TIGHT)
    settings = SapSettings(relative_tolerance=1e-10, line_search="backtracking")
    armijo = solver.solve(problem, settings=settings)
    assert exact.status == armijo.status == Status.converged
    assert_same_solution(problem, exact, armijo)


@implementations
@seeds
@pytest.mark.parametrize("tolerance", [1e-8, 0.01, 0.5])
def test_exact_search_finds_the_root(solver, seed, tolerance):
    """The step zeroes the slope along the first direction, or ends where l still falls a little."""
    problem, rng = seeded_problem(seed)
    settings = SapSettings(
        record_history=True,
        islands=False,
        max_iterations=1,
        start="newton",
        line_search_tolerance=tolerance,
    )
    sap = solver.SapSolver(settings)
    for size in (0.1, 1.0, 10.0):
        guess = size * rng.standard_normal(problem.nv)
        step = sap.solve(problem, guess).history["step"][1]
        direction = sap.evaluate(problem, guess).direction
        line = sap.along_line(problem, guess, direction, [0.0, step])
        assert 0.0 < step < settings.max_step
        assert -2.0 * tolerance <= line.slope[1] / abs(line.slope[0]) <= 0.2 * tolerance + 2e-8
        assert line.difference[1] < 0.0


def test_exact_search_does_not_stop_where_the_cost_has_risen():
    """dl/da is -1 up to 1e-4 and 5e-4 at 1, a small slope, but l has risen since it turned."""

    class Line:
        dv_dp = 1e-6

        def derivatives(self, alpha):
            kink = 1e-4
            if alpha < kink:
                return -1.0 + 1e-6 * (alpha - kink), 1e-6
            return 5e-4 + 1e-6 * (alpha - 1.0), 1e-6

        def wall(self, alpha):
            return alpha

    alpha, _ = line_search.exact(Line(), -1.0, SapSettings())
    assert alpha <= 1e-4 + 1e-8


@implementations
def test_exact_search_goes_no_further_than_the_longest_step(solver):
    """A point mass pressed in that is about to leave: Newton's model at the guess holds it back.

    H = 1 + 1/R_n = 11 at v_n = -1 leads to v_n = -1 + alpha 21/11; beyond contact the slope
    vanishes only at v* = 10, which is alpha = 11 * 11/21.
    """
    one = np.ones(1)
    problem = sapwood.ContactProblem(
        tree_nv=[3],
        A=np.eye(3).ravel(),
        v_star=[0.0, 0.0, 10.0],
        tree_a=[0],
        tree_b=[-1],
        J=np.eye(3).ravel(),
        mu=one,
        dt=0.01,
        R_t=0.1 * one,
        R_n=0.1 * one,
        v_hat_n=0.0 * one,
    )
    guess = [0.0, 0.0, -1.0]
    for max_step in (1.0, 1.5, 5.0, 10.0):
        settings = SapSettings(
            record_history=True, max_iterations=1, start="newton", max_step=max_step
        )
        first = solver.solve(problem, guess, settings).history[1]
        if max_step < 121.0 / 21.0:
            assert first["step"] == max_step
            assert first["trials"] == 2
        else:
            np.testing.assert_allclose(first["step"], 121.0 / 21.0, rtol=1e-7)


@implementations
@seeds
def test_backtracking_step(solver, seed):
    """The longest alpha_max rho^k that decreases l enough and that the next one does not beat."""
    problem, rng = seeded_problem(seed)
    guess = rng.standard_normal(problem.nv)
    settings = SapSettings(
        record_history=True,
        islands=False,
        max_iterations=1,
        start="newton",
        line_search="backtracking",
    )
    sap = solver.SapSolver(settings)
    history = sap.solve(problem, guess).history
    direction = sap.evaluate(problem, guess).direction
    tried = settings.max_step * settings.armijo_rho ** np.arange(history["trials"][1])
    difference, _, _ = sap.along_line(problem, guess, direction, tried)
    _, slope, _ = sap.along_line(problem, guess, direction, [0.0])
    enough = difference[:-1] < settings.armijo_c * tried[:-1] * slope[0]
    accepted = enough & (difference[1:] >= difference[:-1])
    assert np.flatnonzero(accepted).tolist() == [len(accepted) - 1]
    assert history["step"][1] == pytest.approx(tried[-2], rel=1e-14)


@implementations
@seeds
def test_soft_norm(solver, seed):
    """The smoothed problem is solved to its own minimiser, close to the exact one."""
    problem, _ = seeded_problem(seed)
    exact = solver.solve(problem, settings=TIGHT)
    soft = solver.solve(problem, settings=dataclasses.replace(TIGHT, soft_norm=1e-4))
    assert soft.status == Status.converged
    gap = np.abs(soft.v - exact.v).max()
    assert 0.0 < gap < 1e-2
    at = solver.SapSolver(SapSettings(soft_norm=1e-4)).evaluate(problem, soft.v)
    D = 1.0 / np.sqrt(np.concatenate([np.diag(problem.A_block(t)) for t in range(problem.n_trees)]))
    A, _ = problem.to_dense()
    assert np.linalg.norm(D * at.gradient) <= 1e-11 * np.linalg.norm(D * (A @ soft.v))


# ---- both implementations ----------------------------------------------------------------------


@small_files
@pytest.mark.parametrize("islands", [True, False])
@pytest.mark.parametrize("tolerance", [1e-1, 1e-6])
@pytest.mark.parametrize("plain", [True, False], ids=["algorithm-1", "default"])
def test_core_iterates_like_its_mirror(path, islands, tolerance, plain):
    """The same algorithm: as many iterations (one more or less by round-off) and islands.

    The core eliminates velocities that no constraint moves and iterates with the best there are;
    the mirror does the same where it starts from them.
    """
    problem = sapwood.load_problem(path)
    guess = problem.v_star if problem.v_guess is None else problem.v_guess
    guess = helpers.settled(problem, guess)
    settings = SapSettings(
        islands=islands,
        relative_tolerance=tolerance,
        mixed_precision=False,  # rounds differently in single precision
        record_history=True,
    )
    if plain:
        settings = dataclasses.replace(settings, start="newton", turning=False)
    core = sapwood.solve(problem, guess, settings)
    mirror = reference.solve(problem, guess, settings)
    assert core.status == mirror.status
    assert core.n_islands == mirror.n_islands
    assert abs(core.iterations - mirror.iterations) <= 1
    # islands may be numbered differently; the first iterates agree before round-off can grow
    for iteration in (0, 1):
        ours, theirs = (s.history[s.history["iteration"] == iteration] for s in (core, mirror))
        assert len(ours) == len(theirs)
        for name in ("step", "cost", "momentum_error"):
            np.testing.assert_allclose(
                np.sort(ours[name]), np.sort(theirs[name]), rtol=1e-5, atol=1e-12
            )


@seeds
def test_velocities_that_no_contact_moves(seed):
    """Zero columns of J are eliminated; entries of 1e-300 in their place keep them."""
    problem, rng = seeded_problem(seed, sizes=(18, 6, 12, 27, 9))
    idle = {int(n): rng.permutation(int(n)) < n // 2 for n in problem.tree_nv}

    def with_idle(entry):
        def fill(J):
            return None if J is None else np.where(idle[J.shape[1]], entry, J)

        pairs = [(fill(J_a), fill(J_b)) for J_a, J_b in helpers.jacobian_blocks(problem)]
        return helpers.rebuild(problem, J=helpers.pack_J(pairs))

    zeros = with_idle(0.0)
    core = sapwood.solve(zeros, settings=TIGHT)
    for other in (
        sapwood.solve(with_idle(1e-300), settings=TIGHT),
        sapwood.solve(zeros, settings=dataclasses.replace(TIGHT, islands=False)),
        reference.solve(zeros, settings=TIGHT),
    ):
        assert_same_solution(zeros, core, other)
        np.testing.assert_allclose(core.v, other.v, rtol=0, atol=1e-9)
    assert helpers.momentum_error(zeros, core.v) <= 1e-11
    # the guess of what is eliminated does not count
    moved = np.concatenate(helpers.moved_columns(zeros))
    wide = np.repeat(problem.tree_nv > 6, problem.tree_nv)
    guess = np.where(moved | ~wide, problem.v_star, 1e3)
    assert np.array_equal(sapwood.solve(zeros, guess).v, sapwood.solve(zeros, problem.v_star).v)

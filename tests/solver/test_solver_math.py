"""Cost, derivatives and symmetries of the solver, C core and NumPy mirror.

`reference` is the mirror; every property is checked on both. Two solutions of one problem are
compared through their proved error bounds, so that no tolerance has to be guessed.
"""

from __future__ import annotations

import numpy as np

import helpers
from helpers import TIGHT, assert_same_solution, implementations, seeded_problem, seeds

# ---- derivatives -------------------------------------------------------------------------------


@implementations
@seeds
def test_cost_and_gradient_in_extended_precision(solver, seed):
    """Cost, gradient and impulses against formulas that share no code with the solver."""
    problem, rng = seeded_problem(seed)
    v = rng.standard_normal(problem.nv)
    at = solver.SapSolver().evaluate(problem, v)
    cost, gradient, _, _, _ = helpers.evaluate_wide(problem, v)
    np.testing.assert_allclose(at.cost, float(cost), rtol=1e-13)
    scale = np.abs(gradient).max()
    np.testing.assert_allclose(at.gradient, gradient.astype(float), atol=1e-12 * float(scale))


@implementations
@seeds
def test_newton_direction(solver, seed):
    """H dv = -grad."""
    problem, rng = seeded_problem(seed)
    v = rng.standard_normal(problem.nv)
    at = solver.SapSolver().evaluate(problem, v)
    residual = at.hessian @ at.direction + at.gradient
    size = np.abs(at.hessian) @ np.abs(at.direction)
    assert np.all(np.abs(residual) <= 100 * helpers.EPS * size.max())


# ---- symmetries --------------------------------------------------------------------------------


@implementations
@seeds
def test_order_of_the_two_trees_does_not_matter(solver, seed):
    problem, _ = seeded_problem(seed)
    two_trees = problem.tree_b >= 0
    blocks = helpers.jacobian_blocks(problem)
    other = helpers.rebuild(
        problem,
        tree_a=np.where(two_trees, problem.tree_b, problem.tree_a),
        tree_b=np.where(two_trees, problem.tree_a, -1),
        J=helpers.pack_J([(J_a, None) if J_b is None else (J_b, J_a) for J_a, J_b in blocks]),
    )
    one, two = (solver.solve(p, settings=TIGHT) for p in (problem, other))
    assert_same_solution(problem, one, two)


@implementations
@seeds
def test_moving_frame(solver, seed):
    """Seen from a frame moving with w, surfaces move with -J w and nothing else changes.

    A conveyor: v_hat is biased by -J w (tangential part included) where v and v* lose w.
    """
    problem, rng = seeded_problem(seed)
    w = rng.standard_normal(problem.nv)
    _, J = problem.to_dense()
    shift = (J @ w).reshape(-1, 3)
    other = helpers.rebuild(
        problem,
        v_star=problem.v_star - w,
        v_hat_n=problem.v_hat_n - shift[:, 2],
        v_hat_t=-shift[:, :2],
    )
    one, two = (solver.solve(p, settings=TIGHT) for p in (problem, other))
    assert_same_solution(problem, one, two, two.v + w)
    np.testing.assert_allclose(two.gamma, one.gamma, atol=1e-8 * np.abs(one.gamma).max())
    np.testing.assert_allclose(two.v_c + shift, one.v_c, atol=1e-9)


@implementations
@seeds
def test_untouched_trees_keep_their_free_motion(solver, seed):
    """Trees no contact touches get v*, whatever the guess, and change nothing else."""
    problem, rng = seeded_problem(seed, sizes=(6, 4, 9, 6, 2), touched=[0, 2, 3])
    at = helpers.sections(problem)
    guess = problem.v_star + rng.standard_normal(problem.nv)
    whole = solver.solve(problem, guess)
    for t in (1, 4):
        np.testing.assert_array_equal(whole.v[at[t]], problem.v_star[at[t]])

    keep = np.concatenate([np.arange(at[t].start, at[t].stop) for t in (0, 2, 3)])
    new_index = np.array([0, -1, 1, 2, -1, -1])
    part = helpers.rebuild(
        problem,
        tree_nv=problem.tree_nv[[0, 2, 3]],
        A=np.concatenate([problem.A_block(t).ravel() for t in (0, 2, 3)]),
        v_star=problem.v_star[keep],
        tree_a=new_index[problem.tree_a],
        tree_b=new_index[problem.tree_b],
    )
    alone = solver.solve(part, guess[keep])
    np.testing.assert_array_equal(whole.v[keep], alone.v)
    np.testing.assert_array_equal(whole.gamma, alone.gamma)
    assert whole.iterations == alone.iterations
    assert whole.velocity_error_bound == alone.velocity_error_bound


@implementations
@seeds
def test_splitting_a_contact(solver, seed):
    """Two contacts in one place, each half as stiff (2 R), share the impulse of one."""
    problem, _ = seeded_problem(seed)
    i = int(np.flatnonzero(problem.tree_b < 0)[0])
    again = np.append(np.arange(problem.n_contacts), i)
    half = np.ones(problem.n_contacts + 1)
    half[[i, -1]] = 2.0
    blocks = helpers.jacobian_blocks(problem)
    other = helpers.rebuild(
        problem,
        tree_a=problem.tree_a[again],
        tree_b=problem.tree_b[again],
        J=helpers.pack_J([blocks[k] for k in again]),
        mu=problem.mu[again],
        R_t=problem.R_t[again] * half,
        R_n=problem.R_n[again] * half,
        v_hat_n=problem.v_hat_n[again],
    )
    one, two = (solver.solve(p, settings=TIGHT) for p in (problem, other))
    assert_same_solution(problem, one, two)
    size = np.abs(one.gamma).max()
    np.testing.assert_allclose(two.gamma[i], one.gamma[i] / 2.0, atol=1e-8 * size)
    np.testing.assert_array_equal(two.gamma[i], two.gamma[-1])


@implementations
@seeds
def test_two_trees_as_one(solver, seed):
    """A contact between two trees is a contact inside one tree with both their velocities."""
    problem, _ = seeded_problem(seed, sizes=(6, 3), contacts=9)
    A, J = problem.to_dense()
    other = helpers.rebuild(
        problem,
        tree_nv=[9],
        A=A.ravel(),
        tree_a=np.zeros(9, dtype=np.int32),
        tree_b=np.full(9, -1, dtype=np.int32),
        J=J.ravel(),
    )
    one, two = (solver.solve(p, settings=TIGHT) for p in (problem, other))
    assert_same_solution(problem, one, two)

"""Directions in single precision cost no accuracy, and double takes over. C core and mirror."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import helpers
import sapwood
from helpers import implementations, seeded_problem, seeds
from sapwood import SapSettings, Status, reference


def many_trees(seed, sizes=(6,) * 12 + (9, 2, 13, 1, 7)):
    """One island of trees of all kinds, large enough for directions in single precision."""
    return seeded_problem(seed, sizes=sizes, contacts=70)[0]


def in_double(settings):
    return dataclasses.replace(settings, mixed_precision=False)


@implementations
@seeds
@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-11])
@pytest.mark.parametrize("sizes", [(6,) * 12, (6,) * 12 + (9, 2, 13, 1, 7)], ids=["bodies", "all"])
def test_single_precision_of_directions_costs_no_accuracy(solver, seed, sizes, tolerance):
    """Other iterates, about as many; e_m and the certificate hold as in double precision."""
    problem = many_trees(seed, sizes)
    settings = SapSettings(relative_tolerance=tolerance)
    mixed = solver.solve(problem, settings=settings)
    double = solver.solve(problem, settings=in_double(settings))
    assert mixed.n_islands == 1
    assert not np.array_equal(mixed.v, double.v)
    assert abs(mixed.iterations - double.iterations) <= 2
    helpers.assert_both_converged(problem, tolerance, mixed, double)


@seeds
def test_single_precision_like_the_mirror(seed):
    """The first direction, which no other has led away from, agrees to single precision."""
    problem = many_trees(seed)
    settings = SapSettings(record_history=True)
    core, mirror = (solver.solve(problem, settings=settings) for solver in (sapwood, reference))
    assert abs(core.iterations - mirror.iterations) <= 1
    for name in ("step", "cost", "momentum_error"):
        np.testing.assert_allclose(core.history[name][:2], mirror.history[name][:2], rtol=1e-3)


@implementations
@seeds
@pytest.mark.parametrize("scale", [1e-60, 1e60])
def test_double_precision_takes_over(solver, seed, scale):
    """Masses that are no numbers of single precision: all directions are those of double."""
    problem = many_trees(seed)
    problem = helpers.rebuild(
        problem, A=scale * problem.A, R_t=problem.R_t / scale, R_n=problem.R_n / scale
    )
    settings = SapSettings(absolute_tolerance=0.0)
    mixed = solver.solve(problem, settings=settings)
    double = solver.solve(problem, settings=in_double(settings))
    assert mixed.status == Status.converged
    assert np.array_equal(mixed.v, double.v)
    assert mixed.total_iterations == double.total_iterations
    assert "double" in mixed.algorithm[0].fallbacks


@implementations
@seeds
def test_small_numbers_do_not_end_the_iterations(solver, seed):
    """Gradients that single precision takes for zero near the end."""
    problem = many_trees(seed)
    problem = helpers.rebuild(
        problem, A=1e-33 * problem.A, R_t=1e33 * problem.R_t, R_n=1e33 * problem.R_n
    )
    settings = SapSettings(relative_tolerance=1e-8, absolute_tolerance=0.0)
    mixed = solver.solve(problem, settings=settings)
    assert mixed.status == Status.converged
    assert not np.array_equal(mixed.v, solver.solve(problem, settings=in_double(settings)).v)


@implementations
@seeds
@pytest.mark.parametrize("spread", [1e4, 1e8, 1e12])
def test_single_precision_ends_where_it_no_longer_helps(solver, seed, spread):
    """Light bodies among heavy ones: H that single precision factors badly, or not at all."""
    problem = many_trees(seed, (6,) * 14)
    rng = np.random.default_rng(seed)
    masses = spread ** rng.uniform(-0.5, 0.5, problem.n_trees)
    # R belongs to the lighter body of a contact, so that none is rigid
    lighter = np.minimum(
        masses[problem.tree_a],
        np.where(problem.tree_b < 0, np.inf, masses[np.maximum(problem.tree_b, 0)]),
    )
    problem = helpers.rebuild(
        problem, A=np.repeat(masses, 36) * problem.A, R_t=problem.R_t / lighter,
        R_n=problem.R_n / lighter,
    )  # fmt: skip
    settings = SapSettings(relative_tolerance=1e-10, max_iterations=200)
    mixed = solver.solve(problem, settings=settings)
    double = solver.solve(problem, settings=in_double(settings))
    assert mixed.status == double.status == Status.converged
    assert mixed.iterations <= 1.5 * double.iterations + 2
    assert helpers.momentum_error(problem, mixed.v) <= 1e-10 * (1.0 + 1e-3)


@implementations
@seeds
def test_round_off_ends_the_iterations_in_either_precision(solver, seed):
    """A tolerance of zero: the same outcome, and e_m as small."""
    problem = many_trees(seed)
    settings = SapSettings(relative_tolerance=0.0, absolute_tolerance=0.0)
    mixed = solver.solve(problem, settings=settings)
    double = solver.solve(problem, settings=in_double(settings))
    assert mixed.status == double.status == Status.stalled
    assert mixed.momentum_error <= 10.0 * double.momentum_error + 1e-15


@implementations
def test_double_precision_for_few_velocities(solver):
    """The setting makes no difference."""
    problem = many_trees(3, (6,) * 11 + (5,))
    mixed = solver.solve(problem)
    assert mixed.n_islands == 1
    assert np.array_equal(mixed.v, solver.solve(problem, settings=in_double(SapSettings())).v)


@implementations
def test_double_precision_with_rigid_cores(solver):
    """The same bits with and without the setting, where a core may make H as stiff as it likes."""
    problem = many_trees(3)
    problem = helpers.rebuild(problem, core="log", kappa=np.full(problem.n_contacts, 10.0))
    mixed = solver.solve(problem)
    assert mixed.n_islands == 1
    assert np.array_equal(mixed.v, solver.solve(problem, settings=in_double(SapSettings())).v)

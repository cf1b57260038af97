"""Derivatives of many solutions in one call: those of each alone, on any number of threads."""

from __future__ import annotations

import dataclasses
import signal

import numpy as np
import pytest

import helpers
import sapwood
from differentials import CASES, settings_of
from interrupts import interrupt_after
from sapwood import Differential, _core

NAMES = tuple(CASES)


@pytest.fixture(params=["convex", "lagged", "coulomb"])
def solved(request, rng):
    """Solutions of all kinds of problems with a law of friction, these, and the settings."""
    cases = [CASES[name](rng) for name in NAMES]
    problems = [case.problem() for case in cases if case.friction == request.param]
    settings = settings_of(request.param)
    return sapwood.solve_batch(problems, settings=settings, sensitivity=True), problems, settings


def bars_of(rng, problems):
    return {
        "v_bars": [rng.standard_normal((2, p.nv)) for p in problems],
        "gamma_bars": [rng.standard_normal((p.n_contacts, 3)) for p in problems],
        "constraint_gamma_bars": [
            [rng.standard_normal(group.n_rows) for group in p.constraints] for p in problems
        ],
        "spin_gamma_bars": [
            None if p.spin_contact is None else rng.standard_normal((p.n_spins, 3))
            for p in problems
        ],
    }


def assert_same_bits(one, other):
    """Compare two gradients or changes, number by number."""
    if isinstance(one, (tuple, list)):
        for a, b in zip(one, other, strict=True):
            assert_same_bits(a, b)
    elif dataclasses.is_dataclass(one):
        for field in dataclasses.fields(one):
            assert_same_bits(getattr(one, field.name), getattr(other, field.name))
    elif isinstance(one, dict):
        assert one.keys() == other.keys()
        assert_same_bits(list(one.values()), list(other.values()))
    else:
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("threads", [None, 1, 2, 7])
@pytest.mark.parametrize("matrices", [False, True])
def test_reverse_mode_is_that_of_each(solved, threads, matrices, rng):
    solutions, problems, _ = solved
    bars = bars_of(rng, problems)
    found = sapwood.vjp_batch(solutions, **bars, threads=threads, matrices=matrices)
    for i, (gradient, solution) in enumerate(zip(found, solutions, strict=True)):
        alone = solution.vjp(
            bars["v_bars"][i], bars["gamma_bars"][i],
            constraint_gamma_bars=bars["constraint_gamma_bars"][i],
            spin_gamma_bar=bars["spin_gamma_bars"][i],
        )  # fmt: skip
        assert gradient.v_star.shape == (2, problems[i].nv)
        assert_same_bits(gradient, alone)


@pytest.mark.parametrize("threads", [None, 1, 5])
@pytest.mark.parametrize("frozen", [False, True])
def test_forward_mode_is_that_of_each(solved, threads, frozen, rng):
    solutions, problems, _ = solved
    dots = [
        Differential(A=np.array(p.A), v_star=rng.standard_normal(p.nv), mu=rng.random(p.n_contacts))
        for p in problems
    ]
    found = sapwood.jvp_batch(solutions, dots, frozen_regularization=frozen, threads=threads)
    for change, solution, dot in zip(found, solutions, dots, strict=True):
        assert_same_bits(change, solution.jvp(dot, frozen_regularization=frozen))


def test_linearizations_of_a_batch_are_those_of_each(solved):
    solutions, problems, settings = solved
    for solution, problem in zip(solutions, problems, strict=True):
        alone = sapwood.solve(problem, settings=settings, sensitivity=True)
        assert alone == solution
        assert solution.sensitivity.problem is problem
        for name in ("regions", "distance", "row_distance", "momentum_error", "converged"):
            assert_same_bits(getattr(alone.sensitivity, name), getattr(solution.sensitivity, name))


def test_one_solution_many_times(rng):
    """Threads that share a factor wait for each other."""
    problem = helpers.random_problem(rng)
    solution = sapwood.solve(problem, sensitivity=True)
    bars = rng.standard_normal((50, problem.nv))
    found = sapwood.vjp_batch([solution] * 50, bars, threads=4)
    whole = solution.vjp(bars)
    np.testing.assert_array_equal([gradient.v_star for gradient in found], whole.v_star)
    np.testing.assert_array_equal([gradient.mu for gradient in found], whole.mu)


def test_nothing_to_differentiate():
    assert sapwood.vjp_batch([]) == []
    assert sapwood.jvp_batch([], [], threads=3) == []


def test_wrong_arguments_are_named(rng):
    problem = helpers.random_problem(rng)
    solution = sapwood.solve(problem, sensitivity=True)
    with pytest.raises(TypeError, match=r"solutions\[1\] must be a Solution, not int"):
        sapwood.vjp_batch([solution, 3])
    with pytest.raises(ValueError, match="v_bars has 1 elements for 2 solutions"):
        sapwood.vjp_batch([solution] * 2, np.zeros((1, problem.nv)))
    with pytest.raises(ValueError, match="threads = 0: must be >= 1"):
        sapwood.vjp_batch([solution], threads=0)
    wrong = [np.zeros(problem.nv), np.full(problem.nv, np.nan)]
    with pytest.raises(ValueError, match="v_bar") as caught:
        sapwood.vjp_batch([solution] * 2, wrong)
    assert caught.value.__notes__ == ["in solutions[1]"]
    with pytest.raises(TypeError, match="problem_dot must be a Differential") as caught:
        sapwood.jvp_batch([solution] * 2, [Differential(), None])
    assert caught.value.__notes__ == ["in solutions[1]"]
    with pytest.raises(ValueError, match="solve with sensitivity=True") as caught:
        sapwood.vjp_batch([solution, sapwood.solve(problem)])
    assert caught.value.__notes__ == ["in solutions[1]"]


@pytest.mark.parametrize(
    "call",
    [
        lambda made: _core.vjp_batch([made], 1),
        lambda made: _core.vjp_batch([(type(made), ())], 1),
        lambda made: _core.vjp_batch([(made, ())], 1),
        lambda made: _core.jvp_batch([(made, (1, {}, False))], 0),
        lambda made: _core.linearize_batch([(made, ())], 1),
        lambda made: _core.linearize_batch([(type(made.problem), ())], 1),
    ],
)
def test_the_core_refuses_what_is_no_call(call, rng):
    made = sapwood.solve(helpers.random_problem(rng), sensitivity=True).sensitivity
    with pytest.raises((TypeError, ValueError)):
        call(made)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs POSIX signals")
def test_a_signal_interrupts_a_batch(rng):
    """Control-C in the middle raises; the next call works."""
    problem = helpers.random_problem(rng)
    solution = sapwood.solve(problem, sensitivity=True)
    bars = [rng.standard_normal((200, problem.nv))] * 300

    def ask_for_ever():
        while True:
            sapwood.vjp_batch([solution] * len(bars), bars, threads=2)

    with pytest.raises(KeyboardInterrupt), interrupt_after(0.05):
        ask_for_ever()
    assert len(sapwood.vjp_batch([solution], bars[:1])) == 1

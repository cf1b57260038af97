"""solve_batch: the solutions of solve, in order, whatever the number of threads."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

import helpers
import sapwood
from interrupts import interrupt_after

TASKS = Path("/proc/self/task")


@pytest.fixture
def problems(rng):
    files = [sapwood.load_problem(path) for path in helpers.small_paths()]
    return files + [helpers.random_problem(rng) for _ in range(20)]


@pytest.mark.parametrize("threads", [None, 1, 2, 5, 64, 1000])
def test_same_bits_as_one_by_one(problems, threads):
    batch = sapwood.solve_batch(problems, threads=threads)
    assert batch == [sapwood.solve(problem) for problem in problems]


def test_guesses_and_settings_reach_every_problem(problems, rng):
    settings = sapwood.SapSettings(relative_tolerance=1e-9, record_history=True)
    guesses = [
        rng.standard_normal(problem.nv) if i % 2 else None for i, problem in enumerate(problems)
    ]
    batch = sapwood.solve_batch(iter(problems), guesses, settings, threads=2)
    for problem, guess, solution in zip(problems, guesses, batch, strict=True):
        assert solution == sapwood.solve(problem, guess, settings)


def test_nothing_to_solve():
    assert sapwood.solve_batch([]) == []
    assert sapwood.solve_batch(iter(()), threads=3) == []


def test_wrong_arguments_are_named(problems):
    with pytest.raises(TypeError, match=r"problems\[1\] must be a ContactProblem, not int"):
        sapwood.solve_batch([problems[0], 3])
    with pytest.raises(ValueError, match=f"v_guesses has 1 elements for {len(problems)} problems"):
        sapwood.solve_batch(problems, [None])
    with pytest.raises(ValueError, match="threads = 0: must be >= 1"):
        sapwood.solve_batch(problems, threads=0)
    with pytest.raises(TypeError, match="threads must be an integer"):
        sapwood.solve_batch(problems, threads=1.5)


@pytest.mark.skipif(not TASKS.is_dir(), reason="counts threads in /proc")
def test_threads_stay_for_the_next_batch(problems):
    def listed(threads):
        sapwood.solve_batch(problems, threads=threads)
        return {path.name for path in TASKS.iterdir()}

    first = listed(3)
    assert all(listed(3) == first for _ in range(5))
    # a thread that has ended may be listed for a moment more
    deadline = time.monotonic() + 60.0
    while len(rest := listed(2)) != len(first) - 1:
        assert time.monotonic() < deadline
    assert listed(1) == rest


@pytest.mark.parametrize("threads", [1, 4])
def test_first_wrong_guess_decides(problems, threads):
    guesses = [problem.v_star.copy() for problem in problems]
    guesses[3] = np.zeros(1)
    guesses[5] = "nonsense"
    with pytest.raises(ValueError, match="v_guess") as caught:
        sapwood.solve_batch(problems, guesses, threads=threads)
    assert caught.value.__notes__ == ["in problems[3]"]


@pytest.mark.parametrize("threads", [1, 4])
def test_first_problem_that_cannot_be_solved_decides(rng, threads):
    problems = [helpers.random_problem(rng) for _ in range(12)]
    for i in (8, 5):
        J = problems[i].J.copy()
        problems[i] = helpers.rebuild(problems[i], J=J)
        J[i] = np.nan
    guesses = [None] * 12
    guesses[10] = np.zeros(problems[10].nv + 1)
    with pytest.raises(ValueError, match=r"^J\[5\]: must be finite") as caught:
        sapwood.solve_batch(problems, guesses, threads=threads)
    assert caught.value.__notes__ == ["in problems[5]"]


@pytest.mark.parametrize("threads", [1, 3])
def test_interrupt_ends_a_batch(rng, threads):
    settings = sapwood.SapSettings(relative_tolerance=0.0, absolute_tolerance=0.0)
    problems = [helpers.random_problem(rng, sizes=[64] * 3, contacts=60)] * 2000
    with pytest.raises(KeyboardInterrupt), interrupt_after(0.1):
        sapwood.solve_batch(problems, settings=settings, threads=threads)

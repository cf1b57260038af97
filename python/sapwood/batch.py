"""Solve many contact problems on several cores."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable, Sequence
from os import sched_getaffinity

from numpy.typing import ArrayLike

from sapwood.checks import integer
from sapwood.problem import ContactProblem
from sapwood.settings import SapSettings
from sapwood.solution import Solution
from sapwood.solver import SapSolver


def solve_batch(
    problems: Iterable[ContactProblem],
    v_guesses: Sequence[ArrayLike | None] | None = None,
    settings: SapSettings | None = None,
    threads: int | None = None,
) -> list[Solution]:
    """Solve many contact problems, of any sizes.

    Every thread has a solver of its own and takes the next problem when it is done with one. The
    GIL is released while a problem is solved. Velocities and impulses are the same to the last bit
    for any number of threads.

    Parameters
    ----------
    problems : iterable of ContactProblem
        What to solve.
    v_guesses : sequence of array_like (nv,) or None, optional
        Where to start with each; as in :func:`sapwood.solve` where it or an element is None.
    settings : SapSettings, optional
        Defaults where it is None.
    threads : int, optional
        Threads to use, at least 1; by default one per core that this process may run on.

    Returns
    -------
    list of Solution
        In the order of the problems.

    Raises
    ------
    TypeError, ValueError
        For a wrong argument; the text names it. The first problem in the list that cannot be
        solved decides.
    MemoryError
        Where there is no room for a workspace.

    Examples
    --------
    >>> solve_batch([])
    []
    """
    problems = list(problems)
    for i, problem in enumerate(problems):
        if not isinstance(problem, ContactProblem):
            raise TypeError(f"problems[{i}] must be a ContactProblem, not {type(problem).__name__}")
    guesses = [None] * len(problems) if v_guesses is None else list(v_guesses)
    if len(guesses) != len(problems):
        raise ValueError(f"v_guesses has {len(guesses)} elements for {len(problems)} problems")
    n_threads = len(sched_getaffinity(0)) if threads is None else integer(threads, "threads", 1)
    solvers = [SapSolver(settings) for _ in range(max(1, min(n_threads, len(problems))))]

    done: list[Solution | Exception | None] = [None] * len(problems)
    next_index = itertools.count()
    interrupted = threading.Event()

    def work(solver: SapSolver) -> None:
        while (i := next(next_index)) < len(problems) and not interrupted.is_set():
            try:
                done[i] = solver.solve(problems[i], guesses[i])
            except Exception as error:
                done[i] = error

    helpers = [threading.Thread(target=work, args=(solver,)) for solver in solvers[1:]]
    for helper in helpers:
        helper.start()
    try:
        work(solvers[0])
    except BaseException:
        interrupted.set()
        raise
    finally:
        for helper in helpers:
            helper.join()

    solutions = []
    for i, result in enumerate(done):
        if isinstance(result, Exception):
            result.add_note(f"in problems[{i}]")
            raise result
        assert result is not None
        solutions.append(result)
    return solutions

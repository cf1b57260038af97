"""Solve many contact problems on several cores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from numpy.typing import ArrayLike

from sapwood import _core
from sapwood.base.checks import boolean
from sapwood.base.processors import sharing_threads
from sapwood.problem.contact_problem import ContactProblem
from sapwood.problem.sparse_problem import SparseProblem
from sapwood.sensitivity_batch import linearize_batch
from sapwood.settings import Friction, SapSettings, with_friction
from sapwood.solution import Solution, Status
from sapwood.sparse_solution import extended, narrow_guess


def solve_batch(
    problems: Iterable[ContactProblem | SparseProblem[ContactProblem]],
    v_guesses: Sequence[ArrayLike | None] | None = None,
    settings: SapSettings | None = None,
    threads: int | None = None,
    *,
    friction: Friction | None = None,
    sensitivity: bool = False,
) -> list[Solution]:
    """Solve many contact problems, of any sizes.

    Each thread has its own solver and takes the next problem, or the next few, when it is free.
    The calling thread also makes the :class:`Solution` objects, while the others solve without the
    GIL. No bit of a solution depends on the number of threads. One thread solves each problem;
    ``SapSolver(threads=...)`` solves one problem by several. Threads sleep until the next batch.

    Parameters
    ----------
    problems : iterable of ContactProblem or SparseProblem
        The problems to solve.
    v_guesses : sequence of array_like (nv,) or None, optional
        Initial velocities, as in :func:`sapwood.solve`; None, here or for one, is the default.
    settings : SapSettings, optional
        Settings of the solver; None for the defaults.
    threads : int, optional
        Threads to use, at least 1; by default one per core that this process may run on.
    friction : {"convex", "lagged", "coulomb"}, optional
        The law of friction, in place of ``settings.friction``, which None leaves.
    sensitivity : bool
        Whether derivatives will be asked of the solutions, see :meth:`SapSolver.solve`, and of all
        at once :func:`sapwood.vjp_batch`.

    Returns
    -------
    list of Solution
        The solutions, in the order of the problems.

    Raises
    ------
    TypeError, ValueError
        For a wrong argument; the message names it. The first problem in the list that cannot be
        solved decides.
    MemoryError
        If there is no room for a workspace.

    Examples
    --------
    >>> solve_batch([])
    []
    """
    if friction is not None:
        settings = with_friction(settings, friction)
    given = list(problems)
    for i, problem in enumerate(given):
        if not isinstance(problem, ContactProblem | SparseProblem):
            raise TypeError(f"problems[{i}] must be a ContactProblem, not {type(problem).__name__}")
    guesses: list[ArrayLike | None] = [None] * len(given)
    if v_guesses is not None:
        guesses = list(v_guesses)
    if len(guesses) != len(given):
        raise ValueError(f"v_guesses has {len(guesses)} elements for {len(given)} problems")
    solved = [p.reduced if isinstance(p, SparseProblem) else p for p in given]
    guesses = [
        narrow_guess(problem, guess) if isinstance(problem, SparseProblem) else guess
        for problem, guess in zip(given, guesses, strict=True)
    ]
    sensitivity = boolean(sensitivity, "sensitivity")
    n_threads = sharing_threads(threads)
    solutions = _core.solve_batch(
        [problem._core for problem in solved],
        guesses,
        settings,
        min(n_threads, len(given) or 1),
    )
    if sensitivity:
        finite = [i for i, solution in enumerate(solutions) if solution.status != Status.non_finite]
        made = linearize_batch(
            [solved[i] for i in finite], [solutions[i] for i in finite], settings, n_threads
        )
        for i, found in zip(finite, made, strict=True):
            solutions[i] = solutions[i]._with_sensitivity(found)
    return [
        extended(solution, problem) if isinstance(problem, SparseProblem) else solution
        for solution, problem in zip(solutions, given, strict=True)
    ]

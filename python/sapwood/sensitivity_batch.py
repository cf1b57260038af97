"""Derivatives of many solutions on several cores: one call each way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from numpy.typing import ArrayLike

from sapwood import _core
from sapwood.base.processors import sharing_threads
from sapwood.derivatives.differential import Differential, Gradient, SolutionDifferential
from sapwood.derivatives.sensitivity import Sensitivity, Solved
from sapwood.problem.contact_problem import ContactProblem
from sapwood.settings import SapSettings
from sapwood.solution import Solution


def linearize_batch(
    problems: Sequence[ContactProblem],
    solutions: Sequence[Solved],
    settings: SapSettings | None = None,
    threads: int | None = None,
) -> list[Sensitivity]:
    """Linearize and factor many problems at their solutions.

    Parameters
    ----------
    problems : sequence of ContactProblem
        The solved problem.
    solutions : sequence of Solution
        Their solutions.
    settings : SapSettings, optional
        The settings of the solves.
    threads : int, optional
        The same as for :func:`sapwood.solve_batch`.

    Returns
    -------
    list of Sensitivity
        The linearizations, in the order of the problems.

    Raises
    ------
    TypeError, ValueError, MemoryError
        The same as for :class:`Sensitivity`, for the first that cannot be linearized.
    """
    calls = [
        (Sensitivity, (problem._core, settings, solution.v, solution.core_scale))
        for problem, solution in zip(problems, solutions, strict=True)
    ]
    made: list[Sensitivity] = _core.linearize_batch(calls, sharing_threads(threads))
    for sensitivity, problem, solution in zip(made, problems, solutions, strict=True):
        sensitivity.problem = problem
        sensitivity.converged = solution.status == 0
    return made


def vjp_batch(
    solutions: Iterable[Solution | Sensitivity],
    v_bars: Sequence[ArrayLike | None] | None = None,
    gamma_bars: Sequence[ArrayLike | None] | None = None,
    *,
    constraint_gamma_bars: Sequence[Sequence[ArrayLike | None] | None] | None = None,
    spin_gamma_bars: Sequence[ArrayLike | None] | None = None,
    frozen_regularization: bool = False,
    matrices: bool = False,
    threads: int | None = None,
) -> list[Gradient]:
    """Reverse mode of many solutions, of any sizes, in one call on several cores.

    The threads take the next solution, or the next few of many, when they are done, without the
    GIL. No bit of a gradient depends on their number.

    Parameters
    ----------
    solutions : iterable of Solution or Sensitivity
        Solved with ``sensitivity=True``, as by ``solve_batch(..., sensitivity=True)``.
    v_bars, gamma_bars, constraint_gamma_bars, spin_gamma_bars : sequence, optional
        The arguments of :meth:`Solution.vjp` for each solution; 0 if one or all are None. For
        solutions of one size an array may hold them, whose first dimension counts the solutions.
    frozen_regularization : bool
        The same as for :meth:`Solution.vjp`.
    matrices : bool
        Form dL/dA and dL/dJ now, on all threads, instead of when they are read.
    threads : int, optional
        Threads to use, at least 1; by default one per core that this process may run on.

    Returns
    -------
    list of Gradient
        The gradients, in the order of the solutions.

    Raises
    ------
    TypeError, ValueError
        For a wrong argument; a note of the exception says of which solution.
    numpy.linalg.LinAlgError
        If the linear system of one is singular to round-off.

    Examples
    --------
    >>> import numpy as np, sapwood
    >>> ground = dict(tree_nv=[3], A=np.eye(3).ravel(), tree_a=[0], tree_b=[-1],
    ...     J=np.eye(3).ravel(), dt=0.01, phi0=[0.0], k=[1e5], tau_d=[0.0])
    >>> problems = [sapwood.ContactProblem(**ground, v_star=[1.0, 0.0, -1.0], mu=[mu])
    ...     for mu in (0.25, 0.5)]
    >>> solutions = sapwood.solve_batch(problems, sensitivity=True)
    >>> for gradient in sapwood.vjp_batch(solutions, v_bars=np.eye(2, 3)[[0, 0]]):
    ...     print(gradient.mu.round(2))
    [-1.17]
    [-1.07]
    """
    found = list(map(_sensitivity_of, *_counted(solutions)))
    calls, batches = [], []
    columns = (
        _one_each(v_bars, "v_bars", len(found)),
        _one_each(gamma_bars, "gamma_bars", len(found)),
        _one_each(constraint_gamma_bars, "constraint_gamma_bars", len(found)),
        _one_each(spin_gamma_bars, "spin_gamma_bars", len(found)),
    )
    for i, (sensitivity, v, gamma, rows, spin) in enumerate(zip(found, *columns, strict=True)):
        with _noted(i):
            arguments, batch = sensitivity._vjp_call(
                v, gamma, rows, spin, frozen_regularization, matrices
            )
        calls.append((sensitivity, arguments))
        batches.append(batch)
    gradients = []
    for i, numbers in enumerate(_core.vjp_batch(calls, sharing_threads(threads))):
        with _noted(i):
            gradients.append(found[i]._gradient(calls[i][1], batches[i], numbers))
    return gradients


def jvp_batch(
    solutions: Iterable[Solution | Sensitivity],
    problem_dots: Sequence[Differential],
    *,
    frozen_regularization: bool = False,
    threads: int | None = None,
) -> list[SolutionDifferential]:
    """Forward mode of many solutions, of any sizes, in one call on several cores.

    Parameters
    ----------
    solutions : iterable of Solution or Sensitivity
        Solved with ``sensitivity=True``.
    problem_dots : sequence of Differential
        The change of each problem.
    frozen_regularization : bool
        The same as for :meth:`Solution.vjp`.
    threads : int, optional
        The same as for :func:`vjp_batch`.

    Returns
    -------
    list of SolutionDifferential
        The changes, in the order of the solutions.

    Raises
    ------
    TypeError, ValueError, numpy.linalg.LinAlgError
        The same as for :func:`vjp_batch`.
    """
    found = list(map(_sensitivity_of, *_counted(solutions)))
    dots = _one_each(problem_dots, "problem_dots", len(found))
    calls, batches = [], []
    for i, (sensitivity, dot) in enumerate(zip(found, dots, strict=True)):
        with _noted(i):
            arguments, batch = sensitivity._jvp_call(dot, frozen_regularization)
        calls.append((sensitivity, arguments))
        batches.append(batch)
    changes = []
    for i, numbers in enumerate(_core.jvp_batch(calls, sharing_threads(threads))):
        with _noted(i):
            changes.append(found[i]._response(batches[i], numbers))
    return changes


def _counted(solutions: Iterable[Any]) -> tuple[range, list[Any]]:
    held = list(solutions)
    return range(len(held)), held


def _sensitivity_of(i: int, solution: Any) -> Sensitivity:
    if isinstance(solution, Sensitivity):
        return solution
    if not isinstance(solution, Solution):
        raise TypeError(f"solutions[{i}] must be a Solution, not {type(solution).__name__}")
    with _noted(i):
        sensitivity = solution._linearized()
    if not isinstance(sensitivity, Sensitivity):
        raise TypeError(
            f"solutions[{i}] is of a SparseProblem: its own vjp and jvp differentiate it"
        )
    return sensitivity


def _one_each(values: Sequence[Any] | None, name: str, n: int) -> Sequence[Any]:
    if values is None:
        return [None] * n
    if len(values) != n:
        raise ValueError(f"{name} has {len(values)} elements for {n} solutions")
    return values


@contextmanager
def _noted(i: int) -> Iterator[None]:
    """Add the number of the solution to errors."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in solutions[{i}]")
        raise

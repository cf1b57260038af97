"""Solve contact problems."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.checks import boolean
from sapwood.base.equality import equal_arrays
from sapwood.base.hints import explained
from sapwood.problem.contact_problem import ContactProblem
from sapwood.settings import Friction, SapSettings, with_friction
from sapwood.solution import Solution, linearized

_Float = NDArray[np.float64]
# found once, since it is called in every solve
_solve = _core.Solver.solve


class Evaluation(NamedTuple):
    """The objective at one velocity, see :meth:`SapSolver.evaluate`; equal where all of it is."""

    cost: float
    """l_p(v), J."""
    gradient: _Float
    """A (v - v*) - J^T gamma (nv,)."""
    hessian: _Float
    """A + J^T G J (nv, nv)."""
    direction: _Float
    """Newton direction -H^-1 gradient (nv,)."""

    def __eq__(self, other: object) -> bool:
        return equal_arrays(self, other)

    def __ne__(self, other: object) -> bool:
        return not equal_arrays(self, other)


class LineValues(NamedTuple):
    """The objective along a line, see :meth:`SapSolver.along_line`; equal where all of it is."""

    difference: _Float
    """l_p(v + alpha dv) - l_p(v), J."""
    slope: _Float
    """First derivative in alpha, J."""
    curvature: _Float
    """Second derivative in alpha, J."""

    def __eq__(self, other: object) -> bool:
        return equal_arrays(self, other)

    def __ne__(self, other: object) -> bool:
        return not equal_arrays(self, other)


class SapSolver(_core.Solver):
    """A solver that keeps its memory and symbolic work between calls.

    One solver may be used from several threads: its calls wait for each other. The GIL is released
    while it works. Pickling or copying keeps settings and `threads` only.

    Parameters
    ----------
    settings : SapSettings, optional
        Settings of the solver; None for the defaults.
    threads : int
        Threads that :meth:`solve` may use, from 1 to 256: the calling one, and others of its own
        that wait for work asleep. They share the islands of a problem, parts that no contact joins,
        where that saves time. No bit of a solution depends on them, which is why this is no
        setting. For many problems see :func:`sapwood.solve_batch`.
    friction : {"convex", "lagged", "coulomb"}, optional
        The law of friction, in place of ``settings.friction``, which None leaves.

    Raises
    ------
    TypeError, ValueError
        For a wrong argument; the message names it.
    MemoryError
        If there is no room for a solver.

    Examples
    --------
    >>> solver = SapSolver(SapSettings(relative_tolerance=1e-9))
    >>> solver
    SapSolver(SapSettings(relative_tolerance=1e-09))
    >>> SapSolver(threads=2)
    SapSolver(SapSettings(), threads=2)
    >>> SapSolver(friction="coulomb").settings
    SapSettings(friction='coulomb')
    """

    __slots__ = ()

    def __new__(
        cls,
        settings: SapSettings | None = None,
        threads: int = 1,
        *,
        friction: Friction | None = None,
    ) -> Self:
        """See the class."""
        if friction is not None:
            settings = with_friction(settings, friction)
        return super().__new__(cls, settings, threads)

    def solve(  # type: ignore[override]
        self,
        problem: ContactProblem,
        v_guess: ArrayLike | None = None,
        *,
        sensitivity: bool = False,
    ) -> Solution:
        """Minimise Eq. (17).

        Parameters
        ----------
        problem : ContactProblem
            The problem to solve.
        v_guess : array_like (nv,), optional
            Where to start; by default ``problem.v_guess`` if it has one, else ``problem.v_star``.
            In dense storage a step to all impulses of contacts starts at ``problem.v_star``.
        sensitivity : bool
            Whether derivatives will be asked of the solution: it then keeps the problem linearized
            and factored, for :meth:`Solution.vjp` and :meth:`Solution.jvp`. No other bit of it
            depends on that.

        Returns
        -------
        Solution
            Look at ``status``: the iteration limit, or round-off, is a value and no exception.

        Raises
        ------
        TypeError, ValueError
            For a wrong argument, or an array of the problem that was changed to something invalid.
        MemoryError
            If there is no room for the workspace.
        """
        sensitivity = boolean(sensitivity, "sensitivity")
        solution = _solve(self, _core_of(problem), v_guess)
        return linearized(solution, problem, self.settings) if sensitivity else solution

    def evaluate(  # type: ignore[override]
        self, problem: ContactProblem, v: ArrayLike
    ) -> Evaluation:
        """Cost, gradient, dense Hessian and Newton direction at v (section VIII-A).

        Friction that is not convex has bounds: ``problem.friction_bound`` where it is lagged, and
        mu gamma_n at v where they are not known or it is Coulomb's. Their change with v is in no
        derivative.

        Parameters
        ----------
        problem : ContactProblem
            The problem.
        v : array_like (nv,)
            Velocity.

        Returns
        -------
        Evaluation
            ``cost`` (J), ``gradient`` (nv,), ``hessian`` (nv, nv) and ``direction`` (nv,).

        Raises
        ------
        TypeError, ValueError
            For a wrong argument; the message names it.
        MemoryError
            If there is no room for the workspace or the Hessian.
        """
        return Evaluation(**super().evaluate(_core_of(problem), v))

    def along_line(  # type: ignore[override]
        self, problem: ContactProblem, v: ArrayLike, dv: ArrayLike, alpha: ArrayLike
    ) -> LineValues:
        """Change of the cost from v to v + alpha dv and its derivatives in alpha (section VIII-C).

        Parameters
        ----------
        problem : ContactProblem
            The problem.
        v, dv : array_like (nv,)
            Origin and direction.
        alpha : array_like (...)
            Step lengths.

        Returns
        -------
        LineValues
            ``difference``, ``slope`` and ``curvature`` (...), J.

        Raises
        ------
        TypeError, ValueError
            For a wrong argument; the message names it.
        MemoryError
            If there is no room for the workspace.
        """
        return LineValues(**super().along_line(_core_of(problem), v, dv, alpha))

    def __reduce__(self) -> tuple[type[SapSolver], tuple[SapSettings, int]]:
        return type(self), (self.settings, self.threads)

    def __repr__(self) -> str:
        threads = f", threads={self.threads}" if self.threads != 1 else ""
        return f"SapSolver({self.settings!r}{threads})"


@explained()
def solve(
    problem: ContactProblem,
    v_guess: ArrayLike | None = None,
    settings: SapSettings | None = None,
    *,
    friction: Friction | None = None,
    sensitivity: bool = False,
    verbose: bool = False,
) -> Solution:
    """Solve one contact problem.

    Parameters
    ----------
    problem : ContactProblem
        The problem to solve.
    v_guess : array_like (nv,), optional
        Where to start; by default ``problem.v_guess`` if it has one, else ``problem.v_star``.
        In dense storage a step to all impulses of contacts starts at ``problem.v_star``.
    settings : SapSettings, optional
        Settings of the solver; None for the defaults.
    friction : {"convex", "lagged", "coulomb"}, optional
        The law of friction, in place of ``settings.friction``, which None leaves.
    sensitivity : bool
        Whether derivatives will be asked of the solution, see :meth:`SapSolver.solve`.
    verbose : bool
        Whether to print a table of the iterations, which ``history`` of the solution then has too.

    Returns
    -------
    Solution
        Velocities, impulses and their accuracy; look at ``status``: the iteration limit, or
        round-off, is a value and no exception.

    Raises
    ------
    TypeError, ValueError
        For a wrong argument, or an array of the problem that was changed to something invalid.
    MemoryError
        If there is no room for the workspace.

    See Also
    --------
    SapSolver : keeps memory and symbolic work between calls.

    Examples
    --------
    A mass of 1 kg falls on the ground with 1 m/s and stops:

    >>> problem = ContactProblem([3], np.eye(3).ravel(), [0.0, 0.0, -1.0], [0], [-1],
    ...                          np.eye(3).ravel(), [0.5], dt=0.01, phi0=[0.0], k=[1e12],
    ...                          tau_d=[0.0])
    >>> print(solve(problem).v.round(1) + 0.0)
    [0. 0. 0.]
    """
    if boolean(verbose, "verbose"):
        settings = dataclasses.replace(settings or SapSettings(), record_history=True)
    _core_of(problem)  # before what else is wrong where arrays were given
    solver = SapSolver(settings, friction=friction)
    solution = solver.solve(problem, v_guess, sensitivity=sensitivity)
    if verbose:
        print(solution.history_table())  # noqa: T201
    return solution


def _core_of(problem: ContactProblem) -> _core.Problem:
    if not isinstance(problem, ContactProblem):
        arrays = isinstance(problem, (np.ndarray, list, tuple))
        hint = ": write ContactProblem.from_dense(A, v_star, J, ...)" if arrays else ""
        raise TypeError(f"problem must be a ContactProblem, not {type(problem).__name__}{hint}")
    return problem._core

"""Solve contact problems."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.checks import boolean
from sapwood.base.equality import compared_by_value
from sapwood.base.hints import explained
from sapwood.problem.contact_problem import ContactProblem
from sapwood.problem.sparse_problem import SparseProblem
from sapwood.settings import Friction, SapSettings, with_friction
from sapwood.solution import Solution, linearized
from sapwood.sparse_solution import extended, narrow_guess

_Float = NDArray[np.float64]
# found once, since it is called in every solve
_solve = _core.Solver.solve


@compared_by_value
class Evaluation(NamedTuple):
    """The objective at one velocity, see :meth:`SapSolver.evaluate`; == compares all arrays."""

    cost: float
    """l_p(v), J."""
    gradient: _Float
    """A (v - v*) - J^T gamma (nv,)."""
    hessian: _Float
    """A + J^T G J (nv, nv)."""
    direction: _Float
    """Newton direction -H^-1 gradient (nv,)."""


@compared_by_value
class LineValues(NamedTuple):
    """The objective along a line, see :meth:`SapSolver.along_line`; == compares all arrays."""

    difference: _Float
    """l_p(v + alpha dv) - l_p(v), J."""
    slope: _Float
    """First derivative in alpha, J."""
    curvature: _Float
    """Second derivative in alpha, J."""


class SapSolver(_core.Solver):
    """A solver that keeps its memory and symbolic work between calls.

    One solver may be used from several threads: its calls wait for each other. The GIL is released
    while it works. Pickling or copying keeps settings and `threads` only.

    Parameters
    ----------
    settings : SapSettings, optional
        Settings of the solver; None for the defaults.
    threads : int
        Threads that :meth:`solve` may use, from 1 to 256, the calling one included. The others
        sleep between solves. They share the islands of a problem if that saves time. No bit of a
        solution depends on their number, so it is no setting. :func:`sapwood.solve_batch` solves
        many problems.
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
        problem: ContactProblem | SparseProblem[ContactProblem],
        v_guess: ArrayLike | None = None,
        *,
        sensitivity: bool = False,
    ) -> Solution:
        """Minimise Eq. (17).

        Parameters
        ----------
        problem : ContactProblem or SparseProblem
            The problem to solve.
        v_guess : array_like (nv,), optional
            Initial velocity; by default ``problem.v_guess`` if it has one, else ``problem.v_star``.
            In dense storage a step to all impulses of contacts starts at ``problem.v_star``.
        sensitivity : bool
            Whether the solution keeps the problem linearized and factored, for
            :meth:`Solution.vjp` and :meth:`Solution.jvp`. Its other fields do not change.

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
        if not isinstance(problem, ContactProblem):
            _check_sparse(problem)
            guess = narrow_guess(problem, v_guess)
            found = self.solve(problem.reduced, guess, sensitivity=sensitivity)
            return extended(found, problem)
        solution = _solve(self, problem._core, v_guess)
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

    def _impulses(  # type: ignore[override]
        self, problem: ContactProblem, v: ArrayLike
    ) -> Solution:
        """Impulses and velocities of all constraints at v (nv,), as a solution without numbers."""
        return super()._impulses(_core_of(problem), v)

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
    problem: ContactProblem | SparseProblem[ContactProblem],
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
    problem : ContactProblem or SparseProblem
        The problem to solve.
    v_guess : array_like (nv,), optional
        Initial velocity; by default ``problem.v_guess`` if it has one, else ``problem.v_star``.
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
    if not isinstance(problem, ContactProblem):
        _check_sparse(problem)  # before what else is wrong where arrays were given
    solver = SapSolver(settings, friction=friction)
    solution = solver.solve(problem, v_guess, sensitivity=sensitivity)
    if verbose:
        print(solution.history_table())  # noqa: T201
    return solution


@explained()
def solve_dense(
    M: ArrayLike,
    v_star: ArrayLike,
    J: ArrayLike,
    mu: ArrayLike,
    *,
    R: ArrayLike | None = None,
    v_hat: ArrayLike | None = None,
    k: ArrayLike | None = None,
    phi0: ArrayLike | None = None,
    tau_d: ArrayLike | None = None,
    dt: float | None = None,
    sigma: float = 1e-3,
    beta: float = 1.0,
    v_guess: ArrayLike | None = None,
    settings: SapSettings | None = None,
    friction: Friction | None = None,
) -> Solution:
    """Solve the contact problem of one mass matrix and one Jacobian.

    This is :func:`solve` of :meth:`ContactProblem.from_dense`, in one call that keeps no problem:
    the quickest way from the matrices of another library to impulses. Contiguous float64 matrices
    are read in place. Give either `R`, or `k` and `dt`.

    Parameters
    ----------
    M : array_like (nv, nv)
        Symmetric positive definite mass matrix.
    v_star : array_like (nv,)
        Free-motion velocity, Eq. (10).
    J : array_like (3 n_contacts, nv)
        Contact Jacobian, three rows (t1, t2, n) per contact; v_n > 0 separates.
    mu : float or array_like (n_contacts,)
        Friction coefficients, >= 0; one number, here and below, holds for all contacts.
    R : float or array_like (n_contacts,) or ndarray (n_contacts, 2), optional
        Regularization of each contact, 1/kg, >= 0; two columns are R_t and R_n.
    v_hat : float or array_like (n_contacts,), optional
        Normal stabilization velocity, m/s; with `R`, by default 0.
    k : float or array_like (n_contacts,), optional
        Stiffness, N/m, > 0, infinite where rigid. R_t, R_n and v_hat_n follow by Eqs. (21), (22).
    phi0, tau_d : float or array_like (n_contacts,), optional
        Signed distance at the start of the step, m, and dissipation time, s, >= 0; with `k`, by
        default 0.
    dt : float, optional
        Time step, s; with `k`, required.
    sigma, beta : float
        Tangential regularization (> 0) and near-rigid parameter (>= 0), dimensionless; read with
        `k` alone.
    v_guess : array_like (nv,), optional
        Initial velocity; by default `v_star`.
    settings : SapSettings, optional
        Settings of the solver; None for the defaults.
    friction : {"convex", "lagged", "coulomb"}, optional
        The law of friction, in place of ``settings.friction``, which None leaves.

    Returns
    -------
    Solution
        Velocities, impulses and their accuracy, without ``sensitivity``; look at ``status``: the
        iteration limit, or round-off, is a value and no exception.

    Raises
    ------
    TypeError, ValueError
        For a wrong argument; the message names it, the index and the rule.
    MemoryError
        If there is no room for the workspace.

    See Also
    --------
    solve : takes a problem, which may have many trees, other constraints, derivatives.

    Examples
    --------
    A mass of 2 kg is pressed on the ground and pushed aside with less than its friction holds:

    >>> solution = solve_dense(2.0 * np.eye(3), [0.02, 0.01, -0.1], np.eye(3), 0.5, R=1e-4,
    ...                        friction="coulomb")
    >>> print(solution.gamma.round(3))
    [[-0.04 -0.02  0.2 ]]
    """
    return _core.solve_dense(
        M, v_star, J, mu, R, v_hat, k, phi0, tau_d, dt, sigma, beta, v_guess, settings, friction
    )


def _core_of(problem: ContactProblem) -> _core.Problem:
    if not isinstance(problem, ContactProblem):
        _check_sparse(problem)
        raise TypeError("problem must be a ContactProblem, not SparseProblem: take its `reduced`")
    return problem._core


def _check_sparse(problem: object) -> None:
    """Refuse what is no problem."""
    if not isinstance(problem, SparseProblem):
        arrays = isinstance(problem, (np.ndarray, list, tuple))
        hint = ": write ContactProblem.from_dense(A, v_star, J, ...)" if arrays else ""
        raise TypeError(f"problem must be a ContactProblem, not {type(problem).__name__}{hint}")

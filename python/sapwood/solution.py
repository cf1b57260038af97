"""The solution of a contact problem."""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.equality import compared_by_value, equal_values
from sapwood.base.hints import counted
from sapwood.base.html import table
from sapwood.derivatives.differential import Differential, Gradient, SolutionDifferential
from sapwood.derivatives.sensitivity import Sensitivity
from sapwood.derivatives.sparse_sensitivity import SparseSensitivity
from sapwood.history import history_table, plot_history
from sapwood.problem.contact_problem import ContactProblem
from sapwood.settings import SapSettings

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Status(enum.IntEnum):
    """The outcome of a solve.

    ``converged``, ``stalled`` (round-off came first), ``iteration_limit``, ``friction_limit`` (no
    forces that obey Coulomb's law were found), ``breakdown`` of the factorization, ``non_finite``,
    ``proximal_limit``. ``docs/how-to/troubleshooting.md`` says what to do about each.
    """

    converged = 0
    """The stopping criterion, Eq. (20), holds."""
    stalled = 1
    """No decrease was left at machine precision before the criterion held."""
    iteration_limit = 2
    """The iteration limit came first."""
    friction_limit = 3
    """Forces that obey Coulomb's law were not found: the best iterate is kept, and
    ``solution.coulomb_error`` says how far off it is."""
    breakdown = 4
    """The Hessian lost positive definiteness to round-off; ``solution.tree`` says where."""
    non_finite = 5
    """A velocity or an impulse overflowed."""
    proximal_limit = 6
    """Proximal solves did not bring ``solution.natural_residual`` below the tolerance: the best
    impulses are kept. Constraints that contradict each other have no impulses for R = 0."""

    def __str__(self) -> str:
        return self.name


class Region(enum.IntEnum):
    """Region of the contact law that a contact ended in, Eqs. (29)-(33).

    ``stiction`` 1, ``sliding`` 2, ``none`` 3: no impulse.
    """

    stiction = 1
    """Inside the friction cone: the contact slips by the regularization only."""
    sliding = 2
    """On the friction cone."""
    none = 3
    """No impulse."""

    def __str__(self) -> str:
        return self.name


class IslandAlgorithm(NamedTuple):
    """The algorithm that solved an island."""

    algorithm: str
    """``newton``: Newton's method on the cost, Eq. (17), in the velocities. ``coulomb``: semismooth
    Newton on Coulomb's law, in the velocities. ``delassus``: semismooth Newton on the Delassus
    problem of its impulses."""
    storage: str
    """``dense``: one block of few velocities. ``supernodal``: A + J^T G J over the junction
    tree of the graph."""
    fallbacks: tuple[str, ...] = ()
    """Turns that the solve took where its first way did not lead to the end: ``supernodal``, dense
    storage was tried first; ``bounds_held``, convex solves with the bounds of friction held;
    ``double``, single precision did not suffice for the Hessian; ``proximal``, R was too small for
    double precision, and several solves with a larger R followed each other; ``symmetric``,
    directions had to do without the unsymmetric part of friction."""


# fields of Solution that compare otherwise, or not at all
_NOT_ARRAYS = ("timing", "symbolic_reused", "constraints", "algorithm", "sensitivity")

_ALGORITHMS = ("newton", "coulomb", "delassus")
_STORAGES = ("supernodal", "dense")
FALLBACKS = ("supernodal", "bounds_held", "double", "proximal", "symmetric")


def _island_algorithms(reports: NDArray[np.uint8]) -> tuple[IslandAlgorithm, ...]:
    """The algorithms, from a sap_island_report (n, 8), in bytes, of each island."""
    return tuple(
        IslandAlgorithm(
            _ALGORITHMS[algorithm],
            _STORAGES[storage],
            tuple(name for k, name in enumerate(FALLBACKS) if fallbacks >> k & 1),
        )
        for algorithm, storage, fallbacks in reports[:, :3].tolist()
    )


@compared_by_value
class ConstraintSolution(NamedTuple):
    """Impulses of one group of constraints; == compares all arrays, bit by bit.

    Examples
    --------
    A motor of at most 4 N m, far from where it should be, gives all it has for 10 ms:

    >>> from sapwood import ContactProblem, Controllers, solve
    >>> motor = Controllers([[1.0]], Kp=400.0, Kd=20.0, q_d=0.1, effort=4.0)
    >>> problem = ContactProblem.from_dense([[2.0]], [0.0], dt=0.01, constraints=[motor])
    >>> (rows,) = solve(problem).constraints
    >>> print(rows.gamma, rows.v_c, rows.active)
    [0.04] [0.02] [False]
    """

    gamma: NDArray[np.float64]
    """Impulse of each row (n_rows,), N s or N m s."""
    v_c: NDArray[np.float64]
    """Constraint velocity J v of each row (n_rows,), m/s or rad/s."""
    active: NDArray[np.bool_]
    """Whether the impulse of each row lies between its bounds (n_rows,): True for a limit that
    pushes, a weld that holds, a controller that does not saturate, a friction that sticks."""


@dataclasses.dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Solution(_core.SolutionValues):
    """Velocities and impulses of one problem, with the proof of how accurate they are.

    Two solutions are equal when all but ``timing``, ``symbolic_reused`` and ``sensitivity`` is.

    Attributes
    ----------
    v : ndarray (nv,)
        Next velocity, the minimiser of Eq. (17).
    gamma, v_c : ndarray (n_contacts, 3)
        Contact impulses (t1, t2, n), N s, and contact velocities J v, m/s.
    regions : ndarray (n_contacts,) of int8
        :class:`Region` of each contact.
    status : Status
        The outcome of the solve.
    iterations, total_iterations : int
        Newton iterations of the island that needed most, and of all islands.
    line_search_trials, n_islands : int
        Evaluations of all line searches; islands of the graph.
    symbolic_reused : bool
        Whether the graph was the same as in the solver's last call.
    momentum_error, complementarity_error : float
        e_m, Eq. (24), and e_mu, Eq. (25), dimensionless.
    velocity_error_bound, cost_gap_bound : float
        Proved: |v - v_min|_A is at most the first, sqrt(J), l_p(v) - l_p(v_min) the second, J.
    cost : float
        l_p(v), J.
    history : structured ndarray or None
        One record per iteration, island after island, if the settings ask for it.
    timing : dict of str to float
        Seconds of the whole call (seconds) and of its parts, which need the history.
    tree : int
        Tree at which the factorization broke down, else -1.
    constraints : tuple of ConstraintSolution
        Impulses of each group of constraints of the problem.
    coulomb_error : float
        e_c, dimensionless: e_m of v with the friction of Coulomb's law. NaN for convex friction.
        The proved bounds hold for the final friction bounds b; nothing is proved about b.
    natural_residual : float
        |F(gamma)|/|gamma|, dimensionless, of proximal solves, whose bounds may be
        infinite; else NaN.
    proximal_solves : int
        Solves of the proximal iteration; 0 where R was used as it is.
    core_scale : ndarray (n_contacts,) or None
        Scale of the core depth delta: above 1 for a contact that started deeper.
    spin_gamma, spin_v_c : ndarray (n_spins, 3) or None
        Impulses (N m s) and velocities (rad/s) about (n, t1, t2) of contacts with torsional and
        rolling friction.
    algorithm : tuple of IslandAlgorithm
        The algorithm of each island, in the order of their first trees.
    sensitivity : Sensitivity or None
        The problem linearized at v, for :meth:`vjp` and :meth:`jvp`. Pickled solutions have none.

    Examples
    --------
    >>> import sapwood
    >>> problem = ContactProblem.from_dense(
    ...     np.eye(3), [0.0, 0.0, -0.1], np.eye(3), phi0=0.0, k=1e5, tau_d=0.01, mu=0.5, dt=0.01)
    >>> solution = sapwood.solve(problem)
    >>> print(solution.status, Region(solution.regions[0]))
    converged stiction
    """

    v: NDArray[np.float64]
    gamma: NDArray[np.float64]
    v_c: NDArray[np.float64]
    regions: NDArray[np.int8]
    status: Status
    iterations: int
    total_iterations: int
    line_search_trials: int
    n_islands: int
    symbolic_reused: bool
    momentum_error: float
    complementarity_error: float
    velocity_error_bound: float
    cost_gap_bound: float
    cost: float
    history: NDArray[np.void] | None
    timing: dict[str, float] = dataclasses.field()  # no default: not the descriptor of the base
    tree: int = -1
    constraints: tuple[ConstraintSolution, ...] = ()
    coulomb_error: float = math.nan
    natural_residual: float = math.nan
    proximal_solves: int = 0
    core_scale: NDArray[np.float64] | None = None
    spin_gamma: NDArray[np.float64] | None = None
    spin_v_c: NDArray[np.float64] | None = None
    algorithm: tuple[IslandAlgorithm, ...] = ()
    sensitivity: Sensitivity | SparseSensitivity | None = None

    def vjp(
        self,
        v_bar: ArrayLike | None = None,
        gamma_bar: ArrayLike | None = None,
        *,
        constraint_gamma_bars: Sequence[ArrayLike | None] | None = None,
        spin_gamma_bar: ArrayLike | None = None,
        frozen_regularization: bool = False,
    ) -> Gradient:
        """Reverse mode: from dL/d of the solution, dL/d of the problem.

        One back-substitution with the factor at the solution, whatever the number of parameters.
        Contacts without impulse have gradients 0. There are no second derivatives.

        Parameters
        ----------
        v_bar : array_like (..., nv), optional
            dL/dv; 0 where it is None, as the others.
        gamma_bar : array_like (..., n_contacts, 3), optional
            dL/dgamma.
        constraint_gamma_bars : sequence of array_like (..., n_rows) or None, optional
            dL/dgamma of each group of constraints.
        spin_gamma_bar : array_like (..., n_spins, 3), optional
            dL/dspin_gamma.
        frozen_regularization : bool
            Leave out that R follows from A and J through the effective mass: near-rigid R_n, and
            R_t always.

        Returns
        -------
        Gradient
            dL/d of the problem, with the dimensions of the batch in front; also the region of every
            contact and its distance to the nearest boundary.

        Raises
        ------
        TypeError, ValueError
            For a wrong argument, and where the solve was not asked for derivatives.
        numpy.linalg.LinAlgError
            If the linear system is singular to round-off.

        Examples
        --------
        >>> import numpy as np, sapwood
        >>> problem = sapwood.ContactProblem([3], np.eye(3).ravel(), [1.0, 0.0, -1.0], [0], [-1],
        ...     np.eye(3).ravel(), [0.5], dt=0.01, phi0=[0.0], k=[1e5], tau_d=[0.0])
        >>> solution = sapwood.solve(problem, sensitivity=True)
        >>> print(solution.vjp([1.0, 0.0, 0.0]).mu.round(2))
        [-1.07]
        """
        return self._linearized().vjp(
            v_bar, gamma_bar, constraint_gamma_bars=constraint_gamma_bars,
            spin_gamma_bar=spin_gamma_bar, frozen_regularization=frozen_regularization,
        )  # fmt: skip

    def jvp(
        self, problem_dot: Differential, *, frozen_regularization: bool = False
    ) -> SolutionDifferential:
        """Forward mode: the change of the solution for a change of the problem.

        Parameters
        ----------
        problem_dot : Differential
            The change of the problem; None means 0.
        frozen_regularization : bool
            The same as for :meth:`vjp`; this is its transpose.

        Returns
        -------
        SolutionDifferential
            The change of velocities and impulses.

        Raises
        ------
        TypeError, ValueError
            For a wrong argument, and where the solve was not asked for derivatives.
        numpy.linalg.LinAlgError
            If the linear system is singular to round-off.
        """
        return self._linearized().jvp(problem_dot, frozen_regularization=frozen_regularization)

    def history_table(self) -> str:
        """Iterations as lines of text, one per record of ``history``.

        Returns
        -------
        str
            A line of names and the records, without a line break at the end.

        Raises
        ------
        ValueError
            If the settings did not ask for the history.
        """
        return history_table(self.history)

    def plot_history(self, ax: Axes | None = None) -> Axes:
        """Draw the momentum error of each island against its iterations.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw on; by default those of a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        Raises
        ------
        ValueError
            If the settings did not ask for the history.
        ImportError
            Without Matplotlib, the extra ``plot``.
        """
        return plot_history(self.history, ax)

    def _linearized(self) -> Sensitivity | SparseSensitivity:
        if self.sensitivity is None:
            raise ValueError("this solution has no derivatives: solve with sensitivity=True")
        return self.sensitivity

    @property
    def deepened(self) -> NDArray[np.intp]:
        """Contacts (n,) whose core was used with a larger delta than the problem's."""
        scale = np.zeros(0) if self.core_scale is None else self.core_scale
        return np.flatnonzero(scale > 1.0)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Solution):
            return NotImplemented
        whole = self.constraints == other.constraints and self.algorithm == other.algorithm
        return whole and all(
            equal_values(getattr(self, field.name), getattr(other, field.name))
            for field in dataclasses.fields(self)
            if field.name not in _NOT_ARRAYS
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"Solution(status={self.status}, iterations={self.iterations}, "
            f"n_contacts={len(self.gamma)}, momentum_error={self.momentum_error:.2g})"
        )

    def _repr_html_(self) -> str:
        rows = [
            ("status", self.status if self.tree < 0 else f"{self.status} at tree {self.tree}"),
            ("iterations", f"{self.iterations} ({counted(self.n_islands, 'island')})"),
            ("velocities", len(self.v)),
            ("contacts", f"{len(self.gamma)}: {self._regions()}"),
            ("momentum error", f"{self.momentum_error:.3g}"),
            ("complementarity error", f"{self.complementarity_error:.3g}"),
        ]
        if not math.isnan(self.coulomb_error):
            rows.append(("error of Coulomb's law", f"{self.coulomb_error:.3g}"))
        rows += [
            ("|v - v_min|_A", f"at most {self.velocity_error_bound:.3g} sqrt(J)"),
            ("cost - minimum", f"at most {self.cost_gap_bound:.3g} J"),
            ("time", f"{1e3 * self.timing['seconds']:.3g} ms"),
        ]
        return table("Solution", rows)

    def _regions(self) -> str:
        """The numbers of sticking, sliding and open contacts, as text."""
        names = {Region.stiction: "stiction", Region.sliding: "sliding", Region.none: "open"}
        counts = [f"{np.count_nonzero(self.regions == r)} {name}" for r, name in names.items()]
        return ", ".join(counts)

    def _rows(self) -> str:
        """A line on the rows of all groups, where there are any."""
        if not self.constraints:
            return ""
        rows = sum(len(group.gamma) for group in self.constraints)
        active = sum(np.count_nonzero(group.active) for group in self.constraints)
        groups = counted(len(self.constraints), "group")
        return f"  {counted(rows, 'row')} of {groups}: {active} active\n"

    def _cores(self) -> str:
        """A line on the contacts that started too deep, where there are any."""
        deep = self.deepened
        if self.core_scale is None or not deep.size:
            return ""
        most = float(self.core_scale[deep].max())
        contacts = f"{counted(deep.size, 'contact')} deeper than their core"
        return f"  {contacts}: delta up to {most:.3g} times as large\n"

    def __str__(self) -> str:
        seconds = self.timing["seconds"]
        # assembly, factor and line search are measured with `record_history` alone
        parts = ", ".join(
            f"{k} {1e3 * t:.3g}" for k, t in self.timing.items() if k != "seconds" and t > 0
        )
        at = f" at tree {self.tree}" if self.tree >= 0 else ""
        return (
            f"{self.status}{at} after {counted(self.iterations, 'iteration')} "
            f"({counted(self.n_islands, 'island')}, "
            f"{counted(self.line_search_trials, 'line-search trial')})\n"
            f"  {len(self.v)} velocities, {counted(len(self.gamma), 'contact')}: "
            f"{self._regions()}\n"
            f"{self._rows()}{self._cores()}"
            f"  momentum error {self.momentum_error:.3g}, "
            f"complementarity error {self.complementarity_error:.3g}\n"
            f"  |v - v_min|_A <= {self.velocity_error_bound:.3g} sqrt(J), "
            f"cost - minimum <= {self.cost_gap_bound:.3g} J, cost {self.cost:.6g} J\n"
            f"  {1e3 * seconds:.3g} ms ({parts})"
        )


def linearized(
    solution: Solution, problem: ContactProblem, settings: SapSettings | None
) -> Solution:
    """Give a solution the linearization of its problem.

    Parameters
    ----------
    solution : Solution
        A solution without sensitivity.
    problem : ContactProblem
        The problem that was solved.
    settings : SapSettings or None
        The settings of the solve.

    Returns
    -------
    Solution
        A copy with ``sensitivity``; the solution itself where it is not finite.
    """
    if solution.status == Status.non_finite:
        return solution
    return solution._with_sensitivity(Sensitivity(problem, solution, settings))


_core.set_solution_types(Solution, ConstraintSolution, Status, _island_algorithms)

"""Derivatives of a solution with respect to its problem: reverse and forward mode.

At the solution A (v - v*) = J^T gamma(J v), and with H = A + J^T G J factored there, one
back-substitution gives the derivatives by every number of the problem: see
``include/sapwood/sensitivity.h`` for the formulas and ``docs/derivatives.md`` for what they mean.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.problem.contact_problem import ContactProblem
from sapwood.settings import SapSettings

if TYPE_CHECKING:
    from sapwood.solution import Solution

_Float = NDArray[np.float64]
_Matrices = dict[str, _Float]

# of a system that is not symmetric; what is left beyond it is no derivative
_MOST_RESIDUAL = 1e-6
# numbers that are two-dimensional for one problem, by their last dimension
_COLUMNS = {"v_hat_t": 2, "spin_mu": 3}


@dataclasses.dataclass(frozen=True, eq=False)
class GroupDifferential:
    """Numbers in the shape of those of a group of constraints.

    Attributes
    ----------
    J : array (..., n_J)
        Entries of the blocks of J.
    R, v_hat, lower, upper : array (..., n_rows)
        As of :class:`sapwood.constraints.ConstraintGroup`.
    parameters : mapping of str to array (..., n_rows)
        Physical parameters by name, where R, v_hat and the bounds follow from them.
    """

    J: ArrayLike | None = None
    R: ArrayLike | None = None
    v_hat: ArrayLike | None = None
    lower: ArrayLike | None = None
    upper: ArrayLike | None = None
    parameters: Mapping[str, ArrayLike] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, eq=False)
class Differential:
    """Numbers in the shape of those of a problem: a change of it, or a gradient.

    Every array has the shape of that of :class:`ContactProblem` with the same name, with the
    dimensions of a batch, if there are any, in front. In a change None means 0; in a gradient, that
    the problem has no such numbers, or that others do not follow from them.

    The blocks of A stay symmetric: a derivative is half of that by both entries, and of a change
    the symmetric part counts. R_t, R_n, v_hat_n and kappa are numbers of their own: as if they were
    added to after they followed from phi0, k, tau_d, delta, sigma and dt.

    Attributes
    ----------
    A, v_star, J, mu, R_t, R_n, v_hat_n, v_hat_t : array or None
    kappa, core_lambda, friction_bound, spin_J, spin_mu : array or None
    phi0, k, tau_d, delta : array or None
        Where R_t, R_n and v_hat_n follow from them, and kappa from delta.
    dt, sigma : array (...) or None
        As R, v_hat, kappa and bounds depend on them. A v_star that depends on dt is the caller's.
    constraints : tuple of GroupDifferential
        Of each group of constraints.
    """

    A: ArrayLike | None = None
    v_star: ArrayLike | None = None
    J: ArrayLike | None = None
    mu: ArrayLike | None = None
    R_t: ArrayLike | None = None
    R_n: ArrayLike | None = None
    v_hat_n: ArrayLike | None = None
    v_hat_t: ArrayLike | None = None
    kappa: ArrayLike | None = None
    core_lambda: ArrayLike | None = None
    friction_bound: ArrayLike | None = None
    spin_J: ArrayLike | None = None
    spin_mu: ArrayLike | None = None
    phi0: ArrayLike | None = None
    k: ArrayLike | None = None
    tau_d: ArrayLike | None = None
    delta: ArrayLike | None = None
    dt: ArrayLike | None = None
    sigma: ArrayLike | None = None
    constraints: tuple[GroupDifferential, ...] = ()


class _WhenRead:
    """DL/dA or dL/dJ: an array, or a function without arguments that forms both."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __set__(self, gradient: Gradient, value: _Float | Callable[[], _Matrices]) -> None:
        gradient.__dict__[self._name] = value

    def __get__(self, gradient: Gradient | None, owner: type) -> _Float | None:
        if gradient is None:
            return None
        value = gradient.__dict__[self._name]
        if callable(value):
            gradient.__dict__.update(value())
            value = gradient.__dict__[self._name]
        found: _Float = value
        return found


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Gradient(Differential):
    """The gradient of a loss by the numbers of a problem, and where it was taken.

    Those by A and J, the largest arrays, are formed when one of them is read first.

    Attributes
    ----------
    regions : ndarray (n_contacts,) of int8
        :class:`sapwood.Region` of each contact: what it would be in another one is not looked at.
    distance : ndarray (n_contacts,)
        Smallest change of the contact velocity, of |v_t| and v_n, that takes a contact to the
        boundary of another region, m/s.
    row_distance : tuple of ndarray (n_rows,)
        The same of the rows of each group of constraints, m/s or rad/s.
    converged : bool
        Whether the solve had. If it had not, the gradient is that of a velocity which is no
        solution.
    momentum_error : float
        e_m, Eq. (24), at the velocity where the problem was linearized.
    residual : float
        What is left of the linear system where Coulomb's friction makes it unsymmetric,
        over its right side, both times the inverse of its symmetric part; 0 elsewhere.
    """

    regions: NDArray[np.int8]
    distance: _Float
    row_distance: tuple[_Float, ...]
    converged: bool
    momentum_error: float
    residual: float
    if not TYPE_CHECKING:
        A = _WhenRead()
        J = _WhenRead()

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}


@dataclasses.dataclass(frozen=True, eq=False)
class SolutionDifferential:
    """The change of a solution, with the dimensions of a batch in front.

    Attributes
    ----------
    v : ndarray (..., nv)
        Of the velocities.
    gamma : ndarray (..., n_contacts, 3)
        Of the contact impulses.
    constraints : tuple of ndarray (..., n_rows)
        Of the impulses of each group.
    spin_gamma : ndarray (..., n_spins, 3) or None
        Of the impulses of torsional and rolling friction.
    residual : float
        As of :class:`Gradient`.
    """

    v: _Float
    gamma: _Float
    constraints: tuple[_Float, ...]
    spin_gamma: _Float | None
    residual: float


class LinearPoint(NamedTuple):
    """What of a solution a linearization needs."""

    v: _Float
    """Velocities (nv,)."""
    status: int
    """:class:`sapwood.Status` of the solve."""
    core_scale: _Float | None = None
    """As of :class:`sapwood.Solution`; where it is None, as a solve of the problem finds it."""


class Sensitivity(_core.Sensitivity):
    """A problem linearized and factored at its solution: made by ``solve(..., sensitivity=True)``.

    It shares the arrays of the problem, which must stay as they are as long as it is used. Several
    threads may use one: its calls wait for each other, without the GIL. It has no copies: pickled,
    it is None.

    Parameters
    ----------
    problem : ContactProblem
        What was solved.
    solution : Solution or LinearPoint
        Its solution.
    settings : SapSettings, optional
        Those of the solve.

    Raises
    ------
    TypeError, ValueError
        For a wrong argument, a velocity that is not finite, and lagged friction whose bounds the
        problem does not have.
    MemoryError
        Where there is no room for the factors.
    """

    problem: ContactProblem
    converged: bool

    __slots__ = ("converged", "problem")

    def __new__(
        cls,
        problem: ContactProblem,
        solution: Solution | LinearPoint,
        settings: SapSettings | None = None,
    ) -> Sensitivity:
        """See the class."""
        if not isinstance(problem, ContactProblem):
            raise TypeError(f"problem must be a ContactProblem, not {type(problem).__name__}")
        made = super().__new__(cls, problem._core, settings, solution.v, solution.core_scale)
        made.problem = problem
        made.converged = solution.status == 0
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return _dropped, ()

    def __deepcopy__(self, memo: dict[int, Any]) -> Sensitivity:
        return self

    def vjp(  # type: ignore[override]
        self,
        v_bar: ArrayLike | None = None,
        gamma_bar: ArrayLike | None = None,
        *,
        constraint_gamma_bars: Sequence[ArrayLike | None] | None = None,
        spin_gamma_bar: ArrayLike | None = None,
        frozen_regularization: bool = False,
        matrices: bool = False,
    ) -> Gradient:
        """Reverse mode, as :meth:`sapwood.Solution.vjp` has it.

        Parameters
        ----------
        v_bar, gamma_bar, constraint_gamma_bars, spin_gamma_bar
            dL/d of the solution.
        frozen_regularization : bool
            Leave out that R follows from A and J.
        matrices : bool
            Form dL/dA and dL/dJ now, and not when they are read, which takes a second
            back-substitution.

        Returns
        -------
        Gradient
            dL/d of the problem.
        """
        problem = self.problem
        counts = [group.n_rows for group in problem.constraints]
        bars: list[_Float | None] = [
            _given(v_bar, "v_bar", (problem.nv,)),
            _given(gamma_bar, "gamma_bar", (problem.n_contacts, 3)),
            None,
            _given(spin_gamma_bar, "spin_gamma_bar", (problem.n_spins, 3)),
        ]
        rows: list[_Float | None] = [None] * len(counts)
        if constraint_gamma_bars is not None:
            if len(constraint_gamma_bars) != len(counts):
                raise ValueError(
                    f"constraint_gamma_bars has {len(constraint_gamma_bars)} elements for "
                    f"{len(counts)} groups"
                )
            rows = [
                _given(bar, f"constraint_gamma_bars[{k}]", (n,))
                for k, (bar, n) in enumerate(zip(constraint_gamma_bars, counts, strict=True))
            ]
        ranks = (1, 2, 1, 2, *[1] * len(rows))
        batch = _batch_of(zip((*bars, *rows), ranks, strict=True))
        if any(row is not None for row in rows):
            filled = [
                np.zeros((*batch, n)) if row is None else np.broadcast_to(row, (*batch, n))
                for row, n in zip(rows, counts, strict=True)
            ]
            bars[2] = np.concatenate(filled, axis=-1)
        m = math.prod(batch)
        v, gamma, group_gamma, spin_gamma = (
            _flat(bar, batch, m, rank) for bar, rank in zip(bars, ranks, strict=False)
        )
        self._check_factor()
        numbers, residual = super().vjp(
            m, v, gamma, group_gamma, spin_gamma, frozen_regularization, matrices
        )
        _check_residual(residual)
        if not matrices:
            # what the caller does with the arrays afterwards is not seen
            v, gamma, group_gamma, spin_gamma = (
                None if bar is None else np.array(bar)
                for bar in (v, gamma, group_gamma, spin_gamma)
            )
            find = super().vjp

            def form() -> _Matrices:
                found, _ = find(m, v, gamma, group_gamma, spin_gamma, frozen_regularization, True)
                return {name: _shaped(name, found[name], batch) for name in ("A", "J")}

        groups = tuple(_group_of(group, batch) for group in numbers.pop("constraints"))
        arrays: dict[str, Any] = {name: _shaped(name, x, batch) for name, x in numbers.items()}
        if not matrices:
            arrays |= {"A": form, "J": form}
        return Gradient(
            **arrays, constraints=groups, regions=self.regions, distance=self.distance,
            row_distance=_by_group(self.row_distance, counts),
            converged=self.converged, momentum_error=self.momentum_error, residual=residual,
        )  # fmt: skip

    def jvp(  # type: ignore[override]
        self, problem_dot: Differential, *, frozen_regularization: bool = False
    ) -> SolutionDifferential:
        """Forward mode, as :meth:`sapwood.Solution.jvp` has it.

        Parameters
        ----------
        problem_dot : Differential
            The change of the problem.
        frozen_regularization : bool
            Leave out that R follows from A and J.

        Returns
        -------
        SolutionDifferential
            The change of the solution.
        """
        if not isinstance(problem_dot, Differential):
            raise TypeError(f"problem_dot must be a Differential, not {type(problem_dot).__name__}")
        problem = self.problem
        if len(problem_dot.constraints) not in (0, len(problem.constraints)):
            raise ValueError(
                f"problem_dot.constraints has {len(problem_dot.constraints)} elements for "
                f"{len(problem.constraints)} groups"
            )
        fields = {
            name: _asked(getattr(problem_dot, name), name)
            for name in NUMBERS
            if getattr(problem_dot, name) is not None
        }
        groups = [_fields_of(group, k) for k, group in enumerate(problem_dot.constraints)]
        pairs = [(x, rank_of(name)) for name, x in fields.items()]
        pairs += [(x, 1) for group in groups for x in group.values()]
        batch = _batch_of(pairs)
        m = math.prod(batch)
        change: dict[str, Any] = {
            name: _flat(x, batch, m, rank_of(name)) for name, x in fields.items()
        }
        if groups:
            change["constraints"] = tuple(
                {name: _flat(x, batch, m, 1) for name, x in group.items()} for group in groups
            )
        self._check_factor()
        v, gamma, rows, spin, residual = super().jvp(m, change, frozen_regularization)
        _check_residual(residual)
        counts = [group.n_rows for group in problem.constraints]
        return SolutionDifferential(
            v.reshape(*batch, problem.nv),
            gamma.reshape(*batch, problem.n_contacts, 3),
            _by_group(rows.reshape(*batch, sum(counts)), counts),
            None if problem.spin_contact is None else spin.reshape(*batch, problem.n_spins, 3),
            residual,
        )

    def _check_factor(self) -> None:
        if self.tree >= 0:
            raise np.linalg.LinAlgError(
                f"H is singular to round-off at tree {self.tree}: there are no derivatives"
            )


# of a problem, but those of its groups of constraints
NUMBERS = tuple(
    field.name for field in dataclasses.fields(Differential) if field.name != "constraints"
)


def _dropped() -> None:
    """What is left of a pickled sensitivity."""


def rank_of(name: str) -> int:
    """Dimensions of a number of one problem.

    Parameters
    ----------
    name : str
        One of NUMBERS.

    Returns
    -------
    int
        0, 1 or 2.
    """
    return 0 if name in ("dt", "sigma") else 1 + (name in _COLUMNS)


def _asked(value: ArrayLike, name: str) -> _Float:
    return _core.as_float64(value, name, rule="finite")


def _given(value: ArrayLike | None, name: str, shape: tuple[int, ...]) -> _Float | None:
    """An array (..., *shape), or None."""
    if value is None:
        return None
    array = _asked(value, name)
    if array.shape[max(array.ndim - len(shape), 0) :] != shape:
        inner = ", ".join(map(str, shape))
        raise ValueError(f"{name} has shape {array.shape}, expected (..., {inner})")
    return array


def _batch_of(arrays: Any) -> tuple[int, ...]:
    """The dimensions in front of arrays of these ranks, broadcast against each other."""
    shapes = {x.shape[: max(x.ndim - rank, 0)] for x, rank in arrays if x is not None}
    return shapes.pop() if len(shapes) == 1 else np.broadcast_shapes(*shapes)


def _flat(array: _Float | None, batch: tuple[int, ...], m: int, rank: int) -> _Float | None:
    """The array (m, n) of all in a batch."""
    if array is None:
        return None
    inner = array.shape[max(array.ndim - rank, 0) :]
    shape = (*batch, *inner)
    whole = array if array.shape == shape else np.broadcast_to(array, shape)
    return np.ascontiguousarray(whole.reshape(m, math.prod(inner)))


def _shaped(name: str, array: _Float, batch: tuple[int, ...]) -> _Float:
    """What the core found, (m, n), in the shape of the problem's."""
    if rank_of(name) == 0:
        return array.reshape(batch)
    if name in _COLUMNS:
        return array.reshape(*batch, array.shape[1] // _COLUMNS[name], _COLUMNS[name])
    return array.reshape(*batch, array.shape[1])


def _by_group(rows: _Float, counts: list[int]) -> tuple[_Float, ...]:
    """Numbers of the rows of all groups (..., n_rows), group by group."""
    return tuple(np.split(rows, np.cumsum(counts[:-1]), axis=-1)) if counts else ()


_ROWS = ("J", "R", "v_hat", "lower", "upper")


def _group_of(numbers: dict[str, _Float], batch: tuple[int, ...]) -> GroupDifferential:
    shaped = {name: x.reshape(*batch, x.shape[1]) for name, x in numbers.items()}
    own = {name: shaped.pop(name) for name in _ROWS}
    return GroupDifferential(**own, parameters=shaped)


def _fields_of(group: GroupDifferential, k: int) -> dict[str, _Float]:
    """What there is of a change of a group, by name."""
    if not isinstance(group, GroupDifferential):
        raise TypeError(
            f"problem_dot.constraints[{k}] must be a GroupDifferential, not {type(group).__name__}"
        )
    given = {name: getattr(group, name) for name in _ROWS} | dict(group.parameters)
    return {
        name: _asked(x, f"constraints[{k}].{name}") for name, x in given.items() if x is not None
    }


def _check_residual(residual: float) -> None:
    if not residual <= _MOST_RESIDUAL:
        raise np.linalg.LinAlgError(
            f"the system of Coulomb's friction is singular: {residual:.2g} of its right side stay"
        )

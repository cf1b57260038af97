"""Derivatives of a solution with respect to its problem: reverse and forward mode.

At the solution, A (v - v*) = J^T gamma(J v). With the factor of H = A + J^T G J there, one
back-substitution gives the derivatives by every number of the problem.
``include/sapwood/sensitivity.h`` has the formulas, ``docs/explanation/derivatives.md`` their
meaning.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.checks import boolean
from sapwood.derivatives.differential import (
    COLUMNS,
    NUMBERS,
    Differential,
    Gradient,
    GroupDifferential,
    Matrices,
    SolutionDifferential,
    rank_of,
)
from sapwood.problem.contact_problem import ContactProblem
from sapwood.settings import SapSettings

_Float = NDArray[np.float64]

# largest residual of an unsymmetric system whose solution counts as a derivative
_MOST_RESIDUAL = 1e-6


class Solved(Protocol):
    """The fields of a :class:`sapwood.Solution` that a linearization reads."""

    @property
    def v(self) -> _Float:
        """Velocities (nv,)."""

    @property
    def status(self) -> int:
        """:class:`sapwood.Status` of the solve."""

    @property
    def core_scale(self) -> _Float | None:
        """Scale of the delta of each core; None: as a solve of the problem finds it."""


class Sensitivity(_core.Sensitivity):
    """A problem linearized and factored at its solution: made by ``solve(..., sensitivity=True)``.

    It shares the arrays of the problem, which must not change while it is used. Several threads
    may use it: its calls wait for each other, without the GIL. It is never copied; pickling leaves
    None.

    Parameters
    ----------
    problem : ContactProblem
        The solved problem.
    solution : Solution
        The solution of the problem.
    settings : SapSettings, optional
        The settings of the solve.

    Raises
    ------
    TypeError, ValueError
        For a wrong argument, a velocity that is not finite, and lagged friction whose bounds the
        problem does not have.
    MemoryError
        If there is no room for the factors.
    """

    problem: ContactProblem
    converged: bool

    __slots__ = ("converged", "problem")

    def __new__(
        cls,
        problem: ContactProblem,
        solution: Solved,
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
        v_bar, gamma_bar, constraint_gamma_bars, spin_gamma_bar, frozen_regularization
            As there.
        matrices : bool
            Form dL/dA and dL/dJ now, by a second back-substitution, instead of when they are read.

        Returns
        -------
        Gradient
            dL/d of the problem.
        """
        arguments, batch = self._vjp_call(
            v_bar, gamma_bar, constraint_gamma_bars, spin_gamma_bar, frozen_regularization, matrices
        )
        return self._gradient(arguments, batch, super().vjp(*arguments))

    def jvp(  # type: ignore[override]
        self, problem_dot: Differential, *, frozen_regularization: bool = False
    ) -> SolutionDifferential:
        """Forward mode, as :meth:`sapwood.Solution.jvp` has it.

        Parameters
        ----------
        problem_dot, frozen_regularization
            As there.

        Returns
        -------
        SolutionDifferential
            The change of the solution.
        """
        arguments, batch = self._jvp_call(problem_dot, frozen_regularization)
        return self._response(batch, super().jvp(*arguments))

    # ---- arguments and results of the core ---------------------------------------------------

    def _vjp_call(
        self,
        v_bar: ArrayLike | None,
        gamma_bar: ArrayLike | None,
        constraint_gamma_bars: Sequence[ArrayLike | None] | None,
        spin_gamma_bar: ArrayLike | None,
        frozen: bool,
        matrices: bool,
    ) -> tuple[tuple[Any, ...], tuple[int, ...]]:
        """The arguments for the core, and the dimensions of the batch."""
        frozen, matrices = boolean(frozen, "frozen_regularization"), boolean(matrices, "matrices")
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
        check_factor(self.tree)
        flat = (_flat(bar, batch, m, rank) for bar, rank in zip(bars, ranks, strict=False))
        return (m, *flat, frozen, matrices), batch

    def _gradient(
        self,
        arguments: tuple[Any, ...],
        batch: tuple[int, ...],
        found: tuple[dict[str, Any], float],
    ) -> Gradient:
        """The gradient, from the arguments for the core and its results."""
        numbers, residual = found
        check_residual(residual)
        groups = tuple(_group_of(group, batch) for group in numbers.pop("constraints"))
        arrays: dict[str, Any] = {name: _shaped(name, x, batch) for name, x in numbers.items()}
        m, *bars, frozen, matrices = arguments
        if not matrices:
            # copies, so that later changes of the caller's arrays have no effect
            kept = [None if bar is None else np.array(bar) for bar in bars]
            find: Callable[..., Any] = super().vjp

            def form() -> Matrices:
                found, _ = find(m, *kept, frozen, True)
                return {name: _shaped(name, found[name], batch) for name in ("A", "J")}

            arrays |= {"A": form, "J": form}
        counts = [group.n_rows for group in self.problem.constraints]
        return Gradient(
            **arrays, constraints=groups, regions=self.regions, distance=self.distance,
            row_distance=_by_group(self.row_distance, counts),
            converged=self.converged, momentum_error=self.momentum_error, residual=residual,
        )  # fmt: skip

    def _jvp_call(
        self, problem_dot: Differential, frozen: bool
    ) -> tuple[tuple[int, dict[str, Any], bool], tuple[int, ...]]:
        """The arguments for the core, and the dimensions of the batch."""
        if not isinstance(problem_dot, Differential):
            raise TypeError(f"problem_dot must be a Differential, not {type(problem_dot).__name__}")
        frozen = boolean(frozen, "frozen_regularization")
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
        check_factor(self.tree)
        return (m, change, frozen), batch

    def _response(
        self, batch: tuple[int, ...], found: tuple[_Float, _Float, _Float, _Float, float]
    ) -> SolutionDifferential:
        """The change of the solution, from the results of the core."""
        problem = self.problem
        v, gamma, rows, spin, residual = found
        check_residual(residual)
        counts = [group.n_rows for group in problem.constraints]
        return SolutionDifferential(
            v.reshape(*batch, problem.nv),
            gamma.reshape(*batch, problem.n_contacts, 3),
            _by_group(rows.reshape(*batch, sum(counts)), counts),
            None if problem.spin_contact is None else spin.reshape(*batch, problem.n_spins, 3),
            residual,
        )


def _dropped() -> None:
    """The substitute for a pickled sensitivity: None."""


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
    """An array (m, n) with one row per member of the batch."""
    if array is None:
        return None
    inner = array.shape[max(array.ndim - rank, 0) :]
    shape = (*batch, *inner)
    whole = array if array.shape == shape else np.broadcast_to(array, shape)
    return np.ascontiguousarray(whole.reshape(m, math.prod(inner)))


def _shaped(name: str, array: _Float, batch: tuple[int, ...]) -> _Float:
    """A result of the core, (m, n), in the shape of the problem's array."""
    if rank_of(name) == 0:
        return array.reshape(batch)
    if name in COLUMNS:
        return array.reshape(*batch, array.shape[1] // COLUMNS[name], COLUMNS[name])
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
    """The given fields of a change of a group, by name."""
    if not isinstance(group, GroupDifferential):
        raise TypeError(
            f"problem_dot.constraints[{k}] must be a GroupDifferential, not {type(group).__name__}"
        )
    given = {name: getattr(group, name) for name in _ROWS} | dict(group.parameters)
    return {
        name: _asked(x, f"constraints[{k}].{name}") for name, x in given.items() if x is not None
    }


def check_factor(tree: int) -> None:
    """Refuse derivatives where H has no factor.

    Parameters
    ----------
    tree : int
        Tree where H is singular to round-off, or -1.

    Raises
    ------
    numpy.linalg.LinAlgError
        If there is one.
    """
    if tree >= 0:
        raise np.linalg.LinAlgError(
            f"H is singular to round-off at tree {tree}: there are no derivatives"
        )


def check_residual(residual: float) -> None:
    """Refuse derivatives from a system of Coulomb's friction that has no solution.

    Parameters
    ----------
    residual : float
        Its relative residual.

    Raises
    ------
    numpy.linalg.LinAlgError
        If it is above 1e-6.
    """
    if not residual <= _MOST_RESIDUAL:
        raise np.linalg.LinAlgError(
            f"the system of Coulomb's friction is singular: {residual:.2g} of its right side stay"
        )

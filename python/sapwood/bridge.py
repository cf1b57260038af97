"""Solves as functions of some of their numbers: what automatic differentiation needs of them.

:mod:`sapwood.torch` and :mod:`sapwood.jax` stand on it. Which arguments of a problem are constants
is a :class:`Form`; the others come with every call, as arrays with any dimensions of a batch in
front, and so do the derivatives. One call of the core takes a whole batch each way. A solve keeps
nothing between forward and reverse mode but arrays: problems are linearized again where their
solutions are.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.base.blocks import offsets
from sapwood.base.processors import usable_processors
from sapwood.constraints.group import ConstraintGroup
from sapwood.constraints.kinds import KINDS
from sapwood.derivatives.differential import NUMBERS, rank_of
from sapwood.derivatives.sensitivity import check_factor, check_residual
from sapwood.problem.contact_problem import ContactProblem
from sapwood.settings import Friction, SapSettings, with_friction

_Array = NDArray[Any]
_Function = TypeVar("_Function", bound=Callable[..., Any])
Groups = Sequence[tuple[type[ConstraintGroup], Mapping[str, Any]]]

# parameters of groups beside their physical ones
_ROWS = ("J", "R", "v_hat", "lower", "upper")


_PARAMETERS = """Parameters
    ----------
    tree_nv, A, v_star, tree_a, tree_b, J, mu, dt
        As of :class:`sapwood.ContactProblem`; A and J are flat. What is differentiated is float64;
        of such an A the symmetric part counts.
    constraints : sequence of (class, mapping of str to value)
        Of each group its class and arguments, `tree_a` and flat J among them.
    settings : SapSettings, optional
        Defaults where it is None.
    friction : {"convex", "lagged", "coulomb"}, optional
        The law of friction, in place of ``settings.friction``, which None leaves.
    frozen_regularization : bool
        As of :meth:`sapwood.Solution.vjp`.
    **numbers
        Further arguments of :class:`sapwood.ContactProblem`: phi0, k, tau_d, R_t and so on.
"""


def with_parameters(solve: _Function) -> _Function:
    """Say in the docstring of a function that solves what its parameters are.

    Parameters
    ----------
    solve : callable
        Has ``{parameters}`` in its docstring.

    Returns
    -------
    callable
        The same function.
    """
    if solve.__doc__ is not None:
        solve.__doc__ = solve.__doc__.replace("{parameters}\n", _PARAMETERS)
    return solve


class BridgedSolution(NamedTuple):
    """A solution as arrays of the package that differentiates it."""

    v: Any
    """Velocities (..., nv)."""
    gamma: Any
    """Contact impulses (..., n_contacts, 3), N s."""
    constraints: tuple[Any, ...]
    """Impulses (..., n_rows) of each group of constraints."""
    spin_gamma: Any
    """Impulses (..., n_spins, 3) of torsional and rolling friction, N m s."""
    status: Any
    """:class:`sapwood.Status` (...), integers, which have no derivatives."""


class Name(NamedTuple):
    """A number of a problem or of one of its groups."""

    group: int
    """Its group, or -1."""
    field: str
    """Name in :class:`ContactProblem`, or in the class of the group."""

    def __str__(self) -> str:
        return self.field if self.group < 0 else f"constraints[{self.group}][{self.field!r}]"

    @property
    def rank(self) -> int:
        """Dimensions of the array of one problem."""
        return rank_of(self.field) if self.group < 0 else 1


@dataclasses.dataclass(frozen=True, eq=False)
class Form:
    """A problem with some numbers left open.

    Attributes
    ----------
    constants : mapping of str to object
        The other arguments of :class:`ContactProblem`, without groups.
    groups : sequence of (class, mapping)
        Class and known arguments of each group of constraints.
    names : tuple of Name
        The open numbers.
    settings : SapSettings or None
        The settings of the solves.
    frozen_regularization : bool
        The same as for :meth:`sapwood.Solution.vjp`.
    """

    constants: Mapping[str, Any]
    groups: Groups
    names: tuple[Name, ...]
    settings: SapSettings | None
    frozen_regularization: bool
    _first: list[_core.Problem] = dataclasses.field(default_factory=list, init=False, repr=False)

    # ---- sizes -------------------------------------------------------------------------------

    @functools.cached_property
    def rows(self) -> list[int]:
        """Rows of each group."""
        return [_rows_of(own) for _, own in self.groups]

    @functools.cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of v, gamma, the impulses of all rows, spin_gamma and status."""
        contacts = int(np.size(self.constants.get("tree_a", ())))
        spins = int(np.size(self.constants.get("spin_contact", ())))
        nv = int(np.sum(self.constants["tree_nv"], dtype=np.int64))
        return (nv,), (contacts, 3), (sum(self.rows),), (spins, 3), ()

    # ---- solves and derivatives --------------------------------------------------------------

    def solve(self, *numbers: Any) -> tuple[_Array, ...]:
        """Solve the problems of a batch, on all cores.

        Parameters
        ----------
        *numbers : array (..., as one problem has it)
            The open numbers, in the order of `names`; leading dimensions are broadcast.

        Returns
        -------
        tuple of array (..., as in shapes)
            v, gamma, impulses of the rows of all groups, spin_gamma, and status as int8.
        """
        *arrays, batch = self._aligned(numbers)
        n = math.prod(batch)
        if n == 0:
            types = [float] * 4 + [np.int8]
            return tuple(np.zeros((*batch, *x), t) for x, t in zip(self.shapes, types, strict=True))
        found: tuple[_Array, ...] = _core.solve_varied(
            *self._varied(arrays, batch), self.settings, usable_processors()
        )
        return tuple(x.reshape((*batch, *end)) for x, end in zip(found, self.shapes, strict=True))

    def vjp(self, *arguments: Any) -> tuple[_Array, ...]:
        """Reverse mode: gradients of a loss by the open numbers.

        Parameters
        ----------
        *arguments : array
            The numbers, v and status of their solution, then dL/d of v, gamma, rows and
            spin_gamma, all with as many dimensions of a batch. Those of 1 are broadcast: one
            solution with many losses is linearized once.

        Returns
        -------
        tuple of array (..., as one problem has it)
            dL/d of each number, for the whole batch.
        """
        n = len(self.names)
        *arrays, batch = self._aligned(arguments[:n])
        *bars, losses = _batched(arguments[n + 2 :], (1, 2, 1, 2))
        layout = _Layout(batch, _common(batch, losses))
        ends = [x.shape[len(batch) :] for x in arrays]
        if math.prod(layout.whole) == 0:
            return tuple(np.zeros((*layout.whole, *end)) for end in ends)
        v_bar, gamma_bar, rows_bar, spin_bar = (
            layout.flat(bar, rank) for bar, rank in zip(bars, (1, 2, 1, 2), strict=True)
        )
        numbers, trees, residuals = _core.vjp_varied(
            *self._varied(arrays, batch),
            self.settings,
            usable_processors(),
            _flat(arguments[n], batch, 1),
            layout.m,
            v_bar,
            gamma_bar,
            rows_bar,
            spin_bar,
            self.frozen_regularization,
            any(name.field in ("A", "J") for name in self.names),
        )
        _check(trees, residuals)
        # a number that the problem does not use, as phi0 beside a given R, has derivative 0
        found = [
            (numbers if name.group < 0 else numbers["constraints"][name.group]).get(name.field)
            for name in self.names
        ]
        return tuple(
            np.zeros((*layout.whole, *end)) if x is None else layout.shaped(x, end)
            for x, end in zip(found, ends, strict=True)
        )

    def jvp(self, *arguments: Any) -> tuple[_Array, ...]:
        """Forward mode: the change of the solution for a change of the open numbers.

        Parameters
        ----------
        *arguments : array
            The numbers, v and status of their solution, then a change of each number. All have the
            same batch dimensions; dimensions of 1 are broadcast.

        Returns
        -------
        tuple of array (..., as in shapes)
            Changes of v, gamma, rows and spin_gamma, for the whole batch.
        """
        n = len(self.names)
        *arrays, batch = self._aligned(arguments[:n])
        *dots, changes = self._aligned(arguments[n + 2 :])
        layout = _Layout(batch, _common(batch, changes))
        if math.prod(layout.whole) == 0:
            return tuple(np.zeros((*layout.whole, *end)) for end in self.shapes[:4])
        *found, trees, residuals = _core.jvp_varied(
            *self._varied(arrays, batch),
            self.settings,
            usable_processors(),
            _flat(arguments[n], batch, 1),
            layout.m,
            self._named(
                [layout.flat(dot, name.rank) for name, dot in zip(self.names, dots, strict=True)]
            ),
            self.frozen_regularization,
        )
        _check(trees, residuals)
        return tuple(layout.shaped(x, end) for x, end in zip(found, self.shapes[:4], strict=True))

    # ---- parts -------------------------------------------------------------------------------

    def _aligned(self, numbers: Sequence[Any]) -> list[Any]:
        """The numbers as arrays of NumPy, and last the dimensions of their batch."""
        return _batched(numbers, [name.rank for name in self.names])

    def _named(self, numbers: Sequence[_Array]) -> dict[str, Any]:
        """Numbers by name, those of groups in a tuple of dicts."""
        own: dict[str, Any] = {}
        groups: tuple[dict[str, Any], ...] = tuple({} for _ in self.groups)
        for name, x in zip(self.names, numbers, strict=True):
            (own if name.group < 0 else groups[name.group])[name.field] = x
        return {**own, "constraints": groups}

    def _varied(
        self, numbers: Sequence[_Array], batch: tuple[int, ...]
    ) -> tuple[_core.Problem, dict[str, Any], int]:
        """A problem of the batch, the numbers by which all differ from it, and how many they are.

        The problem is the first that was ever asked for: all of its numbers that are not open are
        constants.
        """
        flat = [_flat(x, batch, name.rank) for name, x in zip(self.names, numbers, strict=True)]
        named = self._named(flat)
        if "A" in named:
            named["A"] = _symmetric(named["A"], self.constants["tree_nv"])
        if "dt" in named:
            for (kind, own), given in zip(self.groups, named["constraints"], strict=True):
                # the dissipation time of a group that has none is the time step
                if "tau_d" in kind._rules and "tau_d" not in given and own.get("tau_d") is None:
                    given["tau_d"] = np.repeat(named["dt"], _rows_of(own), axis=1)
        if not self._first:
            # the problem outlives the arrays, whose memory may be XLA's
            first = [x[(0,) * (x.ndim - name.rank)].copy()
                     for name, x in zip(self.names, numbers, strict=True)]  # fmt: skip
            self._first.append(self._problem(first)._core)
        return self._first[0], named, math.prod(batch)

    def _problem(self, numbers: Sequence[_Array]) -> ContactProblem:
        named = self._named(numbers)
        if "A" in named:
            (named["A"],) = _symmetric(named["A"][None], self.constants["tree_nv"])
        given = named.pop("constraints")
        made = [kind(**own, **x) for (kind, own), x in zip(self.groups, given, strict=True)]
        return ContactProblem(**self.constants, **named, constraints=made)


class _Layout:
    """Where losses or changes of a batch of problems stand.

    Parameters
    ----------
    batch : tuple of int
        The dimensions of the problems; one problem has all losses along a dimension of 1.
    whole : tuple of int
        The dimensions of the losses.
    """

    def __init__(self, batch: tuple[int, ...], whole: tuple[int, ...]) -> None:
        self.whole = whole
        own = (1,) * (len(whole) - len(batch)) + batch
        self._order = sorted(range(len(whole)), key=lambda i: own[i] == 1)
        self._back = sorted(range(len(whole)), key=self._order.__getitem__)
        self.m = math.prod(n for n, problems in zip(whole, own, strict=True) if problems == 1)

    def flat(self, x: _Array, rank: int) -> _Array:
        """The rows (n m, ...) of arrays (..., as one loss has it), those of a problem together."""
        end = x.shape[x.ndim - rank :]
        x = _spread(x, (*self.whole, *end)).transpose(*self._order, *range(len(self.whole), x.ndim))
        return np.ascontiguousarray(x).reshape(math.prod(self.whole), math.prod(end))

    def shaped(self, rows: _Array, end: tuple[int, ...]) -> _Array:
        """The array of the whole batch from its rows."""
        x = rows.reshape((*(self.whole[i] for i in self._order), *end))
        return x.transpose(*self._back, *range(len(self.whole), x.ndim))


def form_of(
    arguments: Mapping[str, Any],
    groups: Groups,
    is_open: Any,
    settings: SapSettings | None,
    friction: Friction | None,
    frozen_regularization: bool,
) -> tuple[Form, list[Any]]:
    """Separate constants from open numbers, and check the names.

    Parameters
    ----------
    arguments : mapping of str to object
        Arguments of :class:`ContactProblem` without groups; None is left out.
    groups : sequence of (class, mapping)
        Class and arguments of each group, trees among them.
    is_open : callable
        Whether a value is to be differentiated.
    settings, friction, frozen_regularization
        The same as for :func:`sapwood.solve` and :meth:`sapwood.Solution.vjp`.

    Returns
    -------
    form : Form
        The problem with its open numbers.
    numbers : list
        The values of the open numbers.

    Raises
    ------
    TypeError
        For an open argument without derivatives, and for a group of a wrong class.
    """
    arguments = {name: x for name, x in arguments.items() if x is not None}
    names = [Name(-1, name) for name, x in arguments.items() if is_open(x)]
    constants: list[tuple[type[ConstraintGroup], dict[str, Any]]] = []
    for k, (kind, own) in enumerate(_checked(groups)):
        names += [Name(k, name) for name, x in own.items() if is_open(x)]
        constants.append((kind, {name: x for name, x in own.items() if not is_open(x)}))
    for name in names:
        known = NUMBERS if name.group < 0 else (*_ROWS, *constants[name.group][0]._rules)
        if name.field not in known:
            raise TypeError(f"{name} has no derivatives: give it as an array of NumPy")
    numbers = [
        arguments[name.field] if name.group < 0 else groups[name.group][1][name.field]
        for name in names
    ]
    known_arguments = {name: x for name, x in arguments.items() if not is_open(x)}
    if friction is not None:
        settings = with_friction(settings, friction)
    return Form(known_arguments, constants, tuple(names), settings, frozen_regularization), numbers


def _checked(groups: Groups) -> Iterator[tuple[type[ConstraintGroup], Mapping[str, Any]]]:
    for k, group in enumerate(groups):
        pair: Any = group
        if not (isinstance(pair, tuple) and len(pair) == 2 and pair[0] in KINDS):
            raise TypeError(f"constraints[{k}] must be a class of constraints and its arguments")
        if "tree_a" not in group[1]:
            raise TypeError(f"constraints[{k}] needs tree_a")
        yield group


def _rows_of(own: Mapping[str, Any]) -> int:
    """Number of rows of a group, from its known arguments."""
    return int(np.sum(np.broadcast_to(own.get("size", 1), np.shape(own["tree_a"]))))


def _batched(arrays: Iterable[Any], ranks: Iterable[int]) -> list[Any]:
    """Arrays of NumPy, broadcast to a common batch, and last the dimensions of the batch."""
    found = [np.asarray(x, dtype=float) for x in arrays]
    fronts = [x.shape[: x.ndim - rank] for x, rank in zip(found, ranks, strict=True)]
    return [*found, _common(*fronts)]


# NumPy's own calls take longer than a small solve, where shapes are the same
def _common(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    same = len(shapes) > 0 and all(shape == shapes[0] for shape in shapes)
    return shapes[0] if same else np.broadcast_shapes(*shapes)


def _spread(x: _Array, shape: tuple[int, ...]) -> _Array:
    return x if x.shape == shape else np.broadcast_to(x, shape)


def _flat(x: Any, batch: tuple[int, ...], rank: int) -> _Array:
    """Rows (n, ...) of the arrays of the problems of a batch."""
    x = np.asarray(x)
    end = x.shape[x.ndim - rank :]
    rows = _spread(x, (*batch, *end)).reshape(math.prod(batch), math.prod(end))
    return np.ascontiguousarray(rows)


def _check(trees: _Array, residuals: _Array) -> None:
    """Refuse derivatives of a system that is singular to round-off, and name the problem."""
    for i in (trees.argmax(), residuals.argmax()):
        try:
            check_factor(int(trees[i]))
            check_residual(float(residuals[i]))
        except np.linalg.LinAlgError as error:
            error.add_note(f"in problems[{i}]")
            raise


def _symmetric(A: _Array, tree_nv: Any) -> _Array:
    """The symmetric parts (n, ...) of the blocks: derivatives by A are for symmetric blocks."""
    sizes = np.asarray(tree_nv)
    ends = offsets(sizes.astype(np.int64) ** 2)
    if A.shape[1] != ends[-1]:
        return A  # the problem refuses it by name
    A = np.array(A)
    for n, begin, end in zip(sizes, ends[:-1], ends[1:], strict=True):
        block = A[:, begin:end].reshape(-1, n, n)
        A[:, begin:end] = (0.5 * (block + block.swapaxes(1, 2))).reshape(-1, n * n)
    return A

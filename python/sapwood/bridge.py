"""Solves as functions of some of their numbers: what automatic differentiation needs of them.

:mod:`sapwood.torch` and :mod:`sapwood.jax` stand on it. Which arguments of a problem are constants
is a :class:`Form`; the others come with every call, as arrays with any dimensions of a batch in
front, and so do the derivatives. A solve keeps nothing between forward and reverse mode but
arrays: the problem is made and linearized again where its solution is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sapwood.base.blocks import offsets
from sapwood.batch import solve_batch
from sapwood.constraints.group import ConstraintGroup
from sapwood.constraints.kinds import KINDS
from sapwood.derivatives.differential import NUMBERS, Differential, GroupDifferential, rank_of
from sapwood.derivatives.sensitivity import LinearPoint, Sensitivity
from sapwood.problem.contact_problem import ContactProblem
from sapwood.sensitivity_batch import jvp_batch, linearize_batch, vjp_batch
from sapwood.settings import Friction, SapSettings, with_friction

_Array = NDArray[Any]
_Function = TypeVar("_Function", bound=Callable[..., Any])
Groups = Sequence[tuple[type[ConstraintGroup], Mapping[str, Any]]]

# problems of a batch whose factors are kept at a time
_AT_ONCE = 256
# of groups, beside their physical parameters
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
        The same.
    """
    if solve.__doc__ is not None:
        solve.__doc__ = solve.__doc__.replace("{parameters}\n", _PARAMETERS)
    return solve


class BridgedSolution(NamedTuple):
    """What a solve found, as arrays of the package that differentiates it."""

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
    """A number of a problem, or of one of its groups of constraints."""

    group: int
    """Its group, or -1."""
    field: str
    """As in :class:`ContactProblem`, or in the class of the group."""

    def __str__(self) -> str:
        return self.field if self.group < 0 else f"constraints[{self.group}][{self.field!r}]"

    @property
    def rank(self) -> int:
        """Dimensions of the array of one problem."""
        return rank_of(self.field) if self.group < 0 else 1


@dataclasses.dataclass(frozen=True, eq=False)
class Form:
    """A problem of which some numbers are left open.

    Attributes
    ----------
    constants : mapping of str to object
        Arguments of :class:`ContactProblem` that are known, but for the groups.
    groups : sequence of (class, mapping)
        Class and known arguments of each group of constraints.
    names : tuple of Name
        What is open.
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

    # ---- sizes -------------------------------------------------------------------------------

    @property
    def rows(self) -> list[int]:
        """Rows of each group."""
        return [_rows_of(own) for _, own in self.groups]

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Of v, gamma, the impulses of all rows, spin_gamma and status."""
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
            What is open, in the order of `names`; dimensions in front are broadcast.

        Returns
        -------
        tuple of array (..., as in shapes)
            v, gamma, impulses of the rows of all groups, spin_gamma, and status as int8.
        """
        arrays, batch = self._aligned(numbers)
        solutions = solve_batch(
            (self._problem([x[at] for x in arrays]) for at in np.ndindex(batch)),
            settings=self.settings,
        )
        out = [np.zeros((*batch, *shape)) for shape in self.shapes]
        v, gamma, rows, spin, status = out
        for at, solution in zip(np.ndindex(batch), solutions, strict=True):
            v[at], gamma[at], status[at] = solution.v, solution.gamma, solution.status
            if solution.constraints:
                rows[at] = np.concatenate([group.gamma for group in solution.constraints])
            if solution.spin_gamma is not None:
                spin[at] = solution.spin_gamma
        return v, gamma, rows, spin, status.astype(np.int8)

    def vjp(self, *arguments: Any) -> tuple[_Array, ...]:
        """Reverse mode: gradients of a loss by what is open.

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
        numbers, batch = self._aligned(arguments[:n])
        *bars, losses = _batched(arguments[n + 2 :], (1, 2, 1, 2))
        whole = np.broadcast_shapes(batch, losses)
        bars = [np.broadcast_to(bar, (*whole, *bar.shape[len(whole) :])) for bar in bars]
        out = [np.zeros((*whole, *x.shape[len(whole) :])) for x in numbers]
        ends = np.cumsum(self.rows[:-1])
        matrices = any(name.field in ("A", "J") for name in self.names)
        for places, sensitivities in self._linearized(numbers, batch, arguments[n : n + 2]):
            v, gamma, rows, spin = ([bar[at] for at in places] for bar in bars)
            gradients = vjp_batch(
                sensitivities,
                v,
                gamma,
                constraint_gamma_bars=(
                    [np.split(row, ends, axis=-1) for row in rows] if self.groups else None
                ),
                spin_gamma_bars=[x if x.size else None for x in spin],
                frozen_regularization=self.frozen_regularization,
                matrices=matrices,
            )
            for at, gradient in zip(places, gradients, strict=True):
                for found, name in zip(out, self.names, strict=True):
                    found[at] = _number_of(gradient, name)
        return tuple(out)

    def jvp(self, *arguments: Any) -> tuple[_Array, ...]:
        """Forward mode: the change of the solution with a change of what is open.

        Parameters
        ----------
        *arguments : array
            The numbers, v and status of their solution, then a change of each number,
            all with as many dimensions of a batch; those of 1 are broadcast.

        Returns
        -------
        tuple of array (..., as in shapes)
            Changes of v, gamma, rows and spin_gamma, for the whole batch.
        """
        n = len(self.names)
        numbers, batch = self._aligned(arguments[:n])
        *dots, changes = _batched(arguments[n + 2 :], [name.rank for name in self.names])
        whole = np.broadcast_shapes(batch, changes)
        dots = [np.broadcast_to(dot, (*whole, *dot.shape[len(whole) :])) for dot in dots]
        v, gamma, rows, spin = out = [np.zeros((*whole, *shape)) for shape in self.shapes[:4]]
        for places, sensitivities in self._linearized(numbers, batch, arguments[n : n + 2]):
            changes = jvp_batch(
                sensitivities,
                [self._change([dot[at] for dot in dots]) for at in places],
                frozen_regularization=self.frozen_regularization,
            )
            for at, found in zip(places, changes, strict=True):
                v[at], gamma[at] = found.v, found.gamma
                if self.groups:
                    rows[at] = np.concatenate(found.constraints, axis=-1)
                if found.spin_gamma is not None:
                    spin[at] = found.spin_gamma
        return tuple(out)

    # ---- parts -------------------------------------------------------------------------------

    def _aligned(self, numbers: Sequence[Any]) -> tuple[list[_Array], tuple[int, ...]]:
        """Numbers with the dimensions of their batch broadcast, and these."""
        *arrays, batch = _batched(numbers, [name.rank for name in self.names])
        return [np.broadcast_to(x, (*batch, *x.shape[len(batch) :])) for x in arrays], batch

    def _problem(self, numbers: Sequence[_Array]) -> ContactProblem:
        arguments = dict(self.constants)
        groups = [dict(own) for _, own in self.groups]
        for name, x in zip(self.names, numbers, strict=True):
            if name.group >= 0:
                groups[name.group][name.field] = x
            elif name.field == "A":
                arguments["A"] = _symmetric(x, self.constants["tree_nv"])
            else:
                arguments[name.field] = x
        made = [kind(**own) for (kind, _), own in zip(self.groups, groups, strict=True)]
        return ContactProblem(**arguments, constraints=made)

    def _linearized(
        self, numbers: Sequence[_Array], batch: tuple[int, ...], point: Sequence[Any]
    ) -> Iterator[tuple[list[tuple[slice, ...]], list[Sensitivity]]]:
        """Problems factored at their solutions, some at a time, and where each is in the batch."""
        v, status = (np.broadcast_to(x, (*batch, *np.shape(x)[len(batch) :])) for x in point)
        every = list(np.ndindex(batch))
        for begin in range(0, len(every), _AT_ONCE):
            some = every[begin : begin + _AT_ONCE]
            sensitivities = linearize_batch(
                [self._problem([x[at] for x in numbers]) for at in some],
                [LinearPoint(np.array(v[at]), int(status[at])) for at in some],
                self.settings,
            )
            spans = [zip(at, batch, strict=True) for at in some]
            places = [
                tuple(slice(None) if n == 1 else slice(i, i + 1) for i, n in span) for span in spans
            ]
            yield places, sensitivities

    def _change(self, dots: Sequence[_Array]) -> Differential:
        own: dict[str, Any] = {}
        groups: list[dict[str, Any]] = [{} for _ in self.groups]
        for name, dot in zip(self.names, dots, strict=True):
            (own if name.group < 0 else groups[name.group])[name.field] = dot
        made = tuple(
            GroupDifferential(
                **{field: fields.pop(field) for field in _ROWS if field in fields},
                parameters=fields,
            )
            for fields in groups
        )
        return Differential(**own, constraints=made)


def form_of(
    arguments: Mapping[str, Any],
    groups: Groups,
    is_open: Any,
    settings: SapSettings | None,
    friction: Friction | None,
    frozen_regularization: bool,
) -> tuple[Form, list[Any]]:
    """Tell constants from what is open, and check the names.

    Parameters
    ----------
    arguments : mapping of str to object
        Of :class:`ContactProblem`, without groups; what is None is left out.
    groups : sequence of (class, mapping)
        Class and arguments of each group, trees among them.
    is_open : callable
        Whether a value is to be differentiated.
    settings, friction, frozen_regularization
        The same as for :func:`sapwood.solve` and :meth:`sapwood.Solution.vjp`.

    Returns
    -------
    form : Form
        The problem with what is open.
    numbers : list
        The values of what is open.

    Raises
    ------
    TypeError
        For an open argument that has no derivatives, and for what is no group.
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
    """Rows of a group, from what is known of it."""
    return int(np.sum(np.broadcast_to(own.get("size", 1), np.shape(own["tree_a"]))))


def _batched(arrays: Iterable[Any], ranks: Iterable[int]) -> list[Any]:
    """Arrays of NumPy, and last the dimensions in front of those of one problem, broadcast."""
    found = [np.asarray(x, dtype=float) for x in arrays]
    fronts = [x.shape[: x.ndim - rank] for x, rank in zip(found, ranks, strict=True)]
    return [*found, np.broadcast_shapes(*fronts)]


def _number_of(gradient: Differential, name: Name) -> Any:
    if name.group < 0:
        found = getattr(gradient, name.field)
    else:
        group = gradient.constraints[name.group]
        found = group.parameters.get(name.field, getattr(group, name.field, None))
    # a number that the problem only carries along, as phi0 beside a given R, moves nothing
    return 0.0 if found is None else found


def _symmetric(A: _Array, tree_nv: Any) -> _Array:
    """The symmetric parts of the blocks, which are what a derivative by A is meant for."""
    sizes = np.asarray(tree_nv)
    A = np.array(A)
    ends = offsets(sizes.astype(np.int64) ** 2)
    if len(A) == ends[-1]:  # else it is refused, by its name
        for n, begin, end in zip(sizes, ends[:-1], ends[1:], strict=True):
            block = A[begin:end].reshape(n, n)
            A[begin:end] = (0.5 * (block + block.T)).ravel()
    return A

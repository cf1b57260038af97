"""The common part of all kinds of constraint beside frictional contact.

Each row is a spring and damper whose impulse is held between two bounds::

    y = (v_hat - v_c)/R,   gamma = clamp(y, lower, upper),   v_c = J v

Kinds differ in what R, v_hat and the bounds follow from, see `constraints`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.blocks import split_jacobian
from sapwood.base.checks import integer

_Float = NDArray[np.float64]
_Index = NDArray[np.int32]
Kind = Literal["limit", "bilateral", "controller", "dry_friction"]

_MOST_ROWS = 6  # rows of one constraint
_REGULARIZED = ("R", "v_hat", "lower", "upper")

# rules for the values of an array over rows; NaN breaks all of them
_RULES: dict[str, Callable[[_Float], NDArray[np.bool_]]] = {
    "must be finite": np.isfinite,
    "must be finite and > 0": lambda x: np.isfinite(x) & (x > 0.0),
    "must be finite and >= 0": lambda x: np.isfinite(x) & (x >= 0.0),
    "must be > 0": lambda x: x > 0.0,
    "must be >= 0": lambda x: x >= 0.0,
    "must be <= 0": lambda x: x <= 0.0,
    "must be 0": lambda x: x == 0.0,
    "must be below infinity": lambda x: x < np.inf,
    "must be above -infinity": lambda x: x > -np.inf,
}


class ConstraintGroup:
    """Constraints of one kind, immutable; made by one of its subclasses.

    Arrays over rows hold the rows of one constraint after another.

    Attributes
    ----------
    tree_a, tree_b : ndarray of int (n,)
        First tree of each constraint, and the second one, or -1. Where J was given as a matrix,
        they are known of the groups of a problem only.
    size : ndarray of int (n,)
        Rows of each constraint: 1 to 6 where it is bilateral, else 1.
    J : ndarray
        Blocks of the constraints, flat, or one row of all velocities per row.
    R, v_hat, lower, upper : ndarray (n_rows,)
        Regularization (1/kg or 1/(kg m^2)), stabilization velocity (m/s or rad/s), and bounds of
        the impulse (N s or N m s). Where they follow from physical parameters, they are known of
        the groups of a problem only.
    beta : float
        Near-rigid parameter.
    """

    __slots__ = (
        "J", "R", "beta", "lower", "size", "tree_a", "tree_b", "upper", "v_hat",
    )  # fmt: skip

    kind: ClassVar[Kind]
    # parameters with their rules, the core's; those without a default must be given
    _rules: ClassVar[dict[str, str]]
    _defaults: ClassVar[dict[str, float | None]]
    _settings: ClassVar[tuple[str, ...]] = ("beta",)
    # rules for bounds given with R and v_hat: the default of `lower`, and ordered pairs
    _bounds: ClassVar[dict[str, str]] = {"lower": "must be <= 0", "upper": "must be >= 0"}
    _lower: ClassVar[float] = -np.inf
    _ordered: ClassVar[tuple[tuple[str, str], ...]] = ()

    def __init_subclass__(cls) -> None:
        cls._rules = _core.constraint_kinds()[cls.kind]

    tree_a: _Index
    tree_b: _Index
    size: _Index
    J: _Float
    R: _Float
    v_hat: _Float
    lower: _Float
    upper: _Float
    beta: float

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: {name} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: {name} cannot be deleted")

    # hidden from type checkers, to which any name would seem to be an attribute
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            if name in ConstraintGroup.__slots__:
                raise AttributeError(
                    f"{name} is known of the groups of a problem: see ContactProblem.constraints"
                )
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def _set(self, **fields: object) -> None:
        """Set the fields that are not None."""
        for name, value in fields.items():
            if value is not None:
                object.__setattr__(self, name, value)

    def _make(
        self,
        shape: tuple[ArrayLike, ArrayLike | None, ArrayLike | None, ArrayLike | None],
        parameters: dict[str, ArrayLike | None],
        given: tuple[ArrayLike | None, ArrayLike | None, ArrayLike | None, ArrayLike | None],
        beta: float = 0.1,
    ) -> None:
        """Check and set (J, tree_a, tree_b, size), parameters and (R, v_hat, lower, upper)."""
        n_rows = self._make_shape(*shape)
        needed = [name for name in self._rules if name not in self._defaults]
        missing = [name for name in needed if parameters[name] is None]
        R, v_hat, lower, upper = given
        if (R is None) != (v_hat is None):
            raise TypeError("R and v_hat must be given together")
        if R is None and (lower is not None or upper is not None):
            raise TypeError("lower and upper are bounds of impulses, given with R and v_hat only")
        if R is None and missing:
            raise TypeError(f"give {_listed(needed)}, or R and v_hat")
        if 0 < len(missing) < len(needed):
            raise TypeError(f"{_listed(needed)} must be given together")

        for name, rule in self._rules.items():
            value = parameters[name]
            if value is None and not missing:
                value = self._defaults[name]
            object.__setattr__(self, name, over_rows(value, name, n_rows, rule))
        if R is not None:
            lower = self._lower if lower is None else lower
            upper = np.inf if upper is None else upper
        self._set(
            R=over_rows(R, "R", n_rows, "must be finite and >= 0"),
            v_hat=over_rows(v_hat, "v_hat", n_rows, "must be finite"),
            lower=over_rows(lower, "lower", n_rows, self._bounds["lower"]),
            upper=over_rows(upper, "upper", n_rows, self._bounds["upper"]),
            beta=float(_core.as_float64(beta, "beta", (), "non-negative")),
        )
        for below, above in self._ordered:
            _check_order(getattr(self, below, None), getattr(self, above, None), below, above)

    def _make_shape(
        self,
        J: ArrayLike,
        tree_a: ArrayLike | None,
        tree_b: ArrayLike | None,
        size: ArrayLike | None,
    ) -> int:
        """Set J, trees and sizes; return the number of rows."""
        if tree_a is None:
            if tree_b is not None:
                raise TypeError("tree_b needs tree_a")
            matrix = _core.as_float64(J, "J", (-1, -1), "finite")
            sizes = _sizes(size, None, len(matrix))
            self._set(J=_read_only(matrix), size=sizes)
        else:
            first = _index(tree_a, "tree_a")
            second = np.full(len(first), -1) if tree_b is None else tree_b
            flat = _core.as_float64(J, "J", (-1,), "finite")
            sizes = _sizes(size, len(first), None)
            self._set(
                J=_read_only(flat),
                tree_a=first,
                tree_b=_index(second, "tree_b", len(first)),
                size=sizes,
            )
        return int(self.size.sum(dtype=np.int64))

    # ---- in a problem ------------------------------------------------------------------------

    def placed(self, tree_nv: _Index) -> Self:
        """The same constraints with trees and flat blocks of J.

        Parameters
        ----------
        tree_nv : ndarray of int (n_trees,)
            Velocities of each tree, >= 1.

        Returns
        -------
        ConstraintGroup
            This group itself where it has them.

        Raises
        ------
        ValueError
            If the columns of J are not the velocities, or a constraint touches three trees or
            none.
        """
        if hasattr(self, "tree_a"):
            return self
        nv = int(tree_nv.sum(dtype=np.int64))
        if self.J.shape[1] != nv:
            raise ValueError(f"J has shape {self.J.shape}, expected ({len(self.J)}, {nv})")
        tree_a, tree_b, J = split_jacobian(self.J, tree_nv, self.size, "constraint")
        tree_a.flags.writeable = tree_b.flags.writeable = False
        return self.with_fields(tree_a=tree_a, tree_b=tree_b, J=_read_only(J))

    def regularized(self, R: _Float, v_hat: _Float, lower: _Float, upper: _Float) -> Self:
        """The same constraints with the numbers derived from their parameters.

        Parameters
        ----------
        R, v_hat, lower, upper : ndarray (n_rows,)
            Read-only arrays, not checked.

        Returns
        -------
        ConstraintGroup
            A new group with these arrays.
        """
        return self.with_fields(R=R, v_hat=v_hat, lower=lower, upper=upper)

    def for_core(self, dt: float) -> tuple[object, ...]:
        """The fields of the group that the core reads.

        Parameters
        ----------
        dt : float
            Time step, s: the dissipation time where none was given.

        Returns
        -------
        tuple
            Name of the kind, size, tree_a, tree_b, J, (R, v_hat, lower, upper) or None, the
            parameters or None, beta.
        """
        given = parameters = None
        if hasattr(self, "R"):
            given = (self.R, self.v_hat, self.lower, self.upper)
        else:
            physical = self.parameters
            if "tau_d" in physical and physical["tau_d"] is None:
                physical["tau_d"] = np.full(self.n_rows, dt)
            parameters = tuple(physical.values())
        shape = (self.size, self.tree_a, self.tree_b, self.J)
        return (self.kind, *shape, given, parameters, self.beta)

    def with_fields(self, **fields: object) -> Self:
        """The same constraints with other arrays.

        Parameters
        ----------
        **fields
            Arrays by the names of the attributes, not checked.

        Returns
        -------
        ConstraintGroup
            A new group.
        """
        copy = self._copy(without=tuple(fields))
        copy._set(**fields)
        return copy

    def _copy(self, without: tuple[str, ...] = ()) -> Self:
        copy = object.__new__(type(self))
        for name in self._rules:
            object.__setattr__(copy, name, getattr(self, name))
        shared = [name for name in ConstraintGroup.__slots__ if name not in without]
        copy._set(**{name: getattr(self, name, None) for name in shared})
        return copy

    def physical(self) -> Self:
        """The same constraints with their physical parameters only, as they were given.

        The groups of a problem carry the R, v_hat and bounds of its time step and masses, and keep
        them in another problem. Without them that problem finds its own.

        Returns
        -------
        ConstraintGroup
            A new group without R, v_hat, lower and upper, with the trees that J was split by; this
            group itself where R and v_hat do not follow from physical parameters.

        Examples
        --------
        >>> import sapwood
        >>> limit = sapwood.JointLimits([[1.0]], phi0=0.1)
        >>> one = sapwood.ContactProblem([1], [2.0], [0.0], dt=0.05, constraints=[limit])
        >>> groups = [group.physical() for group in one.constraints]
        >>> other = sapwood.ContactProblem([1], [2.0], [0.0], dt=0.01, constraints=groups)
        >>> print(one.constraints[0].v_hat, other.constraints[0].v_hat)
        [-1.] [-5.]
        """
        if any(getattr(self, name) is None for name in self._rules if name not in self._defaults):
            return self
        return self._copy(without=_REGULARIZED)

    # ---- as a value --------------------------------------------------------------------------

    @property
    def n_rows(self) -> int:
        """Number of rows of all constraints."""
        return int(self.size.sum(dtype=np.int64))

    @property
    def parameters(self) -> dict[str, _Float | None]:
        """Physical parameters (n_rows,) by name, None where they were not given."""
        return {name: getattr(self, name) for name in self._rules}

    def _arguments(self) -> dict[str, Any]:
        """Arguments by name that make an equal group; absent ones are left out."""
        names = ("J", "tree_a", "tree_b", *_REGULARIZED, *self._settings, *self._rules)
        arguments = {name: getattr(self, name, None) for name in names}
        return {name: value for name, value in arguments.items() if value is not None}

    def __len__(self) -> int:
        return len(self.size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConstraintGroup):
            return NotImplemented
        mine, theirs = self._arguments(), other._arguments()
        return (
            type(self) is type(other)
            and mine.keys() == theirs.keys()
            and all(np.array_equal(value, theirs[name]) for name, value in mine.items())
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self._arguments())

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n={len(self)}, n_rows={self.n_rows})"


# ---- conversion --------------------------------------------------------------------------------


def _rebuild(cls: type[ConstraintGroup], arguments: dict[str, Any]) -> ConstraintGroup:
    return cls(**arguments)


def _listed(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _read_only(array: _Float) -> _Float:
    view = array.view()
    view.flags.writeable = False
    return view


def _index(value: ArrayLike, name: str, length: int | None = None) -> _Index:
    """Copy of an index array that nobody writes to."""
    array = np.array(_core.as_int32(value, name))
    if length is not None and len(array) != length:
        raise ValueError(f"{name} has shape {array.shape}, expected ({length},)")
    array.flags.writeable = False
    return array


def _sizes(size: ArrayLike | None, n: int | None, n_rows: int | None) -> _Index:
    """Rows of each of n constraints, or of as many constraints as n_rows rows make."""
    if size is None or np.ndim(size) == 0:
        each = 1 if size is None else integer(size, "size", 1)
        if n is None and n_rows is not None:
            n = -(-n_rows // each)
        sizes = _index(np.full(n or 0, each), "size")
    else:
        sizes = _index(size, "size", n)
    for i in np.flatnonzero((sizes < 1) | (sizes > _MOST_ROWS)):
        raise ValueError(f"size[{i}] = {sizes[i]}: must be from 1 to {_MOST_ROWS}")
    if n_rows is not None and sizes.sum(dtype=np.int64) != n_rows:
        raise ValueError(f"size sums to {sizes.sum(dtype=np.int64)}, but J has {n_rows} rows")
    return sizes


def _check_order(lower: _Float | None, upper: _Float | None, below: str, above: str) -> None:
    """Refuse the first bound that is above its partner."""
    if lower is not None and upper is not None and not (lower <= upper).all():
        i = (lower <= upper).argmin()
        raise ValueError(f"{below}[{i}] = {lower[i]:g}: must be <= {above}")


def over_rows(value: ArrayLike | None, name: str, n_rows: int, rule: str) -> _Float | None:
    """Read-only array (n_rows) of a number or an array, the same memory where it is float64."""
    if value is None:
        return None
    array = _core.as_float64(value, name)
    if array.ndim == 0:
        array = np.full(n_rows, array)
    if array.shape != (n_rows,):
        raise ValueError(f"{name} has shape {array.shape}, expected ({n_rows},)")
    fine = _RULES[rule](array)
    if not fine.all():
        i = fine.argmin()
        raise ValueError(f"{name}[{i}] = {array[i]:g}: {rule}")
    return _read_only(array)

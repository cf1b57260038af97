"""A contact problem with a sparse mass matrix, reduced to the velocities that constraints move."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.blocks import split_contacts
from sapwood.base.equality import equal_values
from sapwood.constraints.group import ConstraintGroup

from .arrays import ProblemArrays
from .elimination import Elimination
from .sparse_matrix import SparseMatrix, components, sparse_matrix, without_zeros
from .symmetry import ROUND_OFF

_Float = NDArray[np.float64]
_Integers = NDArray[np.int64]
_Reduced = TypeVar("_Reduced", bound=ProblemArrays)


class SparseProblem(Generic[_Reduced]):
    r"""A problem whose mass matrix couples all velocities, such as that of a finite-element mesh.

    Made by :meth:`ContactProblem.from_sparse`. Velocities u that no constraint moves are eliminated
    once, with the factor of A; the solver sees the velocities t alone:

    .. math:: S = A_{tt} - A_{tu} A_{uu}^{-1} A_{ut}, \qquad
              v_u = v^*_u - A_{uu}^{-1} A_{ut} (v_t - v^*_t)

    == compares all arrays.

    Parameters
    ----------
    make : callable
        Makes the reduced problem: :class:`ContactProblem`.
    A, v_star, J, mu, dt, spin_contact, spin_J, v_guess, v_ref, constraints
        The same as for :meth:`ContactProblem.from_sparse`.
    **numbers
        Its other arguments.

    Attributes
    ----------
    A : SparseMatrix (nv, nv)
        Mass matrix: ``data``, ``indices``, ``indptr``.
    v_star : ndarray (nv,)
        Free-motion velocity.
    J : SparseMatrix (3 n_contacts, nv)
        Contact Jacobian, without entries that are 0.
    spin_J : SparseMatrix (3 n_spins, nv) or None
        Jacobian of torsional and rolling friction.
    constraints : tuple of ConstraintGroup
        Groups of others, whose J are matrices of all velocities.
    v_guess, v_ref : ndarray (nv,) or None
        Initial velocity; reference velocity.
    touched : ndarray of int (n,)
        Velocity of each velocity of the reduced problem.
    reduced : ContactProblem
        The problem that the solver sees. A tree is a coupled component of A, or several that a
        constraint joins.
    """

    __slots__ = (
        "A", "J", "_elimination", "constraints", "reduced", "spin_J", "touched", "v_guess",
        "v_ref", "v_star",
    )  # fmt: skip

    def __init__(
        self,
        make: Callable[..., _Reduced],
        A: Any,
        v_star: ArrayLike,
        J: Any = None,
        *,
        mu: ArrayLike | None = None,
        dt: float | None = None,
        spin_contact: ArrayLike | None = None,
        spin_J: Any = None,
        v_guess: ArrayLike | None = None,
        v_ref: ArrayLike | None = None,
        constraints: Iterable[ConstraintGroup] = (),
        **numbers: Any,
    ) -> None:
        if J is not None and mu is None:
            raise TypeError("from_sparse needs mu")
        if dt is None:
            raise TypeError("from_sparse needs dt")
        self.v_star = _velocities(v_star, "v_star", None)
        nv = len(self.v_star)
        self.v_guess = None if v_guess is None else _velocities(v_guess, "v_guess", nv)
        self.v_ref = None if v_ref is None else _velocities(v_ref, "v_ref", nv)
        self.A = sparse_matrix(A, "A", nv)
        _check_mass(self.A)
        self.J = without_zeros(sparse_matrix(np.zeros((0, nv)) if J is None else J, "J", nv))
        if self.J.shape[0] % 3:
            raise ValueError(f"J has shape {self.J.shape}, expected (3 n_contacts, {nv})")
        self.spin_J = None if spin_J is None else without_zeros(sparse_matrix(spin_J, "spin_J", nv))
        groups = tuple(constraints)
        _check_groups(groups, nv)

        constraint, column = self._moved(spin_contact, groups)
        is_touched = np.zeros(nv, np.bool_)
        is_touched[column] = True
        if len(is_touched) and not len(column):
            is_touched[0] = len(self.J.indptr) > 1 or any(map(len, groups))
        self._elimination = Elimination(self.A, is_touched)
        self._reduce(make, constraint, column, mu, dt, spin_contact, groups, numbers)
        self.constraints = tuple(
            group.regularized(own.R, own.v_hat, own.lower, own.upper)
            for group, own in zip(groups, self.reduced.constraints, strict=True)
        )

    def _moved(
        self, spin_contact: ArrayLike | None, groups: tuple[ConstraintGroup, ...]
    ) -> tuple[_Integers, _Integers]:
        """Constraints and velocities that they move, an entry for each number of a Jacobian."""
        n = self.J.shape[0] // 3
        constraints: list[NDArray[Any]] = [self.J.rows // 3]
        columns: list[NDArray[Any]] = [self.J.indices]
        if self.spin_J is not None and spin_contact is not None:
            contact = _core.as_int32(spin_contact, "spin_contact")
            for k in np.flatnonzero((contact < 0) | (contact >= n)):
                raise ValueError(
                    f"spin_contact[{k}] = {contact[k]}: must be the index of a contact"
                )
            if self.spin_J.shape[0] != 3 * len(contact):
                shape = (3 * len(contact), len(self.v_star))
                raise ValueError(f"spin_J has shape {self.spin_J.shape}, expected {shape}")
            constraints.append(contact[self.spin_J.rows // 3])
            columns.append(self.spin_J.indices)
        for group in groups:
            row, column = np.nonzero(group.J)
            constraints.append(n + np.repeat(np.arange(len(group)), group.size)[row])
            columns.append(column)
            n += len(group)
        return np.concatenate(constraints), np.concatenate(columns)

    def _reduce(
        self,
        make: Callable[..., _Reduced],
        constraint: _Integers,
        column: _Integers,
        mu: ArrayLike | None,
        dt: float,
        spin_contact: ArrayLike | None,
        groups: tuple[ConstraintGroup, ...],
        numbers: dict[str, Any],
    ) -> None:
        """Make the reduced problem."""
        eliminated = self._elimination
        trees = _trees(constraint, eliminated.component[column], eliminated.touched)
        blocks = [_joined([eliminated.schur(c) for c in tree]) for tree in trees]
        parts = [eliminated.touched[c] for tree in trees for c in tree]
        self.touched = np.concatenate([np.zeros(0, np.int64), *parts])
        self.touched.flags.writeable = False
        tree_nv = np.array([len(block) for block in blocks], np.int32)
        A = np.concatenate([np.zeros(0), *(block.reshape(-1) for block in blocks)])
        A.flags.writeable = False
        spin_J = None if self.spin_J is None else self._narrow(self.spin_J)
        tree_a, tree_b, flat_J, flat_spin_J = split_contacts(
            self._narrow(self.J), tree_nv, spin_contact, spin_J
        )
        self.reduced = make(
            tree_nv, A, self.v_star[self.touched], tree_a, tree_b, flat_J,
            () if mu is None else mu, dt=dt, spin_contact=spin_contact, spin_J=flat_spin_J,
            v_guess=self.narrow(self.v_guess), v_ref=self.narrow(self.v_ref),
            constraints=[group.with_fields(J=group.J[:, self.touched]) for group in groups],
            **numbers,
        )  # fmt: skip

    def _narrow(self, matrix: SparseMatrix) -> _Float:
        """Columns of the reduced problem, dense."""
        dense = np.zeros((matrix.shape[0], len(self.touched)))
        dense[matrix.rows, self._columns(matrix)] = matrix.data
        return dense

    def _columns(self, matrix: SparseMatrix) -> _Integers:
        """Velocity of the reduced problem of each entry."""
        place = np.zeros(len(self.v_star), np.int64)
        place[self.touched] = np.arange(len(self.touched))
        return place[matrix.indices]

    # ---- velocities --------------------------------------------------------------------------

    def narrow(self, v: _Float | None) -> _Float | None:
        """Take the velocities of the reduced problem.

        Parameters
        ----------
        v : ndarray (nv,) or None
            All velocities.

        Returns
        -------
        ndarray (n,) or None
            Those of the reduced problem.
        """
        return None if v is None else v[self.touched]

    def velocities(self, v_t: _Float) -> _Float:
        """Find all velocities at the minimum.

        Parameters
        ----------
        v_t : ndarray (n,)
            Velocities of the reduced problem.

        Returns
        -------
        ndarray (nv,)
            v* + P^T (v_t - v*_t), with P of :meth:`condense`.
        """
        v = self.v_star + self.extend(v_t - self.reduced.v_star)
        v[self.touched] = v_t
        return v

    def extend(self, change: _Float) -> _Float:
        """Find how all velocities follow.

        Parameters
        ----------
        change : ndarray (n,)
            A change of the velocities of the reduced problem.

        Returns
        -------
        ndarray (nv,)
            P^T change, with P of :meth:`condense`.
        """
        whole = np.zeros(len(self.v_star))
        whole[self.touched] = change
        return self._elimination.extend(whole)

    def condense(self, x: _Float) -> tuple[_Float, _Float]:
        """Condense momenta onto the velocities of the reduced problem.

        Parameters
        ----------
        x : ndarray (nv,)
            Momenta, or derivatives by the velocities.

        Returns
        -------
        of_t : ndarray (n,)
            P x = x_t - A_tu A_uu^-1 x_u.
        of_u : ndarray (nv,)
            A_uu^-1 x_u, and 0 at the velocities t.
        """
        z = self._elimination.solve(x)
        z_t, found, begin = z[self.touched], [np.zeros(0)], 0
        for t, n in enumerate(self.reduced.tree_nv.tolist()):
            found.append(self.reduced.A_block(t) @ z_t[begin : begin + n])
            begin += n
        return np.concatenate(found), z - self.extend(z_t)

    # ---- as a value --------------------------------------------------------------------------

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return len(self.v_star)

    @property
    def n_trees(self) -> int:
        """Number of trees of the reduced problem."""
        return self.reduced.n_trees

    @property
    def n_contacts(self) -> int:
        """Number of contacts."""
        return self.reduced.n_contacts

    @property
    def dt(self) -> float:
        """Time step, s."""
        return self.reduced.dt

    def _arguments(self) -> dict[str, Any]:
        """Arguments by name that make an equal problem; absent ones are left out."""
        arguments = self.reduced._arguments()
        for name in ("tree_nv", "tree_a", "tree_b"):
            del arguments[name]
        for name in ("A", "v_star", "J", "spin_J", "v_guess", "v_ref"):
            arguments[name] = getattr(self, name)
        arguments["constraints"] = self.constraints or None
        return {name: value for name, value in arguments.items() if value is not None}

    def __reduce__(self) -> tuple[Any, ...]:
        arguments = self._arguments()
        for name in ("A", "J", "spin_J"):
            if name in arguments:
                arguments[name] = tuple(arguments[name][:3])
        return _rebuild, (type(self.reduced), arguments)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SparseProblem):
            return NotImplemented
        mine, theirs = self._arguments(), other._arguments()
        return mine.keys() == theirs.keys() and all(
            value == theirs[name]
            if isinstance(value, (SparseMatrix, tuple))
            else equal_values(value, theirs[name])
            for name, value in mine.items()
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        groups = f", constraints={list(self.constraints)}" if self.constraints else ""
        return (
            f"SparseProblem(nv={self.nv}, n_touched={len(self.touched)}, "
            f"n_contacts={self.n_contacts}{groups}, dt={self.dt})"
        )


def _rebuild(make: type[Any], arguments: dict[str, Any]) -> SparseProblem[Any]:
    return SparseProblem(make, **arguments)


def _velocities(value: ArrayLike, name: str, nv: int | None) -> _Float:
    """Read-only copy of an array of velocities."""
    array = np.array(_core.as_float64(value, name, (-1 if nv is None else nv,), "finite"))
    array.flags.writeable = False
    return array


def _check_mass(A: SparseMatrix) -> None:
    """Refuse a matrix that is not square, not symmetric or has no positive diagonal."""
    nv = A.shape[1]
    if A.shape[0] != nv:
        raise ValueError(f"A has shape {A.shape}, expected ({nv}, {nv})")
    rows, columns = A.rows, A.indices.astype(np.int64)
    diagonal = np.zeros(nv)
    diagonal[rows[rows == columns]] = A.data[rows == columns]
    for i in np.flatnonzero(~(diagonal > 0)):
        raise ValueError(f"A[{i}, {i}] = {diagonal[i]:g}: must be > 0")
    # A - A^T by its places
    keys, place = np.unique(
        np.concatenate([rows * nv + columns, columns * nv + rows]), return_inverse=True
    )
    difference = np.abs(np.bincount(place, np.concatenate([A.data, -A.data]), len(keys)))
    row, column = np.divmod(keys, max(nv, 1))
    for k in np.flatnonzero(difference > ROUND_OFF * np.sqrt(diagonal[row] * diagonal[column])):
        i, j = row[k], column[k]
        raise ValueError(
            f"A[{i}, {j}] and A[{j}, {i}] differ by {difference[k]:.3g}: A must be symmetric"
        )


def _check_groups(groups: tuple[ConstraintGroup, ...], nv: int) -> None:
    """Refuse groups whose J is no matrix of all velocities."""
    for k, group in enumerate(groups):
        if not isinstance(group, ConstraintGroup):
            kind = type(group).__name__
            raise TypeError(f"constraints[{k}] must be a group of constraints, not {kind}")
        if group.J.shape != (group.n_rows, nv):
            raise ValueError(
                f"constraints[{k}].J has shape {group.J.shape}, expected ({group.n_rows}, {nv}): "
                "a matrix of all velocities, without trees"
            )


def _trees(
    constraint: _Integers, component: _Integers, touched: list[_Integers]
) -> list[list[int]]:
    """Components with touched velocities that make the trees of the reduced problem.

    A constraint touches at most two trees: components that meet in one of more are one tree.
    """
    n = len(touched)
    met = np.unique(np.column_stack([constraint, component]), axis=0)
    first = np.concatenate([[True], np.diff(met[:, 0]) != 0])[: len(met)]
    of = np.cumsum(first) - 1
    many = np.bincount(of)[of] > 2 if len(met) else first
    tree = components(n, met[first, 1][of][many], met[many, 1])
    trees: dict[int, list[int]] = {}
    for c in range(n):
        if len(touched[c]):
            trees.setdefault(int(tree[c]), []).append(c)
    return list(trees.values())


def _joined(blocks: list[_Float]) -> _Float:
    """Block-diagonal matrix."""
    if len(blocks) == 1:
        return blocks[0]
    n = sum(map(len, blocks))
    joined, begin = np.zeros((n, n)), 0
    for block in blocks:
        end = begin + len(block)
        joined[begin:end, begin:end] = block
        begin = end
    return joined

"""Attributes of a contact problem."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Literal, SupportsIndex, cast

import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.base.blocks import jacobian_offsets, offsets
from sapwood.base.checks import integer
from sapwood.constraints.group import ConstraintGroup
from sapwood.laws.rigid_core import deep_contacts

_Float = NDArray[np.float64]
_Index = NDArray[np.int32]
_Blocks = tuple[_Float, _Float | None]
_Rows = int | Literal["contacts", "spins"]  # an int is the number of a group
Delassus = Literal["block", "diagonal"]

# arrays of a problem that need not be there
_OPTIONAL = (
    "phi0", "k", "tau_d", "v_hat_t", "v_guess", "v_ref", "gamma_ref",
    "core", "kappa", "delta", "core_lambda", "core_table",
    "spin_contact", "spin_J", "spin_mu", "friction_bound", "slip_ratio",
)  # fmt: skip
_ARRAYS = ("tree_nv", "A", "v_star", "tree_a", "tree_b", "J", "mu", "R_t", "R_n", "v_hat_n")


class ProblemArrays:
    """Arrays and numbers of a problem, and their blocks; all read-only."""

    __slots__ = ("_J_offsets", "_constraints", "_core", "_fields", "_tree_offsets")

    _core: _core.Problem
    _fields: dict[str, Any]
    # computed at first use: the first velocities, and the first entry of each constraint in J
    _tree_offsets: NDArray[np.int64] | None
    _J_offsets: dict[_Rows, NDArray[np.int64]]
    _constraints: tuple[ConstraintGroup, ...]

    # ---- arrays ------------------------------------------------------------------------------

    @property
    def tree_nv(self) -> _Index:
        """Velocities of each tree (n_trees,)."""
        return self._core.tree_nv

    @property
    def A(self) -> _Float:
        """Blocks of the mass matrix, flat; see :meth:`A_block`."""
        return self._core.A

    @property
    def v_star(self) -> _Float:
        """Free-motion velocity (nv,)."""
        return self._core.v_star

    @property
    def tree_a(self) -> _Index:
        """First tree of each contact (n_contacts,)."""
        return self._core.tree_a

    @property
    def tree_b(self) -> _Index:
        """Second tree of each contact, or -1 (n_contacts,)."""
        return self._core.tree_b

    @property
    def J(self) -> _Float:
        """Blocks of the Jacobian, flat; see :meth:`J_blocks`."""
        return self._core.J

    @property
    def mu(self) -> _Float:
        """Friction coefficients (n_contacts,)."""
        return self._core.mu

    @property
    def R_t(self) -> _Float:
        """Tangential regularization (n_contacts,), 1/kg."""
        return self._core.R_t

    @property
    def R_n(self) -> _Float:
        """Normal regularization (n_contacts,), 1/kg."""
        return self._core.R_n

    @property
    def v_hat_n(self) -> _Float:
        """Normal stabilization velocity (n_contacts,), m/s."""
        return self._core.v_hat_n

    @property
    def v_hat_t(self) -> _Float | None:
        """Tangential bias (n_contacts, 2), m/s, or None for zero."""
        return self._core.v_hat_t

    @property
    def phi0(self) -> _Float | None:
        """Signed distance (n_contacts,), m, or None."""
        return self._core.phi0

    @property
    def k(self) -> _Float | None:
        """Stiffness (n_contacts,), N/m, or None."""
        return self._core.k

    @property
    def tau_d(self) -> _Float | None:
        """Dissipation time (n_contacts,), s, or None."""
        return self._core.tau_d

    @property
    def core(self) -> NDArray[np.int8] | None:
        """:class:`CoreKind` of each contact (n_contacts,), or None where none has a core."""
        return self._core.core

    @property
    def kappa(self) -> _Float | None:
        """Energy of each core (n_contacts,), J, or None."""
        return self._core.kappa

    @property
    def core_lambda(self) -> _Float | None:
        """Exponent of each core (n_contacts,), or None."""
        return self._core.core_lambda

    @property
    def core_table(self) -> _Float | None:
        """Nodes s and b'' of the tabulated core (2, n_nodes), or None."""
        return self._core.core_table

    @property
    def delta(self) -> _Float | None:
        """Depth of each core (n_contacts,), m, or None."""
        return self._core.delta

    @property
    def deep_contacts(self) -> NDArray[np.intp]:
        """Contacts (n,) that start deeper than their core: each gets a larger delta in a solve.

        They are outside of the domain of their barrier at rest, s = v_hat_n/sqrt(R_n kappa) >= 1.
        """
        return deep_contacts(self.core, self.kappa, self.core_lambda, self.v_hat_n, self.R_n)

    @property
    def spin_contact(self) -> _Index | None:
        """Contacts with torsional and rolling friction (n_spins,), or None where there are none."""
        return self._core.spin_contact

    @property
    def spin_J(self) -> _Float | None:
        """Blocks of their Jacobians about (n, t1, t2), flat, or None; see :meth:`spin_blocks`."""
        return self._core.spin_J

    @property
    def spin_mu(self) -> _Float | None:
        """Lengths mu_k of their friction about (n, t1, t2) (n_spins, 3), m, or None."""
        return self._core.spin_mu

    @property
    def friction_bound(self) -> _Float | None:
        """Bound of the friction of each contact (n_contacts,), N s, NaN unknown; or None."""
        return self._core.friction_bound

    @property
    def slip_ratio(self) -> _Float | None:
        """Slip speed |J_t v - v_hat_t| at the start of the step over V_s (n_contacts,), or None.

        Sigma of a contact is max(1e-6, min(sigma, sigma slip_ratio)).
        """
        return self._core.slip_ratio

    @property
    def v_guess(self) -> _Float | None:
        """Initial velocity of a solve (nv,), or None for v_star."""
        return self._core.v_guess

    @property
    def v_ref(self) -> _Float | None:
        """Reference velocity (nv,), or None."""
        return cast("_Float | None", self._fields["v_ref"])

    @property
    def gamma_ref(self) -> _Float | None:
        """Reference impulses (n_contacts, 3), N s, or None."""
        return cast("_Float | None", self._fields["gamma_ref"])

    @property
    def constraints(self) -> tuple[ConstraintGroup, ...]:
        """Groups of constraints of other kinds, with trees, R, v_hat, lower and upper."""
        return self._constraints

    # ---- scalars -----------------------------------------------------------------------------

    @property
    def dt(self) -> float:
        """Time step, s."""
        return cast(float, self._fields["dt"])

    @property
    def sigma(self) -> float:
        """Tangential regularization parameter."""
        return cast(float, self._fields["sigma"])

    @property
    def beta(self) -> float:
        """Near-rigid parameter."""
        return cast(float, self._fields["beta"])

    @property
    def delassus(self) -> Delassus:
        """Estimate of the Delassus blocks behind R_t and R_n."""
        return cast(Delassus, self._fields["delassus"])

    @property
    def source(self) -> str:
        """Origin of the problem, as text."""
        return cast(str, self._fields["source"])

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return self._core.nv

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.tree_nv)

    @property
    def n_contacts(self) -> int:
        """Number of contacts."""
        return len(self.mu)

    @property
    def n_spins(self) -> int:
        """Number of contacts with torsional and rolling friction."""
        return 0 if self.spin_contact is None else len(self.spin_contact)

    def _arguments(self) -> dict[str, Any]:
        """Arguments by name that make an equal problem; absent ones are left out."""
        arguments = {name: getattr(self, name) for name in (*_ARRAYS, *_OPTIONAL)}
        arguments.update(self._fields)
        arguments["constraints"] = self.constraints or None
        return {name: value for name, value in arguments.items() if value is not None}

    # ---- blocks ------------------------------------------------------------------------------

    @property
    def tree_offsets(self) -> NDArray[np.int64]:
        """First velocity of each tree, and nv (n_trees + 1,)."""
        if self._tree_offsets is None:
            self._tree_offsets = offsets(self.tree_nv)
        return self._tree_offsets

    def _parts(self) -> list[slice]:
        """The velocities of each tree."""
        return [slice(a, b) for a, b in itertools.pairwise(self.tree_offsets)]

    def _trees_of(self, rows: _Rows) -> tuple[_Index, _Index, _Index | int]:
        """First and second tree, and rows, of each contact, spin, or constraint of a group."""
        if rows == "contacts":
            return self.tree_a, self.tree_b, 3
        if rows == "spins":
            contact: Any = [] if self.spin_contact is None else self.spin_contact
            return self.tree_a[contact], self.tree_b[contact], 3
        group = self.constraints[rows]
        return group.tree_a, group.tree_b, group.size

    def _first_entries(self, rows: _Rows) -> NDArray[np.int64]:
        """The first entry of each of them in its J."""
        if rows not in self._J_offsets:
            self._J_offsets[rows] = jacobian_offsets(self.tree_nv, *self._trees_of(rows))
        return self._J_offsets[rows]

    def _dense(self, rows: _Rows, blocks: Callable[[int], _Blocks]) -> _Float:
        """Jacobian (rows, nv) of them all from the blocks of each."""
        tree_a, tree_b, _ = self._trees_of(rows)
        parts, made = self._parts(), []
        for i, (a, b) in enumerate(zip(tree_a, tree_b, strict=True)):
            J_a, J_b = blocks(i)
            J = np.zeros((len(J_a), self.nv))
            J[:, parts[a]] = J_a
            if J_b is not None:
                J[:, parts[b]] = J_b
            made.append(J)
        return np.concatenate([np.zeros((0, self.nv)), *made])

    def A_block(self, t: SupportsIndex) -> _Float:
        """Mass matrix of one tree.

        Parameters
        ----------
        t : int
            The tree, from 0; negative numbers do not count from the end.

        Returns
        -------
        ndarray (n_t, n_t)
            Read-only view.

        Raises
        ------
        IndexError
            If there is no such tree.
        TypeError
            If `t` is no integer.
        """
        t = _checked_index(t, self.n_trees, "tree")
        n = int(self.tree_nv[t])
        squares = self.tree_nv[:t].astype(np.int64)
        start = int(squares @ squares)
        return self.A[start : start + n * n].reshape(n, n)

    def J_blocks(self, i: SupportsIndex) -> tuple[_Float, _Float | None]:
        """Jacobian of one contact, rows (t1, t2, n).

        Parameters
        ----------
        i : int
            The contact, from 0; negative numbers do not count from the end.

        Returns
        -------
        J_a : ndarray (3, n_a)
            Block of the first tree, a read-only view.
        J_b : ndarray (3, n_b) or None
            Block of the second tree, a read-only view; None where there is none.

        Raises
        ------
        IndexError
            If there is no such contact.
        TypeError
            If `i` is no integer.
        """
        i = _checked_index(i, self.n_contacts, "contact")
        start, end = self._first_entries("contacts")[i : i + 2]
        return _blocks(self.J[start:end], 3, int(self.tree_nv[self.tree_a[i]]), self.tree_b[i] >= 0)

    def spin_blocks(self, k: SupportsIndex) -> tuple[_Float, _Float | None]:
        """Jacobian of the angular velocities of one contact, rows about (n, t1, t2).

        Parameters
        ----------
        k : int
            The contact in spin_contact, from 0; negative numbers do not count from the end.

        Returns
        -------
        J_a : ndarray (3, n_a)
            Block of the first tree, a read-only view.
        J_b : ndarray (3, n_b) or None
            Block of the second tree, a read-only view; None where there is none.

        Raises
        ------
        IndexError
            If there is no such contact.
        TypeError
            If `k` is no integer.
        """
        k = _checked_index(k, self.n_spins, "contact with spin")
        contact, J = cast(_Index, self.spin_contact), cast(_Float, self.spin_J)
        start, end = self._first_entries("spins")[k : k + 2]
        i = contact[k]
        n_a = int(self.tree_nv[self.tree_a[i]])
        return _blocks(J[start:end], 3, n_a, self.tree_b[i] >= 0)

    def spin_jacobian(self) -> _Float:
        """Jacobian of torsional and rolling friction as a dense matrix.

        Returns
        -------
        ndarray (3 n_spins, nv)
            A new array.

        Raises
        ------
        MemoryError
            If there is no room for it.
        """
        return self._dense("spins", self.spin_blocks)

    def constraint_blocks(self, k: SupportsIndex, i: SupportsIndex) -> tuple[_Float, _Float | None]:
        """Jacobian of one constraint of a group.

        Parameters
        ----------
        k : int
            The group, from 0.
        i : int
            The constraint in the group, from 0; negative numbers do not count from the end.

        Returns
        -------
        J_a : ndarray (size, n_a)
            Block of the first tree, a read-only view.
        J_b : ndarray (size, n_b) or None
            Block of the second tree, a read-only view; None where there is none.

        Raises
        ------
        IndexError
            If there is no such group or constraint.
        TypeError
            If `k` or `i` is no integer.
        """
        k = _checked_index(k, len(self.constraints), "group")
        group = self.constraints[k]
        i = _checked_index(i, len(group), "constraint")
        start, end = self._first_entries(k)[i : i + 2]
        n_a = int(self.tree_nv[group.tree_a[i]])
        return _blocks(group.J[start:end], int(group.size[i]), n_a, group.tree_b[i] >= 0)

    def constraint_jacobian(self, k: SupportsIndex) -> _Float:
        """Jacobian of a group as a dense matrix.

        Parameters
        ----------
        k : int
            The group, from 0; negative numbers do not count from the end.

        Returns
        -------
        ndarray (n_rows, nv)
            A new array.

        Raises
        ------
        IndexError
            If there is no such group.
        TypeError
            If `k` is no integer.
        MemoryError
            If there is no room for it.
        """
        group = _checked_index(k, len(self.constraints), "group")
        return self._dense(group, lambda i: self.constraint_blocks(group, i))

    def to_dense(self) -> tuple[_Float, _Float]:
        """Mass matrix and Jacobian as dense matrices.

        Returns
        -------
        A : ndarray (nv, nv)
            Mass matrix, a new array.
        J : ndarray (3 n_contacts, nv)
            Jacobian, a new array.

        Raises
        ------
        MemoryError
            If there is no room for them.
        """
        A = np.zeros((self.nv, self.nv))
        start = 0
        for part, n in zip(self._parts(), self.tree_nv.tolist(), strict=True):
            A[part, part] = self.A[start : start + n * n].reshape(n, n)
            start += n * n
        return A, self._dense("contacts", self.J_blocks)


def _blocks(flat: _Float, rows: int, n_a: int, two: bool) -> tuple[_Float, _Float | None]:
    """Views (rows, n_a) and, where there are two trees, (rows, n_b) of flat blocks."""
    J_a = flat[: rows * n_a].reshape(rows, -1)
    return J_a, flat[rows * n_a :].reshape(rows, -1) if two else None


def _checked_index(index: SupportsIndex, length: int, name: str) -> int:
    i = integer(index, name)
    if not 0 <= i < length:
        raise IndexError(f"{name} {i} is out of range: there are {length}")
    return i

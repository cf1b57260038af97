"""One contact problem: the input of the solver."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base import checks
from sapwood.base.blocks import diagonal_blocks, split_contacts
from sapwood.base.equality import equal_values
from sapwood.base.hints import explained
from sapwood.base.html import table
from sapwood.constraints.group import ConstraintGroup
from sapwood.constraints.kinds import placed_groups
from sapwood.laws.rigid_core import DEFAULT_LAMBDA, core_arrays
from sapwood.problem.arrays import Delassus, ProblemArrays
from sapwood.problem.sparse_problem import SparseProblem
from sapwood.problem.structure import plot_structure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_Float = NDArray[np.float64]
_Arguments = ParamSpec("_Arguments")


def _blocks_expected(init: Callable[_Arguments, None]) -> Callable[_Arguments, None]:
    """Say which call takes matrices, before Python says which arguments are missing."""

    @functools.wraps(init)
    def checked(*arguments: _Arguments.args, **named: _Arguments.kwargs) -> None:
        A = named.get("A", arguments[2] if len(arguments) > 2 else None)
        shape: tuple[int, ...] = getattr(A, "shape", ())
        if len(shape) == 2 and shape[0] == shape[1]:
            raise TypeError(
                "A is a matrix: ContactProblem takes the blocks of its trees, flat, and "
                "ContactProblem.from_dense(A, v_star, J, ...) takes matrices"
            )
        init(*arguments, **named)

    return checked


class ContactProblem(ProblemArrays):
    r"""Mass, free motion, contacts and other constraints of one time step.

    The next velocity is the minimiser of

    .. math:: \ell_p(v) = \tfrac12 \lVert v - v^*\rVert_A^2 + \sum_i \ell_i(J_i v) \tag{17}

    A has a diagonal block per kinematic tree; a constraint touches one or two trees.
    Contiguous float64 arrays are used in place. A number holds for all contacts.

    Parameters
    ----------
    tree_nv : array_like of int (n_trees,)
        Velocities of each tree; nv = sum(tree_nv).
    A : array_like (sum(tree_nv**2),)
        Row-major symmetric positive definite blocks.
    v_star : array_like (nv,)
        Free-motion velocity, Eq. (10).
    tree_a, tree_b : array_like of int (n_contacts,), optional
        Trees of each contact; tree_b is -1 for the world or the same tree.
    J : array_like, optional
        Per contact a row-major 3 x tree_nv[tree_a] block, then, if tree_b >= 0, a
        3 x tree_nv[tree_b] block; rows (t1, t2, n), v_n > 0 separates.
    mu : array_like (n_contacts,), optional
        Friction coefficients, >= 0.
    dt : float
        Time step, s.
    phi0, k, tau_d : array_like (n_contacts,), optional
        Signed distance (m), stiffness (N/m, infinite where rigid), dissipation time (s): R_t, R_n,
        v_hat_n follow by Eqs. (21), (22).
    R_t, R_n, v_hat_n : array_like (n_contacts,), optional
        Regularization (1/kg) and stabilization velocity (m/s), in place of these.
    v_hat_t : array_like (n_contacts, 2), optional
        Tangential bias (moving surfaces), m/s.
    sigma, beta : float
        Tangential regularization and near-rigid parameter.
    delassus : {"block", "diagonal"}
        Delassus blocks with A_t^-1, or diag(A_t)^-1.
    v_guess, v_ref, gamma_ref, source : optional
        Initial velocity; reference solution; origin.
    constraints : iterable of JointLimits, Bilaterals, Controllers and DryFrictions
        Groups of others; :meth:`ConstraintGroup.physical` takes those of another problem.
    core : str, CoreKind or array_like (n_contacts,)
        Rigid cores: "none", "log", "exp", "table".
    delta, kappa, core_lambda : array_like (n_contacts,), optional
        Depth of the core (m), or energy (J); exponent of "exp". All > 0.
    core_table : array_like (2, n_nodes), optional
        See :func:`tabulate_barrier`.
    spin_contact : array_like of int (n_spins,), optional
        Contacts with torsional friction, ascending.
    spin_J, spin_mu : array_like, optional
        Their Jacobians, as in J, about (n, t1, t2), rad/s, and lengths (n_spins, 3) of friction, m.
    friction_bound, slip_ratio : array_like (n_contacts,), optional
        Bound of lagged friction, N s, or NaN; slip speed over V_s.
    factors_of : ContactProblem, optional
        Equal large blocks share its factors.

    Raises
    ------
    TypeError, ValueError
        For a wrong argument, which the text names.

    Examples
    --------
    >>> ContactProblem([3], np.eye(3).ravel(), [0.0, 0.0, -0.1], [0], [-1], np.eye(3).ravel(),
    ...                [0.5], dt=0.01, phi0=[0.0], k=[1e5], tau_d=[0.01])
    ContactProblem(n_trees=1, nv=3, n_contacts=1, dt=0.01)
    """

    __slots__ = ()

    @_blocks_expected
    def __init__(
        self,
        tree_nv: ArrayLike,
        A: ArrayLike,
        v_star: ArrayLike,
        tree_a: ArrayLike = (),
        tree_b: ArrayLike = (),
        J: ArrayLike = (),
        mu: ArrayLike = (),
        *,
        dt: float,
        phi0: ArrayLike | None = None,
        k: ArrayLike | None = None,
        tau_d: ArrayLike | None = None,
        R_t: ArrayLike | None = None,
        R_n: ArrayLike | None = None,
        v_hat_n: ArrayLike | None = None,
        v_hat_t: ArrayLike | None = None,
        sigma: float = 1e-3,
        beta: float = 1.0,
        delassus: Delassus = "block",
        v_guess: ArrayLike | None = None,
        v_ref: ArrayLike | None = None,
        gamma_ref: ArrayLike | None = None,
        source: str = "",
        constraints: Iterable[ConstraintGroup] = (),
        core: ArrayLike = "none",
        delta: ArrayLike | None = None,
        kappa: ArrayLike | None = None,
        core_lambda: ArrayLike = DEFAULT_LAMBDA,
        core_table: ArrayLike | None = None,
        spin_contact: ArrayLike | None = None,
        spin_J: ArrayLike | None = None,
        spin_mu: ArrayLike | None = None,
        friction_bound: ArrayLike | None = None,
        slip_ratio: ArrayLike | None = None,
        factors_of: ContactProblem | None = None,
    ) -> None:
        if not isinstance(source, str):
            raise TypeError(f"source must be a str, not {type(source).__name__}")
        n = checks.array(tree_a, "tree_a").size
        mu, phi0, k, tau_d, R_t, R_n, v_hat_n, friction_bound, slip_ratio = (
            _of_each(x, n)
            for x in (mu, phi0, k, tau_d, R_t, R_n, v_hat_n, friction_bound, slip_ratio)
        )
        if not isinstance(factors_of, ContactProblem | None):
            raise TypeError(f"factors_of must be a ContactProblem, not {type(factors_of).__name__}")
        groups = placed_groups(constraints, tree_nv)
        if groups:
            dt = float(_core.as_float64(dt, "dt", (), "positive"))
        shape = checks.array(mu, "mu").shape
        held = _core.Problem(
            tree_nv, A, v_star, tree_a, tree_b, J, mu, dt, sigma, beta, delassus,
            phi0=phi0, k=k, tau_d=tau_d, R_t=R_t, R_n=R_n, v_hat_n=v_hat_n, v_hat_t=v_hat_t,
            groups=[group.for_core(dt) for group in groups], v_guess=v_guess,
            spin_contact=spin_contact, spin_J=spin_J, spin_mu=spin_mu,
            friction_bound=friction_bound, slip_ratio=slip_ratio,
            factors_of=None if factors_of is None else factors_of._core,
            **core_arrays(core, delta, kappa, core_lambda, core_table, shape),
        )  # fmt: skip
        n_contacts = len(held.mu)
        self._core = held
        self._fields = {
            "dt": float(dt),
            "sigma": float(sigma),
            "beta": float(beta),
            "delassus": delassus,
            "v_ref": _information(v_ref, "v_ref", (held.nv,)),
            "gamma_ref": _information(gamma_ref, "gamma_ref", (n_contacts, 3)),
            "source": source,
        }
        self._constraints = tuple(
            group.regularized(*arrays) for group, arrays in zip(groups, held.groups, strict=True)
        )
        self._tree_offsets = None
        self._J_offsets = {}

    @classmethod
    @explained()
    def from_dense(
        cls,
        A: ArrayLike,
        v_star: ArrayLike,
        J: ArrayLike | None = None,
        phi0: ArrayLike | None = None,
        k: ArrayLike | None = None,
        tau_d: ArrayLike | None = None,
        mu: ArrayLike | None = None,
        dt: float | None = None,
        sigma: float = 1e-3,
        beta: float = 1.0,
        trees: ArrayLike | None = None,
        *,
        R_t: ArrayLike | None = None,
        R_n: ArrayLike | None = None,
        v_hat_n: ArrayLike | None = None,
        v_hat_t: ArrayLike | None = None,
        delassus: Delassus = "block",
        v_guess: ArrayLike | None = None,
        v_ref: ArrayLike | None = None,
        gamma_ref: ArrayLike | None = None,
        source: str = "",
        constraints: Iterable[ConstraintGroup] = (),
        core: ArrayLike = "none",
        delta: ArrayLike | None = None,
        kappa: ArrayLike | None = None,
        core_lambda: ArrayLike = DEFAULT_LAMBDA,
        core_table: ArrayLike | None = None,
        spin_contact: ArrayLike | None = None,
        spin_J: ArrayLike | None = None,
        spin_mu: ArrayLike | None = None,
        friction_bound: ArrayLike | None = None,
        slip_ratio: ArrayLike | None = None,
    ) -> ContactProblem:
        """Make a problem from one dense mass matrix and one dense Jacobian.

        Parameters
        ----------
        A : array_like or sparse matrix (nv, nv)
            Mass matrix; zero between different trees.
        v_star : array_like (nv,)
            Free-motion velocity.
        J : array_like or sparse matrix (3 n_contacts, nv), optional
            Contact Jacobian, three rows (t1, t2, n) per contact. A contact may touch two trees.
        mu : float or array_like (n_contacts,), optional
            Friction coefficients; required where there is a J.
        dt : float
            Time step, s; required.
        trees : array_like of int, optional
            Velocities of each tree; by default all velocities make one tree.
        phi0, k, tau_d, sigma, beta, R_t, R_n, v_hat_n, v_hat_t, delassus
            The same as for the class.
        v_guess, v_ref, gamma_ref, source, constraints, core, delta, kappa, core_lambda, core_table
            The same as for the class.
        spin_J : array_like (3 n_spins, nv), optional
            Three rows about (n, t1, t2) per contact of `spin_contact`, which move its trees alone.
        spin_contact, spin_mu, friction_bound, slip_ratio
            The same as for the class.

        Returns
        -------
        ContactProblem
            The same problem in tree form.

        Raises
        ------
        TypeError, ValueError
            The same as for the class; also if A couples two trees or a contact touches over two.
        """
        if J is not None and mu is None:
            raise TypeError("from_dense needs mu")
        if dt is None:
            raise TypeError("from_dense needs dt")
        dense_A = _core.as_float64(_dense(A), "A", (-1, -1), rule="finite")
        nv = len(dense_A)
        dense_A = _core.as_float64(dense_A, "A", (nv, nv))
        dense_J = np.zeros((0, nv)) if J is None else _dense(J)
        dense_J = _core.as_float64(dense_J, "J", (-1, nv), rule="finite")
        if len(dense_J) % 3 != 0:
            raise ValueError(f"J has shape {dense_J.shape}, expected (3 n_contacts, {nv})")
        one_tree = np.array([nv] if nv else [], np.int32)
        tree_nv = one_tree if trees is None else _core.as_int32(trees, "trees")
        for t in np.flatnonzero(tree_nv < 1):
            raise ValueError(f"trees[{t}] = {tree_nv[t]}: must be >= 1")
        if tree_nv.sum(dtype=np.int64) != nv:
            raise ValueError(f"trees sum to {tree_nv.sum(dtype=np.int64)}, expected {nv} as A has")
        tree_a, tree_b, flat_J, flat_spin_J = split_contacts(dense_J, tree_nv, spin_contact, spin_J)
        return cls(
            tree_nv, diagonal_blocks(dense_A, tree_nv), v_star, tree_a, tree_b, flat_J,
            () if mu is None else mu, dt=dt, phi0=phi0, k=k, tau_d=tau_d, R_t=R_t, R_n=R_n,
            v_hat_n=v_hat_n, v_hat_t=v_hat_t, sigma=sigma, beta=beta, delassus=delassus,
            v_guess=v_guess, v_ref=v_ref, gamma_ref=gamma_ref, source=source,
            constraints=constraints, core=core, delta=delta, kappa=kappa, core_lambda=core_lambda,
            core_table=core_table,
            spin_contact=spin_contact, spin_J=flat_spin_J, spin_mu=spin_mu,
            friction_bound=friction_bound, slip_ratio=slip_ratio,
        )  # fmt: skip

    @classmethod
    @explained()
    def from_sparse(
        cls,
        A: Any,
        v_star: ArrayLike,
        J: Any = None,
        phi0: ArrayLike | None = None,
        k: ArrayLike | None = None,
        tau_d: ArrayLike | None = None,
        mu: ArrayLike | None = None,
        dt: float | None = None,
        sigma: float = 1e-3,
        beta: float = 1.0,
        *,
        R_t: ArrayLike | None = None,
        R_n: ArrayLike | None = None,
        v_hat_n: ArrayLike | None = None,
        v_hat_t: ArrayLike | None = None,
        delassus: Delassus = "block",
        v_guess: ArrayLike | None = None,
        v_ref: ArrayLike | None = None,
        gamma_ref: ArrayLike | None = None,
        source: str = "",
        constraints: Iterable[ConstraintGroup] = (),
        core: ArrayLike = "none",
        delta: ArrayLike | None = None,
        kappa: ArrayLike | None = None,
        core_lambda: ArrayLike = DEFAULT_LAMBDA,
        core_table: ArrayLike | None = None,
        spin_contact: ArrayLike | None = None,
        spin_J: Any = None,
        spin_mu: ArrayLike | None = None,
        friction_bound: ArrayLike | None = None,
        slip_ratio: ArrayLike | None = None,
    ) -> SparseProblem[ContactProblem]:
        """Make a problem from one sparse mass matrix, such as that of finite elements.

        Velocities that no constraint moves are eliminated once, with a factor of A. A solve costs
        as much as one with their Schur complement, of the velocities that constraints move. A
        constraint may touch any number of velocities.

        Parameters
        ----------
        A : sparse matrix, (data, indices, indptr) or array_like (nv, nv)
            Symmetric positive definite mass matrix: of SciPy, or by compressed rows. The
            elimination is fastest where the three velocities of a vertex follow each other.
        v_star : array_like (nv,)
            Free-motion velocity.
        J : sparse matrix, (data, indices, indptr) or array_like (3 n_contacts, nv), optional
            Contact Jacobian, three rows (t1, t2, n) per contact.
        mu : float or array_like (n_contacts,), optional
            Friction coefficients; required where there is a J.
        dt : float
            Time step, s; required.
        delassus : {"block", "diagonal"}
            Delassus blocks with A^-1, or, of another size, with the diagonal of the complement.
        constraints : iterable of ConstraintGroup
            Groups whose J are matrices of all velocities.
        spin_J : sparse matrix, (data, indices, indptr) or array_like (3 n_spins, nv), optional
            Three rows about (n, t1, t2) per contact of `spin_contact`.
        phi0, k, tau_d, sigma, beta, R_t, R_n, v_hat_n, v_hat_t, v_guess, v_ref, gamma_ref, source
            The same as for the class.
        core, delta, kappa, core_lambda, core_table, spin_contact, spin_mu, friction_bound
            The same as for the class.
        slip_ratio
            The same as for the class.

        Returns
        -------
        SparseProblem
            A problem for :func:`sapwood.solve`. e_m of its solutions is that of the reduced
            problem.

        Raises
        ------
        TypeError, ValueError
            The same as for the class.
        """
        return SparseProblem(
            cls, A, v_star, J, mu=mu, dt=dt, phi0=phi0, k=k, tau_d=tau_d, R_t=R_t, R_n=R_n,
            v_hat_n=v_hat_n, v_hat_t=v_hat_t, sigma=sigma, beta=beta, delassus=delassus,
            v_guess=v_guess, v_ref=v_ref, gamma_ref=gamma_ref, source=source,
            constraints=constraints, core=core, delta=delta, kappa=kappa, core_lambda=core_lambda,
            core_table=core_table, spin_contact=spin_contact, spin_J=spin_J, spin_mu=spin_mu,
            friction_bound=friction_bound, slip_ratio=slip_ratio,
        )  # fmt: skip

    # ---- to see ------------------------------------------------------------------------------

    def plot_structure(self, ax: Axes | None = None) -> Axes:
        """Draw where H = A + J^T G J and its Cholesky factor have blocks (section VIII-D).

        Velocities stand in the order of elimination, and the lower half of H is drawn. Blocks of an
        island have one colour, blocks that the factor adds to H are grey, and trees that are
        eliminated together, a supernode, are framed.
        Trees without constraints are left out, and so are velocities that no constraint moves.

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
        ImportError
            Without Matplotlib, the extra ``plot``.
        MemoryError
            If there is no room for the graph.
        """
        return plot_structure(self._core, self.tree_nv, ax)

    # ---- as a value --------------------------------------------------------------------------

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self._arguments())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ContactProblem):
            return NotImplemented
        mine, theirs = self._arguments(), other._arguments()
        groups, their_groups = mine.pop("constraints", ()), theirs.pop("constraints", ())
        return (
            mine.keys() == theirs.keys()
            and all(equal_values(value, theirs[name]) for name, value in mine.items())
            and bool(groups == their_groups)
        )

    __hash__ = None  # type: ignore[assignment]

    def _repr_html_(self) -> str:
        groups = [(str(k), repr(group)) for k, group in enumerate(self.constraints)]
        source = [("source", self.source)] if self.source else []
        return table(
            "ContactProblem",
            [
                ("trees", self.n_trees),
                ("velocities", self.nv),
                ("contacts", self.n_contacts),
                ("with torsional or rolling friction", self.n_spins),
                *groups,
                ("time step", f"{self.dt:g} s"),
                *source,
            ],
        )

    def __repr__(self) -> str:
        source = f", source={self.source!r}" if self.source else ""
        groups = f", constraints={list(self.constraints)}" if self.constraints else ""
        spins = f", n_spins={self.n_spins}" if self.n_spins else ""
        return (
            f"ContactProblem(n_trees={self.n_trees}, nv={self.nv}, "
            f"n_contacts={self.n_contacts}{spins}{groups}, dt={self.dt}{source})"
        )


def _dense(matrix: Any) -> Any:
    """The array of a sparse matrix; other values are returned as they are."""
    return matrix.toarray() if hasattr(matrix, "toarray") else matrix


def _of_each(value: Any, n: int) -> Any:
    """One number repeated for n contacts; other values are returned as they are."""
    is_number = isinstance(value, (int, float)) or getattr(value, "shape", None) == ()
    return np.full(n, value) if is_number else value


def _rebuild(cls: type[ContactProblem], arguments: dict[str, Any]) -> ContactProblem:
    return cls(**arguments)


def _information(value: ArrayLike | None, name: str, shape: tuple[int, ...]) -> _Float | None:
    """Read-only view of an array that the solver checks again or never reads."""
    if value is None:
        return None
    view = _core.as_float64(value, name, shape, rule="finite").view()
    view.flags.writeable = False
    return view

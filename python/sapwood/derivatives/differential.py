"""Changes and gradients of a problem and of its solution, in the shape of their arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

_Float = NDArray[np.float64]
Matrices = dict[str, _Float]

# numbers that are two-dimensional for one problem, by their last dimension
COLUMNS = {"v_hat_t": 2, "spin_mu": 3}


@dataclasses.dataclass(frozen=True, eq=False)
class GroupDifferential:
    """Numbers in the shape of a group of constraints: a change of it, or a gradient.

    Attributes
    ----------
    J : array (..., n_J)
        Entries of the blocks of J.
    R, v_hat, lower, upper : array (..., n_rows)
        Numbers of the rows, as in :class:`sapwood.constraints.ConstraintGroup`.
    parameters : mapping of str to array (..., n_rows)
        Physical parameters by name, if R, v_hat and the bounds follow from them.
    """

    J: ArrayLike | None = None
    R: ArrayLike | None = None
    v_hat: ArrayLike | None = None
    lower: ArrayLike | None = None
    upper: ArrayLike | None = None
    parameters: Mapping[str, ArrayLike] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, eq=False)
class Differential:
    """Numbers in the shape of a problem: a change of it, or a gradient.

    Every array has the shape of the array of :class:`ContactProblem` with the same name, with batch
    dimensions in front. In a change None means 0; in a gradient it means that the problem has no
    such numbers, or that nothing follows from them.

    The blocks of A stay symmetric: the derivative by an entry is half the derivative by it and its
    mirror image, and the symmetric part of a change counts. R_t, R_n, v_hat_n and kappa are numbers
    of their own, as if a term were added to the values from phi0, k, tau_d, delta, slip_ratio,
    sigma and dt.

    Attributes
    ----------
    A, v_star, J, mu, R_t, R_n, v_hat_n, v_hat_t : array or None
    kappa, core_lambda, friction_bound, spin_J, spin_mu : array or None
    phi0, k, tau_d, delta, slip_ratio : array or None
        Physical parameters, if R_t, R_n, v_hat_n and kappa follow from them.
    dt, sigma : array (...) or None
        Numbers that R, v_hat, kappa and bounds depend on. The caller differentiates v_star by dt.
    constraints : tuple of GroupDifferential
        One for each group of constraints.
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
    slip_ratio: ArrayLike | None = None
    dt: ArrayLike | None = None
    sigma: ArrayLike | None = None
    constraints: tuple[GroupDifferential, ...] = ()


class _WhenRead:
    """DL/dA or dL/dJ: an array, or a function without arguments that forms both."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __set__(self, gradient: Gradient, value: _Float | Callable[[], Matrices]) -> None:
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
    """The gradient of a loss by the numbers of a problem, and the point where it was taken.

    The derivatives by A and J, the largest arrays, are formed when one of them is first read.

    Attributes
    ----------
    regions : ndarray (n_contacts,) of int8
        :class:`sapwood.Region` of each contact, which the derivatives keep.
    distance : ndarray (n_contacts,)
        Smallest change of the contact velocity, of |v_t| and v_n, that takes a contact to the
        boundary of another region, m/s.
    row_distance : tuple of ndarray (n_rows,)
        The same for the rows of each group of constraints, m/s or rad/s.
    converged : bool
        Whether the solve converged; otherwise the gradient belongs to a velocity that is no
        solution.
    momentum_error : float
        e_m, Eq. (24), at the velocity where the problem was linearized.
    residual : float
        Residual of the unsymmetric linear system of Coulomb's friction, relative to its right-hand
        side, both in the norm of the inverse of its symmetric part; 0 for other friction.
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
    """The change of a solution, with batch dimensions in front.

    Attributes
    ----------
    v : ndarray (..., nv)
        Change of the velocities.
    gamma : ndarray (..., n_contacts, 3)
        Change of the contact impulses.
    constraints : tuple of ndarray (..., n_rows)
        Change of the impulses of each group.
    spin_gamma : ndarray (..., n_spins, 3) or None
        Change of the impulses of torsional and rolling friction.
    residual : float
        The same as for :class:`Gradient`.
    """

    v: _Float
    gamma: _Float
    constraints: tuple[_Float, ...]
    spin_gamma: _Float | None
    residual: float


# the numbers of a problem without its groups of constraints
NUMBERS = tuple(
    field.name for field in dataclasses.fields(Differential) if field.name != "constraints"
)


def rank_of(name: str) -> int:
    """Number of dimensions of a number of one problem.

    Parameters
    ----------
    name : str
        A name in NUMBERS.

    Returns
    -------
    int
        0, 1 or 2.
    """
    return 0 if name in ("dt", "sigma") else 1 + (name in COLUMNS)

"""Kinds of constraint beside frictional contact: limits, joints, controllers, dry friction.

What all of them share is in `constraint_group`. Rows are no stiffer than R_nr = beta^2 w/(4 pi^2),
which the time step can resolve, Eq. (21); w = |W_ii|_F/n is the inverse effective mass of the n
rows of a constraint, taken by threes. Physical parameters are attributes: arrays (n_rows,), or
None where R and v_hat were given without them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.constraints.group import ConstraintGroup

_Float = NDArray[np.float64]


class JointLimits(ConstraintGroup):
    """Joint limits and frictionless contacts: one row that pushes and never pulls.

    gamma = max(0, y) with R = max(R_nr, 1/(dt k (dt + tau_d))) and v_hat = -phi0/(dt + tau_d), as
    the normal of a contact, Eqs. (11) and (21).

    Parameters
    ----------
    J : array_like
        With `tree_a`: per constraint a row of tree_nv[tree_a] numbers, then, if tree_b >= 0, one of
        tree_nv[tree_b]. Without: a matrix (n, nv), which the problem splits. J v > 0 leads away
        from the limit.
    tree_a, tree_b : array_like of int (n,), optional
        First tree of each constraint, and the second one, or -1 (the default).
    phi0 : float or array_like (n,)
        Distance to the limit, negative beyond it, m or rad.
    k : float or array_like (n,), optional
        Stiffness > 0, N/m or N m/rad; by default infinite, which R_nr bounds.
    tau_d : float or array_like (n,), optional
        Dissipation time >= 0, s; by default the time step.
    R, v_hat : array_like (n,), optional
        Given instead of phi0, k, tau_d, which are then information only.
    lower, upper : array_like (n,), optional
        Bounds of the impulse, with R and v_hat only: 0, and >= 0; by default 0 and infinite.
    beta : float
        Near-rigid parameter >= 0, dimensionless.

    Raises
    ------
    TypeError, ValueError
        For a wrong or missing argument; the text names it, the index and the rule.

    Examples
    --------
    The second of three joints stands 0.1 rad before its upper limit:

    >>> JointLimits([[0.0, -1.0, 0.0]], phi0=0.1)
    JointLimits(n=1, n_rows=1)
    """

    __slots__ = ("k", "phi0", "tau_d")
    kind = "limit"
    _defaults: ClassVar = {"k": np.inf, "tau_d": None}
    _bounds: ClassVar = {"lower": "must be 0", "upper": "must be >= 0"}
    _lower = 0.0

    phi0: _Float | None
    k: _Float | None
    tau_d: _Float | None

    def __init__(
        self,
        J: ArrayLike,
        tree_a: ArrayLike | None = None,
        tree_b: ArrayLike | None = None,
        *,
        phi0: ArrayLike | None = None,
        k: ArrayLike | None = None,
        tau_d: ArrayLike | None = None,
        R: ArrayLike | None = None,
        v_hat: ArrayLike | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        beta: float = 0.1,
    ) -> None:
        parameters = {"phi0": phi0, "k": k, "tau_d": tau_d}
        self._make((J, tree_a, tree_b, None), parameters, (R, v_hat, lower, upper), beta)


class Bilaterals(ConstraintGroup):
    """Bilateral constraints, 1 to 6 rows each: ball, weld, distance, coupler, closed loop.

    gamma = clamp(y, dt force_lower, dt force_upper) with R = max(R_nr, 1/(dt k (dt + tau_d))) and
    v_hat = -g/(dt + tau_d), Eqs. (11) and (21). Rows 1 to 3 of a constraint have one w and rows 4
    to 6 another: of a weld, translations come first and rotations last.

    Parameters
    ----------
    J : array_like
        With `tree_a`: per constraint a row-major size x tree_nv[tree_a] block, then, if
        tree_b >= 0, a size x tree_nv[tree_b] block. Without: a matrix (n_rows, nv), which the
        problem splits. J v is the rate of g.
    tree_a, tree_b : array_like of int (n,), optional
        First tree of each constraint, and the second one, or -1 (the default).
    size : int or array_like of int (n,), optional
        Rows of each constraint, 1 to 6; by default 1.
    g : float or array_like (n_rows,)
        Constraint function at the start of the step, m or rad.
    k : float or array_like (n_rows,), optional
        Stiffness > 0, N/m or N m/rad; by default infinite, which R_nr bounds.
    tau_d : float or array_like (n_rows,), optional
        Dissipation time >= 0, s; by default the time step.
    force_lower, force_upper : float or array_like (n_rows,), optional
        Bounds of the force, force_lower <= force_upper, N or N m; by default none. Both above 0
        for a cable under tension that pulls with J, both below 0 for one that pulls against it.
    R, v_hat : array_like (n_rows,), optional
        Given instead of the parameters above, which are then information only.
    lower, upper : array_like (n_rows,), optional
        Bounds of the impulse, lower <= upper, with R and v_hat only; by default none.
    beta : float
        Near-rigid parameter >= 0, dimensionless.

    Raises
    ------
    TypeError, ValueError
        For a wrong or missing argument; the text names it, the index and the rule.

    Examples
    --------
    Two points on one line, each with its own velocity, held together:

    >>> Bilaterals([[1.0, -1.0]], g=0.0)
    Bilaterals(n=1, n_rows=1)
    """

    __slots__ = ("force_lower", "force_upper", "g", "k", "tau_d")
    kind = "bilateral"
    _bounds: ClassVar = {"lower": "must be below infinity", "upper": "must be above -infinity"}
    _ordered = (("force_lower", "force_upper"), ("lower", "upper"))
    _defaults: ClassVar = {
        "k": np.inf,
        "tau_d": None,
        "force_lower": -np.inf,
        "force_upper": np.inf,
    }
    _settings = ("size", "beta")

    g: _Float | None
    k: _Float | None
    tau_d: _Float | None
    force_lower: _Float | None
    force_upper: _Float | None

    def __init__(
        self,
        J: ArrayLike,
        tree_a: ArrayLike | None = None,
        tree_b: ArrayLike | None = None,
        *,
        size: ArrayLike | None = None,
        g: ArrayLike | None = None,
        k: ArrayLike | None = None,
        tau_d: ArrayLike | None = None,
        force_lower: ArrayLike | None = None,
        force_upper: ArrayLike | None = None,
        R: ArrayLike | None = None,
        v_hat: ArrayLike | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        beta: float = 0.1,
    ) -> None:
        parameters = {
            "g": g,
            "k": k,
            "tau_d": tau_d,
            "force_lower": force_lower,
            "force_upper": force_upper,
        }
        self._make((J, tree_a, tree_b, size), parameters, (R, v_hat, lower, upper), beta)


class Controllers(ConstraintGroup):
    """Implicit PD controllers with effort limits.

    The effort at the end of the step, Kp (q_d - q) + Kd (v_d - v) + u_ff with q = q_0 + dt v, held
    within +-effort: R = 1/(dt (dt Kp + Kd)), v_hat = dt R (Kp (q_d - q_0) + Kd v_d + u_ff) and
    gamma = clamp(y, -dt effort, dt effort). Where R would be less than R_nr both gains are scaled
    down alike, until it is R_nr.

    Parameters
    ----------
    J, tree_a, tree_b
        The same as for :class:`JointLimits`; J v is the rate of q.
    Kp, Kd : float or array_like (n,)
        Gains >= 0, N/m and N s/m, or N m/rad and N m s/rad; not both 0.
    q_0 : float or array_like (n,), optional
        Coordinate at the start of the step, m or rad; by default 0.
    q_d, v_d : float or array_like (n,), optional
        Desired coordinate and rate; by default 0.
    u_ff : float or array_like (n,), optional
        Feed-forward effort, N or N m; by default 0.
    effort : float or array_like (n,), optional
        Limit >= 0 of the effort, N or N m; by default infinite.
    R, v_hat : array_like (n,), optional
        Given instead of the parameters above, which are then information only.
    lower, upper : array_like (n,), optional
        Bounds of the impulse, lower <= 0 <= upper, with R and v_hat only; by default none.
    beta : float
        Near-rigid parameter >= 0, dimensionless.

    Raises
    ------
    TypeError, ValueError
        For a wrong or missing argument; the text names it, the index and the rule.

    Examples
    --------
    >>> Controllers(np.eye(3), Kp=1e3, Kd=10.0, q_d=[0.1, 0.2, 0.3], effort=50.0)
    Controllers(n=3, n_rows=3)
    """

    __slots__ = ("Kd", "Kp", "effort", "q_0", "q_d", "u_ff", "v_d")
    kind = "controller"
    _defaults: ClassVar = {"q_0": 0.0, "q_d": 0.0, "v_d": 0.0, "u_ff": 0.0, "effort": np.inf}

    Kp: _Float | None
    Kd: _Float | None
    q_0: _Float | None
    q_d: _Float | None
    v_d: _Float | None
    u_ff: _Float | None
    effort: _Float | None

    def __init__(
        self,
        J: ArrayLike,
        tree_a: ArrayLike | None = None,
        tree_b: ArrayLike | None = None,
        *,
        Kp: ArrayLike | None = None,
        Kd: ArrayLike | None = None,
        q_0: ArrayLike | None = None,
        q_d: ArrayLike | None = None,
        v_d: ArrayLike | None = None,
        u_ff: ArrayLike | None = None,
        effort: ArrayLike | None = None,
        R: ArrayLike | None = None,
        v_hat: ArrayLike | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        beta: float = 0.1,
    ) -> None:
        parameters = {
            "Kp": Kp,
            "Kd": Kd,
            "q_0": q_0,
            "q_d": q_d,
            "v_d": v_d,
            "u_ff": u_ff,
            "effort": effort,
        }
        self._make((J, tree_a, tree_b, None), parameters, (R, v_hat, lower, upper), beta)


class DryFrictions(ConstraintGroup):
    """Dry friction of joints: holds up to a threshold, slides above it.

    gamma = clamp(-v_c/R, -dt f, dt f) with R = w max(1e-6, min(sigma, sigma slip_ratio)) and the
    sigma of the problem.

    Parameters
    ----------
    J, tree_a, tree_b
        The same as for :class:`JointLimits`; J v is the rate of the joint.
    f : float or array_like (n,)
        Friction force or torque >= 0, N or N m.
    slip_ratio : float or array_like (n,), optional
        Speed |J v| at the start of the step over a speed V_s, >= 0, dimensionless: a joint that
        holds a load hardly creeps. By default infinite, R = sigma w.
    R, v_hat : array_like (n,), optional
        Given instead of f and slip_ratio, which are then information only.
    lower, upper : array_like (n,), optional
        Bounds of the impulse, lower <= 0 <= upper, with R and v_hat only; by default none.

    Raises
    ------
    TypeError, ValueError
        For a wrong or missing argument; the text names it, the index and the rule.

    Examples
    --------
    >>> DryFrictions(np.eye(2), f=[0.3, 0.1])
    DryFrictions(n=2, n_rows=2)
    """

    __slots__ = ("f", "slip_ratio")
    kind = "dry_friction"
    _defaults: ClassVar = {"slip_ratio": np.inf}
    _settings = ()

    f: _Float | None
    slip_ratio: _Float | None

    def __init__(
        self,
        J: ArrayLike,
        tree_a: ArrayLike | None = None,
        tree_b: ArrayLike | None = None,
        *,
        f: ArrayLike | None = None,
        slip_ratio: ArrayLike | None = None,
        R: ArrayLike | None = None,
        v_hat: ArrayLike | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
    ) -> None:
        parameters = {"f": f, "slip_ratio": slip_ratio}
        self._make((J, tree_a, tree_b, None), parameters, (R, v_hat, lower, upper))


# in the order of the kinds of the core
KINDS = (JointLimits, Bilaterals, Controllers, DryFrictions)


def placed_groups(
    constraints: Iterable[ConstraintGroup], tree_nv: ArrayLike
) -> tuple[ConstraintGroup, ...]:
    """Check the groups of a problem and give them trees.

    Parameters
    ----------
    constraints : iterable of ConstraintGroup
        The groups as the user gave them.
    tree_nv : array_like of int (n_trees,)
        Velocities of each tree.

    Returns
    -------
    tuple of ConstraintGroup
        See :meth:`ConstraintGroup.placed`.

    Raises
    ------
    TypeError, ValueError
        For a wrong argument; the text names the group.
    """
    if isinstance(constraints, ConstraintGroup):
        raise TypeError("constraints must be a sequence of groups, not a single one")
    try:
        iterator = iter(constraints)
    except TypeError:
        kind = type(constraints).__name__
        raise TypeError(f"constraints must be a sequence of groups, not {kind}") from None
    # errors of the iteration are the user's own
    groups = tuple(iterator)
    if not groups:
        return groups
    sizes = _core.as_int32(tree_nv, "tree_nv")
    for t in np.flatnonzero(sizes < 1):
        raise ValueError(f"tree_nv[{t}] = {sizes[t]}: must be >= 1")
    placed = []
    for k, group in enumerate(groups):
        if not isinstance(group, KINDS):
            names = ", ".join(kind.__name__ for kind in KINDS)
            raise TypeError(f"constraints[{k}] must be one of {names}, not {type(group).__name__}")
        try:
            placed.append(group.placed(sizes))
        except ValueError as error:
            raise ValueError(f"constraints[{k}].{error}") from None
    return tuple(placed)

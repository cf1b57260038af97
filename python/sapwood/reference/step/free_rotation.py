"""Rotation at the middle of a step, of single bodies and of trees.

Single bodies take the implicit midpoint rule for their gyroscopic torque.

With the inertia I about the centre of mass (about the pivot for a ball joint), in the frame of the
body, and the torque t of the other smooth forces::

    I (w_1 - w_0) + dt w_m x I w_m = dt t     w_m = (w_0 + w_1)/2,  t = I a_w + w_0 x I w_0

which keeps w.Iw and |Iw| of a body without torque. Where Newton's method does not converge, the
rule acts on equal parts of the step. The centre of mass of a free body moves by the
free acceleration of the engine, and the origin follows at the end of the step. Trees with joints
below a free or ball joint, and those in equality constraints, take their bias forces at a velocity
in the middle of the step.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LEAST_TURN = 1e-6
"""Least rotation in a step, rad, at which the rule acts."""

SLOW_TURN, FAST_TURN = 0.01, 0.02
"""Rotation of a tree in a step, rad, from which the middle of the step counts, and where it counts
in full."""

MOST_RATE = 0.5
"""Largest rate of convergence of the pass for trees."""

MOST_PARTS = 1024
"""Largest number of equal parts of a step."""

_NEWTON_STEPS = 8
_LAST_STEP = 1e-8
_ISOTROPIC = 1e-14


def cross_matrix(a: Array) -> Array:
    """The matrix (3, 3) of the cross product with a (3,)."""
    x, y, z = a
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def _turned(r: Array, x: Array) -> Array:
    """x after a rotation by the vector r, by Rodrigues' formula."""
    angle = np.linalg.norm(r)
    once = np.cross(r, x)
    # NumPy's sinc has a factor of pi
    sinc, half = np.sinc(angle / np.pi), np.sinc(0.5 * angle / np.pi)
    turned: Array = x + sinc * once + 0.5 * half**2 * np.cross(r, once)
    return turned


def _take_midpoint(inertia: Array, dt: float, w_0: Array, kick: Array) -> Array | None:
    """w_1 by Newton's method from w_0, with the impulse dt t; None without convergence."""
    w_1 = w_0.copy()
    for _ in range(_NEWTON_STEPS):
        w_m = 0.5 * (w_0 + w_1)
        g = inertia @ (w_1 - w_0) + dt * np.cross(w_m, inertia @ w_m) - kick
        spin = cross_matrix(w_m) @ inertia - cross_matrix(inertia @ w_m)
        J = inertia + 0.5 * dt * spin
        dw = np.linalg.solve(J, g)
        w_1 = w_1 - dw
        if dw @ dw <= _LAST_STEP**2 * (w_0 @ w_0 + w_1 @ w_1):
            return w_1
    return None


def midpoint_spin(I: Array, dt: float, w_0: Array, a_w: Array) -> Array | None:  # noqa: E741
    """The angular velocity w_1 at the end of a step, in as few equal parts as converge.

    Parameters
    ----------
    I : ndarray (3, 3)
        Inertia in the frame of the body, kg m^2.
    dt : float
        Time step, s.
    w_0, a_w : ndarray (3,)
        Angular velocity and free angular acceleration at the start of the step, in the frame of
        the body, rad/s and rad/s^2.

    Returns
    -------
    ndarray (3,) or None
        None where no number of parts converges.
    """
    kick = dt * (I @ a_w + np.cross(w_0, I @ w_0))
    parts = 1
    while parts <= MOST_PARTS:
        w: Array | None = w_0
        for _ in range(parts):
            w = None if w is None else _take_midpoint(I, dt / parts, w, kick / parts)
        if w is not None:
            return w
        parts *= 2
    return None


def free_rotation(M: Array, R_0: Array, dt: float, v_0: Array, a: Array) -> Array:
    """The free acceleration of a single body with the gyroscopic torque at the midpoint.

    Parameters
    ----------
    M : ndarray (n, n)
        Mass matrix of a ball joint (n = 3) or of a free joint (n = 6): velocity of the origin in
        the world, then angular velocity in the frame of the body.
    R_0 : ndarray (3, 3)
        Rotation of the body at the start of the step.
    dt : float
        Time step, s.
    v_0, a : ndarray (n,)
        Velocity at the start of the step, and acceleration M^-1 f with the torque there.

    Returns
    -------
    ndarray (n,)
        (v_1 - v_0)/dt; `a` itself for a body that hardly turns, has equal moments of inertia, or
        for which no number of parts converges.
    """
    w_0, a_w = v_0[-3:], a[-3:]
    if max(np.linalg.norm(w_0), np.linalg.norm(w_0 + dt * a_w)) * dt < LEAST_TURN:
        return a
    inertia, c = M[-3:, -3:].copy(), np.zeros(3)
    moments = inertia.diagonal()
    if not (M - np.diag(M.diagonal())).any() and np.ptp(moments) <= _ISOTROPIC * moments[0]:
        return a
    if len(v_0) == 6:
        m, cross_c = M[0, 0], -R_0.T @ M[:3, 3:] / M[0, 0]
        c = 0.5 * np.array(
            [cross_c[2, 1] - cross_c[1, 2], cross_c[0, 2] - cross_c[2, 0],
             cross_c[1, 0] - cross_c[0, 1]]
        )  # fmt: skip
        inertia += m * cross_matrix(c) @ cross_matrix(c)
    w_1 = midpoint_spin(inertia, dt, w_0, a_w)
    if w_1 is None:
        return a
    found = a.copy()
    found[-3:] = (w_1 - w_0) / dt
    if c.any():
        arm = np.cross(w_0, c)
        change = np.cross(a_w, c) + np.cross(w_0, arm)
        change += (arm - _turned(dt * w_1, np.cross(w_1, c))) / dt
        found[:3] += R_0 @ change
    return found


def tree_rotation(
    bias: Callable[[Array], Array],
    M: Array,
    turns: NDArray[np.int8],
    dt: float,
    v_0: Array,
    v_1: Array | None = None,
) -> Array:
    """The change of the free acceleration of a tree by bias forces at the middle of the step.

    One pass of the fixed point of ``v_1 = v_0 - dt M^-1 c(q_0, (v_0 + v_1)/2)``, or of that of the
    whole step.

    Parameters
    ----------
    bias : callable
        Bias force c (n,) at a velocity (n,), at the positions of the start of the step.
    M : ndarray (n, n)
        Mass matrix of the tree.
    turns : ndarray of int (n,)
        2 for rotations of the root, 1 for those of other joints, 0 for translations; 4, 3 and 0
        in equality constraints.
    dt : float
        Time step, s.
    v_0 : ndarray (n,)
        Velocity at the start of the step.
    v_1 : ndarray (n,), optional
        Velocity at the end of a step with ``c(q_0, v_0)``, for a tree in equality constraints.

    Returns
    -------
    ndarray (n,)
        To add to ``M^-1 (f - c(q_0, v_0))``: 0 for slow trees, and where the pass may not converge.
    """
    of_root = turns == (2 if v_1 is None else 4)
    root, every = np.linalg.norm(v_0[of_root]), np.linalg.norm(v_0[turns > 0])
    part = (dt * np.sqrt(root * every) - SLOW_TURN) / (FAST_TURN - SLOW_TURN)
    s = min(max(part, 0.0), 1.0)
    c = bias(v_0)
    x = np.linalg.solve(M, c) if v_1 is None else (v_0 - v_1) / dt
    dc = bias(v_0 - 0.5 * dt * x) - c
    da = np.linalg.solve(M, dc)
    if da @ dc > MOST_RATE**2 * (x @ M @ x):
        return np.zeros_like(v_0)
    change: Array = -(s**2) * (3.0 - 2.0 * s) * da
    return change

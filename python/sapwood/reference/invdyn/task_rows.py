"""The arrays of task control: the mirror of ``csrc/invdyn/tasks/task_rows.c`` and ``motors.c``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .motions import point_motion

_Array = NDArray[np.float64]

_JOINTS, _FRAME = 0, 1
# velocity above which a contact slides, and from which on dry friction is whole, m/s or rad/s
_SLIDING, _MOVING = 1e-2, 1e-3


class _Robot:
    """Motions of a mechanism at one instant."""

    def __init__(self, constants: tuple[Any, ...], state: tuple[Any, ...]) -> None:
        self.last, self.root, self.parent = (np.asarray(x, dtype=int) for x in constants[:3])
        self.cdof, self.cdof_dot, self.v, self.com, self.q, self.xpos, xmat, self.xipos = (
            np.asarray(x, dtype=float) for x in state
        )
        self.xmat = xmat.reshape(-1, 3, 3)

    def motion(self, body: int, point: _Array) -> tuple[_Array, ...]:
        chain, dof = [], self.last[body]
        while dof >= 0:
            chain.append(dof)
            dof = self.parent[dof]
        arm = point - self.com[self.root[body]]
        return point_motion(chain, self.cdof, self.cdof_dot, self.v, arm)

    def bias_force(self, loads: tuple[Any, ...]) -> _Array:
        """Coriolis forces and gravity less other forces, applied ones on motors left out."""
        bias, passive, applied, wrenches, actuated = loads
        h = np.array(bias - passive - applied)
        h[actuated] = (bias - passive)[actuated]
        for body, wrench in enumerate(wrenches):
            J, J_r, *_ = self.motion(body, self.xipos[body])
            h -= wrench[:3] @ J + wrench[3:] @ J_r
        return h

    def task(self, task: tuple[Any, ...]) -> tuple[_Array, _Array]:
        """Rows and targets of a task."""
        kind, _, at, by_kind, k, d, position, velocity, feedforward, rotation = task
        n = len(at) if kind == _JOINTS else 3
        target, speed, feed = (
            np.broadcast_to(np.asarray(x, dtype=float), (n,))
            for x in (position, velocity, feedforward)
        )
        if kind == _JOINTS:
            error, rate = target - self.q[by_kind], speed - self.v[at]
            return np.eye(len(self.v))[at], k * error + d * rate + feed
        if kind == _FRAME:
            (body,) = at
            J, J_r, v, bias, w, bias_r = self.motion(body, self.xpos[body])
            turn = rotation_vector(np.asarray(rotation) @ self.xmat[body].T)
            rows = [np.arange(3), np.arange(3, 6), np.arange(6)][by_kind - 1]
            t = k * (target - self.xpos[body]) + d * (speed - v) + feed - bias
            return np.vstack([J, J_r])[rows], np.append(t, k * turn - d * w - bias_r)[rows]
        share = np.asarray(by_kind, dtype=float)
        moves = [self.motion(body, self.xipos[body]) for body in at]
        J, v, bias = (np.tensordot(share, [move[i] for move in moves], 1) for i in (0, 2, 3))
        t = k * (target - share @ self.xipos[at]) + d * (speed - v) + feed - bias
        return J, t

    def contact(self, pair: Any, point: _Array, frame: _Array) -> tuple[_Array, ...]:
        """Jacobian of a contact and of its turning, its velocity and bias."""
        one, other = (self.motion(body, point) for body in pair)
        J, J_r, u, bias = (frame @ (other[i] - one[i]) for i in (0, 1, 2, 3))
        return J, J_r, u, bias


def rotation_vector(rotation: ArrayLike) -> _Array:
    """The axis of a rotation matrix times its angle, at most pi.

    Parameters
    ----------
    rotation : array_like (3, 3)

    Returns
    -------
    ndarray (3,)
        Rotation vector, rad.
    """
    R = np.asarray(rotation, dtype=float)
    skew = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    # four multiples of the quaternion (w, x, y, z), of which the longest has the most digits
    others = np.column_stack([skew, R + R.T + (1.0 - np.trace(R)) * np.eye(3)])
    multiples = np.vstack([np.append(1.0 + np.trace(R), skew), others])
    w, *r = multiples[np.argmax(np.linalg.norm(multiples, axis=1))]
    length = float(np.linalg.norm(r))
    if length == 0.0:
        return np.zeros(3)
    sign = -1.0 if w < 0.0 else 1.0
    vector: _Array = np.array(r) * (2.0 * np.arctan2(sign * length, sign * w) / length)
    return vector


def task_program(
    constants: tuple[Any, ...],
    state: tuple[Any, ...],
    M: ArrayLike,
    loads: tuple[Any, ...],
    contacts: tuple[Any, ...],
    hold: tuple[float, float, bool],
    plan: tuple[Any, Any, Any, Any] | None,
    tasks: tuple[tuple[Any, ...], ...],
) -> tuple[_Array, ...]:
    """Arrays of ``solve_tasks`` from tasks and contacts.

    Parameters
    ----------
    constants : tuple of array_like
        The arguments of ``_core.Mechanism``.
    state, M, loads, contacts, hold, plan, tasks
        The arguments of ``_core.Mechanism.task_program``.

    Returns
    -------
    tuple of ndarray
        M, h, T, t, w, J and mu, and tangential forces of sliding contacts over normal ones (n, 2).
    """
    robot = _Robot(constants, state)
    nv = len(robot.v)
    full = np.zeros((nv, nv))
    for i, (count, begin) in enumerate(zip(*constants[3:5], strict=True)):
        row = slice(begin, begin + count)
        columns = np.asarray(constants[5])[row]
        full[i, columns] = full[columns, i] = np.asarray(M)[row]
    h = robot.bias_force(loads)
    weight, time, may_slide = hold
    pairs, points, frames, mu, radii, gaps = contacts
    T, t, w = np.zeros((3 * len(mu), nv)), np.zeros(3 * len(mu)), np.zeros(3 * len(mu))
    J, slide, coefficient = np.zeros((len(mu), 3, nv)), np.zeros((len(mu), 2)), np.array(mu)
    forces = None
    if plan is not None:
        loss, v, a, forces = plan
        velocity = v + time * a
        h += loss * np.clip(velocity / _MOVING, -1.0, 1.0)
    for i, (pair, point, frame) in enumerate(zip(pairs, points, frames, strict=True)):
        J[i], J_r, u, bias = robot.contact(pair, point, frame)
        rows = slice(3 * i, 3 * i + 3)
        T[rows], t[rows] = J[i], -u / time - bias
        t[3 * i + 2] -= max(gaps[i], 0.0) / (2.0 * time) ** 2
        speed = float(np.hypot(*u[:2]))
        slides = bool(may_slide and mu[i] > 0.0 and speed > _SLIDING)
        holds = mu[i] > 0.0 and not slides
        w[rows] = weight * np.array([holds, holds, True])
        if slides:
            slide[i] = -mu[i] / speed * u[:2]
            J[i, 2] += slide[i] @ J[i, :2]
            coefficient[i] = 0.0
        if forces is not None:
            turns = J_r @ velocity
            slips = radii[i] * turns
            load = forces[i, 2] * min(float(np.linalg.norm(turns)) / _MOVING, 1.0)
            if np.any(slips):
                h += load * (radii[i] * slips / np.linalg.norm(slips)) @ J_r
    for task in tasks:
        more, wanted = robot.task(task)
        T, t = np.vstack([T, more]), np.append(t, wanted)
        w = np.append(w, np.full(len(wanted), task[1]))
    return full, h, T, t, w, J, coefficient, slide


def bound_torques(
    qpos: ArrayLike,
    qvel: ArrayLike,
    place: ArrayLike,
    dof: ArrayLike,
    bias: ArrayLike,
    by_control: ArrayLike,
    by_force: ArrayLike,
) -> tuple[_Array, _Array, _Array]:
    """Torques (n) of motors: those without a control, the least, and the largest ones.

    Parameters
    ----------
    qpos, qvel, place, dof, bias, by_control, by_force
        The arguments of ``_core.bound_torques``.

    Returns
    -------
    tuple of ndarray (n,)
        Torques, N m.
    """
    constant, by_position, by_velocity = np.asarray(bias, dtype=float)
    q = np.asarray(qpos, dtype=float)[np.asarray(place, dtype=int)]
    v = np.asarray(qvel, dtype=float)[np.asarray(dof, dtype=int)]
    b = by_position * q + by_velocity * v + constant
    (low, high), (least, most) = np.asarray(by_control), np.asarray(by_force)
    upper = np.minimum(high + b, most)
    return b, np.minimum(np.maximum(low + b, least), upper), upper

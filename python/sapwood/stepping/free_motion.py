"""Stage 1 of a step: the velocities that the model would have without contact, Eq. (10)."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sapwood.stepping.model import Dynamics, FreeModel
from sapwood.stepping.schemes import Scheme

_Float = NDArray[np.float64]

# an iteration that leaves more than this of the residual is repeated with the whole Jacobian
_GOOD_GAIN = 0.1
_HALVINGS = 30
# a Newton step of less than this of the state may be round-off
_ROUND_OFF = 64.0 * float(np.finfo(float).eps)
# so many times a step that is round-off, the residual is far above it
_OUT_OF_NOISE = 1e3


class SteppingError(RuntimeError):
    """A step could not be taken.

    A text alone makes one too.

    Attributes
    ----------
    step : int
        Position of the step in its run, from 0; -1 where it is unknown.
    time : float
        Simulated time at the start of the step, s; NaN where it is unknown.
    """

    def __init__(self, message: object, step: int = -1, time: float = math.nan) -> None:
        super().__init__(str(message), step, time)
        self.step = step
        self.time = time

    def __str__(self) -> str:
        if self.step < 0:
            return str(self.args[0])
        return f"step {self.step} at time {self.time:.6g} s: {self.args[0]}"


class FreeMotionError(SteppingError):
    """Newton's method for the free motion, Eq. (10), did not converge.

    Attributes
    ----------
    residual : float
        |D m(v)| over the largest of its terms, where it stopped; D = diag(M)^(-1/2). NaN where it
        is unknown.
    iterations : int
        Iterations taken; -1 where they are unknown.
    """

    def __init__(
        self,
        message: object,
        step: int = -1,
        time: float = math.nan,
        residual: float = math.nan,
        iterations: int = -1,
    ) -> None:
        super().__init__(message, step, time)
        self.residual = residual
        self.iterations = iterations

    def __reduce__(self) -> tuple[type[FreeMotionError], tuple[str, int, float, float, int]]:
        return type(self), (self.args[0], self.step, self.time, self.residual, self.iterations)


@dataclasses.dataclass(frozen=True, eq=False)
class FreeMotion:
    """The free motion of one step.

    Attributes
    ----------
    v : ndarray (nv,)
        v*, with m(v*) = 0.
    q_theta : ndarray (nq,)
        q^θq, the positions within the step at which forces and contacts are taken.
    dynamics : Dynamics
        Mass matrix, forces and slopes at (q^θq, v^θv).
    A : ndarray (nv, nv)
        Matrix of the linearized momentum balance, Eq. (11).
    residual : float
        |D m| over the largest of its terms.
    iterations : int
        Newton iterations; 0 for an explicit scheme.
    """

    v: _Float
    q_theta: _Float
    dynamics: Dynamics
    A: _Float
    residual: float
    iterations: int


@dataclasses.dataclass(frozen=True, eq=False)
class _Momentum:
    """m(v) of Eq. (9) at one velocity, and how large it is."""

    v: _Float
    q_theta: _Float
    dynamics: Dynamics
    m: _Float
    residual: float


class _Balance:
    """The momentum balance of one step as a function of the velocity at its end."""

    def __init__(
        self, model: FreeModel, scheme: Scheme, dt: float, q_0: _Float, v_0: _Float
    ) -> None:
        self.model, self.scheme, self.dt, self.q_0, self.v_0 = model, scheme, dt, q_0, v_0

    def at(self, v: _Float) -> _Momentum:
        """m(v) = M (v - v_0) - dt (F1 + F2), Eq. (9), with its size in the norm of Eq. (20)."""
        scheme, dt, v_0 = self.scheme, self.dt, self.v_0
        q_theta = self.q_0
        if scheme.theta_q > 0.0:
            v_vq = scheme.position_velocity(v, v_0)
            q_theta = self.model.integrate(self.q_0, v_vq, scheme.theta_q * dt)
        dynamics = self.model.dynamics(q_theta, scheme.force_velocity(v, v_0))
        M, F1, F2, _, _ = dynamics
        # values that are not finite show in the residual
        with np.errstate(over="ignore", invalid="ignore"):
            gain, kick_1, kick_2 = M @ (v - v_0), dt * F1, dt * F2
            m = gain - kick_1 - kick_2
            terms = np.array((m, gain, kick_1, kick_2, M @ v_0))
            size, *sizes = np.sqrt((terms * terms) @ (1.0 / M.diagonal())).tolist()
        scale = max(sizes)
        return _Momentum(v, q_theta, dynamics, m, size / scale if scale > 0.0 else size)

    def linearized(self, dynamics: Dynamics) -> _Float:
        """A = M + dt^2 θ_q θ_vq K + dt θ_v D, Eq. (11)."""
        scheme, dt = self.scheme, self.dt
        A = dynamics.M + (dt * dt * scheme.theta_q * scheme.theta_vq) * dynamics.K
        return A + (dt * scheme.theta_v) * dynamics.D

    def is_round_off(self, dv: NDArray[np.floating[Any]]) -> bool:
        """Whether a change of v is below round-off of v_0, or of the positions in q_0."""
        states = (dv, self.v_0, self.q_0)
        dv_size, v_size, q_size = (float(np.max(np.abs(x), initial=0.0)) for x in states)
        return dv_size <= _ROUND_OFF * max(v_size, q_size / self.dt)

    def is_noise(self, here: _Momentum, dv: NDArray[np.floating[Any]]) -> bool:
        """Whether A is right along dv, so that a step that gains nothing meets noise alone.

        The size of dv does not decide it in mixed units, or beside a coordinate far from the
        origin. But if A is right, m at a distance s along dv is (1 - s) m(v), to a tenth of s m(v).
        """
        s = _OUT_OF_NOISE
        there = self.at(here.v + s * dv)
        off = there.m + (s - 1.0) * here.m
        scale = 1.0 / here.dynamics.M.diagonal()
        with np.errstate(over="ignore", invalid="ignore"):
            size, off_size = np.array((here.m**2, off**2)) @ scale
        return bool(off_size <= (_GOOD_GAIN * s) ** 2 * size)

    def jacobian(self, here: _Momentum) -> _Float:
        """dm/dv by forward differences; A has only the slopes of F1."""
        h = np.sqrt(np.finfo(float).eps) * (1.0 + float(np.linalg.norm(here.v, np.inf)))
        columns = [(self.at(here.v + h * e).m - here.m) / h for e in np.eye(len(here.v))]
        return np.stack(columns, axis=1)


def free_motion(
    model: FreeModel,
    scheme: Scheme,
    dt: float,
    q_0: _Float,
    v_0: _Float,
    *,
    tolerance: float = 1e-12,
    max_iterations: int = 20,
    step: int = 0,
    time: float = 0.0,
) -> FreeMotion:
    """Solve m(v*) = 0, Eq. (10).

    An explicit scheme takes one solve with M. Otherwise Newton's method starts from v_0 with the
    matrix A of Eq. (11), which is dm/dv up to O(dt) (Proposition 1). If an iteration gains less
    than a factor of 10, dm/dv is formed by finite differences, and the step is halved until the
    residual falls. The method ends at the tolerance, or if no step reduces the residual and it is
    round-off of the state, as for a stiff spring at rest.

    Parameters
    ----------
    model : FreeModel
        The system.
    scheme : Scheme
        The thetas of Eq. (6).
    dt : float
        Time step, s.
    q_0, v_0 : ndarray (nq,), (nv,)
        State at the start of the step.
    tolerance : float
        Tolerance for |D m| relative to the largest of |D M (v - v_0)|, |D M v_0|, dt |D F1| and
        dt |D F2|, with D = diag(M)^(-1/2).
    max_iterations : int
        Newton iterations.
    step, time : int, float
        Position and simulated time of the step, for errors.

    Returns
    -------
    FreeMotion
        v*, the position within the step, and A there.

    Raises
    ------
    FreeMotionError
        If Newton's method does not converge; with step, time and residual.
    """
    balance = _Balance(model, scheme, dt, q_0, v_0)
    here = balance.at(v_0)

    def failure(reason: str, iterations: int) -> FreeMotionError:
        return FreeMotionError(
            f"free motion ({scheme.name}): {reason} after {iterations} Newton iterations, relative "
            f"residual {here.residual:.2g} (tolerance {tolerance:.2g}); a smaller time step may "
            "help",
            step,
            time,
            here.residual,
            iterations,
        )

    if not np.isfinite(here.residual):
        raise failure("masses or forces that are not finite", 0)
    iterations = 0
    try:
        if not scheme.implicit:
            v = v_0 - np.linalg.solve(here.dynamics.M, here.m)
            return FreeMotion(v, here.q_theta, here.dynamics, here.dynamics.M, 0.0, 0)
        J = balance.linearized(here.dynamics)
        while here.residual > tolerance:
            dv = -np.linalg.solve(J, here.m)
            round_off = balance.is_round_off(dv)
            if iterations == max_iterations:
                if round_off:
                    break
                raise failure("no convergence", iterations)
            there = balance.at(here.v + dv)
            if not there.residual <= max(_GOOD_GAIN * here.residual, tolerance):
                if round_off and balance.is_noise(here, dv):
                    break
                J = balance.jacobian(here)
                dv = -np.linalg.solve(J, here.m)
                for halving in range(_HALVINGS):
                    there = balance.at(here.v + 0.5**halving * dv)
                    if there.residual < here.residual:
                        break
                else:
                    if balance.is_round_off(dv):
                        break
                    raise failure("no step reduces the residual", iterations)
            here = there
            iterations += 1
    except np.linalg.LinAlgError:
        raise failure("a singular matrix", iterations) from None
    A = balance.linearized(here.dynamics)
    return FreeMotion(here.v, here.q_theta, here.dynamics, A, here.residual, iterations)


def corrected_velocity(
    model: FreeModel, scheme: Scheme, dt: float, q_0: _Float, v_0: _Float, A: _Float, v: _Float
) -> _Float:
    """The velocity v*' = v - A^-1 m(v) from which constraints lead to v again, if v is right.

    Constraints change the velocity by v - v* after forces were taken at the velocity of the free
    motion, v*; A has the change of F1 by that, but not of F2, such as gyroscopic forces. At the
    fixed point of v*', m(v) = J^T gamma holds with all forces, which is the scheme itself. One
    correction makes the midpoint rule with equality constraints second order.

    Parameters
    ----------
    model : FreeModel
        The system.
    scheme : Scheme
        The thetas of Eq. (6).
    dt : float
        Time step, s.
    q_0, v_0 : ndarray (nq,), (nv,)
        State at the start of the step.
    A : ndarray (nv, nv)
        Matrix of the linearized momentum balance, Eq. (11).
    v : ndarray (nv,)
        Velocity of the contact problem with v*.

    Returns
    -------
    ndarray (nv,)
        v*'.

    Raises
    ------
    FreeMotionError
        If forces at v are not finite.
    """
    momentum = _Balance(model, scheme, dt, q_0, v_0).at(v)
    found: _Float = v - np.linalg.solve(A, momentum.m)
    if not np.isfinite(found).all():
        raise FreeMotionError(f"free motion ({scheme.name}): forces that are not finite")
    return found

"""Many steps, and reverse mode through all of them."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.checks import boolean, integer
from sapwood.base.equality import compared_by_value
from sapwood.trajectory.system import Jacobian, Step, System, TrajectoryError

_Float = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, eq=False)
class TrajectoryGradient:
    """The gradient of a loss of a trajectory.

    Attributes
    ----------
    q0, v0 : ndarray
        Derivatives by the first state, in its shape; orthogonal to the quaternions of ``run.q[0]``.
    inputs : ndarray (n_steps, ...)
        Derivatives by the inputs of each step.
    parameters : dict of str to ndarray
        Derivatives by the parameters of the system, each in its own shape.
    distance : ndarray (n_steps,)
        For each step, the least change of the velocity of an active contact that takes it to the
        boundary of another region, m/s; infinite without contact. The gradient holds up to there.

    Examples
    --------
    A ball falls for 0.2 s. Its end depends on its first position and velocity only, and on nothing
    that it would have met later.

    >>> from sapwood.trajectory import FreeBodies, Sphere, simulate
    >>> scene = FreeBodies([Sphere(0.1)], mass=1.0, inertia=[4e-3] * 3, dt=0.01, k=1e4, tau_d=0.0,
    ...                    mu=0.5)
    >>> run = simulate(scene, [0, 0, 1, 1, 0, 0, 0], [2, 0, 0, 0, 0, 0], n_steps=20)
    >>> height = np.zeros_like(run.q)
    >>> height[-1, 0, 2] = 1.0
    >>> gradient = run.vjp(height)
    >>> print(gradient.q0[0, 2], gradient.v0[0, 2].round(6), gradient.distance.min())
    1.0 0.2 inf
    >>> {name for name, bar in gradient.parameters.items() if np.any(bar)}
    {'gravity'}
    """

    q0: _Float
    v0: _Float
    inputs: _Float
    parameters: dict[str, _Float]
    distance: _Float


@compared_by_value
class TrajectoryJacobians(NamedTuple):
    """Derivatives of the states (dq, v) after the steps, where dq are motions of the positions."""

    A: _Float
    """By the state before each step (n_steps, n, n)."""
    B: _Float
    """By the inputs of each step (n_steps, n, n_inputs)."""
    P: _Float
    """By the parameters (n_steps, n, n_parameters)."""
    distance: _Float
    """Distance of :class:`TrajectoryGradient` (n_steps,)."""


class Trajectory:
    """A run of a system: its states, and the tapes of its steps. Made by :func:`simulate`.

    Attributes
    ----------
    system : System
        The moving system.
    q, v : ndarray (n_steps + 1, ...)
        States, from the first to the last.
    inputs : ndarray (n_steps, ...)
        Inputs of each step.
    in_contact : ndarray (n_steps,) of bool
        Whether a contact acted.

    Examples
    --------
    A ball falls onto the floor and stays there:

    >>> from sapwood.trajectory import FreeBodies, Sphere, simulate
    >>> scene = FreeBodies([Sphere(0.1)], mass=1.0, inertia=[4e-3] * 3, dt=0.01, k=1e5, tau_d=0.01,
    ...                    mu=0.5)
    >>> run = simulate(scene, [0, 0, 0.2, 1, 0, 0, 0], [0] * 6, n_steps=100)
    >>> run.q.shape, bool(run.in_contact[0]), bool(run.in_contact[-1])
    ((101, 1, 7), False, True)
    >>> run.q[-1, 0, 2].round(3)
    np.float64(0.1)
    """

    system: System
    q: _Float
    v: _Float
    inputs: _Float
    in_contact: NDArray[np.bool_]

    def __init__(
        self, system: System, q: _Float, v: _Float, inputs: _Float, checkpoints: bool
    ) -> None:
        n = len(inputs)
        self.system, self.inputs = system, inputs
        self.q, self.v = np.empty((n + 1, *q.shape)), np.empty((n + 1, *v.shape))
        self.q[0], self.v[0] = q, v
        self.in_contact = np.zeros(n, np.bool_)
        self._tapes: list[object] = []
        for i in range(n):
            with _naming(i):
                step = self._step(i)
            self.q[i + 1], self.v[i + 1], self.in_contact[i] = step.q, step.v, step.in_contact
            if not checkpoints:
                self._tapes.append(step.tape)
        for states in (self.q, self.v, self.inputs, self.in_contact):
            states.flags.writeable = False

    @property
    def n_steps(self) -> int:
        """Steps of the run."""
        return len(self.inputs)

    def vjp(
        self, q_bar: ArrayLike | None = None, v_bar: ArrayLike | None = None
    ) -> TrajectoryGradient:
        """Reverse mode: from dL/d of all states, dL/d of the start, the inputs and the parameters.

        Parameters
        ----------
        q_bar, v_bar : array_like (..., n_steps + 1, ...), optional
            dL/dq and dL/dv of every state; 0 where it is None. Dimensions in front of those of the
            states are many losses, which the gradient then has in front too. Systems with
            Jacobians linearize each step once for all of them.

        Returns
        -------
        TrajectoryGradient
            The gradient.

        Raises
        ------
        TypeError, ValueError
            For a wrong argument.
        TrajectoryError
            If a step has no derivatives.
        """
        bars = [
            np.zeros(0) if bar is None else _core.as_float64(bar, name)
            for name, bar in (("q_bar", q_bar), ("v_bar", v_bar))
        ]
        states = self.q, self.v
        fronts = [
            () if given is None else _front(bar, name, x.shape)
            for name, given, bar, x in zip(
                ("q_bar", "v_bar"), (q_bar, v_bar), bars, states, strict=True
            )
        ]
        front = max(fronts, key=len)
        if any(own not in (front, ()) for own in fronts):
            raise ValueError(f"q_bar and v_bar have losses {fronts[0]} and {fronts[1]}")
        whole = [
            np.broadcast_to(np.zeros(()) if given is None else bar, (*front, *x.shape))
            for given, bar, x in zip((q_bar, v_bar), bars, states, strict=True)
        ]
        if front and not getattr(self.system, "pulls_many", False):
            return self._one_by_one(front, *whole)
        return self._pull(front, *whole)

    def _one_by_one(
        self, front: tuple[int, ...], q_bar: _Float, v_bar: _Float
    ) -> TrajectoryGradient:
        """Gradients of many losses, each with its own reverse pass."""
        rows = [self._pull((), q_bar[at], v_bar[at]) for at in np.ndindex(front)]

        def stacked(arrays: list[_Float]) -> _Float:
            return np.reshape(arrays, (*front, *arrays[0].shape))

        return TrajectoryGradient(
            stacked([row.q0 for row in rows]),
            stacked([row.v0 for row in rows]),
            stacked([row.inputs for row in rows]),
            {name: stacked([row.parameters[name] for row in rows]) for name in rows[0].parameters},
            rows[0].distance,
        )

    def _pull(self, front: tuple[int, ...], q_bar: _Float, v_bar: _Float) -> TrajectoryGradient:
        """The reverse pass of losses with these dimensions."""
        at_end = (slice(None),) * len(front) + (-1,)
        by_q, by_v = np.array(q_bar[at_end]), np.array(v_bar[at_end])
        inputs, distance = np.zeros((*front, *self.inputs.shape)), np.full(self.n_steps, math.inf)
        parameters = {
            name: np.zeros((*front, *x.shape)) for name, x in self.system.parameters.items()
        }
        end = self.n_steps
        stride = end if self._tapes else math.isqrt(max(end - 1, 0)) + 1
        while end > 0:
            # if only states were kept, take the steps of this stretch again for their tapes
            begin = (end - 1) // stride * stride
            tapes = self._tapes or [self._step(i).tape for i in range(begin, end)]
            for i in reversed(range(begin, end)):
                here = (*at_end[:-1], i)
                with _naming(i):
                    pulled = self.system.pull(tapes[i - begin], by_q, by_v, parameters)
                by_q, by_v = pulled.q + q_bar[here], pulled.v + v_bar[here]
                inputs[here], distance[i] = pulled.inputs, pulled.distance
            end = begin
        by_q = self.system.tangent(self.q[0], by_q)
        return TrajectoryGradient(by_q, by_v, inputs, parameters, distance)

    def jacobians(self) -> TrajectoryJacobians:
        """The derivatives of all steps.

        Returns
        -------
        TrajectoryJacobians
            Those of each step, by the state before it, its inputs and the parameters.

        Raises
        ------
        TypeError
            If the system has no Jacobians: :class:`sapwood.mujoco.DifferentiableModel` has.
        TrajectoryError
            If a step has no derivatives.
        """
        found = [self._jacobian(i) for i in range(self.n_steps)]
        if not found:
            raise ValueError("n_steps = 0: there are no steps")
        return TrajectoryJacobians(
            *(np.array([getattr(one, name) for one in found]) for name in Jacobian._fields)
        )

    def jvp(
        self,
        q0_dot: ArrayLike | None = None,
        v0_dot: ArrayLike | None = None,
        inputs_dot: ArrayLike | None = None,
        parameters_dot: Mapping[str, ArrayLike] | None = None,
    ) -> tuple[_Float, _Float]:
        """Forward mode: the change of all states with the start, the inputs and the parameters.

        Parameters
        ----------
        q0_dot : array_like (n_motions,), optional
            Change of the first positions, as motions in the coordinates of the velocities.
        v0_dot : array_like, optional
            Change of the first velocities.
        inputs_dot : array_like (n_steps, ...), optional
            Changes of the inputs.
        parameters_dot : mapping of str to array_like, optional
            Changes of the parameters, by name, each in its own shape; 0 where not given.

        Returns
        -------
        ndarray (n_steps + 1, n_motions), ndarray (n_steps + 1, ...)
            Changes of the positions, as motions, and of the velocities.

        Raises
        ------
        TypeError, ValueError, TrajectoryError
            As for :meth:`jacobians`, and for a wrong argument.
        """
        steps = self.jacobians()
        n_v = self.v[0].size
        n_q = steps.A.shape[1] - n_v
        given = {} if parameters_dot is None else dict(parameters_dot)
        names = list(self.system.parameters)
        if set(given) - set(names):
            unknown = sorted(set(given) - set(names))[0]
            raise ValueError(f"parameters_dot: {unknown} is none of {', '.join(names) or 'none'}")
        changes = (
            _core.as_float64(given.get(name, np.zeros(x.shape)), name, x.shape, "finite")
            for name, x in self.system.parameters.items()
        )
        p = np.concatenate([np.zeros(0), *map(np.ravel, changes)])
        q_dot, v_dot, u_dot = (
            np.zeros(shape) if x is None else _core.as_float64(x, name, shape, "finite")
            for x, name, shape in (
                (q0_dot, "q0_dot", (n_q,)),
                (v0_dot, "v0_dot", self.v[0].shape),
                (inputs_dot, "inputs_dot", self.inputs.shape),
            )
        )
        x = np.empty((self.n_steps + 1, n_q + n_v))
        x[0] = np.concatenate([q_dot, v_dot.ravel()])
        for i, u in enumerate(u_dot.reshape(self.n_steps, -1)):
            x[i + 1] = steps.A[i] @ x[i] + steps.B[i] @ u + steps.P[i] @ p
        return x[:, :n_q], x[:, n_q:].reshape(self.v.shape)

    def _jacobian(self, i: int) -> Jacobian:
        jacobian: Callable[[object], Jacobian] | None = getattr(self.system, "jacobian", None)
        if jacobian is None:
            raise TypeError(f"{type(self.system).__name__} has no Jacobians of its steps")
        with _naming(i):
            return jacobian(self._tapes[i] if self._tapes else self._step(i).tape)

    def _step(self, i: int) -> Step:
        return self.system.step(self.q[i], self.v[i], self.inputs[i])


def simulate(
    system: System,
    q0: ArrayLike,
    v0: ArrayLike,
    inputs: ArrayLike | None = None,
    n_steps: int | None = None,
    *,
    checkpoints: bool = False,
) -> Trajectory:
    """Take n steps.

    Parameters
    ----------
    system : System
        The moving system, such as :class:`FreeBodies`.
    q0, v0 : array_like
        The first state.
    inputs : array_like (n_steps, ...), optional
        Inputs of each step; 0 by default.
    n_steps : int, optional
        Number of steps; by default the number of inputs.
    checkpoints : bool
        Keep the states only, and make the tapes again in :meth:`Trajectory.vjp`, for sqrt(n) steps
        at a time. It needs memory for as many tapes, and the time of a second run.

    Returns
    -------
    Trajectory
        States, and what their derivatives need: as much memory as there are steps.

    Raises
    ------
    TypeError, ValueError
        For a wrong argument; the message names it.
    TrajectoryError
        If a step cannot be taken.

    Examples
    --------
    A ball that cannot turn slides along the floor until friction stops it, after v^2/(2 mu g):

    >>> from sapwood.trajectory import FreeBodies, Sphere, simulate
    >>> scene = FreeBodies([Sphere(0.1)], mass=1.0, inertia=[1e9] * 3, dt=1e-3, k=1e5, tau_d=1e-3,
    ...                    mu=0.5)
    >>> run = simulate(scene, [0, 0, 0.1, 1, 0, 0, 0], [1, 0, 0, 0, 0, 0], n_steps=300)
    >>> run.q[-1, 0, 0].round(2), round(1 / (2 * 0.5 * 9.81), 2)
    (np.float64(0.1), 0.1)
    """
    shape = system.inputs_shape
    if inputs is None:
        if n_steps is None:
            raise TypeError("simulate needs inputs or n_steps")
        given = np.zeros((integer(n_steps, "n_steps", 0), *shape))
    else:
        n = -1 if n_steps is None else integer(n_steps, "n_steps", 0)
        given = np.array(_core.as_float64(inputs, "inputs", (n, *shape), "finite"))
    q, v = system.start(q0, v0)
    return Trajectory(system, q, v, given, boolean(checkpoints, "checkpoints"))


def _front(bar: _Float, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The dimensions of a bar before those of the states."""
    n = bar.ndim - len(shape)
    if n < 0 or bar.shape[n:] != shape:
        raise ValueError(f"{name} has shape {bar.shape}, expected (..., {str(shape)[1:]}")
    _core.as_float64(bar, name, bar.shape, "finite")
    return bar.shape[:n]


@contextlib.contextmanager
def _naming(i: int) -> Iterator[None]:
    """Errors of a step tell its place in the run."""
    try:
        yield
    except (TrajectoryError, np.linalg.LinAlgError) as error:
        raise TrajectoryError(str(error), i) from error

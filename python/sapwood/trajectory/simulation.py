"""Many steps, and reverse mode through all of them."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.checks import boolean, integer
from sapwood.trajectory.system import Step, System, TrajectoryError

_Float = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, eq=False)
class TrajectoryGradient:
    """The gradient of a loss of a trajectory.

    Attributes
    ----------
    q0, v0 : ndarray
        By the first state, in its shape: by ``run.q[0]``, at right angles to its quaternions.
    inputs : ndarray (n_steps, ...)
        By what acted during each step.
    parameters : dict of str to ndarray
        By the parameters of the system, each in the shape it was given.
    distance : ndarray (n_steps,)
        Of each step the least change of a contact's velocity, of those that acted, that takes it to
        the boundary of another region, m/s; infinite without contact. Beyond it the gradient is
        another one.

    Examples
    --------
    A ball that falls for 0.2 s: where it ends depends on where it was, on how fast, and on nothing
    of what it would have met.

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


class Trajectory:
    """A run of a system: its states, and the tapes of its steps. Made by :func:`simulate`.

    Attributes
    ----------
    system : System
        What moved.
    q, v : ndarray (n_steps + 1, ...)
        States, from the first to the last.
    inputs : ndarray (n_steps, ...)
        What acted during each step.
    in_contact : ndarray (n_steps,) of bool
        Whether a contact acted.
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
        """Reverse mode: from dL/d of all states, dL/d of what they follow from.

        Parameters
        ----------
        q_bar, v_bar : array_like (n_steps + 1, ...), optional
            dL/dq and dL/dv of every state; 0 where it is None.

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
        bars = []
        for name, bar, states in (("q_bar", q_bar, self.q), ("v_bar", v_bar, self.v)):
            given = np.zeros_like(states) if bar is None else bar
            bars.append(_core.as_float64(given, name, states.shape, "finite"))
        by_q, by_v = (np.array(bar[-1]) for bar in bars)
        inputs, distance = np.zeros_like(self.inputs), np.full(self.n_steps, math.inf)
        parameters = {name: np.zeros_like(x) for name, x in self.system.parameters.items()}
        end = self.n_steps
        stride = end if self._tapes else math.isqrt(max(end - 1, 0)) + 1
        while end > 0:
            # where only states were kept, the tapes of a stretch are made again
            begin = (end - 1) // stride * stride
            tapes = self._tapes or [self._step(i).tape for i in range(begin, end)]
            for i in reversed(range(begin, end)):
                with _naming(i):
                    pulled = self.system.pull(tapes[i - begin], by_q, by_v, parameters)
                by_q, by_v = pulled.q + bars[0][i], pulled.v + bars[1][i]
                inputs[i], distance[i] = pulled.inputs, pulled.distance
            end = begin
        by_q = self.system.tangent(self.q[0], by_q)
        return TrajectoryGradient(by_q, by_v, inputs, parameters, distance)

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
        What moves, such as :class:`FreeBodies`.
    q0, v0 : array_like
        The first state.
    inputs : array_like (n_steps, ...), optional
        What acts during each step; 0 by default.
    n_steps : int, optional
        As many as there are inputs, by default.
    checkpoints : bool
        Keep the states alone, and make the tapes again in :meth:`Trajectory.vjp`, those of the
        square root of n steps at a time: memory for as many tapes, for a run as much again.

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


@contextlib.contextmanager
def _naming(i: int) -> Iterator[None]:
    """Errors of a step tell its place in the run."""
    try:
        yield
    except (TrajectoryError, np.linalg.LinAlgError) as error:
        raise TrajectoryError(str(error), i) from error

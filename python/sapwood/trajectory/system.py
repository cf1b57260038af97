"""The interface of a moving system: steps, and derivatives pulled back through them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood.base.equality import compared_by_value

_Float = NDArray[np.float64]


class TrajectoryError(RuntimeError):
    """A step could not be taken, or has no derivatives.

    Attributes
    ----------
    reason : str
        Why.
    step : int
        Position of the step in its run, from 0; -1 for a step alone.
    """

    def __init__(self, reason: object, step: int = -1) -> None:
        super().__init__(str(reason), step)
        self.reason, self.step = str(reason), step

    def __str__(self) -> str:
        return self.reason if self.step < 0 else f"step {self.step}: {self.reason}"


@compared_by_value
class Step(NamedTuple):
    """One step of a system."""

    q: _Float
    """Positions after it."""
    v: _Float
    """Velocities after it."""
    tape: object
    """The data with which the system pulls derivatives back through the step."""
    in_contact: bool
    """Whether a contact acted."""


@compared_by_value
class Pulled(NamedTuple):
    """Derivatives of a loss by the start of a step."""

    q: _Float
    """Derivatives by the positions, in their shape."""
    v: _Float
    """Derivatives by the velocities."""
    inputs: _Float
    """Derivatives by the inputs."""
    distance: float
    """Least distance of a contact that acted to the boundary of its region, m/s."""


@compared_by_value
class Jacobian(NamedTuple):
    """Derivative of the state (dq, v) after a step, where dq are motions of the positions."""

    A: _Float
    """By the state before it (n, n)."""
    B: _Float
    """By the inputs (n, n_inputs)."""
    P: _Float
    """By the parameters (n, n_parameters)."""
    distance: float
    """Least distance of a contact that acted to the boundary of its region, m/s."""


class System(Protocol):
    """A mechanical system whose steps can be differentiated.

    Examples
    --------
    A point of mass m that a force pushes; by explicit Euler, x(T) = x + T v + f T (T - dt)/(2 m):

    >>> from sapwood.trajectory import Pulled, Step, simulate
    >>> class Mass:
    ...     parameters = {"mass": np.array(2.0)}
    ...     inputs_shape = (1,)
    ...     dt = 0.1
    ...
    ...     def start(self, q, v):
    ...         return np.array(q, float), np.array(v, float)
    ...
    ...     def tangent(self, q, q_bar):
    ...         return q_bar
    ...
    ...     def step(self, q, v, inputs):
    ...         after = v + self.dt * inputs / self.parameters["mass"]
    ...         return Step(q + self.dt * v, after, tape=inputs, in_contact=False)
    ...
    ...     def pull(self, tape, q_bar, v_bar, parameters_bar):
    ...         mass = self.parameters["mass"]
    ...         parameters_bar["mass"] -= np.sum(v_bar * self.dt * tape / mass**2)
    ...         return Pulled(q_bar, v_bar + self.dt * q_bar, self.dt / mass * v_bar, np.inf)
    >>> run = simulate(Mass(), [0.0], [1.0], n_steps=10, inputs=np.ones((10, 1)))
    >>> last = np.zeros((11, 1))
    >>> last[-1] = 1.0
    >>> gradient = run.vjp(last)
    >>> print(run.q[-1].round(6), gradient.v0.round(6), gradient.parameters["mass"].round(6))
    [1.225] [1.] -0.1125
    """

    @property
    def parameters(self) -> Mapping[str, _Float]:
        """Numbers by name, by which there are derivatives, in the shape they were given."""

    @property
    def inputs_shape(self) -> tuple[int, ...]:
        """Shape of what acts from outside during a step."""

    def start(self, q: ArrayLike, v: ArrayLike) -> tuple[_Float, _Float]:
        """A state, checked.

        Parameters
        ----------
        q, v : array_like
            Positions and velocities.

        Returns
        -------
        ndarray, ndarray
            Copies in the shape that steps have.
        """

    def tangent(self, q: _Float, q_bar: _Float) -> _Float:
        """The part of dL/dq that counts.

        Parameters
        ----------
        q, q_bar : ndarray
            Positions, and dL/d of their numbers.

        Returns
        -------
        ndarray
            Without what leads away from the manifold of q.
        """

    def step(self, q: _Float, v: _Float, inputs: _Float) -> Step:
        """Take one step.

        Parameters
        ----------
        q, v, inputs : ndarray
            State, and what acts during the step; not to be changed.

        Returns
        -------
        Step
            The step; the same bits for the same state.

        Raises
        ------
        TrajectoryError
            If it cannot be taken.
        """

    def pull(
        self, tape: object, q_bar: _Float, v_bar: _Float, parameters_bar: dict[str, _Float]
    ) -> Pulled:
        """Reverse mode through one step.

        Parameters
        ----------
        tape : object
            The tape of the step.
        q_bar, v_bar : ndarray
            dL/d of the state after it.
        parameters_bar : dict of str to ndarray
            dL/d of the parameters, added to in place.

        Returns
        -------
        Pulled
            dL/d of the start of the step.
        """

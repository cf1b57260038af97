"""Worlds of soft bodies whose trajectories can be differentiated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.step_error import StepError
from sapwood.fem.derivatives.linearization import SoftLinearization, check_world, linearize
from sapwood.fem.derivatives.soft_equations import copy_world
from sapwood.fem.derivatives.soft_numbers import SoftParameter, find_number
from sapwood.fem.world import World
from sapwood.trajectory.system import Pulled, Step, TrajectoryError

_Float = NDArray[np.float64]


class _Tape(NamedTuple):
    """The start of one step."""

    q: _Float
    v: _Float
    inputs: _Float


class DifferentiableWorld:
    """A world of soft bodies, for :func:`sapwood.trajectory.simulate`.

    Positions and velocities are those of all vertices (n, 3), body after body. The inputs of a step
    are external forces on the vertices (n, 3), N, in the place of ``SoftBody.loads``. Derivatives
    are those of :func:`sapwood.fem.linearize`, one linearization per step.

    Parameters
    ----------
    world : sapwood.fem.World
        As for :func:`sapwood.fem.linearize`; it stays as it is.
    parameters : sequence of tuple
        Numbers that have derivatives, as that takes them.

    Attributes
    ----------
    parameters : mapping of str to ndarray
        Values of the parameters, by a label such as ``body/soft/young``.

    Raises
    ------
    TypeError, ValueError
        For a wrong argument, and a world whose steps have no derivatives.

    Examples
    --------
    The force that a falling block needs to end where it began:

    >>> from sapwood import fem
    >>> foam = fem.Material(young=1e5, poisson=0.3, density=1000.0)
    >>> block = fem.SoftBody(fem.box([0.1] * 3, 1), foam)
    >>> world = fem.World([block], gravity=[0, 0, -10], time_step=0.01)
    >>> system = DifferentiableWorld(world, [("body", "soft", "density")])
    >>> from sapwood.trajectory import simulate
    >>> run = simulate(system, block.positions, block.velocities, n_steps=10)
    >>> bar = np.zeros_like(run.q)
    >>> bar[-1, :, 2] = 1 / 8
    >>> gradient = run.vjp(bar)
    >>> print(gradient.v0[:, 2].sum().round(6), gradient.inputs[0, :, 2].sum().round(6))
    0.1 0.008
    """

    def __init__(self, world: World, parameters: Sequence[SoftParameter] = ()) -> None:
        check_world(world)
        if any(rigid.mass is not None for rigid in world.rigid):
            raise ValueError("world.rigid: the state of a run has no rigid bodies on slides")
        self._world, self._given = copy_world(world), tuple(parameters)
        self._sizes = [len(body.positions) for body in world.bodies]
        numbers = [
            find_number(world.bodies, world.planes, each, i) for i, each in enumerate(self._given)
        ]
        for i, number in enumerate(numbers):
            if number.field == "loads":
                raise ValueError(f"parameters[{i}] = {self._given[i]!r}: loads are the inputs")
        self.parameters: Mapping[str, _Float] = MappingProxyType(
            {number.label: number.value for number in numbers}
        )

    @property
    def inputs_shape(self) -> tuple[int, ...]:
        """(n, 3): forces on the vertices."""
        return sum(self._sizes), 3

    def start(self, q: ArrayLike, v: ArrayLike) -> tuple[_Float, _Float]:
        """A state, checked.

        Parameters
        ----------
        q, v : array_like (n, 3)
            Positions and velocities.

        Returns
        -------
        ndarray (n, 3), ndarray (n, 3)
            Copies.
        """
        shape = self.inputs_shape
        return (
            np.array(_core.as_float64(q, "q0", shape, "finite")),
            np.array(_core.as_float64(v, "v0", shape, "finite")),
        )

    def tangent(self, q: _Float, q_bar: _Float) -> _Float:
        """All of dL/dq counts.

        Parameters
        ----------
        q, q_bar : ndarray (n, 3)
            Positions, and dL/d of them.

        Returns
        -------
        ndarray (n, 3)
            `q_bar`.
        """
        del q
        return q_bar

    def step(self, q: _Float, v: _Float, inputs: _Float) -> Step:
        """Take one step.

        Parameters
        ----------
        q, v, inputs : ndarray (n, 3)
            State and forces.

        Returns
        -------
        Step
            The state after it.
        """
        world = self._at(_Tape(q, v, inputs))
        try:
            result = world.step()
        except StepError as error:
            raise TrajectoryError(str(error)) from error
        after = [np.concatenate(each) for each in (world.state.positions, world.state.velocities)]
        acts = bool(np.any(result.solution.gamma))
        return Step(after[0], after[1], _Tape(q, v, inputs), acts)

    def pull(
        self, tape: object, q_bar: _Float, v_bar: _Float, parameters_bar: dict[str, _Float]
    ) -> Pulled:
        """Reverse mode through one step.

        Parameters
        ----------
        tape : object
            The tape of the step.
        q_bar, v_bar : ndarray (n, 3)
            dL/d of the state after it.
        parameters_bar : dict of str to ndarray
            dL/d of the parameters, added to in place.

        Returns
        -------
        Pulled
            dL/d of the start of the step.
        """
        assert isinstance(tape, _Tape)
        try:
            found: SoftLinearization = linearize(self._at(tape), self._given)
            gradient = found.vjp(self._split(q_bar), self._split(v_bar))
        except (StepError, np.linalg.LinAlgError) as error:
            raise TrajectoryError(str(error)) from error
        for label, bar in gradient.parameters.items():
            parameters_bar[label] += bar
        fields = gradient.positions, gradient.velocities, gradient.loads
        q, v, loads = map(np.concatenate, fields)
        return Pulled(q, v, loads, 0.0 if found.is_near_kink else found.distance)

    def _at(self, tape: _Tape) -> World:
        """A world in the state of a tape."""
        world = copy_world(self._world)
        fields = map(self._split, tape)
        for body, q, v, loads in zip(world.bodies, *fields, strict=True):
            body.positions, body.velocities, body.loads = q.copy(), v.copy(), loads.copy()
        return world

    def _split(self, whole: _Float) -> list[_Float]:
        """Arrays of each body."""
        return np.split(whole, np.cumsum(self._sizes[:-1]))

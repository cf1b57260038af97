"""The derivative of a step of a World, by implicit differentiation of its equations.

:class:`sapwood.fem.derivatives.linear_step.LinearStep` solves with the linearized equations.
Their changes with the start of the step are sparse central differences.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.equality import compared_by_value
from sapwood.base.step_error import StepError

from ..passes import step_result
from ..results import SoftStepResult
from ..world import World
from .linear_step import LinearStep
from .soft_equations import Equations, copy_world
from .soft_numbers import SoftParameter, find_number

_Float = NDArray[np.float64]
_Fields = tuple[_Float, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class SoftGradient:
    """The gradient of a loss by the start of a step.

    Attributes
    ----------
    positions, velocities, loads : tuple of ndarray (n, 3)
        dL/d of the state of each body, and of the external forces on its vertices.
    parameters : dict of str to ndarray
        dL/d of the parameters, by labels such as ``body/soft/young``, each in its own shape.
    slides : ndarray (n_slides, 2)
        dL/d of the position and the velocity of each rigid body on a slide.
    slide_forces : ndarray (n_slides,)
        dL/d of the forces along the slides.
    """

    positions: _Fields
    velocities: _Fields
    loads: _Fields
    parameters: dict[str, _Float]
    slides: _Float
    slide_forces: _Float


@compared_by_value
class SoftChange(NamedTuple):
    """The change of the state after a step."""

    positions: _Fields
    """Rows of the positions of each soft body (n, 3)."""
    velocities: _Fields
    """Rows of the velocities of each soft body (n, 3)."""
    slides: _Float
    """Rows of the position and the velocity of each rigid body on a slide (n_slides, 2)."""


class SoftLinearization:
    """The derivative of one step of a world, made by :func:`linearize`.

    Attributes
    ----------
    positions, velocities : tuple of ndarray (n, 3)
        State of each body after the step, m and m/s.
    slides : ndarray (n_slides, 2)
        Position and velocity of each rigid body on a slide after the step, m and m/s.
    result : SoftStepResult
        The outcome of the step.
    parameters : tuple of str
        Labels of the parameters.
    distance : float
        Least change of velocity, m/s or rad/s, by which a contact, or a row of joints, tendons or
        actuators, comes to another region of its law; infinite where none has another one.
    is_near_kink : bool
        Whether contacts came or went within the differences: then the derivative may be that of
        neither side.
    """

    def __init__(self, world: World, parameters: Sequence[SoftParameter]) -> None:
        if not isinstance(parameters, Sequence):
            raise TypeError(f"parameters must be a sequence of tuples, not {parameters!r}")
        numbers = [
            find_number(world.bodies, world.planes, each, i) for i, each in enumerate(parameters)
        ]
        self.parameters = tuple(number.label for number in numbers)
        made = copy_world(world)
        reduction = made._reduce()
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                best, passes = made._solve(reduction)
        except ValueError as error:
            raise StepError(str(error), world.time) from error
        self.result: SoftStepResult = step_result(
            reduction, best, passes, world.nonlinear_tolerance
        )
        self._dt, self._scheme = world.time_step, world.scheme
        linear = self._linear = LinearStep(made._steps, reduction, best, world.settings)
        start = copy_world(world)
        equations = Equations(start, reduction, best.v, linear.problem)
        for b in linear.inexact:
            linear.slopes[b] = equations.by_end_velocities(b)
        bodies = range(len(world.bodies))
        self._by_positions = [equations.by_positions(b) for b in bodies]
        self._by_velocities = [equations.by_velocities(b) for b in bodies]
        self._by_numbers = {number.label: equations.by_number(number) for number in numbers}
        self._shapes = {number.label: number.value.shape for number in numbers}
        self._n_contact_numbers = equations.n_contact_numbers
        moving = start._moving()
        slopes = [equations.by_slide(slide) for slide in moving]
        self._by_slides = np.array(slopes).reshape(len(moving), self._n_contact_numbers).T
        # the momentum of a slide depends on its first velocity by its mass and explicit damping
        explicit = self._dt * (1 - self._scheme.v)
        masses = np.array([each.mass for each in moving], float)
        self._slide_masses = masses - explicit * np.array([each.damping for each in moving])
        before = np.array([each.position for each in moving])
        self.slides = np.column_stack([before + self._dt * best.rigid, best.rigid])
        self.is_near_kink, self.distance = equations.jumps, linear.distance
        for step, v in zip(made._steps, best.v, strict=True):
            step.finish(v)
        self.positions = tuple(body.positions for body in made.bodies)
        self.velocities = tuple(best.v)

    # ---- reverse mode ----

    def vjp(
        self,
        positions: Sequence[ArrayLike] | None = None,
        velocities: Sequence[ArrayLike] | None = None,
        slides: ArrayLike | None = None,
    ) -> SoftGradient:
        """Reverse mode: from dL/d of the state after the step, dL/d of its start.

        Parameters
        ----------
        positions, velocities : sequence of array_like (n, 3), optional
            dL/d of the state of each body after the step; 0 where it is None.
        slides : array_like (n_slides, 2), optional
            dL/d of the position and the velocity of each slide after it; 0 where it is None.

        Returns
        -------
        SoftGradient
            dL/d of the state before it, of the loads and of the parameters.

        Raises
        ------
        TypeError, ValueError
            For arrays of wrong type or shape, or that are not finite.
        numpy.linalg.LinAlgError
            If H is singular.
        """
        q_bar, v_bar = self._read(positions, "positions"), self._read(velocities, "velocities")
        dt, vq = self._dt, self._scheme.vq
        total = [v + dt * vq * q for q, v in zip(q_bar, v_bar, strict=True)]
        at, speed = self._read_slides(slides, "slides", self.slides.shape).T
        solved = self._linear.solve_transposed(tuple(total), speed + dt * at)
        lambdas, contacts = [each.ravel() for each in solved.soft], solved.contacts
        by_q, by_v = [], []
        for b, bar in enumerate(lambdas):
            pulled = self._by_positions[b].pull(np.concatenate([-bar, contacts]))
            by_q.append(q_bar[b].ravel() + pulled)
            by_v.append(dt * (1 - vq) * q_bar[b].ravel() - self._by_velocities[b].pull(bar))
        numbers = np.concatenate([*(-bar for bar in lambdas), contacts])
        by_number = {
            label: slopes.pull(numbers).reshape(self._shapes[label])
            for label, slopes in self._by_numbers.items()
        }
        loads = [dt * bar for bar in lambdas]
        by_slides = at + contacts @ self._by_slides, self._slide_masses * solved.rigid
        return SoftGradient(
            _shaped(by_q), _shaped(by_v), _shaped(loads), by_number,
            np.column_stack(by_slides), dt * solved.rigid,
        )  # fmt: skip

    # ---- forward mode ----

    def jvp(
        self,
        positions: Sequence[ArrayLike] | None = None,
        velocities: Sequence[ArrayLike] | None = None,
        loads: Sequence[ArrayLike] | None = None,
        parameters: Mapping[str, ArrayLike] = MappingProxyType({}),
        slides: ArrayLike | None = None,
        slide_forces: ArrayLike | None = None,
    ) -> SoftChange:
        """Forward mode: the change of the state after the step with one of its start.

        Parameters
        ----------
        positions, velocities, loads : sequence of array_like (n, 3), optional
            Changes of the state and of the external forces of each body; 0 where it is None.
        parameters : mapping of str to array_like, optional
            Changes of parameters, by label, each in its own shape.
        slides : array_like (n_slides, 2), optional
            Changes of the position and the velocity of each slide; 0 where it is None.
        slide_forces : array_like (n_slides,), optional
            Changes of the forces along the slides; 0 where it is None.

        Returns
        -------
        SoftChange
            Change of the state after the step.

        Raises
        ------
        TypeError, ValueError
            For arrays of wrong type or shape, values that are not finite, and unknown labels.
        numpy.linalg.LinAlgError
            If H is singular.
        """
        q, v = self._read(positions, "positions"), self._read(velocities, "velocities")
        f, dt, vq = self._read(loads, "loads"), self._dt, self._scheme.vq
        ends = np.cumsum([x.size for x in q])
        m, contacts = [], np.zeros(self._n_contact_numbers)
        for b, x in enumerate(q):
            change = self._by_positions[b].push(x.ravel())
            m.append(
                change[: x.size] + self._by_velocities[b].push(v[b].ravel()) - dt * f[b].ravel()
            )
            contacts = contacts + change[x.size :]
        for label, by in parameters.items():
            if label not in self.parameters:
                raise ValueError(f"parameters[{label!r}]: must be one of {self.parameters}")
            given = _core.as_float64(by, f"parameters[{label!r}]", self._shapes[label], "finite")
            *more, of_contacts = np.split(self._by_numbers[label].push(given.ravel()), ends)
            m = [total + each for total, each in zip(m, more, strict=True)]
            contacts = contacts + of_contacts
        at, speed = self._read_slides(slides, "slides", self.slides.shape).T
        force = self._read_slides(slide_forces, "slide_forces", speed.shape)
        found, rigid, _ = self._linear.solve_forward(
            _shaped(m),
            contacts + self._by_slides @ at,
            -self._slide_masses * speed - dt * force,
            tuple(map(np.zeros_like, self.velocities)),
        )
        moved = [
            x + dt * ((1 - vq) * before + vq * after)
            for x, before, after in zip(q, v, found, strict=True)
        ]
        return SoftChange(tuple(moved), found, np.column_stack([at + dt * rigid, rigid]))

    @staticmethod
    def _read_slides(given: ArrayLike | None, name: str, shape: tuple[int, ...]) -> _Float:
        """An array of the slides, or zeros."""
        return np.zeros(shape) if given is None else _core.as_float64(given, name, shape, "finite")

    def _read(self, given: Sequence[ArrayLike] | None, name: str) -> _Fields:
        """Arrays of each body, or zeros."""
        shapes = [x.shape for x in self.velocities]
        if given is None:
            return tuple(np.zeros(shape) for shape in shapes)
        if not np.iterable(given):
            raise TypeError(f"{name} must be a sequence of arrays, not {type(given).__name__}")
        if len(given) != len(shapes):
            raise ValueError(f"{name} has {len(given)} arrays for {len(shapes)} bodies")
        return tuple(
            _core.as_float64(x, f"{name}[{b}]", shape, "finite")
            for b, (x, shape) in enumerate(zip(given, shapes, strict=True))
        )


def linearize(world: World, parameters: Sequence[SoftParameter] = ()) -> SoftLinearization:
    """Find the derivative of the next step of a world, which stays as it is.

    Parameters
    ----------
    world : World
        A world whose friction is not lagged.
    parameters : sequence of tuple (str, str, str)
        Numbers that have derivatives: ``("body", name, field)`` with a field of "young",
        "poisson", "density", "mass_damping", "stiffness_damping", "friction", "dissipation_time"
        and "contact_stiffness", or the arrays "loads" and "pressures"; or ``("plane", name,
        field)`` with "friction" or "dissipation_time".

    Returns
    -------
    SoftLinearization
        The state after the step, and its derivatives by that before it.

    Raises
    ------
    StepError
        If the step cannot be taken.
    TypeError, ValueError
        For a wrong argument, and a world whose steps have no derivatives; the text says why.

    Notes
    -----
    The equations are differentiated with the exact stiffness, damping and contact geometry, as if
    they were solved exactly: a step of several passes has these derivatives up to its residual.
    Where contacts stick, they leave out a part of at most sigma with models of several passes: how
    the weights w of the regularization follow from the velocities.

    Examples
    --------
    >>> from sapwood import fem
    >>> foam = fem.Material(young=1e5, poisson=0.3, density=1000.0)
    >>> body = fem.SoftBody(fem.box([0.1] * 3, 1), foam)
    >>> world = fem.World([body], gravity=[0, 0, -10], time_step=0.1)
    >>> found = fem.linearize(world, [("body", "soft", "density")])
    >>> up = np.full((8, 3), [0, 0, 1 / 8])
    >>> gradient = found.vjp(velocities=[up])
    >>> print(gradient.velocities[0].sum().round(6), gradient.loads[0][0, 2].round(3))
    1.0 0.1
    """
    check_world(world)
    return SoftLinearization(world, parameters)


def check_world(world: World) -> None:
    """Check that the steps of a world have derivatives.

    Parameters
    ----------
    world : World
        The world.

    Raises
    ------
    TypeError, ValueError
        If they have none; the text says why.
    """
    if not isinstance(world, World):
        raise TypeError(f"world must be a World, not {type(world).__name__}")
    if world.settings.friction == "lagged":
        raise ValueError("settings.friction = 'lagged': its bounds are of the step before")


def _shaped(flat: Sequence[_Float]) -> _Fields:
    return tuple(each.reshape(-1, 3) for each in flat)

"""The start of a step with soft bodies, and derivatives of its equations by that of the model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.base.blocks import offsets
from sapwood.base.checks import instance
from sapwood.fem.bodies import SoftBody
from sapwood.fem.body_step import BodyStep
from sapwood.fem.derivatives.linear_step import Response
from sapwood.fem.derivatives.slopes import central_difference
from sapwood.fem.derivatives.soft_equations import Equations, copied
from sapwood.fem.meetings import Hold, Meeting
from sapwood.fem.passes import step_result
from sapwood.fem.reduction import Pass, Reduction
from sapwood.fem.rigid_bodies import HalfSpace
from sapwood.fem.state import SoftState
from sapwood.mujoco.gradients.step_differences import StateChanges
from sapwood.mujoco.reading.engine import engine
from sapwood.mujoco.reading.parameters import StepParameters
from sapwood.mujoco.stepping.soft_steps import IMPLICIT_EULER, SoftSteps
from sapwood.solver import SapSolver

_Float = NDArray[np.float64]

VELOCITY_WIDTH = 1e-5
"""Half of a difference of a velocity of the model, m/s or rad/s."""
INPUT_WIDTH = 1e-6
"""Half of a difference of an activation or a control."""
# the same of a position for sensors
_POSITION = 1e-6
# place of the sensors in the numbers that are differentiated
_SENSORS = 4
# the sides of a difference of a position differ by this part of the largest slope only at a jump
_JUMP = 1e-2


def own_parameters(parameters: StepParameters, state: SoftState | None = None) -> StepParameters:
    """Parameters with soft bodies of their own.

    Parameters
    ----------
    parameters : StepParameters
        Parameters of a stepper with soft bodies.
    state : SoftState, optional
        State of the soft bodies; by default that of the given ones.

    Returns
    -------
    StepParameters
        The same otherwise.

    Raises
    ------
    ValueError
        If the state is one of other bodies.
    """
    own = parameters.for_thread(parameters.model)
    assert own.soft is not None
    assert parameters.soft is not None
    own.soft.bodies = tuple(map(copied, parameters.soft.bodies))
    own.soft.time = parameters.soft.time
    if state is not None:
        instance(state, SoftState, "soft_state").restore(own.soft.bodies)
        own.soft.time = state.time
    return own


def own_steps(parameters: StepParameters) -> SoftSteps:
    """Steps of the same model with soft bodies of their own, in the same state.

    Parameters
    ----------
    parameters : StepParameters
        Parameters of a stepper with soft bodies.

    Returns
    -------
    SoftSteps
        The steps, which remember no earlier ones.
    """
    return SoftSteps(own_parameters(parameters), engine())


class StepEnd(NamedTuple):
    """The end of a step."""

    v: Sequence[_Float]
    """Velocities (n, 3) of each body and flex, m/s."""
    rigid: _Float
    """Velocities (n_rigid,) of the trees of the model without flexes."""
    gamma: _Float
    """Impulses (n, 3) of the contacts of soft bodies along their frames, N s."""

    def moved(self, change: Response, by: float) -> StepEnd:
        """The end after a part of a change."""
        v = [x + by * more for x, more in zip(self.v, change.soft, strict=True)]
        return StepEnd(v, self.rigid + by * change.rigid, self.gamma + by * change.gamma)


class ModelVelocities:
    """Velocities of a model, by those of its trees and of the vertices of its flexes.

    Parameters
    ----------
    steps : SoftSteps
        Steps of the model.
    """

    def __init__(self, steps: SoftSteps) -> None:
        self._dofs, self._flex_steps = steps._trees.dofs, steps._flex_steps
        self.nv = int(steps._model.nv)

    def split(self, v: _Float) -> tuple[list[_Float], _Float]:
        """Split velocities (nv,) into those of the vertices (n, 3) of flexes, and of trees."""
        fields = []
        for step in self._flex_steps:
            field = np.zeros_like(step.start)
            field[step.flex.free] = step.to_world(v[step.flex.dofs])
            fields.append(field)
        return fields, v[self._dofs]

    def join(self, flexes: Sequence[_Float], rigid: _Float) -> _Float:
        """Join what :meth:`split` splits."""
        v = np.zeros(self.nv)
        v[self._dofs] = rigid
        for step, each in zip(self._flex_steps, flexes, strict=True):
            v[step.flex.dofs] = step.to_slides(each)
        return v


class SoftStart:
    """The start of a step, as :class:`sapwood.fem.derivatives.soft_equations.Start` has it.

    Parameters
    ----------
    steps : SoftSteps
        Steps of their own; no step of them is taken.
    data : mujoco.MjData
        The state of the model, which may be changed.

    Attributes
    ----------
    model : mujoco.MjModel
        The model.
    """

    def __init__(self, steps: SoftSteps, data: mujoco.MjData) -> None:
        self._soft, self._data, self.model = steps, data, steps._model
        self._steps: list[BodyStep] = steps._steps
        self.bodies: tuple[SoftBody, ...] = steps.soft.bodies
        self.planes: tuple[HalfSpace, ...] = ()
        self.time_step, self.scheme = steps._parameters.time_step, IMPLICIT_EULER
        self.gravity = steps._gravity()
        self._solver = SapSolver(steps._parameters.settings)
        self._holds: list[Hold] = []

    @property
    def met(self) -> list[int]:
        """Bodies of the model that the first meetings found are with; -1 for other flexes."""
        return self._soft._met

    @property
    def held(self) -> list[int]:
        """Bodies of the model that hold vertices, attachment by attachment."""
        return self._soft._held

    @property
    def centres(self) -> _Float:
        """Centres of mass (nbody, 3) of the bodies of the model."""
        return np.array(self._data.xipos)

    def follow(self) -> None:
        """Take over the state of the data: its smooth forces, and the problem without soft bodies.

        Raises
        ------
        StepError
            If the state or the forces are not finite.
        """
        self._soft._stages.evaluate(self._data)
        self._rigid = self._soft._gather(self._data)

    def residual(self, v: _Float, loads: Sequence[_Float]) -> _Float:
        """Residual of the momenta of the model at given velocities, without contact of soft bodies.

        Parameters
        ----------
        v : ndarray (n_rigid,)
            Velocities of the trees of the model without flexes at the end of the step.
        loads : sequence of ndarray (n, 3)
            Impulses that move the vertices of each attachment to a moving body.

        Returns
        -------
        ndarray (n_rigid,)
            A (v - v*) - J^T gamma(J v) + J^T loads.
        """
        found = np.array(self._solver.evaluate(self._rigid, v).gradient)
        for hold, load in zip(self._holds, loads, strict=True):
            found[self._dofs(hold)] += np.einsum("nij,ni->j", hold.J, load)
        return found

    def held_velocities(self, v: _Float) -> _Float:
        """Velocities of the vertices of all attachments to moving bodies, hold by hold, flat."""
        parts = [hold.J @ v[self._dofs(hold)] + hold.c for hold in self._holds]
        return np.concatenate([np.zeros(0), *map(np.ravel, parts)])

    def _dofs(self, hold: Hold) -> slice:
        begin, end = offsets(self._rigid.tree_nv)[hold.tree : hold.tree + 2].tolist()
        return slice(begin, end)

    def _find_contacts(self) -> list[Meeting]:
        for step in self._soft._soft_steps:
            step.begin(self.time_step, self.scheme, self.gravity)
        self._holds = self._soft._find_holds(self._data)
        return self._soft._find_meetings(self._data)

    def _reduction_of(self, meetings: Sequence[Meeting]) -> Reduction:
        return self._soft._reduction_of(self._rigid, list(meetings), self._holds)

    def sensors(self) -> _Float:
        """Sensors (n_sensors,) of positions and velocities at the state."""
        if self.model.nsensordata:
            mujoco.mj_sensorPos(self.model, self._data)
            mujoco.mj_sensorVel(self.model, self._data)
        return np.array(self._data.sensordata)

    def step_sensors(
        self, equations: Equations, end: StepEnd, loads: _Float | None = None
    ) -> _Float:
        """Sensors of a step from the state.

        Parameters
        ----------
        equations : Equations
            The equations of the step, which follow this start.
        end : StepEnd
            The end of the step. Contacts of the model alone have the forces of the law there.
        loads : ndarray (nbody, 6), optional
            Forces, and torques about the centres of mass, that act on the bodies beside those of
            the soft bodies.

        Returns
        -------
        ndarray (n_sensors,)
            The sensors; NaN if contacts of soft bodies came or went.
        """
        soft, data = self._soft, self._data
        reduction = equations.reduction(self._find_contacts())
        if reduction is None:
            return np.full(self.model.nsensordata, np.nan)
        solution = self._solver._impulses(self._rigid, end.rigid)
        gamma = reduction.impulses_in_world(end.gamma)
        forces = Pass(list(end.v), reduction.loads_of(gamma), gamma, end.rigid, solution)
        for hold in reduction.holds:
            momentum = equations.momentum(hold.body, end.v[hold.body]).reshape(-1, 3)
            forces.loads.append((momentum - forces.impulses[hold.body])[hold.vertices])
        self.sensors()
        result = step_result(reduction, forces, 1, np.inf)
        soft._write_loads(data, forces, self._rigid, result, loads)
        return np.array(data.sensordata)

    def activations(self) -> _Float:
        """Activations after the step; positions and velocities of the data are changed."""
        if self._data.act.size:
            mujoco.mj_Euler(self.model, self._data)
        return np.array(self._data.act)


class ModelSlopes(NamedTuple):
    """Derivatives by (dq, v, act, ctrl, numbers of the model)."""

    momenta: _Float
    """Derivative of :meth:`SoftStart.residual` (n_rigid, n)."""
    flexes: _Float
    """Derivatives of the residuals of the momenta of the flexes, one behind the other."""
    contacts: _Float
    """Derivatives of the numbers of contacts of soft bodies."""
    held: _Float
    """Derivatives of :meth:`SoftStart.held_velocities`."""
    activations: _Float
    """Derivatives of the activations after the step (na, n)."""
    sensors: _Float
    """Derivatives of :meth:`SoftStart.sensors` (n_sensors, n)."""
    jumps: bool
    """Whether contact points of the model jump within a difference."""


#: starts of the same step in which a number of the model is larger, and smaller, and the width of
#: the difference; the smaller one is None for a number that is 0
NumberSides = tuple[SoftStart, SoftStart | None, float]


def model_slopes(
    start: SoftStart,
    equations: Equations,
    changes: StateChanges,
    v: _Float,
    loads: Sequence[_Float],
    length: float,
    numbers: Iterable[NumberSides] = (),
) -> ModelSlopes:
    """Differentiate the equations of a step by the state of the model, controls and numbers.

    Parameters
    ----------
    start : SoftStart
        The start of the step; in the end it follows the state before the differences.
    equations : Equations
        The equations of the soft bodies.
    changes : StateChanges
        Changes the data of the start.
    v, loads
        As of :meth:`SoftStart.residual`.
    length : float
        Half of a difference of a position, m or rad.
    numbers : iterable of NumberSides
        Numbers of the model, each by starts with the same data.

    Returns
    -------
    ModelSlopes
        The derivatives.
    """

    def find(start: SoftStart) -> list[_Float]:
        equations.follow(start)
        start.follow()
        contacts = equations.contacts()  # finds the attachments too
        of_flexes = [equations.momentum(b) for b in range(len(start.bodies), len(start._steps))]
        return [
            start.residual(v, loads),
            np.concatenate([np.zeros(0), *of_flexes]),
            contacts,
            start.held_velocities(v),
            start.sensors(),
            start.activations(),
        ]

    def add_column(high: list[_Float], low: list[_Float], change: float) -> None:
        sides, width = zip(high, centre, low, strict=True), np.array(change or np.inf)
        columns.append([central_difference(a, c, b, width) for a, c, b in sides])

    def differentiate_sensors(i: int) -> _Float:
        sides = []
        for by in (_POSITION, -_POSITION):
            made = changes.change(i, by)
            start.follow()
            sides.append((made, start.sensors()))
        (above, high), (below, low) = sides
        return (high - low) / (above - below)

    centre, bends = find(start), [0.0]
    columns: list[list[_Float]] = []
    model = start.model
    for i in range(2 * model.nv + model.na + model.nu):
        h = length if i < model.nv else VELOCITY_WIDTH if i < 2 * model.nv else INPUT_WIDTH
        low = changes.change(i, -h), find(start)
        high = changes.change(i, h), find(start)
        add_column(high[1], low[1], high[0] - low[0])
        if i < model.nv:
            bend = np.abs(high[1][0] + low[1][0] - 2 * centre[0])
            bends.append(np.max(bend, initial=0.0) / h)
        if i < model.nv and model.nsensordata:  # they have no kinks at those of contacts
            columns[-1][_SENSORS] = differentiate_sensors(i)
    unknown = [np.full_like(part, np.nan) for part in centre]
    for above, below, width in numbers:
        changes.restore()
        larger = find(above)
        changes.restore()
        add_column(larger, unknown if below is None else find(below), width)
    changes.restore()
    find(start)
    changes.restore()
    momenta, flexes, contacts, held, sensors, activations = (
        np.array([column[k] for column in columns]).reshape(len(columns), part.size).T
        for k, part in enumerate(centre)
    )
    largest = np.max(np.abs(momenta[:, : model.nv]), initial=0.0)
    jumps = bool(max(bends) > _JUMP * largest)
    return ModelSlopes(momenta, flexes, contacts, held, activations, sensors, jumps)

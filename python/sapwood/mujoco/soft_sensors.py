"""Derivatives of the sensors of forces and accelerations of a step with soft bodies.

By the state and the numbers of soft bodies, these sensors follow from few numbers at the end of the
step: the velocities of the model, and the loads of soft bodies (:mod:`.soft_loads`). Reverse mode
finds the derivatives of each such number, and differences those of the sensors by it.

By the state of the model, and along directions, a side of a difference has the changed start of a
step, and the end that follows by the linearized step, so that no side needs a solve. Contacts of
soft bodies have the impulses that follow too: where they stick, the law would turn round-off of
velocities into forces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.fem.derivatives.linear_step import Response
from sapwood.fem.derivatives.slopes import central_difference
from sapwood.fem.derivatives.soft_equations import Equations
from sapwood.fem.derivatives.soft_numbers import SoftNumber
from sapwood.mujoco.gradients.model_numbers import ModelNumber
from sapwood.mujoco.gradients.step_differences import StateChanges
from sapwood.mujoco.soft_loads import SoftLoads, scaled_directions
from sapwood.mujoco.soft_start import (
    INPUT_WIDTH,
    VELOCITY_WIDTH,
    ModelVelocities,
    NumberSides,
    SoftStart,
    StepEnd,
)
from sapwood.mujoco.step_numbers import unit_changes

_Float = NDArray[np.float64]

# velocities change by at most this part of the way to another region of the law of contact, but
# differences are not narrower than by the least factor
_PART, _LEAST_FACTOR = 0.1, 1e-3
# half of a difference of a load on a body, N or N m, and of the impulse of a contact, N s
_FORCE_WIDTH, _IMPULSE_WIDTH = 1e-3, 1e-5
# half of a difference of a number over its size, least size, and the same of a load, N or N/m^2
_NUMBER, _SMALL, _LOAD = 1e-5, 1e-2, 1e-3


class SolvedStep(NamedTuple):
    """The equations of a step at its end, with what changes its start."""

    start: SoftStart
    """The start, which is as before after each change."""
    equations: Equations
    """The equations, which follow the start."""
    changes: StateChanges
    """Changes the data of the start."""
    end: StepEnd
    """The end."""
    length: float
    """Half of a difference of a position of the model, m or rad."""
    distance: float
    """Least change of velocity, m/s, by which a contact comes to another region."""


class EndChanges(NamedTuple):
    """How the end of a step changes with its start."""

    respond: Callable[..., Response]
    """Finds the change of the end, from those of the state, the controls and numbers by label; what
    is None or missing stays."""
    pull: Callable[..., tuple[_Float, _Float]]
    """Finds dL/d of the state and of the numbers of soft bodies, each flat, from dL/d of the
    velocities of the model, the impulses of soft contacts and m at the end."""
    velocities: ModelVelocities
    """Those of the model."""


class StepSensors:
    """Derivatives of the sensors of a step.

    Parameters
    ----------
    step : SolvedStep
        The step.
    early : ndarray (n_sensors, n)
        Derivatives of the sensors of positions and velocities, by :class:`ModelSlopes`.
    numbers : sequence of SoftNumber or ModelNumber
        Numbers of soft bodies and of the model.
    sides : callable
        Makes starts with a changed number of the model, see :func:`number_sides`.
    of_end : EndChanges
        Changes of the end of the step.
    """

    def __init__(
        self,
        step: SolvedStep,
        early: _Float,
        numbers: Sequence[SoftNumber | ModelNumber],
        sides: Callable[[ModelNumber], NumberSides],
        of_end: EndChanges,
    ) -> None:
        self._step, self._early, self._numbers, self._sides = step, early, numbers, sides
        self._respond, self._of_end = of_end.respond, of_end
        start, model = step.start, step.start.model
        self._n_model, self._nu = 2 * model.nv + model.na, model.nu
        # columns of the numbers of the model
        is_own = [not isinstance(number, SoftNumber) for number in numbers]
        self._columns = self._n_model + model.nu + np.cumsum(is_own) - 1
        self._late = _sensors_of_forces(model)
        self._centre = self._at(start, None, 0.0) if self._late.size else np.zeros(0)

    def matrices(self, size: int) -> tuple[_Float, _Float, _Float]:
        """Form the derivatives by a state of this size, by the controls and by the numbers.

        Parameters
        ----------
        size : int
            Length of the state.

        Returns
        -------
        C, D, P : ndarray (n_sensors, size), (n_sensors, nu), (n_sensors, n_numbers)
            The derivatives, with a column for each number of an array.
        """
        n_state, n = self._n_model, len(self._early)
        C, D, P = np.zeros((n, size)), np.zeros((n, self._nu)), []
        for i, dx in enumerate(np.eye(n_state, size)):
            C[:, i] = self.by_state(dx)
        for i in range(self._nu):
            D[:, i] = self.by_control(i)
        of_soft = np.zeros((n, size - n_state)), np.zeros((n, 0))
        if self._late.size and size > n_state:
            of_state, of_numbers = self._by_soft_bodies()
            of_soft = np.zeros_like(of_soft[0]), np.zeros((n, of_numbers.shape[1]))
            of_soft[0][self._late], of_soft[1][self._late] = of_state, of_numbers
        C[:, n_state:], begin = of_soft[0], 0
        for k, number in enumerate(self._numbers):
            if isinstance(number, SoftNumber):
                end = begin + number.value.size
                P.append(of_soft[1][:, begin:end])
                begin = end
            else:
                P += [self.by_number(k, change)[:, None] for change in unit_changes(number.value)]
        return C, D, np.concatenate([np.zeros((n, 0)), *P], axis=1)

    def _by_soft_bodies(self) -> tuple[_Float, _Float]:
        """Derivatives of the late sensors by the state and the numbers of soft bodies."""
        step, of_end = self._step, self._of_end
        still = np.zeros(of_end.velocities.nv)
        loads = SoftLoads(step.start, step.equations, step.end)
        slopes, pulled = [], []
        for row in loads.rows():
            of_state, of_numbers = of_end.pull(still, row.gamma, row.m)
            of_state[: row.positions.size] += row.positions
            pulled.append((of_state, of_numbers))
            load = np.zeros((step.start.model.nbody, 6))
            load[row.body, row.axis] = 1.0
            slopes.append(self._difference(_stay, _FORCE_WIDTH, load=load))
        gamma = np.zeros_like(step.end.gamma)
        for i in range(3 * len(loads.flex_contacts)):
            bar = gamma.copy()
            bar[loads.flex_contacts[i // 3], i % 3] = 1.0
            pulled.append(of_end.pull(still, bar))
            slopes.append(self._difference(_stay, _IMPULSE_WIDTH, self._end_change(still, bar)))
        by_velocity = [np.concatenate(of_end.pull(bar)) for bar in np.eye(len(still))]
        n_state = sum(2 * body.positions.size for body in step.start.bodies)
        if by_velocity:
            directions, shares = scaled_directions(np.array(by_velocity))
            width = VELOCITY_WIDTH / max(float(np.max(np.abs(directions), initial=0.0)), 1e-300)
            for v, share in zip(directions.T, shares, strict=True):
                slopes.append(self._difference(_stay, width, self._end_change(v, gamma)))
                pulled.append((share[:n_state], share[n_state:]))
        n_numbers = sum(each.value.size for each in self._numbers if isinstance(each, SoftNumber))
        if not pulled:
            return np.zeros((self._late.size, n_state)), np.zeros((self._late.size, n_numbers))
        by_end = np.array(slopes).T
        states, numbers = zip(*pulled, strict=True)
        return by_end @ np.array(states), by_end @ np.array(numbers)

    def _end_change(self, v: _Float, gamma: _Float) -> Response:
        """A change of the velocities of the model and the impulses of soft contacts alone."""
        of_flexes, rigid = self._of_end.velocities.split(v)
        still = [np.zeros_like(body.positions) for body in self._step.start.bodies]
        return Response((*still, *of_flexes), rigid, gamma)

    # ---- changes of the start ----

    def by_state(self, change: _Float) -> _Float:
        """Derivatives along a change of the state.

        Parameters
        ----------
        change : ndarray (size,)
            The change, as of :class:`SoftStepLinearization`.

        Returns
        -------
        ndarray (n_sensors,)
            The derivatives.
        """
        of_model, of_soft = np.split(change, [self._n_model])
        found = self._early[:, : self._n_model] @ of_model
        h = self._state_width(of_model, of_soft)
        if self._late.size and h > 0.0:
            bodies, changes = self._step.start.bodies, self._step.changes
            fields = [body.positions for body in bodies] + [body.velocities for body in bodies]
            before = [field.copy() for field in fields]
            parts = np.split(of_soft, np.cumsum([field.size for field in fields]))

            def move(by: float) -> float:
                changes.move(of_model, by)
                for field, x, part in zip(fields, before, parts, strict=False):
                    field[:] = x + by * part.reshape(-1, 3)
                return by

            found[self._late] = self._difference(move, h, self._respond(change))
            move(0.0)
        return found

    def by_control(self, i: int) -> _Float:
        """Derivatives by a control.

        Parameters
        ----------
        i : int
            The control.

        Returns
        -------
        ndarray (n_sensors,)
            The derivatives.
        """
        column = self._n_model + i
        found = self._early[:, column].copy()
        if self._late.size:
            changes = self._step.changes
            response = self._respond(None, np.eye(1, self._nu, i)[0])
            slope = self._difference(lambda by: changes.change(column, by), INPUT_WIDTH, response)
            found[self._late] = slope
        return found

    def by_number(self, k: int, change: _Float) -> _Float:
        """Derivatives along a change of a number, or an array.

        Parameters
        ----------
        k : int
            The number.
        change : ndarray
            Its change; 1 for a number of the model.

        Returns
        -------
        ndarray (n_sensors,)
            The derivatives.
        """
        number = self._numbers[k]
        if isinstance(number, SoftNumber):
            found = np.zeros(len(self._early))
            if self._late.size:
                found[self._late] = self._by_soft_number(number, change)
            return found
        found = self._early[:, self._columns[k]].copy()
        if self._late.size:
            found[self._late] = self._by_model_number(number)
        return found

    def _by_soft_number(self, number: SoftNumber, change: _Float) -> _Float:
        if not number.is_load:  # along its increase, since it may be at the end of a range
            return float(change) * self._along_soft_number(number, np.ones(()))
        size = float(np.max(np.abs(change), initial=0.0))
        if size == 0.0:
            return np.zeros(self._late.size)
        return size * self._along_soft_number(number, change / size)

    def _along_soft_number(self, number: SoftNumber, unit: _Float) -> _Float:
        start, changes, value = self._step.start, self._step.changes, np.array(number.value)

        def move(by: float) -> float:
            changes.restore()
            if number.is_load:
                getattr(start.bodies[number.i], number.field)[:] = value + by * unit
            else:
                number.set(start, float(value) + by)
            return by

        h = _LOAD if number.is_load else _NUMBER * max(abs(float(value)), _SMALL)
        is_range_end = not number.is_load and number.field != "poisson" and bool(value < h)
        response = self._respond(None, None, {number.label: unit})
        found = self._difference(move, h, response, upwards=is_range_end)
        move(0.0)
        return found

    def _by_model_number(self, number: ModelNumber) -> _Float:
        response = self._respond(None, None, {number.label: 1.0})
        above, below, width = self._sides(number)
        found = []
        for start, by in ((above, width / 2), (below, -width / 2)):
            self._step.changes.restore()
            found.append(
                np.full_like(self._centre, np.nan)
                if start is None
                else self._at(start, response, by)
            )
        self._return()
        return central_difference(found[0], self._centre, found[1], np.array(width))

    # ---- differences ----

    def _state_width(self, of_model: _Float, of_soft: _Float) -> float:
        """Half of a difference along a change of the state; 0 for none."""
        step = self._step
        width = min((step.equations.width(b) for b in range(len(step.start.bodies))), default=1.0)
        nv = step.start.model.nv
        parts = [*np.split(of_model, [nv, 2 * nv]), *np.split(of_soft, 2)]
        speed = width / step.start.time_step
        limits = step.length, VELOCITY_WIDTH, INPUT_WIDTH, width, speed
        sizes = [float(np.max(np.abs(part), initial=0.0)) for part in parts]
        return min((a / b for a, b in zip(limits, sizes, strict=True) if b > 0), default=0.0)

    def _difference(
        self,
        move: Callable[[float], float],
        h: float,
        response: Response | None = None,
        *,
        upwards: bool = False,
        load: _Float | None = None,
    ) -> _Float:
        """Central difference of the sensors; `move` changes the start, and returns by how much.

        The end changes with the response, and bodies have a part of the load.
        """
        speeds = [] if response is None else [*response.soft, response.rigid]
        speed = max((float(np.max(np.abs(x), initial=0.0)) for x in speeds), default=0.0)
        if speed * h > _PART * self._step.distance:
            h = max(_PART * self._step.distance / speed, _LEAST_FACTOR * h)
        above = move(h)
        high = self._at(self._step.start, response, above, load)
        below = -h if upwards else move(-h)
        low = self._none() if upwards else self._at(self._step.start, response, below, load)
        self._return()
        if above == below:
            return np.zeros_like(high)
        return central_difference(high, self._centre, low, np.array(above - below))

    def _none(self) -> _Float:
        return np.full_like(self._centre, np.nan)

    def _return(self) -> None:
        """Follow the start of the step again."""
        self._step.changes.restore()
        self._step.equations.follow(self._step.start)

    def _at(
        self, start: SoftStart, change: Response | None, by: float, load: _Float | None = None
    ) -> _Float:
        """Late sensors of a changed start, whose end and loads change by so much."""
        step = self._step
        step.equations.follow(start)
        start.follow()
        end = step.end if change is None else step.end.moved(change, by)
        more = None if load is None else by * load
        return start.step_sensors(step.equations, end, more)[self._late]


def _stay(by: float) -> float:
    return by


def _sensors_of_forces(model: mujoco.MjModel) -> NDArray[np.intp]:
    """Places in ``sensordata`` of the sensors that follow from forces or accelerations."""
    contact = getattr(mujoco.mjtSensor, "mjSENS_CONTACT", None)
    late = model.sensor_needstage == int(mujoco.mjtStage.mjSTAGE_ACC)
    if contact is not None:
        late |= model.sensor_type == int(contact)
    return np.flatnonzero(np.repeat(late, model.sensor_dim))

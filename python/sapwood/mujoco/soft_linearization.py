"""The derivative of a step of a MuJoCo model with soft bodies or elastic flexes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Literal

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.model_data import check_data
from sapwood.fem.derivatives.linear_step import Adjoint, LinearStep, Response
from sapwood.fem.derivatives.slopes import Slopes
from sapwood.fem.derivatives.soft_equations import Equations
from sapwood.fem.derivatives.soft_numbers import SoftNumber
from sapwood.fem.reduction import Pass, Reduction
from sapwood.fem.state import SoftState
from sapwood.mujoco.gradients.manifold import integration_slopes
from sapwood.mujoco.gradients.model_numbers import Parameter, read_parameters
from sapwood.mujoco.gradients.state_copy import StateCopy
from sapwood.mujoco.gradients.step_differences import StateChanges
from sapwood.mujoco.linearizable import check_linearizable, difference_of
from sapwood.mujoco.reading.parameters import StepParameters
from sapwood.mujoco.soft_sensors import EndChanges, SolvedStep, StepSensors
from sapwood.mujoco.soft_start import (
    ModelVelocities,
    SoftStart,
    StepEnd,
    model_slopes,
    own_parameters,
    own_steps,
)
from sapwood.mujoco.step_numbers import number_sides, step_numbers
from sapwood.mujoco.stepper import Stepper

_Float = NDArray[np.float64]
_Fields = tuple[_Float, ...]

Status = Literal["ok", "near_kink"]

# Differences of positions are at most this part of the way to a kink, and at least so long, m. A
# force that slips slowly curves over that way: central differences over a part p are p^2 off.
_LARGEST_PART, _LEAST = 0.002, 1e-11


class SoftStepLinearization:
    """The derivative of one step of a stepper with soft bodies, which stays as it is.

    With x = (dq, v, act, positions, velocities), where dq (nv,) are small motions of qpos in the
    coordinates of the velocities and the last two are those of all vertices of the soft bodies,
    body after body, the step has dx' = A dx + B dctrl. The first three are in the order of
    ``mujoco.mjd_transitionFD``.

    The equations of the step are differentiated implicitly, as :func:`linearize` and
    :func:`sapwood.fem.linearize` do it: with the exact stiffness and contact geometry, as if they
    were solved exactly. The weights w of the regularization of soft contacts follow the soft
    bodies; how they follow from the positions of the model is left out, a small part of sigma.

    Parameters
    ----------
    stepper : Stepper
        As for :func:`linearize`, with soft bodies or elastic flexes.
    data : mujoco.MjData
        The state of the model and the controls, at the time of the state of the soft bodies; not
        changed. A control callback is not called.
    step : float or "auto"
        As for :func:`linearize`, but differences are at most 1/500 of the way to a boundary.
    parameters : sequence of tuple
        Numbers that have derivatives: of soft bodies, as :func:`sapwood.fem.linearize` takes them,
        and of the model, as :func:`linearize` does.
    soft_state : SoftState, optional
        State of the soft bodies; by default that of the stepper.

    Attributes
    ----------
    parameters : tuple of str
        Labels of the parameters, such as ``body/soft/young``.
    v : ndarray (nv,)
        Velocity of the model after the step.
    positions, velocities : tuple of ndarray (n, 3)
        State of each soft body after the step, m and m/s.
    result : SoftStepResult
        The outcome of the step.
    distance : float
        Least change of velocity, m/s or rad/s, by which a contact, or a row of joints, tendons or
        actuators, comes to another region of its law; infinite where none has another one.
    contacts : int
        Number of contacts with an impulse.
    status : {"ok", "near_kink"}
        ``near_kink``: contacts came or went within the differences, or a contact is so close to
        another region of its law that they may cross its boundary. Then the derivative may be that
        of neither side.

    Raises
    ------
    StepError
        If the step cannot be taken.
    TypeError, ValueError
        For a wrong argument, and a stepper whose steps have no derivative.

    Examples
    --------
    A block falls beside a slide with a motor:

    >>> import mujoco, sapwood
    >>> from sapwood import fem
    >>> model = mujoco.MjModel.from_xml_string('''
    ... <mujoco><worldbody><body><joint name="x" type="slide" axis="1 0 0"/>
    ... <geom size=".1" mass="2"/></body></worldbody>
    ... <actuator><motor joint="x"/></actuator></mujoco>''')
    >>> foam = fem.Material(young=1e5, poisson=0.3, density=1000.0)
    >>> pose = np.eye(4)
    >>> pose[2, 3] = 1.0
    >>> block = fem.SoftBody(fem.box([0.1] * 3, 1), foam, pose=pose)
    >>> stepper = sapwood.mujoco.Stepper(model, soft=[block], time_step=0.1)
    >>> found = SoftStepLinearization(stepper, mujoco.MjData(model))
    >>> bar = np.zeros(found.size)
    >>> bar[0] = 1.0
    >>> before, ctrl, _ = found.vjp(bar)
    >>> print(before[:2].round(6), ctrl.round(6))
    [1.  0.1] [0.005]
    """

    def __init__(
        self,
        stepper: Stepper,
        data: mujoco.MjData,
        *,
        step: float | Literal["auto"] = "auto",
        parameters: Sequence[Parameter] = (),
        soft_state: SoftState | None = None,
    ) -> None:
        largest = difference_of(step)
        check_linearizable(stepper, soft=True)
        stepper.follow()
        check_data(stepper.model, data)
        if stepper.parameters.soft is None:
            raise ValueError("stepper has no soft bodies: use linearize")
        own = own_parameters(stepper.parameters, soft_state)
        self._numbers = step_numbers(own, read_parameters(parameters))
        self.parameters = tuple(number.label for number in self._numbers)
        self._model, self._dt = stepper.model, stepper.parameters.time_step
        scratch = StateCopy(self._model).take(data)
        end = own_steps(own)
        end._check_soft(scratch)
        end._stages.evaluate(scratch)
        reduction = end._reduce(scratch)
        best, self.result = end._take_passes(scratch, reduction)
        self._linear = LinearStep(end._steps, reduction, best, stepper.settings)
        self._of_model = ModelVelocities(end)
        self.distance = self._linear.distance
        self.contacts = int(np.count_nonzero(self._linear.acts))
        self._differentiate(own, scratch, reduction, best, largest)
        for each, v in zip(end._soft_steps, best.v, strict=False):
            each.finish(v)
        self.v: _Float = end._velocities(best)
        self.positions: _Fields = tuple(body.positions for body in end.soft.bodies)
        self.velocities: _Fields = tuple(best.v[: len(end._soft_steps)])
        self._n_vertices = [len(v) for v in best.v]
        self._by_motion, self._by_velocity = integration_slopes(self._model, self.v, self._dt)

    def _differentiate(
        self,
        parameters: StepParameters,
        data: mujoco.MjData,
        reduction: Reduction,
        best: Pass,
        largest: float,
    ) -> None:
        """Differentiate the equations of the solved step by its start."""
        linear, steps = self._linear, reduction.steps
        start = SoftStart(own_steps(parameters), data)
        equations = Equations(start, reduction, best.v, linear.problem)
        loads = [
            steps[hold.body].momentum_residual(best.v[hold.body])[hold.vertices]
            for hold in reduction.holds
        ]
        way = _LARGEST_PART * linear.rigid_way()
        bodies = range(len(start.bodies))
        widths = map(equations.width, range(len(steps)))
        length = max(min(largest, way, *widths), _LEAST)
        changes = StateChanges(self._model, data)
        sides = number_sides(parameters, data, self._numbers)
        self._by_model = model_slopes(start, equations, changes, best.rigid, loads, length, sides)
        for b in linear.inexact:
            linear.slopes[b] = equations.by_end_velocities(b)
        self._by_positions = [equations.by_positions(b) for b in bodies]
        self._by_velocities = [equations.by_velocities(b) for b in bodies]
        self._by_numbers: dict[str, Slopes] = {
            number.label: equations.by_number(number)
            for number in self._numbers
            if isinstance(number, SoftNumber)
        }
        self._sensors = StepSensors(
            SolvedStep(
                start, equations, changes, StepEnd(best.v, best.rigid, linear.gamma), length,
                self.distance,
            ),
            self._by_model.sensors,
            self._numbers,
            lambda number: next(iter(number_sides(parameters, data, [number]))),
            EndChanges(
                lambda *changes: self._response(*changes)[0], self._pull_end, self._of_model
            ),
        )  # fmt: skip
        self._held = [(hold.body, hold.vertices) for hold in reduction.holds]
        self._attached = [
            np.concatenate([np.zeros(0, np.int32), *(each.vertices for each in body.attachments)])
            for body in start.bodies
        ]
        is_near = way < _LEAST or equations.jumps or self._by_model.jumps
        self.status: Status = "near_kink" if is_near else "ok"

    @property
    def size(self) -> int:
        """Length of x."""
        return self._n_model + 2 * sum(x.size for x in self.velocities)

    @property
    def numbers(self) -> dict[str, _Float]:
        """Values of the parameters, by label."""
        return {number.label: np.array(number.value) for number in self._numbers}

    @property
    def _n_model(self) -> int:
        return int(2 * self._model.nv + self._model.na)

    # ---- sensors ----

    def sensor_matrices(self) -> tuple[_Float, _Float, _Float]:
        """Form the derivatives of the sensors of the step, C, D and those by the parameters.

        Returns
        -------
        C : ndarray (n_sensors, size)
            By x before the step.
        D : ndarray (n_sensors, nu)
            By the controls.
        by_numbers : ndarray (n_sensors, n_numbers)
            By the parameters, with a column for each number of an array.
        """
        return self._sensors.matrices(self.size)

    def sensor_jvp(self, before: _Float, number: int, change: _Float) -> _Float:
        """Change of the sensors of the step with one of its start and of a parameter.

        Parameters
        ----------
        before : ndarray (size,)
            Change of x before the step.
        number : int
            Number of the parameter.
        change : ndarray
            Its change.

        Returns
        -------
        ndarray (n_sensors,)
            The change of the sensors.
        """
        return self._sensors.by_state(before) + self._sensors.by_number(number, change)

    # ---- reverse mode ----

    def vjp(self, after: ArrayLike) -> tuple[_Float, _Float, dict[str, _Float]]:
        """Reverse mode: from dL/dx after the step, dL/d of its start.

        Parameters
        ----------
        after : array_like (size,)
            dL/dx after the step.

        Returns
        -------
        before : ndarray (size,)
            dL/dx before it.
        ctrl : ndarray (nu,)
            dL/d of the controls.
        parameters : dict of str to ndarray
            dL/d of the parameters, each in its own shape.

        Raises
        ------
        TypeError, ValueError
            For an array of wrong type or shape, or that is not finite.
        numpy.linalg.LinAlgError
            If the linearized equations are singular.
        """
        bar = _core.as_float64(after, "after", (self.size,), "finite")
        nv, n_model = self._model.nv, self._n_model
        q, v, act = np.split(bar[:n_model], [nv, 2 * nv])
        x, u = self._fields(bar)
        soft = [velocity + self._dt * position for position, velocity in zip(x, u, strict=True)]
        rigid = v + q @ self._by_velocity
        found = self._solve_transposed(soft, rigid)
        by_model = self._pull(found) + act @ self._by_model.activations
        by_model[:nv] += q @ self._by_motion
        by_x, by_u = self._pull_states(found)
        fields = [p + more for p, more in zip(x, by_x, strict=True)] + by_u
        before = np.concatenate([by_model[:n_model], *map(np.ravel, fields)])
        ctrl, by_numbers = np.split(by_model[n_model:], [self._model.nu])
        return before, ctrl, self._pull_numbers(found, by_numbers)

    def _solve_transposed(self, soft: list[_Float], rigid: _Float, *more: Any) -> Adjoint:
        """From dL/d of the end of the step, dL/d of its equations."""
        of_flexes, of_trees = self._of_model.split(rigid)
        return self._linear.solve_transposed((*soft, *of_flexes), of_trees, *more)

    def _pull_end(self, v: _Float, *more: Any) -> tuple[_Float, _Float]:
        """DL/d of the state and the numbers of the soft bodies, flat, from dL/d of the end."""
        found = self._solve_transposed(list(map(np.zeros_like, self.velocities)), v, *more)
        by_x, by_u = self._pull_states(found)
        by_number = self._pull_numbers(found, np.zeros(len(self._numbers)))
        numbers = [by_number[label].ravel() for label in self._by_numbers]
        return np.concatenate([x.ravel() for x in by_x + by_u]), np.concatenate([v[:0], *numbers])

    def _pull(self, found: Adjoint) -> _Float:
        """DL/d of (dq, v, act, ctrl, numbers of the model), by the equations."""
        slopes, n = self._by_model, len(self.velocities)
        held = np.concatenate([np.zeros(0), *(found.told[b][v].ravel() for b, v in self._held)])
        of_flexes = np.concatenate([np.zeros(0), *map(np.ravel, found.soft[n:])])
        by_model: _Float = found.contacts @ slopes.contacts + held @ slopes.held
        return by_model - of_flexes @ slopes.flexes - found.rigid @ slopes.momenta

    def _pull_states(self, found: Adjoint) -> tuple[list[_Float], list[_Float]]:
        """DL/d of positions and velocities of the soft bodies, by the equations."""
        by_x, by_u = [], []
        for b in range(len(self.velocities)):
            bar, told = found.soft[b], found.told[b]
            numbers = np.concatenate([-bar.ravel(), found.contacts])
            position = self._by_positions[b].pull(numbers).reshape(-1, 3)
            # attached vertices come to their places in the step
            position[self._attached[b]] -= told[self._attached[b]] / self._dt
            by_x.append(position)
            velocity = self._by_velocities[b]
            by_u.append(velocity.pull(numbers[: velocity.shape[0]]).reshape(-1, 3))
        return by_x, by_u

    def _pull_numbers(self, found: Adjoint, of_model: _Float) -> dict[str, _Float]:
        """DL/d of the parameters, by the equations and from those of the model."""
        soft = found.soft[: len(self.velocities)]
        numbers = np.concatenate([*(-bar.ravel() for bar in soft), found.contacts])
        rest = iter(of_model)
        return {
            number.label: self._by_numbers[number.label].pull(numbers).reshape(number.value.shape)
            if isinstance(number, SoftNumber)
            else np.array(next(rest))
            for number in self._numbers
        }

    # ---- forward mode ----

    def jvp(
        self,
        before: ArrayLike,
        ctrl: ArrayLike | None = None,
        parameters: Mapping[str, ArrayLike] = MappingProxyType({}),
    ) -> _Float:
        """Forward mode: the change of x after the step with one of its start.

        Parameters
        ----------
        before : array_like (size,)
            Change of x before the step.
        ctrl : array_like (nu,), optional
            Change of the controls; 0 where it is None.
        parameters : mapping of str to array_like, optional
            Changes of parameters, by label, each in its own shape.

        Returns
        -------
        ndarray (size,)
            Change of x after it.

        Raises
        ------
        TypeError, ValueError
            For arrays of wrong type or shape, values that are not finite, and unknown labels.
        numpy.linalg.LinAlgError
            If the linearized equations are singular.
        """
        dx = _core.as_float64(before, "before", (self.size,), "finite")
        found, change = self._response(dx, ctrl, parameters)
        nv, (x, _) = self._model.nv, self._fields(dx)
        soft = found.soft
        v = self._of_model.join(soft[len(x) :], found.rigid)
        motion = self._by_motion @ dx[:nv] + self._by_velocity @ v
        model = motion, v, self._by_model.activations @ change
        moved = [q + self._dt * each for q, each in zip(x, soft, strict=False)]
        return np.concatenate([*model, *map(np.ravel, moved), *map(np.ravel, soft[: len(x)])])

    def _response(
        self,
        before: _Float | None,
        ctrl: ArrayLike | None = None,
        parameters: Mapping[str, ArrayLike] = MappingProxyType({}),
    ) -> tuple[Response, _Float]:
        """Change of the end of the step, and that of (dq, v, act, ctrl, numbers of the model)."""
        nu, dx = self._model.nu, np.zeros(self.size) if before is None else before
        du = np.zeros(nu) if ctrl is None else _core.as_float64(ctrl, "ctrl", (nu,), "finite")
        for label in parameters:
            if label not in self.parameters:
                raise ValueError(f"parameters[{label!r}]: must be one of {self.parameters}")
        numbers = {
            number.label: _core.as_float64(
                parameters.get(number.label, np.zeros_like(number.value)),
                f"parameters[{number.label!r}]",
                np.shape(number.value),
                "finite",
            )
            for number in self._numbers
        }
        of_model = [
            np.ravel(numbers[number.label])
            for number in self._numbers
            if not isinstance(number, SoftNumber)
        ]
        change = np.concatenate([dx[: self._n_model], du, *of_model])
        x, u = self._fields(dx)
        told = self._push_told(change, x)
        m, contacts = self._push(change, x, u, numbers)
        momenta = self._by_model.momenta @ change
        return self._linear.solve_forward(m, contacts, momenta, told), change

    def _push_told(self, change: _Float, x: list[_Float]) -> _Fields:
        """Changes of the velocities of held vertices."""
        told = [np.zeros((n, 3)) for n in self._n_vertices]
        for b, (attached, moved) in enumerate(zip(self._attached, x, strict=True)):
            told[b][attached] -= moved[attached] / self._dt
        begin, held = 0, self._by_model.held @ change
        for b, vertices in self._held:
            end = begin + 3 * len(vertices)
            told[b][vertices] += held[begin:end].reshape(-1, 3)
            begin = end
        return tuple(told)

    def _push(
        self, change: _Float, x: list[_Float], u: list[_Float], numbers: dict[str, _Float]
    ) -> tuple[_Fields, _Float]:
        """Changes of m of the soft bodies and the flexes, and of the numbers of their contacts."""
        contacts, m = self._by_model.contacts @ change, [np.zeros(each.size) for each in x]
        for b, changes in enumerate(zip(x, u, strict=True)):
            by = self._by_positions[b], self._by_velocities[b]
            for slopes, each in zip(by, changes, strict=True):
                of_m, of_contacts = np.split(slopes.push(each.ravel()), [each.size])
                m[b] += of_m
                contacts[: len(of_contacts)] += of_contacts
        ends = np.cumsum([each.size for each in x])
        for label, slopes in self._by_numbers.items():
            *parts, of_contacts = np.split(slopes.push(numbers[label].ravel()), ends)
            m = [total + each for total, each in zip(m, parts, strict=True)]
            contacts = contacts + of_contacts
        ends = np.cumsum([3 * n for n in self._n_vertices[len(x) :]])
        m += np.split(self._by_model.flexes @ change, ends[:-1]) if len(ends) else []
        return tuple(each.reshape(-1, 3) for each in m), contacts

    def matrices(self) -> tuple[_Float, _Float, _Float]:
        """Form A, B and P, row by row.

        Returns
        -------
        A : ndarray (size, size)
            Derivative of x after the step by x before it.
        B : ndarray (size, nu)
            Derivative of x after the step by the controls.
        P : ndarray (size, n_numbers)
            The same by the parameters, with a column for each number of an array.
        """
        nv, n = self._model.nv, self._n_model
        n_soft = (self.size - n) // 2
        n_numbers = sum(np.size(number.value) for number in self._numbers)
        A, B, P = (np.zeros((self.size, k)) for k in (self.size, self._model.nu, n_numbers))
        for i in [*range(nv, n), *range(n + n_soft, self.size)]:
            A[i], B[i], numbers = self.vjp(np.eye(1, self.size, i)[0])
            columns = [numbers[label].ravel() for label in self.parameters]
            P[i] = np.concatenate([np.zeros(0), *columns])
        # positions follow from velocities
        for rows, velocities, by in (
            (slice(nv), slice(nv, 2 * nv), self._by_velocity),
            (slice(n, n + n_soft), slice(n + n_soft, self.size), self._dt * np.eye(n_soft)),
        ):
            for matrix in (A, B, P):
                matrix[rows] = by @ matrix[velocities]
        A[:nv, :nv] += self._by_motion
        A[n : n + n_soft, n : n + n_soft] += np.eye(n_soft)
        return A, B, P

    def _fields(self, bar: _Float) -> tuple[list[_Float], list[_Float]]:
        """Numbers of positions and of velocities of the soft bodies."""
        sizes = [x.size for x in self.velocities]
        ends = self._n_model + np.cumsum([0, *sizes, *sizes])
        shaped = [bar[a:b].reshape(-1, 3) for a, b in pairwise(ends.tolist())]
        return shaped[: len(sizes)], shaped[len(sizes) :]

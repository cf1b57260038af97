"""MuJoCo models whose trajectories can be differentiated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.model_data import check_data
from sapwood.mujoco.gradients.linearizations import NO_DERIVATIVES, Linearization
from sapwood.mujoco.gradients.manifold import Manifold
from sapwood.mujoco.gradients.model_numbers import Parameter, model_number, read_parameters
from sapwood.mujoco.gradients.step_tape import StepTape, kink_distance
from sapwood.mujoco.linearizable import check_linearizable, difference_of
from sapwood.mujoco.linearizer import linearizer_of
from sapwood.mujoco.results.results import StepError
from sapwood.mujoco.stepper import Stepper
from sapwood.trajectory.system import Jacobian, Pulled, Step, TrajectoryError

_Float = NDArray[np.float64]


class DifferentiableModel:
    """A MuJoCo model, stepped by a Stepper, for :func:`sapwood.trajectory.simulate`.

    The positions of a state are qpos, its velocities are qvel and, where the model has them, the
    activations: (nv + na,) numbers. The inputs of a step are the controls. The stepper takes the
    steps; their derivatives are those of :func:`linearize`, one linearization per step.

    Parameters
    ----------
    stepper : Stepper
        As for :func:`linearize`.
    parameters : sequence of tuple
        Numbers of the model that have derivatives, as :func:`sensitivities` takes them.
    step : float or "auto"
        Largest difference of a position, as for :func:`linearize`.
    soften : float
        Factor of R in the derivatives, as for :func:`linearize`.
    data : mujoco.MjData, optional
        The rest of the state: time, mocap bodies, applied forces, active equality constraints. A
        copy is used; by default the data of a model after a reset.

    Attributes
    ----------
    parameters : mapping of str to ndarray
        Values of the parameters, by a label such as ``geom/floor/friction/0``.

    Raises
    ------
    TypeError, ValueError
        For a wrong argument, and a stepper whose steps have no derivative.

    Notes
    -----
    A step near a kink raises :class:`sapwood.trajectory.TrajectoryError` in the reverse pass if its
    derivative is known to be wrong: an impact rebounds less than by its restitution. ``distance``
    of a gradient is the least change of velocity by which a contact, a limit, dry friction or a
    bounded actuator comes to another region of its law; it is 0 where one is so near a boundary
    that the derivative may be that of neither side.

    Examples
    --------
    >>> import mujoco, sapwood
    >>> model = mujoco.MjModel.from_xml_string('''
    ... <mujoco><worldbody><body name="cart"><joint name="x" type="slide" axis="1 0 0" damping="3"/>
    ... <geom size=".1" mass="2"/></body></worldbody></mujoco>''')
    >>> stepper = sapwood.mujoco.Stepper(model, time_step=0.1)
    >>> system = DifferentiableModel(stepper, parameters=[("joint", "x", "damping")])
    >>> run = sapwood.trajectory.simulate(system, [0.0], [1.0], n_steps=10)
    >>> last = np.zeros_like(run.q)
    >>> last[-1] = 1.0
    >>> gradient = run.vjp(last)
    >>> by_damping = gradient.parameters["joint/x/damping"].round(4)
    >>> print(run.q[-1].round(3), gradient.v0.round(3), by_damping)
    [0.502] [0.502] -0.0956
    """

    pulls_many = True

    def __init__(
        self,
        stepper: Stepper,
        *,
        parameters: Sequence[Parameter] = (),
        step: float | Literal["auto"] = "auto",
        soften: float = 1.0,
        data: mujoco.MjData | None = None,
    ) -> None:
        check_linearizable(stepper)
        model = stepper.model
        self.stepper, self.model = stepper, model
        self._step = difference_of(step)
        self._soften = float(_core.as_float64(soften, "soften", (), "positive"))
        self._data = mujoco.MjData(model)
        if data is not None:
            check_data(model, data)
            mujoco.mj_copyData(self._data, model, data)
        self._manifold = Manifold(model)
        self._given = read_parameters(parameters)
        numbers = [model_number(stepper.parameters, one, i) for i, one in enumerate(self._given)]
        self.parameters: Mapping[str, _Float] = MappingProxyType(
            {number.label: np.array(number.value) for number in numbers}
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "parameters": dict(self.parameters)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, parameters=MappingProxyType(state["parameters"]))

    @property
    def inputs_shape(self) -> tuple[int, ...]:
        """(nu,): controls."""
        return (int(self.model.nu),)

    def start(self, q: ArrayLike, v: ArrayLike) -> tuple[_Float, _Float]:
        """A state, checked.

        Parameters
        ----------
        q : array_like (nq,)
            qpos; its quaternions are made of length 1.
        v : array_like (nv + na,)
            qvel and activations.

        Returns
        -------
        ndarray (nq,), ndarray (nv + na,)
            Copies.
        """
        model = self.model
        q_0 = np.array(_core.as_float64(q, "q0", (model.nq,), "finite"))
        mujoco.mj_normalizeQuat(model, q_0)
        return q_0, np.array(_core.as_float64(v, "v0", (model.nv + model.na,), "finite"))

    def tangent(self, q: _Float, q_bar: _Float) -> _Float:
        """The part of dL/dq that counts.

        Parameters
        ----------
        q, q_bar : ndarray (..., nq)
            Positions, and dL/d of their numbers.

        Returns
        -------
        ndarray (..., nq)
            At right angles to the quaternions.
        """
        return self._manifold.by_numbers(q, self._manifold.by_motions(q, q_bar))

    def step(self, q: _Float, v: _Float, inputs: _Float) -> Step:
        """Take one step of the stepper.

        Parameters
        ----------
        q, v, inputs : ndarray (nq,), (nv + na,), (nu,)
            State and controls.

        Returns
        -------
        Step
            The state after it.
        """
        data, time = self._data, self._data.time
        self._set(q, v, inputs)
        try:
            self.stepper.step(data)
        except StepError as error:
            raise TrajectoryError(str(error)) from error
        finally:
            data.time = time
        q_next, v_next = np.array(data.qpos), np.concatenate([data.qvel, data.act])
        acting = bool(self.stepper.contacts.acts.any())
        return Step(q_next, v_next, StepTape(q, v, inputs, q_next), acting)

    def _set(self, q: _Float, v: _Float, inputs: _Float) -> None:
        data, nv = self._data, self.model.nv
        data.qpos[:], data.qvel[:], data.act[:], data.ctrl[:] = q, v[:nv], v[nv:], inputs

    def jacobian(self, tape: object) -> Jacobian:
        """The derivative of one step.

        Parameters
        ----------
        tape : object
            The tape of the step.

        Returns
        -------
        Jacobian
            By motions of the positions, in the coordinates of the velocities, by velocities and
            activations, by controls and by parameters.
        """
        assert isinstance(tape, StepTape)
        self._set(tape.q, tape.v, tape.inputs)
        try:
            with linearizer_of(self.stepper) as linearizer:
                found: Linearization = linearizer.at(self._data, self._step, self._soften)
                P = np.zeros((len(found.A), 0))
                if self._given:
                    run = linearizer.tangents(self._data, self._given, 1, soften=self._soften)
                    P = run.x[0].T
        except StepError as error:
            raise TrajectoryError(str(error)) from error
        if found.status == "limited_rebound":
            raise TrajectoryError(NO_DERIVATIVES)
        return Jacobian(found.A, found.B, P, kink_distance(found.status, found.distance))

    def pull(
        self, tape: object, q_bar: _Float, v_bar: _Float, parameters_bar: dict[str, _Float]
    ) -> Pulled:
        """Reverse mode through one step, of one loss or of many.

        Parameters
        ----------
        tape : object
            The tape of the step.
        q_bar, v_bar : ndarray (..., nq), (..., nv + na)
            dL/d of the state after it.
        parameters_bar : dict of str to ndarray (...)
            dL/d of the parameters, added to in place.

        Returns
        -------
        Pulled
            dL/d of the start of the step.
        """
        assert isinstance(tape, StepTape)
        A, B, P, distance = self.jacobian(tape)
        nv = self.model.nv
        after = np.concatenate([self._manifold.by_motions(tape.q_next, q_bar), v_bar], axis=-1)
        before = after @ A
        for bar, column in zip(parameters_bar.values(), P.T, strict=True):
            bar += after @ column
        q_0 = self._manifold.by_numbers(tape.q, before[..., :nv])
        return Pulled(q_0, before[..., nv:], after @ B, distance)

"""MuJoCo models with soft bodies whose trajectories can be differentiated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Literal

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.model_data import check_data
from sapwood.fem.state import SoftState
from sapwood.mujoco.gradients.manifold import Manifold
from sapwood.mujoco.gradients.model_numbers import Parameter, read_parameters
from sapwood.mujoco.gradients.step_tape import StepTape, kink_distance
from sapwood.mujoco.linearizable import check_linearizable, difference_of
from sapwood.mujoco.results.results import StepError
from sapwood.mujoco.soft_linearization import SoftStepLinearization
from sapwood.mujoco.soft_start import own_steps
from sapwood.mujoco.step_numbers import step_numbers
from sapwood.mujoco.stepper import Stepper
from sapwood.trajectory.system import Jacobian, Pulled, Step, TrajectoryError

_Float = NDArray[np.float64]


class DifferentiableSoftModel:
    """A model with soft bodies or flexes and its Stepper, for :func:`sapwood.trajectory.simulate`.

    The positions of a state are qpos, then those of the vertices of the soft bodies (nq + 3 n,).
    Its velocities are qvel, the activations, and those of the vertices (nv + na + 3 n,). The inputs
    of a step are the controls. Derivatives are those of :class:`SoftStepLinearization`, one for
    each step.

    Parameters
    ----------
    stepper : Stepper
        As for :class:`SoftStepLinearization`, whose soft bodies stay as they are.
    parameters : sequence of tuple
        Numbers that have derivatives, as :class:`SoftStepLinearization` takes them.
    step : float or "auto"
        Largest difference of a position, as for :func:`linearize`.
    data : mujoco.MjData, optional
        The rest of the state: time, mocap bodies, applied forces, active equality constraints. A
        copy is used; by default the data of a model after a reset.

    Attributes
    ----------
    parameters : mapping of str to ndarray
        Values of the parameters, by a label such as ``body/soft/young``.

    Raises
    ------
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
    >>> system = DifferentiableSoftModel(stepper)
    >>> run = sapwood.trajectory.simulate(system, *system.state, n_steps=10)
    >>> last = np.zeros_like(run.q)
    >>> last[-1, 0] = 1.0
    >>> print(run.vjp(last).inputs[:, 0].round(3))
    [0.05  0.045 0.04  0.035 0.03  0.025 0.02  0.015 0.01  0.005]
    """

    def __init__(
        self,
        stepper: Stepper,
        *,
        parameters: Sequence[Parameter] = (),
        step: float | Literal["auto"] = "auto",
        data: mujoco.MjData | None = None,
    ) -> None:
        check_linearizable(stepper, soft=True)
        if stepper.parameters.soft is None:
            raise ValueError("stepper has no soft bodies: use DifferentiableModel")
        model = stepper.model
        self.stepper, self.model = stepper, model
        self._step, self._given = difference_of(step), read_parameters(parameters)
        numbers = step_numbers(stepper.parameters, self._given)
        self.parameters: Mapping[str, _Float] = MappingProxyType(
            {number.label: np.array(number.value) for number in numbers}
        )
        self._data = mujoco.MjData(model)
        if data is not None:
            check_data(model, data)
            mujoco.mj_copyData(self._data, model, data)
        self._manifold, self._n_v = Manifold(model), model.nv + model.na
        self._sizes = [body.positions.size for body in stepper.soft]
        self._n_soft = sum(self._sizes)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "parameters": dict(self.parameters)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, parameters=MappingProxyType(state["parameters"]))

    @property
    def state(self) -> tuple[_Float, _Float]:
        """Positions and velocities of the given data, and of the stepper's soft bodies."""
        data, soft = self._data, self.stepper.soft_state
        q, v = ([x.ravel() for x in each] for each in (soft.positions, soft.velocities))
        return np.concatenate([data.qpos, *q]), np.concatenate([data.qvel, data.act, *v])

    @property
    def inputs_shape(self) -> tuple[int, ...]:
        """(nu,): controls."""
        return (int(self.model.nu),)

    def start(self, q: ArrayLike, v: ArrayLike) -> tuple[_Float, _Float]:
        """A state, checked.

        Parameters
        ----------
        q : array_like (nq + 3 n,)
            qpos and positions of the vertices; quaternions are made of length 1.
        v : array_like (nv + na + 3 n,)
            qvel, activations and velocities of the vertices.

        Returns
        -------
        ndarray (nq + 3 n,), ndarray (nv + na + 3 n,)
            Copies.
        """
        nq, n = self.model.nq, self._n_soft
        q_0 = np.array(_core.as_float64(q, "q0", (nq + n,), "finite"))
        mujoco.mj_normalizeQuat(self.model, q_0[:nq])
        return q_0, np.array(_core.as_float64(v, "v0", (self._n_v + n,), "finite"))

    def tangent(self, q: _Float, q_bar: _Float) -> _Float:
        """The part of dL/dq that counts.

        Parameters
        ----------
        q, q_bar : ndarray (nq + 3 n,)
            Positions, and dL/d of their numbers.

        Returns
        -------
        ndarray (nq + 3 n,)
            At right angles to the quaternions.
        """
        return self._by_numbers(q, *self._by_motions(q, q_bar))

    def step(self, q: _Float, v: _Float, inputs: _Float) -> Step:
        """Take one step.

        Parameters
        ----------
        q, v, inputs : ndarray (nq + 3 n,), (nv + na + 3 n,), (nu,)
            State and controls.

        Returns
        -------
        Step
            The state after it.
        """
        with self._at(q, v, inputs) as data:
            # without a memory of steps before: the same bits for the same state
            steps = own_steps(self.stepper.parameters)
            steps.take(data, np.zeros(1, _core.STEP_RECORD))
        bodies, solution = steps.soft.bodies, steps.result()
        q_next = np.concatenate([data.qpos, *(body.positions.ravel() for body in bodies)])
        velocities = (body.velocities.ravel() for body in bodies)
        v_next = np.concatenate([data.qvel, data.act, *velocities])
        acts = solution is not None and bool(np.any(solution.gamma))
        return Step(q_next, v_next, StepTape(q, v, inputs, q_next), acts)

    def jacobian(self, tape: object) -> Jacobian:
        """The derivative of one step; for hundreds of vertices it is large.

        Parameters
        ----------
        tape : object
            The tape of the step.

        Returns
        -------
        Jacobian
            By motions of the positions, by velocities and by controls.
        """
        found = self._linearize(tape)
        A, B, P = found.matrices()
        nv, n_v, n = self.model.nv, self._n_v, self._n_soft
        # motions and positions, then velocities
        order = np.split(np.arange(len(A)), [nv, nv + n_v, nv + n_v + n])
        place = np.concatenate([order[i] for i in (0, 2, 1, 3)])
        return Jacobian(
            A[np.ix_(place, place)],
            B[place],
            P[place],
            kink_distance(found.status, found.distance),
        )

    def pull(
        self, tape: object, q_bar: _Float, v_bar: _Float, parameters_bar: dict[str, _Float]
    ) -> Pulled:
        """Reverse mode through one step.

        Parameters
        ----------
        tape : object
            The tape of the step.
        q_bar, v_bar : ndarray (nq + 3 n,), (nv + na + 3 n,)
            dL/d of the state after it.
        parameters_bar : dict of str to ndarray
            dL/d of the parameters, added to in place.

        Returns
        -------
        Pulled
            dL/d of the start of the step.
        """
        assert isinstance(tape, StepTape)
        found = self._linearize(tape)
        motions, positions = self._by_motions(tape.q_next, q_bar)
        after = np.concatenate([motions, v_bar[: self._n_v], positions, v_bar[self._n_v :]])
        try:
            before, inputs, numbers = found.vjp(after)
        except np.linalg.LinAlgError as error:
            raise TrajectoryError(str(error)) from error
        for label, bar in numbers.items():
            parameters_bar[label] += bar
        nv, n_v = self.model.nv, self._n_v
        dq, v, x, u = np.split(before, [nv, nv + n_v, nv + n_v + self._n_soft])
        return Pulled(
            self._by_numbers(tape.q, dq, x),
            np.concatenate([v, u]),
            inputs,
            kink_distance(found.status, found.distance),
        )

    def _linearize(self, tape: object) -> SoftStepLinearization:
        assert isinstance(tape, StepTape)
        with self._at(tape.q, tape.v, tape.inputs) as data:
            return SoftStepLinearization(
                self.stepper, data, step=self._step, parameters=self._given
            )

    def _by_motions(self, q: _Float, q_bar: _Float) -> tuple[_Float, _Float]:
        """dL/d of motions (nv,) and of positions of vertices, from dL/d of numbers."""
        nq = self.model.nq
        return self._manifold.by_motions(q[:nq], q_bar[:nq]), q_bar[nq:]

    def _by_numbers(self, q: _Float, motions: _Float, positions: _Float) -> _Float:
        found = self._manifold.by_numbers(q[: self.model.nq], motions)
        return np.concatenate([found, positions])

    @contextmanager
    def _at(self, q: _Float, v: _Float, inputs: _Float) -> Iterator[mujoco.MjData]:
        """Data in a state, with the soft bodies of the stepper in it, which are restored then."""
        data, stepper, (nq, nv) = self._data, self.stepper, (self.model.nq, self.model.nv)
        stepper.follow()
        kept, time = stepper.soft_state, data.time
        data.qpos[:], data.qvel[:], data.ctrl[:] = q[:nq], v[:nv], inputs
        data.act[:] = v[nv : self._n_v]
        ends = np.cumsum([0, *self._sizes]).tolist()
        fields = (
            tuple(x[a:b].reshape(-1, 3) for a, b in pairwise(ends))
            for x in (q[nq:], v[self._n_v :])
        )
        stepper.soft_state = SoftState(time, *fields)
        try:
            yield data
        except StepError as error:
            raise TrajectoryError(str(error)) from error
        finally:
            stepper.soft_state, data.time = kept, time

"""MuJoCo models whose steps can be differentiated: the solve exactly, the engine by differences."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.derivatives.sensitivity import Sensitivity
from sapwood.mujoco.gradients.body_inertias import BodyInertias
from sapwood.mujoco.gradients.manifold import Manifold
from sapwood.mujoco.gradients.snapshots import Differences, NotComparable, Snapshot
from sapwood.mujoco.reading.arrays import problem_arrays
from sapwood.mujoco.reading.names import GeomNames
from sapwood.mujoco.reading.parameters import StepParameters
from sapwood.mujoco.reading.support import NotSupported
from sapwood.mujoco.results.groups import constraint_groups
from sapwood.mujoco.results.results import StepError
from sapwood.mujoco.results.violations import violation_text
from sapwood.mujoco.stepper import Stepper
from sapwood.mujoco.stepping.stages import Stages
from sapwood.mujoco.stepping.ways import loaded_engine
from sapwood.problem.contact_problem import ContactProblem
from sapwood.solution import Region, Status
from sapwood.solver import SapSolver
from sapwood.stepping.schemes import SYMPLECTIC_EULER
from sapwood.trajectory.system import Pulled, Step, TrajectoryError

_Float = NDArray[np.float64]

_REGULARIZED = ("R_t", "R_n", "v_hat_n")


class _Tape(NamedTuple):
    """One step of a model."""

    q: _Float
    v: _Float
    inputs: _Float
    v_next: _Float


class DifferentiableModel:
    """A MuJoCo model, stepped by a Stepper, for :func:`sapwood.trajectory.simulate`.

    The state is qpos and qvel, the inputs of a step are the controls. The solve and the new
    positions are differentiated exactly. The numbers of the problem that the engine computes (M,
    smooth forces in v*, J, phi, rows of limits, equality constraints and actuators) are
    differentiated by central differences over `step` of each coordinate, velocity and control:
    4 nv + 2 nu calls of the engine per step, without a solve.

    Parameters
    ----------
    stepper : Stepper
        A stepper with the default scheme, friction that is not lagged, no pressure fields, and a
        model whose actuators have no activation.
    step : float
        Step of the differences, in the units of coordinates, velocities and controls, > 0. If a
        constraint acts on neither side, a tenth or a hundredth of it is used.
    data : mujoco.MjData, optional
        The rest of the state: time, mocap bodies, applied forces, active equality constraints. A
        copy is used; by default that of a reset model.

    Attributes
    ----------
    parameters : mapping of str to ndarray
        Factors, all 1: "mass" (nbody,) of mass and inertia of each body, "k", "tau_d", "mu" and
        "restitution" of all contacts. The derivative by "k" of rigid contacts is 0; that by "mass"
        has gyroscopic torques at the start of the step.

    Warns
    -----
    UserWarning
        In the reverse pass, if a constraint is released slowly from a violation at the start of a
        step: derivatives by "mass", "k" and "tau_d" are then incomplete.

    Raises
    ------
    TypeError, ValueError
        For a wrong argument, and a model with a state beyond qpos and qvel.

    Notes
    -----
    Contacts are identified by their geoms and rows of J, and keep their rule in the differences. A
    contact on one side only has a one-sided difference; if it is on neither side even nearby,
    :class:`sapwood.trajectory.TrajectoryError` names it with its depth. Differences do cross kinks
    of what the engine clamps, and jumps of its points of contact (boxes on boxes, meshes).
    ``distance`` of a gradient is the least change of velocity by which a contact that acts comes to
    another region of its law. ``docs/how-to/derivatives.md`` says more.

    Examples
    --------
    >>> import mujoco, numpy as np, sapwood.mujoco
    >>> from sapwood.trajectory import simulate
    >>> spec = sapwood.studies.scenes.sphere_on_floor(0.0, stiffness=1e4)
    >>> stepper = sapwood.mujoco.Stepper(spec.compile(), friction="convex")
    >>> system = DifferentiableModel(stepper)
    >>> run = simulate(system, stepper.model.qpos0, np.zeros(6), n_steps=10)
    >>> run.vjp(v_bar=np.ones_like(run.v)).v0.shape
    (6,)
    """

    def __init__(
        self, stepper: Stepper, *, step: float = 1e-6, data: mujoco.MjData | None = None
    ) -> None:
        if not isinstance(stepper, Stepper):
            raise TypeError(f"stepper must be a Stepper, not {type(stepper).__name__}")
        if stepper.scheme != SYMPLECTIC_EULER:
            raise ValueError(f"stepper.scheme = {stepper.scheme.name!r}: must be the default one")
        if stepper.settings.friction == "lagged":
            raise ValueError("stepper.friction = 'lagged': its bounds are of the step before")
        if stepper.parameters.fields is not None:
            raise ValueError(
                "stepper.fields: patches have no derivatives, as their faces come and go between "
                "differences; make the stepper without fields"
            )
        if stepper.soft:
            raise NotSupported("steps with soft bodies have no derivatives yet")
        if not isinstance(data, mujoco.MjData | None):
            raise TypeError(f"data must be a mujoco.MjData, not {type(data).__name__}")
        model = stepper.model
        if model.na or model.npluginstate:
            raise ValueError("the model has activations or plugins with a state of their own")
        self.stepper, self.model = stepper, model
        self._step = float(_core.as_float64(step, "step", (), "positive"))
        self._data = mujoco.MjData(model)
        if data is not None:
            mujoco.mj_copyData(self._data, model, data)
        self._scratch = mujoco.MjData(model)
        self._read(stepper.parameters)
        self._manifold, self._names = Manifold(model), GeomNames.of(model)
        self._solver = SapSolver(dataclasses.replace(stepper.settings, relative_tolerance=1e-10))
        one = np.ones(())
        self.parameters: Mapping[str, _Float] = MappingProxyType(
            {"mass": np.ones(model.nbody), "k": one, "tau_d": one, "mu": one, "restitution": one}
        )

    def _read(self, parameters: StepParameters) -> None:
        """Take what the engine's numbers are gathered by; a stepper reads a changed model again."""
        self._parameters, self._stages = parameters, Stages(parameters, loaded_engine())

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
        v : array_like (nv,)
            qvel.

        Returns
        -------
        ndarray (nq,), ndarray (nv,)
            Copies.
        """
        q_0 = np.array(_core.as_float64(q, "q0", (self.model.nq,), "finite"))
        mujoco.mj_normalizeQuat(self.model, q_0)
        return q_0, np.array(_core.as_float64(v, "v0", (self.model.nv,), "finite"))

    def tangent(self, q: _Float, q_bar: _Float) -> _Float:
        """The part of dL/dq that counts.

        Parameters
        ----------
        q, q_bar : ndarray (nq,)
            Positions, and dL/d of their numbers.

        Returns
        -------
        ndarray (nq,)
            At right angles to the quaternions.
        """
        return self._manifold.by_numbers(q, self._manifold.by_motions(q, q_bar))

    def step(self, q: _Float, v: _Float, inputs: _Float) -> Step:
        """Take one step of the stepper.

        Parameters
        ----------
        q, v, inputs : ndarray (nq,), (nv,), (nu,)
            State and controls.

        Returns
        -------
        Step
            The state after it.
        """
        data, time = self._data, self._data.time
        data.qpos[:], data.qvel[:], data.ctrl[:] = q, v, inputs
        try:
            self.stepper.step(data)
        except StepError as error:
            raise TrajectoryError(str(error)) from error
        finally:
            data.time = time
        v_next = np.array(data.qvel)
        acting = bool(self.stepper.contacts.acts.any())
        return Step(np.array(data.qpos), v_next, _Tape(q, v, inputs, v_next), acting)

    def pull(
        self, tape: object, q_bar: _Float, v_bar: _Float, parameters_bar: dict[str, _Float]
    ) -> Pulled:
        """Reverse mode through one step.

        Parameters
        ----------
        tape : object
            The tape of the step.
        q_bar, v_bar : ndarray (nq,), (nv,)
            dL/d of the state after it.
        parameters_bar : dict of str to ndarray
            dL/d of the parameters, added to in place.

        Returns
        -------
        Pulled
            dL/d of the start of the step.
        """
        assert isinstance(tape, _Tape)
        manifold, dt = self._manifold, self.stepper.time_step
        q_next = manifold.moved(tape.q, tape.v_next, dt)
        motions = manifold.by_motions(q_next, q_bar)
        before, by_v_next = manifold.pull(tape.v_next, dt, motions)
        at = self._snapshot(tape.q, tape.v, tape.inputs)
        inertias = BodyInertias(self.model, self._scratch)
        linear = self._linearized(at, tape.v_next)
        bar = v_bar + by_v_next
        gradient = linear.vjp(bar, frozen_regularization=True, matrices=True)
        slopes = self._slopes(tape, Differences(at, gradient, self._names))
        nv = self.model.nv
        whole = linear.vjp(bar, matrices=True)
        for name in ("k", "tau_d", "mu"):
            by = getattr(whole, name)
            parameters_bar[name] += 0.0 if by is None else by @ self._scaled(at, name)
        rebounds = at.rebounds()
        if rebounds.any():
            by_speed = np.asarray(gradient.v_hat_n)
            parameters_bar["restitution"] += (by_speed * at.arrays["v_hat_n"])[rebounds].sum()
        parameters_bar["mass"] += inertias.pull(at, whole, tape.v, dt)
        acting = np.minimum(gradient.distance, self._change_to_open(at))
        return Pulled(
            manifold.by_numbers(tape.q, before + slopes[:nv]), slopes[nv : 2 * nv],
            slopes[2 * nv :], float(acting[gradient.regions != Region.none].min(initial=np.inf)),
        )  # fmt: skip

    def _scaled(self, at: Snapshot, name: str) -> _Float:
        """The quantity that a factor of contacts scales.

        Fixed dissipation times of open contacts and infinite stiffnesses are left out: a multiple
        of them is the same.
        """
        numbers = np.asarray(at.arrays[name], dtype=float)
        if name == "tau_d" and self._parameters.speculative:
            most = _core.OPEN_TIME * self.stepper.time_step
            return np.where((at.arrays["phi0"] > 0.0) & (numbers == most), 0.0, numbers)
        return np.where(np.isinf(numbers), 0.0, numbers)

    def _change_to_open(self, at: Snapshot) -> _Float:
        """Change of velocity in a step, m/s, by which the gap of a contact changes its sign.

        Infinite where it has the same dissipation time then.
        """
        dt, of = self.stepper.time_step, at.arrays
        if not self._parameters.speculative:
            return np.full(len(of["mu"]), np.inf)
        return np.where(of["tau_d"] >= _core.OPEN_TIME * dt, np.abs(of["phi0"]) / dt, np.inf)

    def _snapshot(self, q: _Float, v: _Float, inputs: _Float) -> Snapshot:
        """The problem of a state."""
        if self.stepper.parameters is not self._parameters:
            self._read(self.stepper.parameters)
        data = self._scratch
        mujoco.mj_copyData(data, self.model, self._data)
        data.qpos[:], data.qvel[:], data.ctrl[:] = q, v, inputs
        try:
            self._stages.begin(data)
            self._stages.gather(data)
        except StepError as error:
            raise TrajectoryError(str(error)) from error
        core = self._stages.core
        geoms = core.contacts()["geom"]
        parameters = self.stepper.parameters
        return Snapshot(
            problem_arrays(core), core.groups(), geoms, parameters.time_step, parameters.sigma
        )

    def _linearized(self, at: Snapshot, v_next: _Float) -> Sensitivity:
        """The problem at the solution that the step came to."""
        stepper = self.stepper
        options: dict[str, Any] = {
            "dt": stepper.time_step,
            "sigma": stepper.parameters.sigma,
            "beta": stepper.parameters.beta,
            "delassus": stepper.parameters.delassus,
        }
        arrays: dict[str, Any] = dict(at.arrays)
        groups = constraint_groups(at.others)
        given = ContactProblem(**arrays, constraints=groups, **options)
        numbers: dict[str, Any] = {
            name: x for name, x in arrays.items() if name not in _REGULARIZED
        }
        physical = ContactProblem(
            **numbers, constraints=[group.physical() for group in groups], **options
        )
        # a constraint that is released from a violation depends on its parameters in another way
        problem = physical
        if not _close(physical, given):
            problem = given
            text = violation_text(self.model, self._scratch)
            warnings.warn(
                "derivatives by mass, k and tau_d leave out R and v_hat of a step: these do not "
                f"follow from k and tau_d alone{text}",
                stacklevel=2,
            )
        solution = self._solver.solve(problem, v_next)
        if solution.status not in (Status.converged, Status.stalled):
            raise TrajectoryError(f"the solve ended with {solution.status!s}")
        speed = np.abs(v_next).max(initial=0.0)
        if at.rebounds().any() and np.abs(solution.v - v_next).max(initial=0.0) > 1e-3 * speed:
            raise TrajectoryError(
                "an impact rebounds less than by its restitution, so that it gains no energy: such "
                "a step has no derivatives"
            )
        return Sensitivity(problem, solution, self._solver.settings)

    def _slopes(self, tape: _Tape, along: Differences) -> _Float:
        """Derivatives by motions, velocities and controls (2 nv + nu,)."""
        return np.array(
            [self._slope(tape, along, i) for i in range(2 * self.model.nv + self.model.nu)]
        )

    def _slope(self, tape: _Tape, along: Differences, i: int) -> float:
        """The derivative by one of them, over a shorter step without one on either side."""
        reason = NotComparable()

        def change(by: float) -> float | None:
            nonlocal reason
            try:
                return along(self._moved(tape, i, by))
            except NotComparable as error:
                reason = error
                return None

        for h in (self._step, 0.1 * self._step, 0.01 * self._step):
            forward, backward = change(h), change(-h)
            if forward is not None and backward is not None:
                return (forward - backward) / (2.0 * h)
            end, whole = (h, forward) if backward is None else (-h, backward)
            half = None if whole is None else change(0.5 * end)
            if whole is not None and half is not None:
                return (4.0 * half - whole) / end  # of second order too
        raise TrajectoryError(f"there are no differences over {h:.3g}: {reason}") from reason

    def _moved(self, tape: _Tape, i: int, by: float) -> Snapshot:
        """The problem of the state with one motion, velocity or control changed."""
        nv, q, v, inputs = self.model.nv, tape.q, np.array(tape.v), np.array(tape.inputs)
        if i < nv:
            q = self._manifold.moved(q, np.eye(1, nv, i)[0], by)
        elif i < 2 * nv:
            v[i - nv] += by
        else:
            inputs[i - 2 * nv] += by
        return self._snapshot(q, v, inputs)


def _close(one: ContactProblem, other: ContactProblem) -> bool:
    """Whether R and v_hat of two problems are the same to round-off."""
    pairs = [(getattr(one, name), getattr(other, name)) for name in _REGULARIZED]
    for a, b in zip(one.constraints, other.constraints, strict=True):
        pairs += [(getattr(a, name), getattr(b, name)) for name in ("R", "v_hat")]
    return all(np.allclose(a, b, rtol=1e-9, atol=0.0) for a, b in pairs)

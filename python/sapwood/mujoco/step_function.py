"""One step of a batch of worlds as a function, with what its reverse mode needs."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.mujoco.gradients.manifold import Manifold
from sapwood.mujoco.linearization import (
    DIFFERENCE,
    NO_DERIVATIVES,
    Linearizer,
    check_linearizable,
    linearizer_of,
)
from sapwood.mujoco.reading.arrays import check_data
from sapwood.mujoco.stepper import Stepper

_Float = NDArray[np.float64]


class Slopes(NamedTuple):
    """Derivatives of a batch of steps."""

    q: _Float
    """Positions before the steps (..., nq)."""
    q_next: _Float
    """Positions after them (..., nq)."""
    A: _Float
    """Derivatives of the next states by the states (..., 2 nv, 2 nv)."""
    B: _Float
    """Derivatives of the next states by the controls (..., 2 nv, nu)."""


class StepFunction:
    """Steps of worlds of one model: (q, v, u) to (q', v'), and their reverse mode.

    Parameters
    ----------
    stepper : Stepper
        As for :func:`linearize`, of a model without activations.
    data : mujoco.MjData, optional
        The rest of the state of all worlds; by default that of a model after a reset.
    soften : float
        Factor of R in the derivatives, as for :func:`linearize`.

    Raises
    ------
    TypeError, ValueError
        For a wrong argument, and a stepper whose steps have no derivative.
    """

    def __init__(
        self, stepper: Stepper, data: mujoco.MjData | None = None, soften: float = 1.0
    ) -> None:
        check_linearizable(stepper)
        model = stepper.model
        if model.na:
            raise ValueError(
                "the model has activations: sapwood.mujoco.linearize differentiates it"
            )
        if data is not None:
            check_data(model, data)
        self._stepper, self._model = stepper, model
        self._soften = float(_core.as_float64(soften, "soften", (), "positive"))
        self._data = mujoco.MjData(model)
        if data is not None:
            mujoco.mj_copyData(self._data, model, data)
        self._manifold = Manifold(model)
        self.sizes = int(model.nq), int(model.nv), int(model.nu)

    def step(self, q: _Float, v: _Float, u: _Float) -> tuple[_Float, _Float]:
        """Take one step of each world.

        Parameters
        ----------
        q, v, u : ndarray (..., nq), (..., nv), (..., nu)
            States and controls.

        Returns
        -------
        ndarray (..., nq), ndarray (..., nv)
            The states after it.
        """
        q_next, v_next = np.empty(q.shape), np.empty(v.shape)
        data = mujoco.MjData(self._model)
        mujoco.mj_copyData(data, self._model, self._data)
        time = data.time
        for at in np.ndindex(q.shape[:-1]):
            data.qpos[:], data.qvel[:], data.ctrl[:] = q[at], v[at], u[at]
            data.time = time
            self._stepper.step(data)
            q_next[at], v_next[at] = data.qpos, data.qvel
        return q_next, v_next

    def step_with_slopes(self, q: _Float, v: _Float, u: _Float) -> tuple[_Float, _Float, Slopes]:
        """Take one step of each world, and keep its derivatives.

        Parameters
        ----------
        q, v, u : ndarray (..., nq), (..., nv), (..., nu)
            States and controls.

        Returns
        -------
        ndarray (..., nq), ndarray (..., nv), Slopes
            The states after it, and the derivatives.
        """
        front, (_, nv, nu) = q.shape[:-1], self.sizes
        q_next, v_next = np.array(q, np.float64, order="C"), np.empty((*front, nv))
        A, B = np.empty((*front, 2 * nv, 2 * nv)), np.empty((*front, 2 * nv, nu))
        dt = self._stepper.time_step
        with linearizer_of(self._stepper) as linearizer:
            scratch = linearizer.of_data(self._data)
            for at in np.ndindex(front):
                scratch.qpos[:], scratch.qvel[:], scratch.ctrl[:] = q[at], v[at], u[at]
                A[at], B[at], v_next[at] = self._linearized(linearizer, scratch, at)
                mujoco.mj_integratePos(self._model, q_next[at], v_next[at], dt)
        return q_next, v_next, Slopes(np.array(q, np.float64), q_next, A, B)

    def _linearized(
        self, linearizer: Linearizer, scratch: mujoco.MjData, at: tuple[int, ...]
    ) -> tuple[_Float, _Float, _Float]:
        try:
            found = linearizer.find(scratch, DIFFERENCE, self._soften)
        except Exception as error:
            error.add_note(f"in world {at}")
            raise
        if found.status == "limited_rebound":
            raise ValueError(f"world {at}: {NO_DERIVATIVES}")
        return found.A, found.B, found.v

    def pull(self, slopes: Slopes, q_bar: _Float, v_bar: _Float) -> tuple[_Float, _Float, _Float]:
        """Reverse mode.

        Parameters
        ----------
        slopes : Slopes
            Derivatives of the steps.
        q_bar, v_bar : ndarray (..., nq), (..., nv)
            dL/d of the states after it.

        Returns
        -------
        ndarray (..., nq), ndarray (..., nv), ndarray (..., nu)
            dL/d of the states before it, orthogonal to quaternions, and of the controls.
        """
        motions = self._manifold.by_motions(slopes.q_next, q_bar)
        after = np.concatenate([motions, v_bar], axis=-1)[..., None, :]
        before, by_u = (after @ slopes.A)[..., 0, :], (after @ slopes.B)[..., 0, :]
        nv = self.sizes[1]
        return self._manifold.by_numbers(slopes.q, before[..., :nv]), before[..., nv:], by_u

"""One step of a batch of worlds as a function, with what its reverse mode needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.base.model_data import check_data
from sapwood.mujoco.gradients.linearizations import NO_DERIVATIVES
from sapwood.mujoco.gradients.manifold import Manifold
from sapwood.mujoco.linearizable import DIFFERENCE, check_linearizable, softening
from sapwood.mujoco.linearizer import linearizer_of
from sapwood.mujoco.stepper import Stepper

_Float = NDArray[np.float64]


class Slopes(NamedTuple):
    """Derivatives of a batch of steps."""

    q: _Float
    """Positions before the steps (..., nq)."""
    q_next: _Float
    """Positions after them (..., nq)."""
    A: _Float
    """Derivatives of the next states by the states (..., 2 nv + na, 2 nv + na)."""
    B: _Float
    """Derivatives of the next states by the controls (..., 2 nv + na, nu)."""


class StepFunction:
    """Steps of worlds of one model: (q, v, u) to (q', v'), and their reverse mode.

    With activations it takes (q, v, u, act) to (q', v', act').

    Parameters
    ----------
    stepper : Stepper
        As for :func:`linearize`.
    data : mujoco.MjData, optional
        The rest of the state of all worlds; by default that of a model after a reset.
    soften : float
        Factor of R in the derivatives, as for :func:`linearize`.

    Attributes
    ----------
    sizes : dict
        Names of the arguments of a step, and their lengths for one world.
    n_results : int
        2, or 3 with activations.

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
        if data is not None:
            check_data(model, data)
        self._stepper, self._model = stepper, model
        self._soften = softening(soften)
        self._data = mujoco.MjData(model)
        if data is not None:
            mujoco.mj_copyData(self._data, model, data)
        self._manifold = Manifold(model)
        self.sizes = {"q": int(model.nq), "v": int(model.nv), "u": int(model.nu)}
        if model.na:
            self.sizes["act"] = int(model.na)
        self.n_results = len(self.sizes) - 1

    def check(self, shapes: Sequence[tuple[int, ...]], what: str) -> None:
        """Check the arguments of a step.

        Parameters
        ----------
        shapes : sequence of tuple
            Their shapes.
        what : str
            What they are, for messages.

        Raises
        ------
        TypeError, ValueError
            For another number of arguments, and for a shape that does not go with the first one's.
        """
        if len(shapes) != len(self.sizes):
            raise TypeError(f"a step takes {', '.join(self.sizes)}, not {len(shapes)} {what}")
        for (name, size), shape in zip(self.sizes.items(), shapes, strict=True):
            expected = (*shapes[0][:-1], size)
            if shape != expected:
                raise ValueError(f"{name} has shape {shape}, expected {expected}")

    def step(self, q: _Float, v: _Float, u: _Float, *act: _Float) -> tuple[_Float, ...]:
        """Take one step of each world.

        Parameters
        ----------
        q, v, u, act : ndarray (..., nq), (..., nv), (..., nu), (..., na)
            States and controls, and activations where the model has them.

        Returns
        -------
        tuple of ndarray (..., nq), (..., nv), (..., na)
            The states after it.
        """
        data = mujoco.MjData(self._model)
        mujoco.mj_copyData(data, self._model, self._data)
        time = data.time
        given = list(
            zip((data.qpos, data.qvel, data.ctrl, data.act), (q, v, u, *act), strict=False)
        )
        found = tuple(np.empty(x.shape) for x in (q, v, *act))
        taken = list(zip(found, (data.qpos, data.qvel, data.act), strict=False))
        for at in np.ndindex(q.shape[:-1]):
            for own, x in given:
                own[:] = x[at]
            data.time = time
            self._stepper.step(data)
            for x, own in taken:
                x[at] = own
        return found

    def step_with_slopes(
        self, q: _Float, v: _Float, u: _Float, *act: _Float
    ) -> tuple[tuple[_Float, ...], Slopes]:
        """Take one step of each world, and keep its derivatives.

        Parameters
        ----------
        q, v, u, act : ndarray (..., nq), (..., nv), (..., nu), (..., na)
            As for :meth:`step`.

        Returns
        -------
        tuple, Slopes
            The states after it, and the derivatives.
        """
        front = q.shape[:-1]
        q, v, u, *given = (np.ascontiguousarray(x, np.float64) for x in (q, v, u, *act))
        n = math.prod(front)
        a = given[0] if given else np.empty((*front, 0))
        flat = [x.reshape(n, x.shape[-1]) for x in (q, v, a, u)]
        states = flat[0], flat[1], flat[2], flat[3]

        def world(i: int) -> tuple[int, ...]:
            return tuple(int(k) for k in np.unravel_index(i, front))

        with linearizer_of(self._stepper) as linearizer:
            found = linearizer.at_all(
                self._data, states, DIFFERENCE, self._soften, lambda i: f"in world {world(i)}"
            )
        if found.limited_rebound.any():
            i = int(np.argmax(found.limited_rebound))
            raise ValueError(f"world {world(i)}: {NO_DERIVATIVES}")
        ends = (found.q, found.v, found.act)[: self.n_results]
        after = tuple(x.reshape(*front, x.shape[-1]) for x in ends)
        A, B = (x.reshape(*front, *x.shape[1:]) for x in (found.A, found.B))
        return after, Slopes(q, after[0], A, B)

    def pull(self, slopes: Slopes, q_bar: _Float, *bars: _Float) -> tuple[_Float, ...]:
        """Reverse mode.

        Parameters
        ----------
        slopes : Slopes
            Derivatives of the steps.
        q_bar, *bars : ndarray (..., nq), (..., nv), (..., na)
            dL/d of the states after it.

        Returns
        -------
        tuple of ndarray (..., nq), (..., nv), (..., nu), (..., na)
            dL/d of the states before it, orthogonal to quaternions, and of the controls.
        """
        motions, nv = self._manifold.by_motions(slopes.q_next, q_bar), self.sizes["v"]
        after = np.concatenate([motions, *bars], axis=-1)[..., None, :]
        before, by_u = (after @ slopes.A)[..., 0, :], (after @ slopes.B)[..., 0, :]
        by_q = self._manifold.by_numbers(slopes.q, before[..., :nv])
        by_act = (before[..., 2 * nv :],) if "act" in self.sizes else ()
        return by_q, before[..., nv : 2 * nv], by_u, *by_act

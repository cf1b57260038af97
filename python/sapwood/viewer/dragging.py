"""Bodies pulled by the mouse: a damped spring from the point that was grabbed to the pointer."""

from __future__ import annotations

import threading
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

_Float = NDArray[np.float64]

# frequency of the spring, rad/s: as fast as a hand, and slow beside time steps
_FREQUENCY = 8.0


class Dragging:
    """The pull on one body.

    Its force acts as ``data.xfrc_applied`` of the body, beside what others have set there.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.
    """

    def __init__(self, model: mujoco.MjModel) -> None:
        self._model = model
        self._lock = threading.Lock()
        # the body, the point in its frame (unknown until the next step), and where it is to go
        self._body = -1
        self._point: _Float | None = None
        self._grabbed, self._target = np.zeros(3), np.zeros(3)
        self._applied: tuple[int, _Float] | None = None

    def dragged(self, body: int, event: Any) -> None:
        """Take an event of viser's.

        Parameters
        ----------
        body : int
            Number of the body.
        event : viser.SceneNodeDragEvent
            Beginning, movement or end.
        """
        self.pull(
            -1 if event.phase == "end" else body,
            np.array(event.start_position),
            np.array(event.end_position),
        )

    def pull(self, body: int, point: _Float, target: _Float) -> None:
        """Pull at a body, or let it go.

        Parameters
        ----------
        body : int
            Number of the body; negative to let go.
        point : ndarray (3,)
            The grabbed point in the world, m, at the first call for this body.
        target : ndarray (3,)
            The point that it is pulled to, m.
        """
        with self._lock:
            if body != self._body:
                self._body, self._point, self._grabbed = body, None, point
            self._target = target

    def apply(self, data: mujoco.MjData) -> None:
        """Set the force for the next step.

        Parameters
        ----------
        data : mujoco.MjData
            Data of the model; their ``xfrc_applied`` changes.
        """
        self._take_back(data)
        with self._lock:
            body = self._body
            if body < 0:
                return
            rotation = data.xmat[body].reshape(3, 3)
            if self._point is None:
                self._point = rotation.T @ (self._grabbed - data.xpos[body])
            point = data.xpos[body] + rotation @ self._point
            stretch = self._target - point
        arm = point - data.xipos[body]
        spin, speed = _velocity(self._model, data, body)
        mass = float(self._model.body_subtreemass[self._model.body_rootid[body]])
        force = mass * _FREQUENCY * (_FREQUENCY * stretch - 2.0 * (speed + np.cross(spin, arm)))
        pull = np.concatenate([force, np.cross(arm, force)])
        data.xfrc_applied[body] += pull
        self._applied = body, pull

    def _take_back(self, data: mujoco.MjData) -> None:
        """Leave what others have set."""
        if self._applied is not None:
            body, pull = self._applied
            # subtracting the old pull would leave round-off
            left = data.xfrc_applied[body] - pull
            left[np.abs(left) < 1e-12 * np.abs(pull)] = 0.0
            data.xfrc_applied[body] = left
            self._applied = None


def _velocity(model: mujoco.MjModel, data: mujoco.MjData, body: int) -> tuple[_Float, _Float]:
    """Angular velocity of a body, and velocity of its centre of mass."""
    found = np.zeros(6)
    mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_BODY, body, found, 0)
    return found[:3], found[3:]

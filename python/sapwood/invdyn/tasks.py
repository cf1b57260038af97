"""Tasks of a controller: accelerations that correct errors of positions and velocities."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Sequence
from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core

from .robot import actuated_dofs

Array = NDArray[np.float64]

# kinds of tasks, and parts of a frame, as csrc/invdyn/tasks/task_rows.h numbers them
_JOINTS, _FRAME, _CENTRE = range(3)
_AXES = {"position": 1, "rotation": 2, "both": 3}


def _gain(value: float, name: str) -> float:
    return float(_core.as_float64(value, name, (), "non-negative"))


class Task(abc.ABC):
    """Gains and targets that tasks share."""

    position: Array | None
    velocity: ArrayLike
    acceleration: ArrayLike
    rotation: Array | None = None
    # kind, velocities or bodies, and what belongs to the kind
    _fixed: tuple[int, NDArray[np.integer[Any]], Any]

    def __init__(self, stiffness: float, damping: float | None) -> None:
        self.stiffness = _gain(stiffness, "stiffness")
        # critical damping
        critical = 2.0 * np.sqrt(self.stiffness)
        self.damping = float(critical) if damping is None else _gain(damping, "damping")

    @abc.abstractmethod
    def bind(self, model: mujoco.MjModel) -> None:
        """Find the joints or bodies in a model.

        Parameters
        ----------
        model : mujoco.MjModel
        """

    @abc.abstractmethod
    def start(self, data: mujoco.MjData) -> None:
        """Set targets that were left out to the present state.

        Parameters
        ----------
        data : mujoco.MjData
        """

    def describe(self, data: mujoco.MjData, weight: float) -> tuple[Any, ...]:
        """Its entries in ``_core.Mechanism.task_program``.

        Parameters
        ----------
        data : mujoco.MjData
            The present instant.
        weight : float
        """
        self.start(data)
        kind, at, by_kind = self._fixed
        return (
            kind, weight, at, by_kind, self.stiffness, self.damping, self.position, self.velocity,
            self.acceleration, self.rotation,
        )  # fmt: skip


class JointTask(Task):
    """Joints follow positions.

    Parameters
    ----------
    position : array_like (n,), optional
        Positions, rad or m; by default those of the first call.
    joints : sequence of str or int, optional
        Hinges and sliders; by default all with an actuator.
    stiffness, damping : float
        k in 1/s^2 and d in 1/s; critical damping by default.

    Attributes
    ----------
    position, velocity, acceleration : ndarray (n,)
        Targets, which may be changed before each call.
    """

    def __init__(
        self,
        position: ArrayLike | None = None,
        *,
        joints: Sequence[str] | Sequence[int] | None = None,
        stiffness: float = 400.0,
        damping: float | None = None,
    ) -> None:
        super().__init__(stiffness, damping)
        if isinstance(joints, str) or (joints is not None and not isinstance(joints, Iterable)):
            raise TypeError(f"joints must be a sequence of names or numbers, not {joints!r}")
        self.joints = None if joints is None else list(joints)
        if self.joints == []:
            raise ValueError("joints: must have one at least")
        self.position = None if position is None else np.array(position, dtype=float)
        self.velocity: ArrayLike = 0.0
        self.acceleration: ArrayLike = 0.0

    def bind(self, model: mujoco.MjModel) -> None:
        """Find the joints in a model.

        Parameters
        ----------
        model : mujoco.MjModel

        Raises
        ------
        KeyError, ValueError
            A joint is missing, or has several degrees of freedom; its place is named.
        """
        if self.joints is None:
            dofs = actuated_dofs(model)
        else:
            dofs = np.array(
                [_dof_of(model, i, name) for i, name in enumerate(self.joints)], np.intp
            )
        joint = model.dof_jntid[dofs]
        single = np.isin(
            model.jnt_type[joint], (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE)
        )
        if not single.all():
            raise ValueError("joints: must be hinges or sliders")
        self._fixed = _JOINTS, dofs.astype(np.int32), model.jnt_qposadr[joint]
        if self.position is not None and self.position.shape != dofs.shape:
            raise ValueError(f"position has shape {self.position.shape}, expected {dofs.shape}")

    def start(self, data: mujoco.MjData) -> None:
        """Follow the present positions, where none are given.

        Parameters
        ----------
        data : mujoco.MjData
        """
        if self.position is None:
            self.position = data.qpos[self._fixed[2]]


class FrameTask(Task):
    """A body follows a position and an orientation.

    Parameters
    ----------
    body : str or int
        The body; its frame is the one of ``xpos`` and ``xmat``.
    position : array_like (3,), optional
        Position of the origin, m; by default that of the first call.
    rotation : array_like (3, 3), optional
        Rotation matrix; by default that of the first call.
    axes : str
        ``"position"``, ``"rotation"`` or ``"both"``: what the task controls.
    stiffness, damping : float
        The same as for :class:`JointTask`.

    Attributes
    ----------
    position, velocity, acceleration : ndarray (3,)
        Targets of the origin, which may be changed before each call.
    rotation : ndarray (3, 3)
        Target of the orientation.
    """

    def __init__(
        self,
        body: str | int,
        position: ArrayLike | None = None,
        rotation: ArrayLike | None = None,
        *,
        axes: str = "both",
        stiffness: float = 100.0,
        damping: float | None = None,
    ) -> None:
        super().__init__(stiffness, damping)
        if axes not in _AXES:
            raise ValueError(f"axes = {axes!r}: must be 'position', 'rotation' or 'both'")
        self.body = body
        self.axes = axes
        self.position = _vector(position, "position", (3,))
        self.rotation = _rotation(rotation)
        self.velocity: ArrayLike = np.zeros(3)
        self.acceleration: ArrayLike = np.zeros(3)

    def _follow(self, body: int) -> None:
        self._fixed = _FRAME, np.array([body], dtype=np.int32), _AXES[self.axes]

    def bind(self, model: mujoco.MjModel) -> None:
        """Find the body in a model.

        Parameters
        ----------
        model : mujoco.MjModel
        """
        self._follow(int(model.body(self.body).id))

    def start(self, data: mujoco.MjData) -> None:
        """Follow the present frame, where none is given.

        Parameters
        ----------
        data : mujoco.MjData
        """
        if self.position is None:
            self.position = data.xpos[self._fixed[1]][0]
        if self.rotation is None:
            self.rotation = data.xmat[self._fixed[1]].reshape(3, 3)


class BaseTask(FrameTask):
    """The body of the first free joint follows a position and an orientation.

    Parameters
    ----------
    position, rotation, axes, stiffness, damping
        The same as for :class:`FrameTask`.
    """

    def __init__(
        self,
        position: ArrayLike | None = None,
        rotation: ArrayLike | None = None,
        *,
        axes: str = "both",
        stiffness: float = 100.0,
        damping: float | None = None,
    ) -> None:
        super().__init__(0, position, rotation, axes=axes, stiffness=stiffness, damping=damping)

    def bind(self, model: mujoco.MjModel) -> None:
        """Find the base in a model.

        Parameters
        ----------
        model : mujoco.MjModel

        Raises
        ------
        ValueError
            The model has no free joint.
        """
        self._follow(base_body(model))


class ComTask(Task):
    """The centre of mass of a body and all that it carries follows a position.

    Parameters
    ----------
    position : array_like (3,), optional
        Position, m; by default that of the first call.
    body : str or int, optional
        Root of the subtree; by default the body of the first free joint.
    stiffness, damping : float
        The same as for :class:`JointTask`.

    Attributes
    ----------
    position, velocity, acceleration : ndarray (3,)
        Targets, which may be changed before each call.
    """

    def __init__(
        self,
        position: ArrayLike | None = None,
        *,
        body: str | int | None = None,
        stiffness: float = 100.0,
        damping: float | None = None,
    ) -> None:
        super().__init__(stiffness, damping)
        self.body = body
        self.position = _vector(position, "position", (3,))
        self.velocity: ArrayLike = 0.0
        self.acceleration: ArrayLike = 0.0

    def bind(self, model: mujoco.MjModel) -> None:
        """Find the subtree in a model.

        Parameters
        ----------
        model : mujoco.MjModel
        """
        chosen = base_body(model) if self.body is None else int(model.body(self.body).id)
        root = np.arange(model.nbody)
        for body in range(1, model.nbody):
            if body != chosen:
                root[body] = root[model.body_parentid[body]]
        bodies = np.flatnonzero((root == chosen) & (model.body_mass > 0.0))
        mass = model.body_mass[bodies]
        self._fixed = _CENTRE, bodies.astype(np.int32), mass / mass.sum()

    def start(self, data: mujoco.MjData) -> None:
        """Follow the present centre of mass, where none is given.

        Parameters
        ----------
        data : mujoco.MjData
        """
        if self.position is None:
            self.position = self._fixed[2] @ data.xipos[self._fixed[1]]


def base_body(model: mujoco.MjModel) -> int:
    """The body of the first free joint of a model."""
    free = np.flatnonzero(model.jnt_type == mujoco.mjtJoint.mjJNT_FREE)
    if not len(free):
        raise ValueError("model: has no free joint, so that it has no base")
    return int(model.jnt_bodyid[free[0]])


def _vector(value: ArrayLike | None, name: str, shape: tuple[int, ...]) -> Array | None:
    if value is None:
        return None
    return np.array(_core.as_float64(value, name, shape, "finite"))


def _rotation(value: ArrayLike | None) -> Array | None:
    R = _vector(value, "rotation", (3, 3))
    if R is not None and not (np.allclose(R.T @ R, np.eye(3), atol=1e-6) and np.linalg.det(R) > 0):
        raise ValueError("rotation: must be a rotation matrix, with R^T R = 1 and det R = 1")
    return R


def _dof_of(model: mujoco.MjModel, i: int, joint: object) -> int:
    """The first velocity of a joint that is named or numbered."""
    known = "" if isinstance(joint, str) else f" (it has {model.njnt})"
    try:
        return int(model.joint(joint).dofadr[0])
    except (KeyError, IndexError, TypeError) as error:
        raise KeyError(f"joints[{i}] = {joint!r}: the model has no such joint{known}") from error

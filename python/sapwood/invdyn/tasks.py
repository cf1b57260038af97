"""Tasks of a controller: accelerations that correct errors of positions and velocities."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core

from .robot import Motions, actuated_dofs

Array = NDArray[np.float64]


def _gain(value: float, name: str) -> float:
    return float(_core.as_float64(value, name, (), "non-negative"))


class _Task:
    """Gains and targets that tasks share."""

    def __init__(self, stiffness: float, damping: float | None) -> None:
        self.stiffness = _gain(stiffness, "stiffness")
        # critical damping
        critical = 2.0 * np.sqrt(self.stiffness)
        self.damping = float(critical) if damping is None else _gain(damping, "damping")

    def _acceleration(self, error: Array, rate: Array, feedforward: Array) -> Array:
        """k (x* - x) + d (v* - v) + a*."""
        wanted: Array = self.stiffness * error + self.damping * rate + feedforward
        return wanted


class JointTask(_Task):
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
        joints: list[str] | list[int] | None = None,
        stiffness: float = 400.0,
        damping: float | None = None,
    ) -> None:
        super().__init__(stiffness, damping)
        self.joints = joints
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
            A joint is missing, or has several degrees of freedom.
        """
        if self.joints is None:
            self._dofs = actuated_dofs(model)
        else:
            self._dofs = np.array(
                [int(model.joint(name).dofadr[0]) for name in self.joints], dtype=np.intp
            )
        joint = model.dof_jntid[self._dofs]
        single = np.isin(
            model.jnt_type[joint], (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE)
        )
        if not single.all():
            raise ValueError("joints: must be hinges or sliders")
        self._places = model.jnt_qposadr[joint]
        self._rows = np.eye(model.nv)[self._dofs]
        if self.position is not None and self.position.shape != self._dofs.shape:
            raise ValueError(
                f"position has shape {self.position.shape}, expected {self._dofs.shape}"
            )

    def rows(self, motions: Motions) -> tuple[Array, Array]:
        """Rows (n, nv) and desired accelerations (n,).

        Parameters
        ----------
        motions : Motions
            The model at the present instant.
        """
        data = motions.data
        if self.position is None:
            self.position = data.qpos[self._places].copy()
        wanted = self._acceleration(
            self.position - data.qpos[self._places],
            self.velocity - data.qvel[self._dofs],
            np.asarray(self.acceleration),
        )
        return self._rows, wanted


class FrameTask(_Task):
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
        if axes not in ("position", "rotation", "both"):
            raise ValueError(f"axes = {axes!r}: must be 'position', 'rotation' or 'both'")
        self.body = body
        self.axes = axes
        self.position = _vector(position, "position", (3,))
        self.rotation = _vector(rotation, "rotation", (3, 3))
        self.velocity: ArrayLike = np.zeros(3)
        self.acceleration: ArrayLike = np.zeros(3)
        self._chosen = {"position": slice(0, 3), "rotation": slice(3, 6), "both": slice(0, 6)}[axes]

    def bind(self, model: mujoco.MjModel) -> None:
        """Find the body in a model.

        Parameters
        ----------
        model : mujoco.MjModel
        """
        self._id = int(model.body(self.body).id)

    def rows(self, motions: Motions) -> tuple[Array, Array]:
        """Rows (6, nv), or 3 of them, and desired accelerations less their bias.

        Parameters
        ----------
        motions : Motions
            The model at the present instant.
        """
        data = motions.data
        J, velocity, bias = motions.body(self._id)
        turned = data.xmat[self._id].reshape(3, 3)
        if self.position is None:
            self.position = data.xpos[self._id].copy()
        if self.rotation is None:
            self.rotation = turned.copy()
        wanted = -bias - self.damping * velocity
        wanted[:3] += (
            self.stiffness * (self.position - data.xpos[self._id])
            + self.damping * np.asarray(self.velocity)
            + self.acceleration
        )
        wanted[3:] += self.stiffness * _rotation_error(self.rotation, turned)
        return J[self._chosen], wanted[self._chosen]


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
        self._id = base_body(model)


class ComTask(_Task):
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
        self._id = base_body(model) if self.body is None else int(model.body(self.body).id)
        root = np.arange(model.nbody)
        for body in range(1, model.nbody):
            if body != self._id:
                root[body] = root[model.body_parentid[body]]
        self._bodies = np.flatnonzero((root == self._id) & (model.body_mass > 0.0))
        mass = model.body_mass[self._bodies]
        self._parts = mass / mass.sum()

    def rows(self, motions: Motions) -> tuple[Array, Array]:
        """Rows (3, nv) and desired accelerations less their bias (3,).

        Parameters
        ----------
        motions : Motions
            The model at the present instant.
        """
        data = motions.data
        J, velocities, bias = motions.points(self._bodies, data.xipos[self._bodies])
        present = self._parts @ data.xipos[self._bodies]
        if self.position is None:
            self.position = present
        wanted = self._acceleration(
            self.position - present,
            self.velocity - self._parts @ velocities,
            np.asarray(self.acceleration),
        )
        return np.einsum("b,bij->ij", self._parts, J), wanted - self._parts @ bias


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


def _rotation_error(wanted: Array, present: Array) -> Array:
    """The rotation vector that turns the present orientation to the wanted one."""
    quaternion, turn = np.empty(4), np.empty(3)
    mujoco.mju_mat2Quat(quaternion, (wanted @ present.T).ravel())
    mujoco.mju_quat2Vel(turn, quaternion, 1.0)
    return turn

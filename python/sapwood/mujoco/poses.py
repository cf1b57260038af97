"""Poses of bodies of a MuJoCo model."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.checks import instance


def body_pose(
    data: mujoco.MjData, body: str | int, offset: ArrayLike = (0.0, 0.0, 0.0)
) -> NDArray[np.float64]:
    """Find the pose of a body, such as for the start of a soft body.

    Parameters
    ----------
    data : mujoco.MjData
        Data whose positions were found, as by ``mujoco.mj_kinematics(model, data)``.
    body : str or int
        Name or number of the body.
    offset : array_like (3,), optional
        Origin of the pose in the frame of the body, m.

    Returns
    -------
    ndarray (4, 4)
        Rotation and translation in the world.

    Raises
    ------
    KeyError, IndexError
        If there is no such body; the text lists those there are.
    TypeError, ValueError
        For a wrong argument.

    Examples
    --------
    >>> model = mujoco.MjModel.from_xml_string(
    ...     "<mujoco><worldbody><body name='hand' pos='0 0 1'/></worldbody></mujoco>")
    >>> data = mujoco.MjData(model)
    >>> mujoco.mj_kinematics(model, data)
    >>> body_pose(data, "hand", [0.0, 0.0, 0.1])[:3, 3].tolist()
    [0.0, 0.0, 1.1]
    """
    view = instance(data, mujoco.MjData, "data").body(body)
    shift = _core.as_float64(offset, "offset", (3,), "finite")
    pose = np.eye(4)
    pose[:3, :3] = view.xmat.reshape(3, 3)
    pose[:3, 3] = view.xpos + pose[:3, :3] @ shift
    return pose

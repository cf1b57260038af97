"""The cube of the speed comparison of soft bodies, and its steps by sapwood."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sapwood import fem
from sapwood.fem.material import MaterialModel

SIDE, YOUNG, POISSON, DENSITY, DAMPING, FRICTION = 0.1, 1e5, 0.4, 1000.0, 0.01, 0.5


class Cube:
    """A cube of k^3 cells of six tetrahedra, tilted by a degree and a millimetre above the floor.

    Attributes
    ----------
    mesh : Mesh
        Its mesh.
    pose : ndarray (4, 4)
        Its pose: no face is parallel to the floor, which Drake would treat by round-off.
    """

    def __init__(self, cells: int) -> None:
        self.mesh = fem.box([SIDE] * 3, cells)
        c, s = np.cos(np.radians(1.0)), np.sin(np.radians(1.0))
        about_x = np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
        about_y = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
        self.pose: NDArray[np.float64] = np.eye(4)
        self.pose[:3, :3] = about_x @ about_y
        self.pose[2, 3] = 0.001 - (self.mesh.vertices @ self.pose[2, :3]).min()

    @property
    def positions(self) -> NDArray[np.float64]:
        """Initial positions of the vertices (n, 3), m."""
        found: NDArray[np.float64] = self.mesh.vertices @ self.pose[:3, :3].T + self.pose[:3, 3]
        return found


def step_call(
    cube: Cube, model: MaterialModel, time_step: float, passes: int
) -> Callable[[], object]:
    """One step of the cube on a plane, as a call."""
    material = fem.Material(
        young=YOUNG, poisson=POISSON, density=DENSITY, model=model, stiffness_damping=DAMPING
    )
    body = fem.SoftBody(cube.mesh, material, friction=FRICTION, pose=cube.pose)
    plane = fem.HalfSpace(friction=FRICTION)
    return fem.World([body], planes=[plane], time_step=time_step, passes=passes).step

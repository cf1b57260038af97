"""Contact surfaces of pressure fields and faces of soft bodies, coloured by pressure or stress."""

from __future__ import annotations

import numpy as np
import viser
import viser.transforms
from numpy.typing import NDArray

from sapwood.mujoco.results.drawing import RAMP
from sapwood.viewer.instances import Instances

_Float = NDArray[np.float64]

# a right triangle: its right angle, and the ends of its short sides
_UNIT = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


class Pressures:
    """Triangles of one kind, all instances of one right triangle.

    Parameters
    ----------
    scene : viser.SceneApi
        The scene to draw in.
    name : str
        Path of their node.

    Attributes
    ----------
    shown : bool
        Whether they are drawn, from the next frame on.
    """

    def __init__(self, scene: viser.SceneApi, name: str) -> None:
        self.shown = True
        faces = np.array([[0, 1, 2]], dtype=np.int32)
        self._triangles = Instances(scene, name, _UNIT, faces, double=True)

    def draw(self, corners: NDArray[np.float32], pressures: NDArray[np.float32]) -> None:
        """Show these triangles; the highest pressure has the brightest colour.

        Parameters
        ----------
        corners : ndarray (n, 3, 3)
            Corners of the triangles, m.
        pressures : ndarray (n,)
            A pressure or a stress of each, Pa.
        """
        n = len(pressures) if self.shown else 0
        colours = np.tile(_colours(pressures[:n]), (2, 1))
        self._triangles.set(*right_triangles(corners[:n].astype(float)), colours)


def right_triangles(corners: _Float) -> tuple[_Float, _Float, _Float]:
    """Each triangle as two right ones, which are instances of one.

    The height on the longest side parts a triangle.

    Parameters
    ----------
    corners : ndarray (n, 3, 3)
        Corners of the triangles.

    Returns
    -------
    position : ndarray (2 n, 3)
        Right angles; the second halves come after all first ones.
    wxyz : ndarray (2 n, 4)
        Rotations that turn x and y to the sides at the right angle.
    scale : ndarray (2 n, 3)
        Lengths of these sides; 1 along z.
    """
    sides = np.linalg.norm(np.roll(corners, -1, axis=1) - corners, axis=2)
    order = (np.argmax(sides, axis=1)[:, None] + np.arange(3)) % 3
    a, b, apex = np.moveaxis(np.take_along_axis(corners, order[:, :, None], axis=1), 1, 0)
    longest = np.max(sides, axis=1)[:, None]
    tiny = np.finfo(float).tiny
    along = (b - a) / np.maximum(longest, tiny)
    reach = np.sum((apex - a) * along, axis=1, keepdims=True)
    foot = a + reach * along
    height = np.linalg.norm(apex - foot, axis=1, keepdims=True)
    up = (apex - foot) / np.maximum(height, tiny)
    position = np.concatenate([foot, foot])
    halves = [(-along, reach), (along, longest - reach)]
    axes = np.concatenate([np.stack([x, up, np.cross(x, up)], axis=2) for x, _ in halves])
    scale = np.concatenate([np.hstack([w, height, np.ones_like(w)]) for _, w in halves])
    # faces without a height have no axes
    axes[scale[:, 1] == 0.0] = np.eye(3)
    return position, np.asarray(viser.transforms.SO3.from_matrix(axes).wxyz, dtype=float), scale


def _colours(pressures: NDArray[np.float32]) -> NDArray[np.uint8]:
    share = np.clip(pressures / pressures.max(initial=np.finfo(np.float32).tiny), 0.0, 1.0)
    at = np.linspace(0.0, 1.0, len(RAMP))
    channels = [np.interp(share, at, channel) for channel in RAMP.T]
    return np.asarray(np.round(255.0 * np.column_stack(channels)), dtype=np.uint8)

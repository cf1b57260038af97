"""Many copies of one mesh, whose number changes from frame to frame."""

from __future__ import annotations

from typing import Any

import numpy as np
import viser
from numpy.typing import NDArray

_Float = NDArray[np.floating[Any]]

_LEAST = 64


class Instances:
    """Copies of a mesh, each with its place, size and colour.

    viser sends positions and colours apart, so their number must not change between the two. All
    copies up to a maximum exist always, and the unused ones have no size.

    Parameters
    ----------
    scene : viser.SceneApi
        The scene to draw in.
    name : str
        Path of the node.
    vertices : ndarray (n, 3)
        Vertices of the mesh.
    faces : ndarray of int (m, 3)
        Its triangles.
    double : bool
        Whether both sides of a triangle are seen.
    """

    def __init__(
        self,
        scene: viser.SceneApi,
        name: str,
        vertices: NDArray[np.float64],
        faces: NDArray[np.int32],
        *,
        double: bool = False,
    ) -> None:
        self._scene, self._name = scene, name
        self._vertices, self._faces = vertices, faces
        self._side: Any = "double" if double else "front"
        self._used = 0
        self._make_room(_LEAST)

    def _make_room(self, room: int) -> None:
        self._positions = np.zeros((room, 3), dtype=np.float32)
        self._wxyzs = np.tile(np.array([1, 0, 0, 0], dtype=np.float32), (room, 1))
        self._scales = np.zeros((room, 3), dtype=np.float32)
        self._colours = np.zeros((room, 3), dtype=np.uint8)
        self._node = self._scene.add_batched_meshes_simple(
            self._name, self._vertices, self._faces, self._wxyzs, self._positions,
            batched_scales=self._scales, batched_colors=self._colours, lod="off",
            side=self._side, cast_shadow=False, receive_shadow=False,
        )  # fmt: skip

    def set(
        self, positions: _Float, wxyzs: _Float, scales: _Float, colours: NDArray[np.uint8]
    ) -> None:
        """Set all copies anew.

        Parameters
        ----------
        positions : ndarray (n, 3)
            Positions of the copies, m.
        wxyzs : ndarray (n, 4)
            Their orientations.
        scales : ndarray (n, 3)
            Along the axes of the mesh.
        colours : ndarray of uint8 (n, 3)
            Red, green and blue.
        """
        count = len(positions)
        if count == 0 and self._used == 0:
            return
        room = len(self._positions)
        if count > room:
            self._make_room(max(count, 2 * room))
        for array, given in (
            (self._positions, positions),
            (self._wxyzs, wxyzs),
            (self._scales, scales),
            (self._colours, _linear(colours)),
        ):
            array[:count] = given
        # for the unused copies only the size matters
        self._scales[count:] = 0.0
        self._used = count
        node = self._node
        node.batched_positions, node.batched_wxyzs = self._positions, self._wxyzs
        node.batched_scales, node.batched_colors = self._scales, self._colours


def _linear(colours: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Light intensities from sRGB; viser takes the colours of copies as intensities."""
    share = colours / 255.0
    light = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    return np.round(255.0 * light).astype(np.uint8)

"""Pictures of the worlds of a batch."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.base.checks import integer
from sapwood.mujoco.batch import Batch


class Pictures:
    """Draws worlds of a batch; MuJoCo's renderer is made at the first frame.

    Parameters
    ----------
    batch : Batch
        The batch.
    width, height : int
        Size of a frame.
    """

    def __init__(self, batch: Batch, width: int, height: int) -> None:
        self._batch = batch
        self._size = integer(height, "height", 1), integer(width, "width", 1)
        self._renderer: Any = None
        self._data: mujoco.MjData | None = None

    def of_all(self) -> tuple[NDArray[np.uint8], ...]:
        """A frame (height, width, 3) of each world, from the free camera of the model."""
        batch = self._batch
        if self._renderer is None:
            self._renderer = mujoco.Renderer(batch.model, *self._size)
        frames = []
        for world in range(len(batch.status)):
            self._data = batch.get_data(world, self._data)
            mujoco.mj_fwdPosition(batch.model, self._data)
            self._renderer.update_scene(self._data)
            frames.append(self._renderer.render().copy())
        return tuple(frames)

    def close(self) -> None:
        """Release the renderer."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

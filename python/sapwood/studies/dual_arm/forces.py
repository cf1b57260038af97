"""Force sensors: how hard two things press on each other."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.studies.dual_arm.robot import SIDES


class Touch:
    """Sums of the normal forces of a step between robots, objects and the table.

    Parameters
    ----------
    model
        The scene. A thing is a whole robot, "right" or "left", or a body, or a geom of the world.
    """

    def __init__(self, model: mujoco.MjModel) -> None:
        things = [_thing(model, geom) for geom in range(model.ngeom)]
        names = dict.fromkeys(things)
        self._number = {name: i for i, name in enumerate(names)}
        self._of_geom = np.array([self._number[name] for name in things])

    def between(
        self, first: str, second: str, geoms: NDArray[np.int32], normal: NDArray[np.float64]
    ) -> float:
        """Sum over the contacts of two things.

        Parameters
        ----------
        first, second
            Names of the things.
        geoms
            Geoms of all contacts (n, 2).
        normal
            Their normal forces (n,), N.

        Returns
        -------
        float
            N.
        """
        a, b = self._of_geom[geoms].reshape(-1, 2).T
        one, other = self._number[first], self._number[second]
        pair = ((a == one) & (b == other)) | ((a == other) & (b == one))
        return float(normal[pair].sum())


def _thing(model: mujoco.MjModel, geom: int) -> str:
    body = str(model.body(model.geom_bodyid[geom]).name)
    for side in SIDES:
        if body.startswith(f"{side}_"):
            return side
    return body if body != "world" else str(model.geom(geom).name)

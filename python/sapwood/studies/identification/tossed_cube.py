"""A cube that is tossed on a table: its friction and inertia, from measured tosses."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.studies.identification.fitting import Run, Task
from sapwood.studies.tossing import BOUNDS, DT, HALF_SIDE, INERTIA, MASS, Toss, window_of

_Float = NDArray[np.float64]

NAMES = ("friction", "inertia")
"""Friction, and the moment of inertia about each axis (kg m2)."""
PUBLISHED_FRICTION = 0.18
NOISE = np.repeat([1e-3, 1e-2], [3, 4])
"""Standard deviations of positions (m) and of quaternions."""
_LIMITS = np.transpose([BOUNDS[2], BOUNDS[4]])
_PARAMETERS = [
    [("geom", "cube", "friction", 0)],
    [("body", "cube", "inertia", i) for i in range(3)],
]
# corners of the cube settle 2 mm below z = 0; the toolbox needs an actuator
_XML = f"""
<mujoco>
  <option timestep="{DT!r}" cone="elliptic"/>
  <worldbody>
    <geom name="table" type="plane" size="9 9 .1" pos="0 0 -.002" friction="0.01"/>
    <body name="cube">
      <freejoint name="cube"/>
      <inertial pos="0 0 0" mass="{MASS}" diaginertia="{INERTIA} {INERTIA} {INERTIA}"/>
      <geom name="cube" type="box" size="{HALF_SIDE} {HALF_SIDE} {HALF_SIDE}"/>
      <site name="cube"/>
    </body>
  </worldbody>
  <actuator><motor joint="cube"/></actuator>
  <sensor>
    <framepos objtype="site" objname="cube"/>
    <framequat objtype="site" objname="cube"/>
  </sensor>
</mujoco>
"""


def _apply(spec: mujoco.MjSpec, k: int, value: float) -> None:
    if k == 0:
        spec.geom("cube").friction[0] = value
    else:
        spec.body("cube").inertia[:] = value


def task(tosses: list[Toss], steps: int = 16) -> Task:
    """Friction and inertia from the steps of each toss that begin just before the table.

    Parameters
    ----------
    tosses : list of (q, v)
        As `sapwood.studies.tossing.measured` reads them.
    steps : int
        Number of steps of each.

    Returns
    -------
    Task
        To fit.
    """
    runs = []
    for toss in tosses:
        q, v = window_of(toss, steps)
        turns = q[:, 3:] / np.linalg.norm(q[:, 3:], axis=1, keepdims=True)
        # q and -q are one rotation
        turns[1:] *= np.cumprod(np.sign(np.sum(turns[1:] * turns[:-1], axis=1)))[:, None]
        q = np.hstack([q[:, :3], turns])
        # sensors of a step are those of its beginning
        runs.append(Run(q[0], v[0], np.zeros((steps, 1)), q[:-1]))
    return Task(NAMES, _XML, _apply, _PARAMETERS, _LIMITS, NOISE, runs)

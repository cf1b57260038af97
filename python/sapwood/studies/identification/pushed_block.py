"""A block that is pushed over a floor: its mass, friction and damping, from made measurements."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.mujoco.gradients.model_numbers import Parameter
from sapwood.studies.identification.fitting import Run, Task, simulate

_Float = NDArray[np.float64]

NAMES = ("mass", "friction", "damping")
TRUTH = np.array([2.0, 0.35, 3.0])
"""kg, dimensionless, N s/m."""
NOISE = np.array([1e-3, 1e-2])
"""Standard deviations of the measured position (m) and velocity (m/s)."""
_BOUNDS = np.array([[0.3, 0.05, 0.0], [10.0, 1.5, 20.0]])
_PARAMETERS: list[list[Parameter]] = [
    [("body", "block", "mass")],
    [("geom", "block", "friction", 0)],
    [("joint", "x", "damping")],
]
_XML = """
<mujoco>
  <option timestep="0.005"/>
  <worldbody>
    <geom name="floor" type="plane" size="9 9 .1" friction="0.01"/>
    <body name="block" pos="0 0 .1">
      <joint name="x" type="slide" axis="1 0 0"/>
      <joint name="z" type="slide" axis="0 0 1"/>
      <geom name="block" type="box" size=".1 .1 .1" mass="1"/>
    </body>
  </worldbody>
  <actuator><motor name="push" joint="x"/></actuator>
  <sensor><jointpos name="place" joint="x"/><jointvel name="speed" joint="x"/></sensor>
</mujoco>
"""


def _apply(spec: mujoco.MjSpec, k: int, value: float) -> None:
    if k == 0:
        spec.geom("block").mass = value
    elif k == 1:
        spec.geom("block").friction[0] = value
    else:
        spec.joint("x").damping[0] = value


def pushes(steps: int) -> _Float:
    """Forces under which the block slides, sticks and turns back.

    Parameters
    ----------
    steps : int
        Number of steps.

    Returns
    -------
    ndarray (steps, 1)
        N.
    """
    t = 0.005 * np.arange(steps)
    force: _Float = 6.0 * np.sin(3.0 * t) + 3.5 * np.sin(7.0 * t)
    return force[:, None]


def task(engine: str, steps: int, seed: int) -> Task:
    """Simulate the true block, and add noise.

    Parameters
    ----------
    engine : {"mujoco", "sapwood"}
        The simulator of the measurements.
    steps : int
        Number of steps.
    seed : int
        Of the noise.

    Returns
    -------
    Task
        Mass, friction and damping from positions and velocities.
    """
    noise = NOISE * np.random.default_rng(seed).standard_normal((steps, 2))
    run = Run(np.zeros(2), np.zeros(2), pushes(steps), np.zeros((steps, 2)))
    block = Task(NAMES, _XML, _apply, _PARAMETERS, _BOUNDS, NOISE, [])
    true = simulate(block.spec_of(TRUTH).compile(), run, engine == "mujoco")
    return replace(block, runs=[run._replace(sensors=true + noise)])

"""The quality of a simulation, from the positions and velocities of an engine."""

from __future__ import annotations

import math

import mujoco
import numpy as np

from benchmarks.engines.scenes import Scene
from benchmarks.models.measures import Gauge, Reading


class Watch:
    """Measures of one simulation, seen now and then."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._gauge = Gauge(scene.model)
        self._readings: list[Reading] = []
        self._slips: list[float] = []
        self._clearances: list[float] = []
        self._speed_errors: list[float] = []

    def see(self, data: mujoco.MjData) -> None:
        """Measure the state of now."""
        self._readings.append(self._gauge.read(data))
        self._slips.append(self._gauge.slip())
        if self._scene.slide is not None:
            self._clearances.append(lowest(self._scene.model, data))
            exact = self._scene.slide.exact(data.time)
            self._speed_errors.append(abs(data.qvel[0] - exact))

    def measures(self) -> dict[str, float]:
        """Columns of a row; NaN where there is nothing of the kind."""
        depths = [reading.penetration for reading in self._readings]
        slips = [slip for slip in self._slips[3 * len(self._slips) // 4 :] if slip == slip]
        pushed = np.any(self._scene.force)
        return {
            "penetration": max(depths[len(depths) // 2 :], default=math.nan),
            "slip": float(np.mean(slips)) if slips and self._scene.slide is None else math.nan,
            "gain": math.nan if pushed else self._gain(),
            "clearance": max(self._clearances, default=math.nan),
            "speed_error": max(self._speed_errors, default=math.nan),
        }

    def _gain(self) -> float:
        if not self._readings:
            return math.nan
        energies = np.array([reading.kinetic + reading.potential for reading in self._readings])
        return float(np.max(energies - np.minimum.accumulate(energies)))


def lowest(model: mujoco.MjModel, data: mujoco.MjData) -> float:
    """Height of the lowest corner of the model's one box above the floor, m."""
    rotation = np.empty(9)
    mujoco.mju_quat2Mat(rotation, data.qpos[3:7])
    geom = int(model.body_geomadr[1])
    return float(data.qpos[2] - np.abs(rotation[6:]) @ model.geom_size[geom])

"""Our stepper under two laws of friction, and MuJoCo's own step."""

from __future__ import annotations

import copy
import warnings

import mujoco

from benchmarks.engines.base import Engine
from benchmarks.engines.scenes import Scene
from sapwood.laws import ContactMaterial
from sapwood.mujoco import Stepper
from sapwood.settings import Friction
from sapwood.studies.peers.mujoco_variants import matched_model, recommended_model

_COPIED = ("qpos", "qvel")


class _InMujoco(Engine):
    model: mujoco.MjModel
    data: mujoco.MjData

    def __init__(self, scene: Scene) -> None:
        self.data = mujoco.MjData(self.model)
        self.data.qvel[:] = scene.qvel
        self.data.xfrc_applied[1, 0] = scene.force

    def read(self, data: mujoco.MjData) -> None:
        """Write positions and velocities into MuJoCo's data."""
        data.time = self.data.time
        for name in _COPIED:
            getattr(data, name)[:] = getattr(self.data, name)


class Sapwood(_InMujoco):
    """Our stepper."""

    friction: Friction = "coulomb"

    def __init__(self, scene: Scene) -> None:
        material = ContactMaterial(dissipation_time=scene.dissipation_time)
        self._stepper = Stepper(scene.model, friction=self.friction, contact=material)
        self.model = self._stepper.model
        super().__init__(scene)

    def advance(self, steps: int) -> None:
        """Take steps."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            self._stepper.run(self.data, steps)


class SapwoodConvex(Sapwood):
    """The law of the paper."""

    friction = "convex"


class Mujoco(_InMujoco):
    """`mj_step` at its default settings."""

    def __init__(self, scene: Scene) -> None:
        self.model = copy.copy(scene.model)
        self.model.opt.cone = mujoco.mjtCone.mjCONE_PYRAMIDAL
        super().__init__(scene)

    def advance(self, steps: int) -> None:
        """Take steps."""
        mujoco.mj_step(self.model, self.data, nstep=steps)


class MujocoRecommended(Mujoco):
    """`mj_step` with the options that MuJoCo's manual recommends for contact."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self.model = recommended_model(scene.model)


class MujocoMatched(Mujoco):
    """`mj_step` with contact parameters that give our regularization."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self.model = matched_model(scene.model)

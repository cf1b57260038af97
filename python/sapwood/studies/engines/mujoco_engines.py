"""The stepper of this package under two laws of friction, and MuJoCo's own step."""

from __future__ import annotations

import copy
import warnings
from typing import Any, ClassVar

import mujoco

from sapwood.laws import ContactMaterial
from sapwood.mujoco import Stepper
from sapwood.settings import Friction
from sapwood.studies.engines.base import Engine, Scene
from sapwood.studies.peers.mujoco_variants import matched_model, recommended_model

_COPIED = ("qpos", "qvel")


class _InMujoco(Engine):
    model: mujoco.MjModel
    data: mujoco.MjData

    def __init__(self, scene: Scene) -> None:
        self.data = mujoco.MjData(self.model)
        self.data.qvel[:] = scene.qvel
        self.data.xfrc_applied[1, :3] = scene.force
        self.data.ctrl[:] = scene.ctrl

    def read(self, data: mujoco.MjData) -> None:
        """Write positions and velocities into MuJoCo's data."""
        data.time = self.data.time
        for name in _COPIED:
            getattr(data, name)[:] = getattr(self.data, name)


class Sapwood(_InMujoco):
    """Our stepper."""

    friction: Friction = "coulomb"
    #: Further arguments of the stepper.
    options: ClassVar[dict[str, Any]] = {}

    def __init__(self, scene: Scene) -> None:
        material = ContactMaterial(dissipation_time=scene.dissipation_time)
        given = {"friction": self.friction, "contact": material, **self.options}
        self._stepper = Stepper(scene.model, **given)
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


class MujocoNoslip(Mujoco):
    """`mj_step` with elliptic cones and MuJoCo's iterations against slip after each solve."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self.model.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        self.model.opt.noslip_iterations = 20


class MujocoDiscrete(MujocoRecommended):
    """The recommended options with the integrator `discrete`."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self.model.opt.integrator = mujoco.mjtIntegrator.mjINT_DISCRETE


class MujocoMatched(Mujoco):
    """`mj_step` with contact parameters that give our regularization."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self.model = matched_model(scene.model)

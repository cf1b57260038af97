"""Simulation engines behind one interface: the same scene in each of them.

An engine is a module with a subclass of `Engine` and a line in `ENGINES`; its package is imported
when it is loaded.
"""

from __future__ import annotations

import importlib

from sapwood.studies.engines.base import CannotSimulate, Engine, Scene, Setup

__all__ = ["ENGINES", "CannotSimulate", "Engine", "Scene", "Setup", "load"]

#: Engines by name: module, class, and what it is.
ENGINES = {
    "sapwood": ("mujoco_engines", "Sapwood", "Stepper with its defaults"),
    "sapwood-convex": ("mujoco_engines", "SapwoodConvex", "Stepper with convex friction"),
    "mujoco": ("mujoco_engines", "Mujoco", "mj_step with its defaults"),
    "mujoco-recommended": ("mujoco_engines", "MujocoRecommended", "options of MuJoCo's manual"),
    "mujoco-noslip": ("mujoco_engines", "MujocoNoslip", "elliptic cones, 20 noslip iterations"),
    "mujoco-discrete": ("mujoco_engines", "MujocoDiscrete", "recommended, integrator discrete"),
    "mujoco-matched": ("mujoco_engines", "MujocoMatched", "mj_step with our regularization"),
    "drake-sap": ("drake_engine", "DrakeSap", "Drake's convex approximation"),
    "drake-lagged": ("drake_engine", "DrakeLagged", "Drake's lagged approximation"),
    "bullet": ("bullet_engine", "Bullet", "pybullet with its defaults"),
}


def load(name: str) -> type[Engine]:
    """An engine by name.

    Raises
    ------
    ImportError
        Its package is not installed.
    """
    module, kind, _ = ENGINES[name]
    engine: type[Engine] = getattr(
        importlib.import_module(f"sapwood.studies.engines.{module}"), kind
    )
    return engine

"""Environments of Gymnasium on batches of worlds.

:class:`VectorEnv` makes a ``gymnasium.vector.VectorEnv`` of a :class:`sapwood.mujoco.Batch` and
three functions of it. :func:`sapwood.mujoco.patch` lets a stepper take the steps of an environment
that exists.
"""

from sapwood.base.optional import imported_for

with imported_for("sapwood.gymnasium", "environments"):
    import gymnasium as _  # noqa: F401
    import mujoco as _mujoco  # noqa: F401

from sapwood.gymnasium.vector_env import VectorEnv

__all__ = ["VectorEnv"]

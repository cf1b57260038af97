"""The mirror of ``csrc/mujoco``: steps that meet a tolerance."""

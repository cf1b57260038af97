"""The mirror of ``csrc/invdyn``: inverse dynamics and task control."""

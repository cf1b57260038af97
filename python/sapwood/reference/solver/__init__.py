"""The mirror of ``csrc/solver``: the algorithms, and the proof of their results."""

"""The mirror of ``csrc/linalg``: sparse factorizations."""

"""The mirror of ``csrc/constraints``: laws of contact and of clamped rows."""

"""The mirror of ``csrc/geometry``: contact surfaces of pressure fields."""

"""The mirror of ``csrc/step``: what happens in a step besides its solve."""

"""The mirror of ``csrc/lcp``: complementarity problems and quadratic programs."""

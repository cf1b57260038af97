"""Floating-point operations of Stage I of inverse dynamics, by formulas and by counted numbers."""

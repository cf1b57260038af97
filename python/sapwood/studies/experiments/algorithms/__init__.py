"""Comparisons of solvers, and of the parts of the algorithm."""

"""Figures of comparisons of solvers, and of the parts of the algorithm."""

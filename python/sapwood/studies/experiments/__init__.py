"""Simulations that reproduce results of the papers, one module each.

Every experiment is a function that returns its measurements as a NumPy structured array and can
write them to a CSV file; figures are drawn from such files by `sapwood.studies.plotting`. Nothing
is imported here: an experiment may need optional packages.
"""

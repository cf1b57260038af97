"""Studies made with the library: scenes, experiments and their plots, other solvers, commands.

Nothing of the library needs what is here.
"""

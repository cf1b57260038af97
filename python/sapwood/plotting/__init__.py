"""Figures, drawn from the CSV files that the experiments write.

Drawing from the files and not from memory means that a figure can be made again, restyled or
compared without running the simulation. Needs matplotlib (``pip install "sapwood[plot]"``); no
display and no pyplot state is used.
"""

from sapwood.plotting.clutter import clutter_steps_figure
from sapwood.plotting.solvers import solver_error_figure, speedup_figure
from sapwood.plotting.steps import step_figure
from sapwood.plotting.tables import read_steps

__all__ = [
    "clutter_steps_figure",
    "read_steps",
    "solver_error_figure",
    "speedup_figure",
    "step_figure",
]

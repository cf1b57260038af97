"""Figures, drawn from the CSV files that the experiments write.

Drawing from the files and not from memory means that a figure can be made again, restyled or
compared without running the simulation. Needs matplotlib (extra ``plot``); no display and no
pyplot state is used.

Each function ``*_figure(csv, path)`` draws the rows of a file, with the columns that its docstring
names, and writes the image file ``path``, whose suffix sets the format. It returns the
`matplotlib.figure.Figure`, and raises ValueError if the file holds no rows. Where it takes rows by
the names of their sweeps, it raises that too.
"""

from sapwood.studies.plotting.algorithms.convergence import convergence_figure
from sapwood.studies.plotting.algorithms.solvers import solver_error_figure, speedup_figure
from sapwood.studies.plotting.analytic_gradients import analytic_gradients_figure
from sapwood.studies.plotting.clutter import clutter_contacts_figure, clutter_steps_figure
from sapwood.studies.plotting.clutter_scenes import clutter_scenes_figure
from sapwood.studies.plotting.constraints import constraints_figure
from sapwood.studies.plotting.cube_toss import cube_toss_figure
from sapwood.studies.plotting.grasp import grasp_figure
from sapwood.studies.plotting.identification import identification_figure
from sapwood.studies.plotting.invdyn_times import invdyn_times_figure
from sapwood.studies.plotting.rigid_core import rigid_core_figure
from sapwood.studies.plotting.sliding import sliding_figure
from sapwood.studies.plotting.slip_control import pitch_figure
from sapwood.studies.plotting.slip_parameter import conditioning_figure, moving, slip_figure
from sapwood.studies.plotting.spring_cylinder import energy_figure, position_error_figure
from sapwood.studies.plotting.steps import step_figure
from sapwood.studies.plotting.tables import median_over_seeds, read_steps, select

__all__ = [
    "analytic_gradients_figure",
    "clutter_contacts_figure",
    "clutter_scenes_figure",
    "clutter_steps_figure",
    "conditioning_figure",
    "constraints_figure",
    "convergence_figure",
    "cube_toss_figure",
    "energy_figure",
    "grasp_figure",
    "identification_figure",
    "invdyn_times_figure",
    "median_over_seeds",
    "moving",
    "pitch_figure",
    "position_error_figure",
    "read_steps",
    "rigid_core_figure",
    "select",
    "sliding_figure",
    "slip_figure",
    "solver_error_figure",
    "speedup_figure",
    "step_figure",
]

"""A biped that sways: torques that jump, and torques that change least."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from sapwood.studies.plotting.controllers import controller_style
from sapwood.studies.plotting.style import draw_grid, save_figure
from sapwood.studies.plotting.tables import rows_of, select

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def mindiff_figure(csv: str | PathLike[str], path: str | PathLike[str]) -> Figure:
    """Draw the torque of a knee and the change of all torques over time.

    Rows of `sapwood.studies.walking.mindiff.sway`.
    """
    from matplotlib.figure import Figure

    rows = rows_of(csv)
    figure = Figure(figsize=(8.0, 5.6), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True)
    for name in dict.fromkeys(rows["controller"].tolist()):
        run, style = select(rows, controller=name), controller_style(name)
        upper.plot(run["time"], run["knee_torque"], **style)
        lower.plot(run["time"][1:], run["torque_change"][1:], **style)
    upper.set_ylabel("torque of the front knee [N m]")
    lower.set_ylabel(r"mean $|\Delta \tau|/\delta t$ [N m/s]")
    lower.set_yscale("log")
    lower.set_xlabel("time [s]")
    lower.set_xlim(left=0.0)
    for axes in (upper, lower):
        draw_grid(axes)
    handles, labels = upper.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle(
        r"A biped sways on two feet, contacts listed in random order, $\mu$ = 0.6",
        fontsize="medium",
    )
    save_figure(figure, path)
    return figure

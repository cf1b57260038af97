"""Constraints other than contact: a closed loop, a limit, a servo, dry friction."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sapwood.studies.plotting.style import COLOURS, draw_grid, save_figure
from sapwood.studies.plotting.tables import read_steps, select

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_Rows = NDArray[np.void]


def constraints_figure(csv: str | PathLike[str], path: str | PathLike[str]) -> Figure:
    """Draw the scenes of `sapwood.studies.experiments.constraints`, one in each of four axes.

    File with the columns ``scene``, ``dt`` (s), ``time`` (s), ``position``, ``velocity``, ``force``
    and ``expected``. Raises ValueError if the file holds no rows of one of the scenes.
    """
    from matplotlib.figure import Figure

    rows = read_steps(csv)
    figure = Figure(figsize=(10.0, 7.0), layout="constrained")
    axes = figure.subplots(2, 2).ravel()
    draw = {"loop": _draw_loop, "limit": _draw_limit, "servo": _draw_servo,
            "friction": _draw_friction}  # fmt: skip
    for scene, place in zip(draw, axes, strict=True):
        run = select(rows, scene=scene)
        if run.size == 0:
            raise ValueError(f"nothing to draw: no rows of scene {scene} in {csv}")
        draw[scene](place, run)
        place.set_xlabel("time [s]")
        place.margins(x=0.0)
        draw_grid(place)
    save_figure(figure, path)
    return figure


def _draw_loop(axes: Axes, rows: _Rows) -> None:
    for colour, dt in zip(COLOURS, np.unique(rows["dt"])[::-1], strict=False):
        run = select(rows, dt=dt)
        label = rf"$\delta t$ = {1e3 * dt:g} ms"
        axes.plot(run["time"], run["position"], color=colour, linewidth=1.0, label=label)
        # limit of the errors: the largest of the bounds up to then
        bound = np.maximum.accumulate(run["expected"])
        axes.plot(run["time"], bound, color=colour, linewidth=1.0, linestyle="--")
    axes.plot([], [], color="0.35", linestyle="--", linewidth=1.0, label="bound")
    axes.set_yscale("log")
    axes.set_ylim(bottom=1e-7)
    axes.set_ylabel("error of the loop [m]")
    axes.set_title("Four-bar linkage, closed by a connect", fontsize="medium")
    axes.legend(frameon=False, fontsize="small", loc="lower right", ncols=2)


def _draw_limit(axes: Axes, rows: _Rows) -> None:
    axes.plot(rows["time"], rows["position"], color=COLOURS[0], label="distance to the limit")
    axes.axhline(0.0, color="0.35", linewidth=1.0)
    axes.set_ylabel("distance to the limit [rad]")
    axes.set_title("A pendulum falls onto its joint limit", fontsize="medium")
    inset = axes.inset_axes((0.5, 0.45, 0.47, 0.45))
    inset.plot(rows["time"], rows["position"], color=COLOURS[0])
    last = float(rows["expected"][-1])
    inset.axhline(last, color="0.35", linestyle="--", label="expected at rest")
    inset.set_ylim(4.0 * last, -4.0 * last)
    inset.set_ylabel("[rad]", fontsize="small")
    inset.tick_params(labelsize="small")
    inset.yaxis.get_offset_text().set_fontsize("small")
    inset.legend(frameon=False, fontsize="small")


def _draw_servo(axes: Axes, rows: _Rows) -> None:
    axes.plot(rows["time"], rows["expected"], color="0.35", linestyle="--", label="command [rad]")
    axes.plot(rows["time"], rows["position"], color=COLOURS[0], label="angle [rad]")
    axes.set_ylabel("angle [rad]")
    axes.set_title(r"A servo of $10^7$ N m/rad meets a wall", fontsize="medium")
    right = axes.twinx()
    right.plot(rows["time"], rows["force"], color=COLOURS[1], label="torque [N m]")
    right.set_ylabel("torque [N m]")
    right.set_ylim(bottom=0.0)
    lines = [*axes.get_lines(), *right.get_lines()]
    axes.legend(handles=lines, frameon=False, fontsize="small", loc="lower right")


def _draw_friction(axes: Axes, rows: _Rows) -> None:
    axes.plot(rows["time"], rows["velocity"], color=COLOURS[0], label="velocity [m/s]")
    axes.plot(
        rows["time"], rows["expected"], color="0.35", linestyle="--", label="Coulomb's law [m/s]"
    )
    axes.set_ylabel("velocity [m/s]")
    axes.set_title("A slider with dry friction is pulled ever harder", fontsize="medium")
    right = axes.twinx()
    right.plot(rows["time"], -rows["force"], color=COLOURS[1], label="friction [N]")
    right.set_ylabel("friction [N]")
    lines = [*axes.get_lines(), *right.get_lines()]
    axes.legend(handles=lines, frameon=False, fontsize="small", loc="upper left")

"""A box that slides and a weight that is held, under every law of friction."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sapwood.studies.plotting.style import COLOURS, SOLVER_COLOURS, draw_grid, save_figure
from sapwood.studies.plotting.tables import read_steps, select

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_Rows = NDArray[np.void]

#: Colour, line and name of every law.
_LAWS = {
    "convex": (COLOURS[1], "-.", "convex"),
    "mujoco": (SOLVER_COLOURS["mujoco"], ":", "mj_step"),
    "mujoco-recommended": (
        SOLVER_COLOURS["mujoco-recommended"],
        (0, (3, 1, 1, 1, 1, 1)),
        "mj_step, recommended",
    ),
    "lagged": (COLOURS[2], "-", "lagged"),
    "coulomb": (COLOURS[0], "--", "Coulomb"),
}
_STEP = 0.002
_WEIGHT = 2.0 * 9.81
#: What the normal force is drawn of, s.
_WINDOW = (0.6, 0.7)


def sliding_figure(csv: str | PathLike[str], path: str | PathLike[str]) -> Figure:
    """Draw the scenes of `sapwood.studies.experiments.sliding`.

    File with the columns ``scene``, ``law``, ``dt`` (s), ``time`` (s), ``clearance`` (m), ``speed``
    (m/s) and ``force`` (N). Raises ValueError if the file holds no rows of one of the scenes.
    """
    from matplotlib.figure import Figure

    rows = read_steps(csv)
    runs = {}
    for scene in ("push", "brake", "grip"):
        for law in _LAWS:
            run = select(rows, scene=scene, law=law, dt=_STEP)
            if run.size == 0:
                raise ValueError(f"nothing to draw: no rows of scene {scene}, law {law} in {csv}")
            runs[scene, law] = run
    figure = Figure(figsize=(10.0, 7.5), layout="constrained")
    (clearance, force), (brake, grip) = figure.subplots(2, 2)
    for law, (colour, line, name) in _LAWS.items():
        style = {"color": colour, "linestyle": line, "label": name, "linewidth": 1.2}
        run = runs["push", law]
        clearance.plot(run["time"], 1e3 * run["clearance"], **style)
        part = run[(run["time"] > _WINDOW[0]) & (run["time"] < _WINDOW[1])]
        force.plot(part["time"], part["force"], **style)
        run = runs["brake", law]
        brake.plot(run["time"], 1e3 * run["clearance"], **style)
    _finish(clearance, "time [s]", "clearance [mm]", "A box pushed by 12 N, $\\mu$ = 0.5")
    clearance.legend(frameon=False, fontsize="small", loc="upper left")
    _finish(force, "time [s]", "normal force [N]", "The same: normal force, a tenth of a second")
    force.axhline(_WEIGHT, color="0.2", linewidth=0.8, linestyle=":", label="weight")
    force.set_ylim(top=1.3 * force.get_ylim()[1])
    force.legend(frameon=False, fontsize="small", ncols=3, loc="upper right")
    _finish(brake, "time [s]", "clearance [mm]", "The box at 2 m/s, $\\mu$ = 0.8, comes to rest")
    _draw_creep(grip, rows)
    save_figure(figure, path)
    return figure


def _finish(axes: Axes, x: str, y: str, title: str) -> None:
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(title, fontsize="medium")
    draw_grid(axes)


def _draw_creep(axes: Axes, rows: _Rows) -> None:
    """Speed at which a held weight creeps, of every law and time step."""
    steps = list(dict.fromkeys(select(rows, scene="grip")["dt"].tolist()))
    width = 0.8 / len(_LAWS)
    for k, (law, (colour, _, name)) in enumerate(_LAWS.items()):
        speeds = []
        for dt in steps:
            run = select(rows, scene="grip", law=law, dt=dt)
            late = run["time"] > 0.5 * run["time"][-1]
            speeds.append(1e6 * abs(run["speed"][late].mean()))
        places = np.arange(len(steps)) + (k - (len(_LAWS) - 1) / 2) * width
        axes.bar(places, speeds, width, color=colour, label=name)
    for k, dt in enumerate(steps):
        bound = 1e6 * 1e-3 * dt * 9.81
        label = r"$\sigma \mu\, \delta t\, g$" if k == 0 else None
        axes.plot([k - 0.5, k + 0.5], [bound, bound], color="0.2", linestyle=":", label=label)
    axes.set_yscale("log")
    axes.set_xticks(np.arange(len(steps)), [f"$\\delta t$ = {1e3 * dt:g} ms" for dt in steps])
    axes.set_ylabel("creep [um/s]")
    axes.set_title("A weight of 0.2 kg held by friction", fontsize="medium")
    bottom, top = axes.get_ylim()
    axes.set_ylim(0.5 * bottom, 20.0 * top)
    axes.legend(frameon=False, fontsize="small", ncols=2, loc="upper center")
    draw_grid(axes)

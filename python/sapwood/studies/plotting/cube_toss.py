"""Errors of predicted tosses of a cube."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from sapwood.studies.plotting.style import COLOURS, SOLVER_COLOURS, draw_grid, save_figure
from sapwood.studies.plotting.tables import read_steps, select

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FITS = {
    "sapwood": ("ours, by gradients", SOLVER_COLOURS["sapwood"]),
    "sapwood-inertia": ("ours, inertia found too", COLOURS[2]),
    "published": (r"ours, $\mu = 0.18$ held", SOLVER_COLOURS["sapwood-convex"]),
    "mujoco": ("MuJoCo, by differences", SOLVER_COLOURS["mujoco"]),
    "mujoco-inertia": ("MuJoCo, inertia found too", SOLVER_COLOURS["mujoco-matched"]),
}
_PANELS = {
    "step_position": "one step: position over side",
    "step_rotation": "one step: rotation, degrees",
    "path_position": "whole path: position over side",
    "path_rotation": "whole path: rotation, degrees",
}


def cube_toss_figure(csv: str | PathLike[str], path: str | PathLike[str]) -> Figure:
    """Draw mean errors on held-out tosses, by what of the cube meets the table first.

    File with the columns ``fit``, ``impact`` and the errors of `experiments.cube_toss`. Raises
    ValueError if the file holds no rows of one of the fits.

    Tosses that were made by this package's own contact law say so above the legend: on those its
    own fits cannot but come out first.
    """
    from matplotlib.figure import Figure

    rows = read_steps(csv)
    kinds = ["all", *np.unique(rows["impact"])]
    figure = Figure(figsize=(9.0, 6.0), layout="constrained")
    for panel, (name, title) in zip(figure.subplots(2, 2).flat, _PANELS.items(), strict=True):
        for i, (fit, (label, colour)) in enumerate(_FITS.items()):
            mine = select(rows, fit=fit)
            if mine.size == 0:
                raise ValueError(f"nothing to draw: no rows of {fit} in {csv}")
            groups = [mine if kind == "all" else select(mine, impact=kind) for kind in kinds]
            means = [float(group[name].mean()) for group in groups]
            place = np.arange(len(kinds)) + 0.17 * (i - (len(_FITS) - 1) / 2)
            panel.bar(place, means, 0.16, color=colour, label=label)
        counts = [rows.size // len(_FITS) if kind == "all" else
                  select(rows, fit="sapwood", impact=kind).size for kind in kinds]  # fmt: skip
        labels = [f"{kind} ({n})" for kind, n in zip(kinds, counts, strict=True)]
        panel.set_xticks(np.arange(len(kinds)), labels)
        panel.set_title(title, fontsize="medium")
        draw_grid(panel)
    synthetic = np.all(rows["tosses"] == "made")
    source = "synthetic tosses, made by sapwood's own contact law" if synthetic else None
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, title=source)
    save_figure(figure, path)
    return figure

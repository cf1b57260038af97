"""The style of all figures: colours, grids, reference slopes, the way to their files."""

from __future__ import annotations

import io
import os
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from sapwood.base.files import write_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Colours of the runs in a figure: those of Okabe and Ito, which colour-blind readers tell apart.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
#: Colour of every solver and engine, one and the same in all figures.
SOLVER_COLOURS = {
    "sapwood": COLOURS[0],
    "sapwood-convex": "#57b0c9",
    "sapwood-plain": COLOURS[1],
    "scipy": "#e8a878",  # the same algorithm on SciPy's matrices
    "reference": "#f0c8a8",
    "mujoco": "#404040",
    "mujoco-mindeg": "#8c8c8c",
    "mujoco-recommended": "#5f9ea0",
    "mujoco-matched": "#b4b4b4",
    "mujoco-noslip": "#d55e00",
    "mujoco-discrete": "#cc79a7",
    "clarabel": "#c2508f",
    "qoco": COLOURS[2],
    "scs": COLOURS[3],
    "ecos": "#a8324a",
    "geodesic": "#b8860b",
    "drake-sap": "#7a5230",
    "drake-lagged": "#c19a6b",
    "bullet": "#7fb800",
    # solvers of Siconos
    "NSGS": "#c9b400",
    "NSN_AC": "#00695c",
    "NSN_AC_TEST": "#80cbc4",
    "PROX": "#ff8fab",
    "ADMM": "#4b2e83",
}
#: Colour of every part of a solve or a step.
PART_COLOURS = {
    "assembly": "#00798c",
    "factor": "#e76f51",
    "factorization": "#e76f51",
    "solves": "#8fbc5a",
    "products": "#5e548e",
    "law": "#e5a1c0",
    "line_search": "#a08fd0",
    "symbolic": "#6b705c",
    "stages": "#9aa5b1",
    "solve": "#2a9d8f",
    "rest": "#d0d0d0",
}
#: Colour and name of the clutter with (1) and without (0) walls.
PLACES = {1: ("#2f4858", "with walls"), 0: ("#dd9a3c", "without walls")}
#: Colour and name of every method of the clutter.
METHODS = {
    "algorithm_1": (SOLVER_COLOURS["sapwood-plain"], "Algorithm 1"),
    "sapwood": (SOLVER_COLOURS["sapwood"], "sapwood"),
}


def draw_grid(axes: Axes) -> None:
    """Draw the lines of the major ticks, faintly.

    Parameters
    ----------
    axes
        Axes to draw them in.
    """
    axes.grid(True, which="major", linewidth=0.5, alpha=0.4)


def draw_slope(axes: Axes, x: ArrayLike, at: tuple[float, float], order: float, label: str) -> None:
    """Draw a reference line of a power law, y = y0 (x/x0)^order.

    Parameters
    ----------
    axes
        Axes with logarithmic scales.
    x
        Where the line begins and ends.
    at
        A point (x0, y0) that it goes through.
    order
        Its slope.
    label
        Its name in the legend.
    """
    ends = np.asarray(x, dtype=np.float64)
    line = at[1] * (ends / at[0]) ** order
    axes.plot(ends, line, color="0.35", linewidth=1.0, linestyle="--", label=label)


def save_figure(figure: Figure, path: str | PathLike[str]) -> None:
    """Write a figure to a file, which is replaced once all is drawn.

    Parameters
    ----------
    figure
        What to draw.
    path
        Image file to write; the suffix sets the format, and a name without one gets ``.png``.

    Raises
    ------
    OSError
        The file cannot be written; an existing one is as it was.
    ValueError
        There is no such format.
    """
    stem, suffix = os.path.splitext(path)
    suffix = suffix or ".png"
    picture = io.BytesIO()
    figure.savefig(picture, format=suffix[1:], dpi=150)
    write_file(stem + suffix, picture.getbuffer())

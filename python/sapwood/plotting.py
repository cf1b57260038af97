"""Figures, drawn from the CSV files that the experiments write.

Drawing from the files and not from memory means that a figure can be made again, restyled or
compared without running the simulation. Needs matplotlib (``pip install "sapwood[plot]"``); no
display and no pyplot state is used.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = ("#1f5fa8", "#d1661c", "#3d8b4a", "#8a4fa3")


def read_steps(path: str | PathLike[str]) -> NDArray[np.void]:
    """Read a CSV file of steps with a header line.

    A last line without its line end, as a killed run can leave it, is dropped.

    Parameters
    ----------
    path
        File with one header line; columns hold numbers or words.

    Returns
    -------
    ndarray, shape (n_steps,)
        Structured array: int64 and float64 columns, text where a column holds words.

    Raises
    ------
    ValueError
        No header, or a line with the wrong number of fields.
    """
    text = Path(path).read_text(encoding="utf-8")
    lines = list(csv.reader(text.splitlines()))
    if not lines:
        raise ValueError(f"{path}: no header line")
    header, rows = lines[0], lines[1:]
    if rows and not text.endswith("\n"):
        rows = rows[:-1]
    for number, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise ValueError(
                f"{path}: line {number} has {len(row)} fields, the header {len(header)}"
            )
    columns = [_column([row[j] for row in rows]) for j in range(len(header))]
    dtype = np.dtype([(name, column.dtype) for name, column in zip(header, columns, strict=True)])
    steps = np.empty(len(rows), dtype=dtype)
    for name, column in zip(header, columns, strict=True):
        steps[name] = column
    return steps


def _column(words: list[str]) -> NDArray[Any]:
    """Return the words of one column as int64 if all are, else as float64, else as text."""
    for dtype in (np.int64, np.float64):
        try:
            return np.array([dtype(word) for word in words], dtype=dtype)
        except ValueError:
            continue
    return np.array(words, dtype=np.str_)


def step_figure(
    files: Mapping[str, str | PathLike[str]],
    path: str | PathLike[str],
    *,
    title: str | None = None,
) -> Figure:
    """Draw iterations and wall-clock time per step against simulated time, as in Fig. 9.

    Parameters
    ----------
    files
        Label of a run to its CSV file, with the columns ``time`` (s), ``contacts``, ``iterations``,
        ``solver_time`` (s) and ``total_time`` (s).
    path
        Image file to write; the suffix sets the format.
    title
        Line above the figure.

    Returns
    -------
    matplotlib.figure.Figure
        The figure that was written.

    Raises
    ------
    ValueError
        No file holds a single step.
    """
    from matplotlib.figure import Figure

    runs = {label: read_steps(file) for label, file in files.items()}
    if not any(steps.size for steps in runs.values()):
        raise ValueError("nothing to draw: no steps in " + ", ".join(map(str, files.values())))

    figure = Figure(figsize=(8.0, 6.0), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    for (label, steps), colour in zip(runs.items(), _COLOURS, strict=False):
        _draw_iterations(above, label, steps, colour)
        _draw_times(below, label, steps, colour)
    above.set_ylabel("iterations per step")
    above.set_ylim(bottom=0)
    above.yaxis.get_major_locator().set_params(integer=True)
    below.set_ylabel("wall-clock time per step [ms]")
    below.set_yscale("log")
    below.set_xlabel("simulated time [s]")
    for axes in (above, below):
        axes.grid(True, which="major", linewidth=0.5, alpha=0.4)
        axes.margins(x=0.01)
        axes.legend(
            loc="lower right",
            bbox_to_anchor=(1.0, 1.0),
            ncols=2 * len(runs),
            frameon=False,
            fontsize="small",
        )
    if title is not None:
        figure.suptitle(title, fontsize="medium")
    figure.savefig(path, dpi=150)
    return figure


def _draw_iterations(axes: Axes, label: str, steps: NDArray[np.void], colour: str) -> None:
    axes.plot(steps["time"], steps["iterations"], color=colour, linewidth=0.9, label=label)


def _draw_times(axes: Axes, label: str, steps: NDArray[np.void], colour: str) -> None:
    """Solver as a line, the whole step (collision, kinematics, solver) as a paler one."""
    # a step without contacts asks nothing of the solver
    solver_time = np.where(steps["contacts"] > 0, steps["solver_time"], np.nan)
    for seconds, name, alpha in (
        (steps["total_time"], "whole step", 0.4),
        (solver_time, "solver", 1.0),
    ):
        axes.plot(
            steps["time"],
            1e3 * seconds,
            color=colour,
            alpha=alpha,
            linewidth=0.9,
            label=f"{label}, {name}",
        )

"""Tables of the clutter's runs for the terminal: medians over the assortments of bodies."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sapwood.studies.experiments.clutter_runs import METHODS
from sapwood.studies.plotting import median_over_seeds, select

_PLACES = {1: "walls", 0: "no walls"}


def median_table(rows: NDArray[np.void], x: str, name: str, title: str) -> str:
    """One column of runs against another, by place and method.

    Parameters
    ----------
    rows
        Rows with the columns ``walls`` (0 or 1) and ``method`` besides `x` and `name`.
    x, name
        Names of the columns.
    title
        What the numbers are.

    Returns
    -------
    str
        A line with the title, a header, and a line for each value of `x`; a dash where no run was.
    """
    runs = {
        f"{place}, {method}": select(rows, walls=walls, method=method)
        for walls, place in _PLACES.items()
        for method in METHODS
    }
    medians = {
        label: dict(zip(*median_over_seeds(run, x, name), strict=True))
        for label, run in runs.items()
    }
    lines = [title, f"{x:>9}" + "".join(f"{label:>23}" for label in runs)]
    for value in np.unique(rows[x]):
        words = (f"{found[value]:.3g}" if value in found else "-" for found in medians.values())
        lines.append(f"{value:>9.3g}" + "".join(f"{word:>23}" for word in words))
    return "\n".join(lines)

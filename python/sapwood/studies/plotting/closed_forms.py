"""Figures of closed forms over their bounds, engine by engine."""

from __future__ import annotations

from itertools import pairwise
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from sapwood.studies.plotting.style import SOLVER_COLOURS, save_figure
from sapwood.studies.plotting.tables import rows_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Ratios of figure and bound at which the axis ends, where smaller and greater ones are drawn.
_ENDS = 1e-6, 1e6
#: Markers, one for each engine, so that no one needs to tell colours apart.
_MARKERS = "osD^vPX<>*"
_HOLDS = ("holds", "broken")


def draw_closed_forms(source: str | PathLike[str], path: str | PathLike[str]) -> None:
    """Draw figure over bound of every scene and engine.

    Parameters
    ----------
    source
        The CSV file of ``sapwood closed-forms``.
    path
        The picture to write.

    Raises
    ------
    OSError, ValueError
        A file cannot be read or written.
    """
    from matplotlib.figure import Figure

    rows = rows_of(source)
    scenes = list(dict.fromkeys(rows["scene"].tolist()))
    engines = list(dict.fromkeys(rows["engine"].tolist()))
    figure = Figure(figsize=(8.5, 1.6 + 0.24 * len(scenes)), layout="constrained")
    axes = figure.subplots()
    axes.set_xscale("log")
    axes.axvspan(_ENDS[0] / 3.0, 1.0, color="0.93", linewidth=0.0)
    axes.axvline(1.0, color="0.2", linewidth=1.0)
    for k, engine in enumerate(engines):
        here = rows[rows["engine"] == engine]
        offset = 0.6 * ((k + 0.5) / len(engines) - 0.5)
        drawn = [(_ratio(row), scenes.index(row["scene"]) + offset) for row in here if _ran(row)]
        held = sum(row["status"] == "holds" for row in here)
        axes.plot(
            [x for x, _ in drawn],
            [y for _, y in drawn],
            _MARKERS[k % len(_MARKERS)],
            color=SOLVER_COLOURS[engine],
            markersize=5.0,
            label=f"{engine}: {held} of {len(drawn)} hold",
        )
    for y in np.flatnonzero([_family(rows, a) != _family(rows, b) for a, b in pairwise(scenes)]):
        axes.axhline(y + 0.5, color="0.7", linewidth=0.6)
    for family in dict.fromkeys(rows["family"].tolist()):
        first = next(y for y, scene in enumerate(scenes) if _family(rows, scene) == family)
        axes.text(2.5 * _ENDS[1], first, family, fontsize=8, ha="right", va="center", color="0.35")
    axes.set_yticks(range(len(scenes)), scenes, fontsize=8)
    axes.set_ylim(len(scenes) - 0.5, -0.5)
    axes.set_xlim(_ENDS[0] / 3.0, _ENDS[1] * 3.0)
    axes.set_xlabel("figure over its bound, dimensionless")
    axes.set_title("grey: the bound holds; a scene that failed is at the right end", fontsize=9)
    axes.grid(True, axis="x", linewidth=0.4, alpha=0.4)
    figure.legend(loc="outside upper center", ncols=2, fontsize=8)
    save_figure(figure, path)


def _ran(row: np.void) -> bool:
    return str(row["status"]) != "skipped"


def _ratio(row: np.void) -> float:
    """Figure over bound within the axis; a step that failed is at its end."""
    ratio = row["figure"] / row["bound"] if row["status"] in _HOLDS else np.inf
    return float(np.clip(abs(ratio), *_ENDS))


def _family(rows: NDArray[np.void], scene: str) -> str:
    return str(rows["family"][rows["scene"] == scene][0])

"""Table and figure of the comparison of engines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.engines.comparison import CANNOT, ENGINES, RAN, Row
from sapwood.studies.plotting.style import SOLVER_COLOURS, save_figure

#: The engine whose time the others are compared with.
OURS = "sapwood"

# beside their colours
_MARKERS = "oDs^vPX*"


def table(rows: Sequence[Row]) -> list[list[str]]:
    """Time per step, its ratio to ours, and quality; head and lines."""
    lines = [
        ["scene", "engine", "us per step", "over ours", "depth um", "slip um/s", "energy gain J",
         "clearance mm", "speed error mm/s", ""]
    ]  # fmt: skip
    ours = {row.scene: row.step for row in rows if row.engine == OURS and row.status == RAN}
    for row in rows:
        if row.status == CANNOT:
            lines.append([row.scene, row.engine, *["-"] * 7, f"{CANNOT}: {row.detail}"])
            continue
        numbers = (
            row.step, row.step / ours.get(row.scene, float("nan")), 1e6 * row.penetration,
            1e6 * row.slip, row.gain, 1e3 * row.clearance, 1e3 * row.speed_error,
        )  # fmt: skip
        note = "" if row.status == RAN else f"{row.status}: {row.detail}"
        lines.append([row.scene, row.engine, *map(_digits, numbers), note])
    return lines


def _digits(value: float) -> str:
    return "-" if value != value else f"{value:.3g}"


def figure(rows: Sequence[Row], path: Path) -> None:
    """Time per step of every engine, scene by scene.

    Raises
    ------
    ImportError
        matplotlib is not installed.
    """
    from matplotlib.figure import Figure

    scenes = list(dict.fromkeys(row.scene for row in rows))
    canvas = Figure(figsize=(9.0, 1.2 + 0.8 * len(scenes)), layout="constrained")
    axis = canvas.subplots()
    for k, engine in enumerate(ENGINES):
        here = [row for row in rows if row.engine == engine and row.step == row.step]
        places = [scenes.index(row.scene) + 0.1 * (k - len(ENGINES) / 2) for row in here]
        colour, marker = SOLVER_COLOURS[engine], _MARKERS[k % len(_MARKERS)]
        axis.plot([], [], marker, color=colour, label=engine)
        for row, y in zip(here, places, strict=True):
            filled = "full" if row.status == RAN else "none"
            axis.plot(row.step, y, marker, color=colour, fillstyle=filled)
    if any(row.status != RAN for row in rows):
        axis.plot([], [], "o", color="0.3", fillstyle="none", label="ended early")
    axis.set_xscale("log")
    axis.set_xlabel("time per step [µs]")
    axis.set_yticks(range(len(scenes)), scenes)
    axis.invert_yaxis()
    axis.grid(True, axis="x", linewidth=0.5, alpha=0.4)
    axis.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=4, frameon=False)
    save_figure(canvas, path)

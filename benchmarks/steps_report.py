"""Table and figure of the step benchmark, from the rows of its CSV file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.rows import aligned, digits
from benchmarks.steps import Row
from sapwood.studies.plotting.style import PART_COLOURS, SOLVER_COLOURS, save_figure

_COLOURS = {
    "ours": SOLVER_COLOURS["sapwood"],
    "mj_default": SOLVER_COLOURS["mujoco"],
    "mj_recommended": SOLVER_COLOURS["mujoco-recommended"],
    "mj_matched": SOLVER_COLOURS["mujoco-matched"],
}
_PARTS = ("stages", "solve", "rest")


def table(rows: Sequence[Row]) -> str:
    """Times per step and ratios of MuJoCo's step to ours."""
    lines = [
        [
            "us per step", "window", "trees", "nv", "contacts", "iterations", "step", "stages",
            "solve", "rest", "solve %", "mj_step", "recommended", "matched", "mj_step/ours",
            "recommended/ours", "matched/ours",
        ]
    ]  # fmt: skip
    for row in rows:
        numbers = (
            row.contacts, row.iterations, row.step, row.stages, row.solve, row.rest,
            100.0 * row.solve / row.step, row.mj_default, row.mj_recommended, row.mj_matched,
            row.mj_default / row.step, row.mj_recommended / row.step, row.mj_matched / row.step,
        )  # fmt: skip
        lines.append(
            [row.scene, row.window, str(row.trees), str(row.nv), *(digits(x) for x in numbers)]
        )
    return aligned(lines)


def figure(rows: Sequence[Row], path: Path) -> None:
    """Time per step of the four, and the parts of ours.

    Raises
    ------
    ImportError
        matplotlib is not installed.
    """
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(11.0, 1.6 + 0.3 * len(rows)), layout="constrained")
    left, right = canvas.subplots(1, 2, sharey=True, width_ratios=(1.4, 1.0))
    places = range(len(rows))
    for label, key, values in (
        ("mj_step, default", "mj_default", [row.mj_default for row in rows]),
        ("recommended", "mj_recommended", [row.mj_recommended for row in rows]),
        ("matched", "mj_matched", [row.mj_matched for row in rows]),
        ("ours", "ours", [row.step for row in rows]),
    ):
        left.plot(values, places, "o", color=_COLOURS[key], label=label, markersize=6)
    left.set_xscale("log")
    left.set_xlabel("time per step [µs]")
    left.grid(True, which="major", linewidth=0.5, alpha=0.4)
    left.set_yticks(places, [f"{row.scene}, {row.window}" for row in rows])
    left.invert_yaxis()
    left.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=4, frameon=False)

    begin = [0.0] * len(rows)
    for part in _PARTS:
        # noise can make a small rest negative: it is drawn as nothing
        shares = [max(100.0 * getattr(row, part) / row.step, 0.0) for row in rows]
        right.barh(places, shares, 0.7, begin, color=PART_COLOURS[part], label=part)
        begin = [b + share for b, share in zip(begin, shares, strict=True)]
    right.set_xlim(0.0, 100.0)
    right.set_xlabel("share of our step [%]")
    right.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, frameon=False)
    save_figure(canvas, path)

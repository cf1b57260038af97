"""Tables and figure over a folder of models, from the rows of the CSV files."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.models import quality, speed
from benchmarks.models.files import CLASSES
from benchmarks.models.trials import CONTROLS, FREE, RAN, REFUSED, UNSTABLE, ZERO
from benchmarks.pages import markdown
from benchmarks.rows import aligned
from sapwood.studies.plotting.style import SOLVER_COLOURS, save_figure

#: Kinetic energy over MuJoCo's from which a model counts as fired.
FIRED = 5.0

_MEASURES = (
    ("penetration", "deepest contact, mm", 1e3),
    ("limit", "limit violated, mrad or mm", 1e3),
    ("equality", "loop open, mm or mrad", 1e3),
    ("creep", "creep of what rests, mm/s", 1e3),
    ("drift", "energy drift, %", 1e2),
)


# colour, marker and name of the simulations that ours is drawn over
_MARKERS = (
    (quality.MJ, SOLVER_COLOURS["mujoco"], "o", "mj_step as the model says"),
    (quality.RECOMMENDED, SOLVER_COLOURS["mujoco-recommended"], "^", "mj_step as recommended"),
)


def tables(rows: Sequence[quality.Row], timed: Sequence[speed.Row]) -> str:
    """All tables, for a terminal."""
    parts = [aligned(part) if isinstance(part, list) else part for part in _parts(rows, timed)]
    return "\n\n".join(parts)


def page_tables(rows: Sequence[quality.Row], timed: Sequence[speed.Row]) -> str:
    """The same in Markdown."""
    parts = [markdown(part) if isinstance(part, list) else part for part in _parts(rows, timed)]
    return "\n\n".join(parts)


def _parts(rows: Sequence[quality.Row], timed: Sequence[speed.Row]) -> list[list[list[str]] | str]:
    parts: list[list[list[str]] | str] = []
    if rows:
        parts += [_outcomes(rows), _measures(rows), _reasons(rows)]
    if timed:
        parts += [_speeds(timed)]
    return [part for part in parts if part]


# ---- quality -----------------------------------------------------------------------------------


def _outcomes(rows: Sequence[quality.Row]) -> list[list[str]]:
    """The number of models that ran, by controls."""
    lines = [
        ["controls", "models", "refused", "no run", "NaN only in mj_step", "recommended",
         f"more than {FIRED:g}x its energy", "recommended", "unconverged steps"]
    ]  # fmt: skip
    for controls in CONTROLS:
        here = [row for row in rows if row.controls == controls]
        if here:
            ran = [row for row in here if row.status == RAN]
            bad = sum(row.stalled + row.iteration_limit + row.friction_limit for row in ran)
            lines.append(
                [
                    controls,
                    str(len(here)),
                    _share(sum(row.status == REFUSED for row in here), len(here)),
                    _share(sum(row.status not in (RAN, REFUSED) for row in here), len(here)),
                    str(sum(row.status_mj == UNSTABLE for row in ran)),
                    str(sum(row.status_recommended == UNSTABLE for row in ran)),
                    _share(sum(fired(row) for row in ran), len(ran)),
                    _share(sum(fired_as_recommended(row) for row in ran), len(ran)),
                    f"{100 * bad / max(1, sum(row.steps for row in ran)):.2f} %",
                ]
            )
    return lines


def fired(row: quality.Row) -> bool:
    """Whether a model got far more kinetic energy than MuJoCo gives it."""
    return row.status_mj == RAN and row.ratio > FIRED


def fired_as_recommended(row: quality.Row) -> bool:
    """Whether it got far more than MuJoCo gives it as its manual recommends."""
    return row.status_recommended == RAN and row.ratio_recommended > FIRED


def _measures(rows: Sequence[quality.Row]) -> list[list[str]]:
    """Median, ninth decile and worst of each measure, in the three simulations.

    Only models count that all three finish, and in which one of them shows something at all.
    """
    heads = [[part, "mj_step", "recommended"] for part in ("median", "90 %", "worst")]
    lines = [["", "controls", "models", *itertools.chain(*heads)]]
    for name, label, scale in _MEASURES:
        for controls in CONTROLS:
            if (name == "drift") != (controls == FREE):
                continue
            found = [
                [abs(getattr(row, f"{name}{end}")) for end in quality.SIMULATIONS]
                for row in rows
                if row.controls == controls and _finished(row)
            ]
            found = [values for values in found if max(values) > 1e-9]
            if not found:
                continue
            columns = [
                f"{scale * part(values):.3g}"
                for part in (median, partial(quantile, part=0.9), max)
                for values in zip(*found, strict=True)
            ]
            lines.append([label, controls, str(len(found)), *columns])
    return lines


def _finished(row: quality.Row) -> bool:
    """Whether all three simulations came to their end."""
    return row.status == row.status_mj == row.status_recommended == RAN


def quantile(values: Sequence[float], part: float) -> float:
    """The value that a part of the others does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)]


def _reasons(rows: Sequence[quality.Row]) -> list[list[str]]:
    """Models that did not run, or were fired, each with what there is to say."""
    found = []
    for row in rows:
        if row.status != RAN:
            found.append((row.file, row.controls, row.status, _short(row.reason)))
        elif fired(row):
            why = (
                f"kinetic energy {row.kinetic:.3g} J, mj_step {row.kinetic_mj:.3g} J, "
                f"recommended {row.kinetic_recommended:.3g} J"
            )
            found.append((row.file, row.controls, f"{row.ratio:.3g}x", why))
    # rows that are equal under several controls stand once
    merged: dict[tuple[str, str, str], list[str]] = {}
    for file, controls, what, why in found:
        merged.setdefault((file, what, why), []).append(controls)
    lines = [
        [file, "all" if len(controls) == len(CONTROLS) else ", ".join(controls), what, why]
        for (file, what, why), controls in merged.items()
    ]
    return [["model", "controls", "what", "why"], *lines] if lines else []


def _short(text: str, most: int = 160) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


def _share(count: int, total: int) -> str:
    return f"{count} ({100 * count / max(1, total):.1f} %)"


# ---- speed -------------------------------------------------------------------------------------


def _speeds(timed: Sequence[speed.Row]) -> list[list[str]]:
    """Speed over that of `mj_step`, by class: of runs, and where Python calls each step."""
    lines = [
        ["speed over mj_step", "controls", "models", "median", "10 %", "least", "model",
         "step by step: median", "10 %"],
    ]  # fmt: skip
    for group in ("all", *CLASSES):
        for controls in CONTROLS:
            here = [
                row
                for row in timed
                if row.status == RAN and row.controls == controls and group in ("all", row.group)
            ]
            if here:
                runs = [row.speed for row in here]
                singles = [row.single_speed for row in here]
                least = min(here, key=lambda row: row.speed)
                parts = (median(runs), quantile(runs, 0.1), least.speed)
                calls = (median(singles), quantile(singles, 0.1))
                lines.append([
                    group, controls, str(len(here)),
                    *(f"{part:.2f}" for part in parts), least.file,
                    *(f"{part:.2f}" for part in calls),
                ])  # fmt: skip
    return lines


# ---- figure ------------------------------------------------------------------------------------


def figure(rows: Sequence[quality.Row], timed: Sequence[speed.Row], path: Path) -> None:
    """Ours over MuJoCo's, model by model: depth, limits, kinetic energy, and speed.

    Raises
    ------
    ImportError
        matplotlib is not installed.
    """
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(11.0, 9.0), layout="constrained")
    axes = canvas.subplots(2, 2)
    ran = [row for row in rows if row.controls != FREE and _finished(row)]
    panels = (
        ("deepest contact", "m", "penetration"),
        ("limit violated", "rad or m", "limit"),
        ("largest kinetic energy", "J", "kinetic"),
    )
    for axis, (title, unit, name) in zip(axes.flat, panels, strict=False):
        _scatter(axis, ran, name)
        axis.set(xlabel=f"mj_step [{unit}]", ylabel=f"ours [{unit}]", title=title)
    axes[0, 0].legend(frameon=False, loc="upper left")
    for group in CLASSES:
        speeds = sorted(
            row.speed
            for row in timed
            if row.status == RAN and row.group == group and row.controls == ZERO
        )
        if speeds:
            places = [(i + 0.5) / len(speeds) for i in range(len(speeds))]
            axes[1, 1].plot(speeds, places, "-o", markersize=3, label=f"{group} ({len(speeds)})")
    axes[1, 1].axvline(1.0, color="0.6", linewidth=0.8)
    axes[1, 1].set(
        xlabel="speed over mj_step", ylabel="part of the models", title="speed, zero controls"
    )
    if axes[1, 1].get_legend_handles_labels()[0]:
        # ticks of a logarithmic scale would lie on each other
        axes[1, 1].set_xscale("log", base=2)
        axes[1, 1].xaxis.set_major_formatter("{x:g}")
        axes[1, 1].legend(frameon=False)
    save_figure(canvas, path)


def _scatter(axis: Any, rows: Sequence[quality.Row], name: str) -> None:
    """Ours over MuJoCo's; nothing is drawn as the least value."""
    least = 1e-9
    most = 1e-3
    ours = [max(getattr(row, name), least) for row in rows]
    for end, colour, marker, label in _MARKERS:
        theirs = [max(getattr(row, f"{name}{end}"), least) for row in rows]
        axis.loglog(
            theirs, ours, marker, markersize=4.5, alpha=0.85, color=colour, markeredgewidth=1.0,
            fillstyle="none", label=label,
        )  # fmt: skip
        most = max([most, *theirs, *ours])
    axis.loglog([least, most], [least, most], color="0.6", linewidth=0.8)

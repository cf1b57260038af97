"""Tables and figure over a folder of models, from the rows of the CSV files."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.models import quality, speed
from benchmarks.models.files import CLASSES
from benchmarks.models.trials import CONTROLS, FREE, RAN, REFUSED, UNSTABLE, ZERO
from benchmarks.pages import markdown
from benchmarks.rows import aligned
from sapwood.studies.plotting.style import save_figure

#: Kinetic energy over MuJoCo's from which a model counts as fired.
FIRED = 5.0

_MEASURES = (
    ("penetration", "deepest contact, mm", 1e3),
    ("limit", "limit violated, mrad or mm", 1e3),
    ("equality", "loop open, mm or mrad", 1e3),
    ("creep", "creep of what rests, mm/s", 1e3),
    ("drift", "energy drift, %", 1e2),
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
    """How many models ran, by controls."""
    lines = [
        ["controls", "models", "refused", "no run", "NaN only in mj_step",
         f"more than {FIRED:g}x its energy", "unconverged steps"]
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
                    _share(sum(fired(row) for row in ran), len(ran)),
                    f"{100 * bad / max(1, sum(row.steps for row in ran)):.2f} %",
                ]
            )
    return lines


def fired(row: quality.Row) -> bool:
    """Whether a model got far more kinetic energy than MuJoCo gives it."""
    return row.status_mj == RAN and row.ratio > FIRED


def _measures(rows: Sequence[quality.Row]) -> list[list[str]]:
    """Median, ninth decile and worst of each measure, ours and MuJoCo's.

    Only models count of which one of the two shows something at all.
    """
    lines = [["", "controls", "models", "median", "mj_step", "90 %", "mj_step", "worst", "mj_step"]]
    for name, label, scale in _MEASURES:
        for controls in CONTROLS:
            if (name == "drift") != (controls == FREE):
                continue
            pairs = [
                (abs(getattr(row, name)), abs(getattr(row, f"{name}_mj")))
                for row in rows
                if row.controls == controls and row.status == row.status_mj == RAN
            ]
            pairs = [pair for pair in pairs if max(pair) > 1e-9]
            if not pairs:
                continue
            both = list(zip(*pairs, strict=True))
            columns = [
                f"{scale * part(values):.3g}"
                for part in (median, partial(quantile, part=0.9), max)
                for values in both
            ]
            lines.append([label, controls, str(len(pairs)), *columns])
    return lines


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
            why = f"kinetic energy {row.kinetic:.3g} J, mj_step {row.kinetic_mj:.3g} J"
            found.append((row.file, row.controls, f"{row.ratio:.3g}x", why))
    # what is the same under several controls stands once
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
    ran = [row for row in rows if row.controls != FREE and row.status == row.status_mj == RAN]
    panels: tuple[tuple[str, str, Callable[[quality.Row], tuple[float, float]]], ...] = (
        ("deepest contact", "m", lambda row: (row.penetration_mj, row.penetration)),
        ("limit violated", "rad or m", lambda row: (row.limit_mj, row.limit)),
        ("largest kinetic energy", "J", lambda row: (row.kinetic_mj, row.kinetic)),
    )
    for axis, (title, unit, pair) in zip(axes.flat, panels, strict=False):
        _scatter(axis, [pair(row) for row in ran], title, unit)
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


def _scatter(axis: Any, pairs: Sequence[tuple[float, float]], title: str, unit: str) -> None:
    """Ours over MuJoCo's; nothing is drawn as the least value."""
    least = 1e-9
    theirs = [max(pair[0], least) for pair in pairs]
    ours = [max(pair[1], least) for pair in pairs]
    axis.loglog(theirs, ours, "o", markersize=3.5, alpha=0.6, color="#1f5fa8")
    ends = [least, max([*theirs, *ours, 1e-3])]
    axis.loglog(ends, ends, color="0.6", linewidth=0.8)
    axis.set(xlabel=f"mj_step [{unit}]", ylabel=f"ours [{unit}]", title=title)

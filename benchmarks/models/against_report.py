"""Tables of two builds of ours over a folder of models."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from benchmarks.models.against import Row
from benchmarks.models.files import CLASSES
from benchmarks.models.report import quantile
from benchmarks.models.trials import RAN, RANDOM, ZERO
from benchmarks.rows import aligned


def tables(rows: Sequence[Row], before: str, after: str) -> str:
    """Ratios by class, then every model, the slowest of B first, then what was not timed."""
    ran = [row for row in rows if row.status == RAN]
    changed = sum(row.changed > 0 for row in ran)
    head = f"time of a step of B ({after}) over A ({before}): below 1 B is faster"
    parts = [f"{head}\n{len(ran)} timed, {changed} of them with results of other bits"]
    if ran:
        parts += [aligned(_classes(ran)), aligned(_models(ran))]
    parts += [
        f"{row.file}, {row.controls}: {row.status}: {row.reason}"
        for row in rows
        if row.status != RAN
    ]
    return "\n\n".join(parts)


def _classes(ran: Sequence[Row]) -> list[list[str]]:
    lines = [
        ["B over A", "controls", "models", "median", "10 %", "90 %", "most", "model", "spread",
         "step by step: median", "10 %", "90 %"]
    ]  # fmt: skip
    for group in ("all", *CLASSES):
        for controls in ("both", ZERO, RANDOM) if group == "all" else (ZERO, RANDOM):
            here = [
                row
                for row in ran
                if group in ("all", row.group) and controls in ("both", row.controls)
            ]
            if here:
                most = max(here, key=lambda row: row.ratio)
                lines.append([
                    group, controls, str(len(here)),
                    *_ratios([row.ratio for row in here]), f"{most.ratio:.3f}", most.file,
                    f"{median(row.spread for row in here):.3f}",
                    *_ratios([row.single_ratio for row in here]),
                ])  # fmt: skip
    return lines


def _ratios(values: Sequence[float]) -> list[str]:
    parts = (median(values), quantile(values, 0.1), quantile(values, 0.9))
    return [f"{part:.3f}" for part in parts]


def _models(ran: Sequence[Row]) -> list[list[str]]:
    lines = [
        ["model", "controls", "class", "contacts", "iterations", "changed", "A, us", "B, us",
         "B over A", "spread", "step by step: B over A", "spread"]
    ]  # fmt: skip
    for row in sorted(ran, key=lambda row: -row.ratio):
        lines.append([
            row.file, row.controls, row.group, f"{row.contacts:.1f}", f"{row.iterations:.2f}",
            str(row.changed), f"{row.before:.1f}", f"{row.after:.1f}",
            f"{row.ratio:.3f}", f"{row.spread:.3f}",
            f"{row.single_ratio:.3f}", f"{row.single_spread:.3f}",
        ])  # fmt: skip
    return lines

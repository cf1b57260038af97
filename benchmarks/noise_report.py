"""Verdict and figure of the comparison with another commit, from the rows of its CSV file."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.noise import (
    MODES,
    STATISTICS,
    VERDICTS,
    Ratio,
    Row,
    block_logarithms,
    by_file,
    changed_results,
    overall,
)
from benchmarks.rows import aligned
from sapwood.studies.plotting.style import save_figure

_COLOURS = ("#3d8b4a", "#d1661c", "#9aa5b1", "#9aa5b1")


def table(rows: Sequence[Row], before: str, now: str) -> str:
    """Verdicts in geometric mean, then every problem."""
    return "\n\n".join([_summary(rows, before, now), _problems(rows)])


def _summary(rows: Sequence[Row], before: str, now: str) -> str:
    blocks = block_logarithms(rows, MODES[0], STATISTICS[0])
    n_blocks = max((len(values) for values in blocks.values()), default=0)
    lines = []
    for mode in MODES:
        for statistic in STATISTICS:
            ratio = overall(rows, mode, statistic)
            counts = Counter(r.verdict for r in by_file(rows, mode, statistic).values())
            told = ", ".join(f"{counts[v]} {v}" for v in VERDICTS if v in counts)
            lines.append([f"{mode}, {statistic}", ratio.verdict.upper(), _text(ratio), f"({told})"])
    changed = changed_results(rows)
    results = "the same bits" if not changed else f"other bits on {len(changed)} problems"
    return "\n".join(
        [
            f"time of B ({now}) over A ({before})",
            f"{len(blocks)} problems, {n_blocks} blocks, results: {results}",
            aligned(lines),
            "intervals of 95 %: without any difference one problem in twenty is marked by chance",
        ]
    )


def _problems(rows: Sequence[Row]) -> str:
    """Every problem, by least times, those that gained most first."""
    lines = [["B over A, least times", *(word for mode in MODES for word in (mode, ""))]]
    ratios = [by_file(rows, mode, "least") for mode in MODES]
    for file in sorted(ratios[0], key=lambda file: ratios[0][file].value):
        line = [file]
        for of_mode in ratios:
            ratio = of_mode.get(file)
            line += ["-", ""] if ratio is None else [_text(ratio), ratio.verdict]
        lines.append(line)
    return aligned(lines)


def _text(ratio: Ratio) -> str:
    if math.isnan(ratio.low):
        return f"{ratio.value:.4f}"
    return f"{ratio.value:.4f} [{ratio.low:.4f}, {ratio.high:.4f}]"


def figure(rows: Sequence[Row], path: Path) -> None:
    """Ratio of every problem with its interval, in order, and the geometric mean.

    Raises
    ------
    ImportError
        matplotlib is not installed.
    """
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(11.0, 4.5), layout="constrained")
    for axes, mode in zip(canvas.subplots(1, len(MODES), sharey=True), MODES, strict=True):
        ratios = sorted(by_file(rows, mode, "least").values())
        for verdict, colour in zip(VERDICTS, _COLOURS, strict=True):
            mine = [(k, r) for k, r in enumerate(ratios) if r.verdict == verdict]
            if not mine:
                continue
            axes.errorbar(
                [k for k, _ in mine],
                [r.value for _, r in mine],
                yerr=[[r.value - r.low for _, r in mine], [r.high - r.value for _, r in mine]],
                fmt="o", color=colour, markersize=3, linewidth=0.8,
                label=f"{verdict}: {len(mine)}",
            )  # fmt: skip
        mean = overall(rows, mode, "least")
        if not math.isnan(mean.low):
            axes.axhspan(mean.low, mean.high, color="#1f5fa8", alpha=0.2)
        axes.axhline(mean.value, color="#1f5fa8", linewidth=1.0, label="geometric mean")
        axes.axhline(1.0, color="black", linewidth=0.8)
        axes.set_title(f"{mode}: {_text(mean)}, {mean.verdict}", fontsize="medium")
        axes.set_xlabel("problems, in order of their ratio")
        axes.legend(loc="upper left", ncols=2, frameon=False, fontsize="small")
        axes.xaxis.get_major_locator().set_params(integer=True)
        # the middle of the intervals counts, however far a few of them reach
        reach = max([0.02, *(abs(r.value - 1.0) for r in ratios)])
        axes.set_ylim(1.0 - 1.5 * reach, 1.0 + 2.0 * reach)
    canvas.axes[0].set_ylabel("time of B over A")
    save_figure(canvas, path)

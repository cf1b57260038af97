"""The speed of sapwood over each other solver, and the problems where it is slower.

Only problems with many contacts count: on the others set-up is most of the time. Times that were
recorded elsewhere can stand beside those of a run: they are multiplied by what MuJoCo takes here
over what it took there.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.solvers import Row
from benchmarks.solvers_report import (
    OURS,
    aligned,
    duration,
    entries_of,
    geometric_mean,
    main_target,
    ratio,
    targets_of,
    times_of,
)

MANY_CONTACTS = 20
CONIC = ("clarabel", "qoco", "scs", "ecos")
RECORDED_FILE = "peer_times.csv"
# accuracy that each recorded solver reached, and the one that tells the speed of the machine
RECORDED_TARGETS = {"drake": 1e-6, "mujoco": 1e-6, "conic": 1e-5, "prototype": 1e-6}
SCALE = "mujoco"

Times = Mapping[str, float]
"""Seconds by problem."""


def comparison(rows: Sequence[Row], recorded: Mapping[str, Times]) -> str:
    """Ratios to our time for each accuracy, the files where we are slower, and every file.

    Parameters
    ----------
    rows
        Rows of a run.
    recorded
        Times from elsewhere by solver; see `read_recorded`.
    """
    rows = [row for row in rows if row.contacts is not None and row.contacts >= MANY_CONTACTS]
    if not rows:
        return f"no problem has {MANY_CONTACTS} contacts or more"
    scaled, note = _scaled(rows, recorded)
    blocks = [note] if note else []
    for target in targets_of(rows):
        others = _others(rows, target, scaled)
        blocks += [_ratios(rows, target, others), _slower(rows, target, others)]
    target = main_target(rows)
    blocks.append(_files(rows, target, _others(rows, target, scaled)))
    return "\n\n".join(block for block in blocks if block)


def read_recorded(path: Path) -> dict[str, dict[str, float]]:
    """Times by solver and problem, s, from the columns NAME_us of a CSV file.

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        It has no column `file`, or a time is not a number > 0; the text names line and column.
    """
    times: dict[str, dict[str, float]] = {}
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        names = reader.fieldnames or []
        if "file" not in names:
            raise ValueError(f"{path}: no column 'file'")
        columns = [name for name in names if name.endswith("_us")]
        for line in reader:
            for column in columns:
                word = line[column]
                if not word:
                    continue
                try:
                    value = float(word)
                except ValueError:
                    value = math.nan
                if not 0.0 < value < math.inf:
                    raise ValueError(
                        f"{path}, line {reader.line_num}: {column} = {word!r} is no time"
                    )
                solver = times.setdefault(column.removesuffix("_us"), {})
                solver[line["file"].removesuffix(".npz")] = value / 1e6
    return times


def _scaled(
    rows: Sequence[Row], recorded: Mapping[str, Times]
) -> tuple[dict[str, dict[str, float]], str]:
    """Recorded times as they would be on this machine, and the factor in words."""
    if not recorded:
        return {}, ""
    chosen = [row for row in rows if row.target == RECORDED_TARGETS[SCALE]]
    here, there = times_of(chosen, SCALE, "cold"), recorded.get(SCALE, {})
    factors = [here[file] / there[file] for file in here if file in there]
    factor = geometric_mean(factors)
    if factor is None:
        return {}, f"recorded times are left out: {SCALE} was not measured on any of their files"
    note = (
        f"times recorded elsewhere are multiplied by {ratio(factor)}: {SCALE} here over {SCALE} "
        f"there, geometric mean over {len(factors)} files, from {ratio(min(factors))} to "
        f"{ratio(max(factors))}"
    )
    scaled = {
        solver: {file: factor * seconds for file, seconds in times.items()}
        for solver, times in recorded.items()
    }
    return scaled, note


def _others(
    rows: Sequence[Row], target: float, scaled: Mapping[str, Times]
) -> dict[str, dict[str, float]]:
    """Times of every other solver at one accuracy, by name and problem."""
    chosen = [row for row in rows if row.target == target]
    files = {row.file for row in chosen}
    others = {
        solver if mode == "cold" else f"{solver}, {mode}": times_of(chosen, solver, mode)
        for solver, mode in entries_of(chosen)
        if solver != OURS
    }
    conic = [others[name] for name in CONIC if name in others]
    if len(conic) > 1:
        others["best conic"] = {
            file: min(times[file] for times in conic if file in times)
            for file in sorted(files)
            if any(file in times for times in conic)
        }
    for solver, times in scaled.items():
        if solver != SCALE and RECORDED_TARGETS.get(solver) == target:
            mine = {file: seconds for file, seconds in times.items() if file in files}
            others[f"{solver}, recorded"] = mine
    return others


def _ours(rows: Sequence[Row], target: float, mode: str) -> dict[str, float]:
    return times_of([row for row in rows if row.target == target], OURS, mode)


def _ratios(rows: Sequence[Row], target: float, others: Mapping[str, Times]) -> str:
    """Times of the others over ours."""
    cold, warm = (_ours(rows, target, mode) for mode in ("cold", "warm"))
    n_files = len({row.file for row in rows})
    lines = [
        [
            f"e_m <= {target:g}, {n_files} files with >= {MANY_CONTACTS} contacts",
            "solved", f"/ {OURS}", f"/ {OURS}, warm", "least", "on", f"{OURS} slower on",
        ]
    ]  # fmt: skip
    for name, times in others.items():
        ratios = {file: times[file] / cold[file] for file in times if file in cold}
        least = min(ratios, key=lambda file: ratios[file], default=None)
        lines.append(
            [
                name,
                str(len(times)),
                ratio(geometric_mean(ratios.values())),
                ratio(geometric_mean(times[f] / warm[f] for f in times if f in warm)),
                ratio(None if least is None else ratios[least]),
                least or "-",
                str(sum(value < 1.0 for value in ratios.values())),
            ]
        )
    return aligned(lines) if others else ""


def _slower(rows: Sequence[Row], target: float, others: Mapping[str, Times]) -> str:
    """The files that another solver solves faster than we do, cold, with the ratio of the times."""
    cold = _ours(rows, target, "cold")
    lines = []
    for name, times in others.items():
        ratios = {file: times[file] / cold[file] for file in times if file in cold}
        lost = sorted((value, file) for file, value in ratios.items() if value < 1.0)
        if lost:
            listed = ", ".join(f"{file} ({ratio(value)})" for value, file in lost)
            lines.append(f"{OURS} is slower than {name} on {listed}")
    unsolved = sorted({row.file for row in rows} - set(cold))
    if unsolved:
        lines.append(f"{OURS} does not reach {target:g} on {', '.join(unsolved)}")
    return "\n".join(lines)


def _files(rows: Sequence[Row], target: float, others: Mapping[str, Times]) -> str:
    """Our time on every file, and those of the others over it."""
    cold = _ours(rows, target, "cold")
    contacts = {row.file: row.contacts for row in rows}
    lines = [[f"times over those of {OURS}, e_m <= {target:g}", "contacts", OURS, *others]]
    for file, count in contacts.items():
        mine = cold.get(file)
        ratios = [
            ratio(times[file] / mine if mine is not None and file in times else None)
            for times in others.values()
        ]
        lines.append([file, str(count), duration(mine), *ratios])
    return aligned(lines)

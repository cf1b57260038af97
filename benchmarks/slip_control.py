"""The cost of a run of the slip control, ours and Drake's."""

from __future__ import annotations

import dataclasses
import math
import sys
import time
from pathlib import Path

from benchmarks.rows import Table, digits
from sapwood.studies.slip_control.scene import (
    apply_grip,
    at_start,
    grip_force,
    slip_model,
    slip_stepper,
)


@dataclasses.dataclass(frozen=True)
class Row:
    """CPU seconds of a run; Drake's are nan where it is not installed."""

    seconds: float
    sapwood: float
    drake: float


def slip_seconds(seconds: float) -> float:
    """CPU time of a run by `Stepper`, with the controller in Python, s.

    Parameters
    ----------
    seconds
        Time to simulate, s.
    """
    model = slip_model()
    data, stepper = at_start(model), slip_stepper(model)
    begun = time.thread_time()
    while data.time < seconds - 1e-9:
        apply_grip(data, grip_force(data.time))
        stepper.step(data)
    return time.thread_time() - begun


def run(seconds: float, repeat: int, path: Path) -> Row:
    """The least times of some runs of each, in turn; written to a CSV file."""
    try:
        from benchmarks import slip_drake
    except ImportError as error:
        print(f"skipped: drake ({error})", file=sys.stderr)
        slip_drake = None  # type: ignore[assignment]
    ours, theirs = math.inf, math.inf if slip_drake else math.nan
    for _ in range(repeat):
        ours = min(ours, slip_seconds(seconds))
        if slip_drake:
            theirs = min(theirs, slip_drake.slip_seconds(seconds)[0])
    row = Row(seconds, ours, theirs)
    with Table(path, Row) as table:
        table.add(row)
    return row


def table(row: Row) -> str:
    """One line."""
    text = f"Slip control, {row.seconds:g} s: {digits(row.sapwood)} s of CPU time"
    if math.isnan(row.drake):
        return text
    return f"{text}; Drake {digits(row.drake)} s, ratio {digits(row.drake / row.sapwood)}"

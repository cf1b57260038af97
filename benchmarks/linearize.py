"""The cost of the derivative of a step beside ``mujoco.mjd_transitionFD``, and its accuracy.

A model is simulated, and at some of its states with contact A and B are found by
:func:`sapwood.mujoco.linearize` and by central differences of MuJoCo's steps. Times are the least
of the samples, on the CPU clock of the thread. The error is the distance from the best of central
differences of our own steps over DIFFERENCES, and of those that two widths extrapolate, over the
largest entry of A. States that the linearization itself calls ``near_kink`` count apart, and those
whose differences would cross a boundary of the law: a difference of REACH moves velocities by up to
REACH times the largest entry of A, beside the distance from the boundary. With sigma by contact a
robot at rest sticks within 1e-8 m/s of the boundary; there differences of 3e-10 m agree to their
round-off of some 1e-6.
"""

from __future__ import annotations

import dataclasses
import statistics
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import mujoco
import numpy as np

from benchmarks.models import files
from benchmarks.rows import Table, aligned
from sapwood import SapSettings
from sapwood.mujoco import Linearization, Stepper, linearize

DIFFERENCES = (1e-5, 1e-6, 1e-7, 3e-8, 1e-8, 3e-10, 3e-11)
EXTRAPOLATED = (1e-5, 1e-6, 1e-7)  # beside half of each: Richardson's extrapolation
REACH = 3e-8  # m or rad
SETTINGS = SapSettings(relative_tolerance=1e-11, max_iterations=1000)


@dataclasses.dataclass(frozen=True)
class Row:
    """One state of a model; times in milliseconds."""

    model: str
    time: float
    """simulated, s"""
    nv: int
    nu: int
    contacts: int
    status: str
    distance: float
    """m/s"""
    largest: float
    """entry of A"""
    error: float
    ours: float
    mujoco: float


def measure(path: Path, states: int, steps: int, repeat: int) -> Iterator[Row]:
    """Measure states of a model with contact.

    Parameters
    ----------
    path
        The file of the model.
    states
        How many.
    steps
        Steps before each.
    repeat
        Samples of each time.

    Yields
    ------
    Row
        A state.
    """
    model, stepper, data = _started(path)
    nv, na, nu = model.nv, model.na, model.nu
    A, B = np.zeros((2 * nv + na, 2 * nv + na)), np.zeros((2 * nv + na, nu))
    found = 0
    for _ in range(4 * states):
        stepper.run(data, steps)
        linear = linearize(stepper, data)
        if linear.contacts == 0:
            continue
        ours, theirs = least_seconds(
            repeat,
            lambda: linearize(stepper, data),
            lambda: mujoco.mjd_transitionFD(stepper.model, data, 1e-6, True, A, B, None, None),
        )
        yield Row(
            files.name_of(path), data.time, nv, nu, linear.contacts, linear.status,
            linear.distance, float(np.abs(linear.A).max()), _error(stepper, data, linear),
            1e3 * ours, 1e3 * theirs,
        )  # fmt: skip
        found += 1
        if found == states:
            break


def _started(path: Path) -> tuple[mujoco.MjModel, Stepper, mujoco.MjData]:
    model = files.load(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stepper = Stepper(model, settings=SETTINGS)
    data = mujoco.MjData(stepper.model)
    start = files.start(model)
    data.qpos, data.qvel, data.ctrl = start.qpos, start.qvel, start.ctrl
    return stepper.model, stepper, data


def _error(stepper: Stepper, data: mujoco.MjData, linear: Linearization) -> float:
    def difference(h: float) -> np.ndarray:
        return np.concatenate(linearize(stepper, data, mode="difference", step=h)[:2], axis=1)

    found = {h: difference(h) for h in DIFFERENCES}
    others = [*found.values()]
    others += [(4.0 * difference(h / 2) - found[h]) / 3.0 for h in EXTRAPOLATED]
    ours = np.concatenate(linear[:2], axis=1)
    return float(min(np.abs(x - ours).max() for x in others) / np.abs(linear.A).max())


def least_seconds(repeat: int, *calls: Callable[[], object]) -> list[float]:
    """Least CPU seconds of each call, in turns."""
    least = [np.inf] * len(calls)
    for _ in range(repeat):
        for k, call in enumerate(calls):
            begin = time.thread_time()
            call()
            least[k] = min(least[k], time.thread_time() - begin)
    return least


def run(
    paths: Sequence[Path],
    path: Path,
    states: int,
    steps: int,
    repeat: int,
    progress: Callable[[str], None],
) -> list[Row]:
    """Measure models, and write the rows to a CSV file as they come.

    Parameters
    ----------
    paths
        Files of models; those that the stepper refuses are left out.
    path
        The CSV file.
    states, steps, repeat
        As for :func:`measure`.
    progress
        Called after each model.

    Returns
    -------
    list of Row
        All rows.
    """
    rows: list[Row] = []
    with Table(path, Row) as table, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model in paths:
            try:
                for row in measure(model, states, steps, repeat):
                    table.add(row)
                    rows.append(row)
            except (ValueError, RuntimeError, mujoco.FatalError) as error:
                print(f"left out: {files.name_of(model)}: {str(error).splitlines()[0]}")
            progress(files.name_of(model))
    return rows


def _is_clear(row: Row) -> bool:
    """Whether differences stay on one side of the boundaries of the law."""
    return row.status == "ok" and row.distance > REACH * row.largest


def table(rows: Sequence[Row]) -> str:
    """Medians of each model, and of all."""
    names = list(dict.fromkeys(row.model for row in rows))
    lines = [["model", "nv", "nu", "states", "ms", "MuJoCo", "ratio", "error", "near a kink"]]
    ratios = []
    for name in names:
        own = [row for row in rows if row.model == name]
        clear = [row for row in own if _is_clear(row)]
        ratio = statistics.median(row.ours / row.mujoco for row in own)
        ratios.append(ratio)
        worst = f"{max(row.error for row in clear):.1e}" if clear else "-"
        lines.append(
            [
                name, str(own[0].nv), str(own[0].nu), str(len(own)),
                f"{statistics.median(row.ours for row in own):.3f}",
                f"{statistics.median(row.mujoco for row in own):.3f}",
                f"{ratio:.2f}", worst, str(len(own) - len(clear)),
            ]
        )  # fmt: skip
    clear = [row for row in rows if _is_clear(row)]
    within = sum(row.error <= 1e-7 for row in clear)
    ending = f"{within} of {len(clear)} states away from kinks within 1e-7"
    return f"{aligned(lines)}\n\nratio {statistics.median(ratios):.2f} in the median; {ending}"

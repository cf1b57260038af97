"""Functions that sweeps in tests call, in a module of their own: worker processes import it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sapwood.studies.experiments.figures import Plan
from sapwood.studies.experiments.sweep import Sweep

ROWS = np.dtype(
    [("k", np.int64), ("value", np.float64), ("odd", np.bool_), ("word", "U8"), ("seconds", "f8")]
)


def powers(base: float, n: int) -> NDArray[np.void]:
    """1/3, base/3, ..., base^(n-1)/3, and how long that took."""
    start = time.perf_counter()
    rows = np.zeros(n, ROWS)
    rows["k"] = np.arange(n)
    rows["value"] = base ** np.arange(n) / 3
    rows["odd"] = rows["k"] % 2 == 1
    rows["word"] = np.array(["zero", "one", "a, b"])[rows["k"] % 3]
    rows["seconds"] = time.perf_counter() - start
    return rows


def counted(folder: str, i: int) -> NDArray[np.void]:
    """Leave a file per call behind."""
    calls = len(list(Path(folder).glob(f"{i}.*")))
    (Path(folder) / f"{i}.{calls}").touch()
    return powers(float(i), 2)


class Unreadable:
    """Can be pickled, and not be read again."""

    def __reduce__(self) -> tuple[object, ...]:
        return int, ("x",)


def fragile(kind: str, i: int) -> NDArray[np.void]:
    """Fail at i = 1 in one of several ways."""
    if i == 1:
        if kind == "raise":
            raise ArithmeticError("one is\nnot allowed")
        if kind == "exit":
            os._exit(3)
        if kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if kind == "type":
            return np.zeros(3)
        if kind == "unpicklable":
            return lambda: None
        if kind == "unreadable":
            return Unreadable()
    print("noise on the standard output")  # noqa: T201
    return powers(float(i), 1)


def slow(folder: str, i: int) -> NDArray[np.void]:
    """Say that the call has begun; from i = 2 on never end."""
    # whole from the moment that it is seen
    aside = Path(f"{folder}.{i}")
    aside.write_text(str(os.getpid()))
    aside.rename(Path(folder, f"{i}.begun"))
    if i >= 2:
        time.sleep(600)
    return powers(float(i), 1)


def threads(name: str) -> NDArray[np.void]:
    """The value of an environment variable in the worker."""
    rows = np.zeros(1, ROWS)
    rows["word"] = os.environ.get(name, "")
    return rows


# ---- a figure of these functions ---------------------------------------------------------------


def plan(quick: bool) -> Plan:
    """Several points, the first fails; drawn as a text that says how many rows there are."""
    points = [{"kind": "raise", "i": i} for i in ((1, 2) if quick else (1, 2, 3, 4))]
    return Plan((Sweep("mine", fragile, points, ROWS),), draw)


def draw(files: dict[str, Path], path: Path) -> None:
    """Refuse a file without rows, as figures do."""
    lines = files["mine"].read_text().splitlines()
    if len(lines) < 2:
        raise ValueError(f"{files['mine']}: no rows")
    path.write_text(f"{len(lines) - 1} rows")

"""The peak of one core: multiply-adds, roots, memory traffic, and our kernels by size."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.native import Native
from benchmarks.rows import Table

MEMORY = ("read", "copy", "triad")

# widths of panels for the figure: free bodies are 6 wide, robots 18 to 30
_COLUMNS = (3, 6, 12, 18, 24, 30, 36, 48, 64)
# rows of a panel below its square, in columns
_ROWS = (0, 1, 4)
# working sets, bytes
_SIZES = tuple(2**k for k in range(13, 27))

# a sample lasts about this long, s
_SAMPLE = 1e-4


@dataclasses.dataclass(frozen=True)
class Row:
    """One peak, the best of its samples."""

    kind: str
    """multiply_add, roots, one of MEMORY, factor or multiply"""
    size: int
    """bytes of the working set for those of MEMORY; columns of the panel for factor and multiply;
    else 0"""
    rows: int
    """rows of the panel for factor; else 0"""
    rate: float
    """flops, roots or bytes per second"""


class Peaks:
    """Peaks of this core, measured or read back.

    Parameters
    ----------
    rows
        The peaks.

    Raises
    ------
    ValueError
        A kind is missing.
    """

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows
        self.flops = self._best("multiply_add")
        self.roots = self._best("roots")
        bandwidth: dict[int, float] = {}
        for row in rows:
            if row.kind in MEMORY:
                bandwidth[row.size] = max(bandwidth.get(row.size, 0.0), row.rate)
        if not bandwidth:
            raise ValueError("no bandwidth among the peaks")
        # a smaller working set has at least the bandwidth of a larger one
        best = 0.0
        self._bandwidth: list[tuple[int, float]] = []
        for size in sorted(bandwidth, reverse=True):
            best = max(best, bandwidth[size])
            self._bandwidth.insert(0, (size, best))

    def bandwidth(self, size: float) -> float:
        """Bytes per second within a working set of `size` bytes, interpolated in its logarithm."""
        table = self._bandwidth
        if size <= table[0][0]:
            return table[0][1]
        for (small, high), (large, low) in itertools.pairwise(table):
            if size <= large:
                share = math.log(size / small) / math.log(large / small)
                return high + share * (low - high)
        return table[-1][1]

    def _best(self, kind: str) -> float:
        rates = [row.rate for row in self.rows if row.kind == kind]
        if not rates:
            raise ValueError(f"no {kind} among the peaks")
        return max(rates)


def measure(native: Native, path: Path, samples: int) -> Peaks:
    """Measure all peaks, writing each to a CSV file as it comes."""
    rows: list[Row] = []
    with Table(path, Row) as table:

        def add(kind: str, size: int, panel_rows: int, rate: float) -> None:
            rows.append(Row(kind, size, panel_rows, rate))
            table.add(rows[-1])

        add("multiply_add", 0, 0, _rate(native.multiply_add, samples))
        add("roots", 0, 0, _rate(native.roots, samples))
        for size in _SIZES:
            few = max(3, samples // (1 + size // 2**22))
            for kind in MEMORY:
                add(kind, size, 0, _rate(partial(getattr(native, kind), size), few))
        kernels = Kernels(native, samples)
        for columns in _COLUMNS:
            for below in _ROWS:
                height = (1 + below) * columns
                flops = sum(_column(height - 1 - k, columns - 1 - k) for k in range(columns))
                add("factor", columns, height, flops / kernels.factor(height, columns))
            # symmetric half, as in the updates of the factorization
            flops = columns * columns * (columns + 1)
            add("multiply", columns, 0, flops / kernels.multiply(columns, columns))
    return Peaks(rows)


def _column(below: int, right: int) -> int:
    """Flops of one column of a panel: scaled, then taken off the columns right of it."""
    return below + 2 * sum(below - k for k in range(right))


class Kernels:
    """Times of our dense kernels with all in the first-level cache, measured once per size."""

    def __init__(self, native: Native, samples: int) -> None:
        self._native, self._samples = native, samples
        self._known: dict[tuple[str, int, int], float] = {}

    def factor(self, rows: int, columns: int) -> float:
        """Seconds of the Cholesky factorization of a panel (rows, columns)."""
        factor = partial(self._native.factor, rows, columns)
        both = self._time("factor", rows, columns, factor)
        copy = self._time("copy", rows, columns, partial(factor, copy_only=True))
        # a disturbed sample of the copy must not leave nothing
        return both - copy if both > copy else both

    def multiply(self, rows: int, columns: int) -> float:
        """Seconds of B B^T, lower half, for B (rows, columns)."""
        call = partial(self._native.multiply, rows, rows, columns, True)
        return self._time("multiply", rows, columns, call)

    def _time(self, name: str, rows: int, columns: int, call: Callable[[int], float]) -> float:
        if rows == 0:
            return 0.0
        key = (name, rows, columns)
        if key not in self._known:
            rounds = _rounds(call(1))
            self._known[key] = min(call(rounds) for _ in range(self._samples)) / rounds
        return self._known[key]


def _rate(call: Callable[[int], tuple[float, float]], samples: int) -> float:
    """Best amount per second of a function that takes rounds and returns seconds and amount."""
    call(1)
    rounds = _rounds(call(1)[0])
    best = 0.0
    for _ in range(samples):
        seconds, amount = call(rounds)
        best = max(best, amount / max(seconds, 1e-12))
    return best


def _rounds(seconds: float) -> int:
    """Rounds that fill a sample, given how long one takes; the first one reads high."""
    return max(1, min(100_000, round(_SAMPLE / max(seconds, 1e-9))))

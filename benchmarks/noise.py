"""Ours against another commit: faster, slower, or no difference.

Fresh processes time the same problem files in blocks A B B A, so that a slow drift of the machine
cancels; A is the other commit, B the working tree. The ratio of a block is that of the geometric
means of its two B and its two A; ratios are averaged over blocks in the logarithm, with a bootstrap
interval over blocks.
"""

from __future__ import annotations

import dataclasses
import json
import math
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.revisions import BLOCK, SideError, environment_of
from benchmarks.rows import Table

MODES = ("cold", "warm")
STATISTICS = ("least", "median")
# blocks that a bootstrap interval of 95 % needs: with fewer, no resample lies far enough out
FEWEST = 5
_RESAMPLES = 10_000


@dataclasses.dataclass(frozen=True)
class Row:
    """One problem in one process."""

    block: int
    place: int
    """in the block, from 0"""
    side: str
    """A or B"""
    file: str
    mode: str
    """cold or warm"""
    least: float
    """s per solve, least of the samples"""
    median: float
    digest: str
    """hash of the bits of v and gamma"""


# ---- measuring ---------------------------------------------------------------------------------


def run(
    sites: dict[str, Path],
    files: Sequence[Path],
    path: Path,
    blocks: int,
    samples: int,
    progress: Callable[[str], None] = lambda _text: None,
) -> None:
    """Time all files in blocks of fresh processes, writing rows to a CSV file as they come.

    Parameters
    ----------
    sites
        For A and B the folder that holds the package sapwood.
    files
        Problem files.
    path
        CSV file to write.
    blocks
        Number of blocks, four processes each.
    samples
        Samples of each problem in a process.

    Raises
    ------
    SideError
        A process failed, or would import another package than that of its folder.
    """
    environments = {side: environment_of(site) for side, site in sites.items()}
    with Table(path, Row) as table:
        for block in range(blocks):
            for place, side in enumerate(BLOCK):
                for sample in _process(environments[side], files, samples):
                    table.add(Row(block, place, side, *sample))
                progress(f"block {block + 1}, {side}")


def _process(
    environment: dict[str, str], files: Sequence[Path], samples: int
) -> list[tuple[str, str, float, float, str]]:
    order = {"files": [str(file.resolve()) for file in files], "samples": samples}
    done = subprocess.run(
        [sys.executable, "-P", str(Path(__file__).with_name("noise_sample.py"))],
        input=json.dumps(order),
        capture_output=True,
        text=True,
        env=environment,
    )
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise SideError(f"a process that times problems failed: {last}")
    rows: list[tuple[str, str, float, float, str]] = json.loads(done.stdout)
    return rows


# ---- statistics --------------------------------------------------------------------------------


VERDICTS = ("faster", "slower", "no difference", "too few blocks")


class Ratio(NamedTuple):
    """Time of B over that of A, with an interval of 95 %; its ends are nan for too few blocks."""

    value: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """The verdict of the interval on B: one of VERDICTS."""
        if math.isnan(self.low):
            return "too few blocks"
        if self.high < 1.0:
            return "faster"
        return "slower" if self.low > 1.0 else "no difference"


def block_logarithms(rows: Iterable[Row], mode: str, statistic: str) -> dict[str, list[float]]:
    """Logarithm of B over A of each complete block, by file."""
    values: dict[tuple[str, int], dict[int, float]] = {}
    for row in rows:
        if row.mode == mode:
            sign = 0.5 if row.side == "B" else -0.5
            at = values.setdefault((row.file, row.block), {})
            at[row.place] = sign * math.log(getattr(row, statistic))
    found: dict[str, list[float]] = {}
    for (file, _), at in values.items():
        if len(at) == len(BLOCK):
            found.setdefault(file, []).append(sum(at.values()))
    return found


def interval(logarithms: Sequence[float], level: float = 0.95, seed: int = 0) -> Ratio:
    """Mean ratio with its bootstrap interval.

    Percentiles of the means of resampled blocks, taken further out so that the interval of few
    blocks is as wide as Student's (the expanded percentile interval of Hesterberg, 2015).

    Parameters
    ----------
    logarithms
        One per block.
    level
        Of confidence.
    seed
        Of the resampling.
    """
    from scipy.stats import norm, t

    n = len(logarithms)
    mean = statistics.fmean(logarithms)
    if n < FEWEST:
        return Ratio(math.exp(mean), math.nan, math.nan)
    chosen = np.random.default_rng(seed).integers(n, size=(_RESAMPLES, n))
    means = np.asarray(logarithms)[chosen].mean(axis=1)
    tail = norm.cdf(math.sqrt(n / (n - 1)) * t.ppf((1.0 - level) / 2.0, n - 1))
    low, high = np.quantile(means, [tail, 1.0 - tail])
    return Ratio(math.exp(mean), math.exp(low), math.exp(high))


def by_file(rows: Sequence[Row], mode: str, statistic: str) -> dict[str, Ratio]:
    """Ratio of every file."""
    logarithms = block_logarithms(rows, mode, statistic)
    return {file: interval(values) for file, values in logarithms.items()}


def overall(rows: Sequence[Row], mode: str, statistic: str) -> Ratio:
    """Ratio in geometric mean over all files: blocks, not files, are resampled.

    Raises
    ------
    ValueError
        No block is complete.
    """
    logarithms = block_logarithms(rows, mode, statistic)
    if not logarithms:
        raise ValueError("no block is complete")
    # a last block that was cut short may lack files
    complete = min(len(values) for values in logarithms.values())
    blocks = zip(*(values[:complete] for values in logarithms.values()), strict=True)
    return interval([statistics.fmean(block) for block in blocks])


def changed_results(rows: Iterable[Row]) -> list[str]:
    """Files whose results are not the same bits in A and B."""
    digests: dict[str, set[str]] = {}
    for row in rows:
        digests.setdefault(row.file, set()).add(row.digest)
    return [file for file, found in digests.items() if len(found) > 1]

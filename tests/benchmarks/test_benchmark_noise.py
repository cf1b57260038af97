"""The comparison with another commit: its statistics, its builds, and a run of it."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("scipy")

import helpers
import sapwood
from benchmarks import noise, noise_report, revisions, rows
from sapwood import _core

SITE = Path(sapwood.__file__).resolve().parents[1]
installed = pytest.mark.skipif(
    Path(_core.__file__).resolve().parent != SITE / "sapwood", reason="an editable installation"
)


def made_rows(blocks, seconds, files=("p", "q"), digest="same"):
    """Rows of which `seconds(file, block, place)` gives the times."""
    return [
        noise.Row(
            block, place, side, file, mode, seconds(file, block, place),
            2.0 * seconds(file, block, place), digest,
        )
        for block in range(blocks)
        for place, side in enumerate(revisions.BLOCK)
        for file in files
        for mode in noise.MODES
    ]  # fmt: skip


# ---- statistics --------------------------------------------------------------------------------


def test_drift_of_the_machine_cancels():
    """A machine that slows down steadily, in the logarithm, tells nothing of A and B."""
    measured = made_rows(6, lambda _file, block, place: 1e-3 * math.exp(0.1 * (4 * block + place)))
    for statistic in noise.STATISTICS:
        for logarithms in noise.block_logarithms(measured, "warm", statistic).values():
            np.testing.assert_allclose(logarithms, np.zeros(6), atol=1e-12)


def test_ratio_of_what_is_faster(rng):
    """B takes 0.8 times as long on p and 1.25 times as long on q."""

    def seconds(file, _block, place):
        factor = {"p": 0.8, "q": 1.25}[file] if revisions.BLOCK[place] == "B" else 1.0
        return 1e-3 * factor * math.exp(0.001 * rng.standard_normal())

    measured = made_rows(8, seconds)
    ratios = noise.by_file(measured, "cold", "least")
    np.testing.assert_allclose([ratios["p"].value, ratios["q"].value], [0.8, 1.25], rtol=0.01)
    assert (ratios["p"].verdict, ratios["q"].verdict) == ("faster", "slower")
    mean = noise.overall(measured, "cold", "least")
    np.testing.assert_allclose(mean.value, 1.0, rtol=0.01)
    assert mean.low <= mean.value <= mean.high
    text = noise_report.table(measured, "one", "other")
    assert "1 faster, 1 slower" in text


@pytest.mark.parametrize(("n", "covers"), [(5, 0.916), (10, 0.946)])
def test_interval_covers_as_often_as_it_says(rng, n, covers):
    """About nineteen of twenty intervals of normal noise hold the truth, fewer of five blocks."""
    trials, inside = 400, 0
    for k in range(trials):
        ratio = noise.interval((0.01 + 0.005 * rng.standard_normal(n)).tolist(), seed=k)
        inside += ratio.low <= math.exp(0.01) <= ratio.high
    error = math.sqrt(covers * (1.0 - covers) / trials)
    assert abs(inside / trials - covers) < 4.0 * error


# ---- builds and processes ----------------------------------------------------------------------


@pytest.mark.slow
@installed
def test_quick_run_of_the_same_build(quick):
    out, printed = quick("noise", helpers.DATA, "--builds", SITE, SITE)
    measured = rows.read(out / "noise.csv", noise.Row)
    counts = Counter((row.block, row.place, row.side) for row in measured)
    assert counts == {(b, p, s): 6 for b in range(2) for p, s in enumerate("ABBA")}
    for row in measured:
        assert 0.0 < row.least <= row.median
    assert noise.changed_results(measured) == []
    assert "the same bits" in printed.out

"""The benchmark of inverse dynamics, quickly."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import invdyn


def test_rows_are_of_solved_problems(tmp_path):
    rows = invdyn.run([1, 4], 5, tmp_path / "invdyn.csv", lambda _: None)
    assert len(rows) == 2 * len(invdyn.CONTROLLERS)
    for row in rows:
        assert row.solved == row.samples
        assert 0.0 < row.median <= row.p99 <= row.most
    assert len(invdyn.table(rows).splitlines()) == len(rows) + 1

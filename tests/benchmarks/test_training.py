"""The question about training: runs, judgements and curves."""

from __future__ import annotations

import pytest

pytest.importorskip("mujoco.batch")

from benchmarks import command, rows, training


def test_quick_run(tmp_path):
    work, out = tmp_path / "work", tmp_path / "out"
    arguments = ["training", "--quick", "--out", str(out), "--work", str(work)]
    assert command.main(arguments) == 0
    found = rows.read(out / "training.csv", training.Row)
    assert [(row.engine, row.seed) for row in found] == [("sapwood", 1), ("mujoco", 1)]
    # two improvements of 8 worlds and 8 steps each: nothing walks yet
    assert all(row.steps == 128 and row.judges == 40 for row in found)
    assert all(row.walk == row.walk_elsewhere == 0 for row in found)
    assert (out / "training.png").stat().st_size > 0
    # runs that lie there are kept, with their times
    stamp = (work / "sapwood_1.csv").stat().st_mtime_ns
    assert command.main(arguments) == 0
    assert (work / "sapwood_1.csv").stat().st_mtime_ns == stamp
    assert rows.read(out / "training.csv", training.Row) == found


def test_a_run_that_fails_says_why(tmp_path):
    with pytest.raises(RuntimeError, match="unrecognized arguments: --nonsense"):
        training.measure(tmp_path, "sapwood", 1, ["--nonsense"])

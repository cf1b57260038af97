"""The benchmark of steps to an accuracy: a run of the command, the table."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import accuracy, command, rows


@pytest.mark.filterwarnings("ignore:.*ended in stalled:RuntimeWarning")  # at 1.1e-10 for 1e-10
def test_quick_run(tmp_path):
    assert command.main(["accuracy", "--quick", "--out", str(tmp_path)]) == 0
    measured = rows.read(tmp_path / "accuracy.csv", accuracy.Row)
    fixed = [row for row in measured if not row.accuracy]
    controlled = [row for row in measured if row.accuracy]
    assert [row.steps for row in fixed] == [40, 400]
    assert controlled[1].error < controlled[0].error
    assert controlled[1].steps > controlled[0].steps
    assert "over fixed" in (tmp_path / "accuracy.txt").read_text()


@pytest.mark.parametrize("name", accuracy.SCENES)
def test_every_scene_starts_in_motion_or_under_load(name):
    plan = accuracy.Plan(seconds=0.05, repeat=1)
    stepper, data = accuracy._start(name, 1e-4)
    start = data.qpos.copy()
    stepper.run(data, 500)
    assert np.abs(data.qpos - start).max() > 1e-3
    row = accuracy.measure(name, data.qpos, plan, 1e-2, 1e-4)
    assert row.error < 0.05

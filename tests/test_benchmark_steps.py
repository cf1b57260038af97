"""The benchmark of a simulation step: its parts and its files."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import command


def test_steps_add_up(tmp_path, capsys):
    pytest.importorskip("mujoco")
    line = ["steps", "--bodies", "8,4", "--steps", "60", "--repeat", "3", "--out", str(tmp_path)]
    assert command.main(line) == 0
    with (tmp_path / "steps.csv").open(encoding="utf-8", newline="") as file:
        rows = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
    assert [row["bodies"] for row in rows] == [4.0, 8.0]
    for row in rows:
        assert row["contacts"] > 0
        parts = row["stages"] + row["solve"] + row["views"] + row["rest"]
        np.testing.assert_allclose(parts, row["step"])
        assert min(row["stages"], row["solve"], row["views"], row["mj_step"]) > 0.0
    assert capsys.readouterr().out == (tmp_path / "steps.txt").read_text(encoding="utf-8")
    assert "processor" in json.loads((tmp_path / "steps.json").read_text())["machine"]

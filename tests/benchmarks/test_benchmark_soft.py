"""Soft bodies beside recorded runs of Drake: the rules, and a run of the command."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest

from benchmarks import command, soft, soft_cloth, soft_problems, soft_scale, soft_speed
from benchmarks.rows import read

FOLDER = Path(os.environ.get("SAPWOOD_DATA", "")) / "deformable"
needs_runs = pytest.mark.skipif(not FOLDER.is_dir(), reason="needs the recorded runs")


@needs_runs
@pytest.mark.parametrize(
    "name",
    [
        "spin_linear",
        "drop_linear_corotated",
        "bar_wall_linear_corotated",
        "incline_stick_corotated",
        "stack_corotated",
    ],
)
def test_runs_of_drake_are_repeated(name):
    rows = soft.replay(FOLDER / f"{name}.npz")
    assert rows
    for row in rows:
        assert row.holds, row


@needs_runs
def test_scenes_that_are_not_supported_are_named():
    assert "slides" in soft.Run(FOLDER / "press_free_linear_corotated.npz").reason
    assert soft.replay(FOLDER / "press_free_linear_corotated.npz") == []


@needs_runs
def test_the_command_writes_a_table(tmp_path, capsys):
    arguments = ["soft", "--drake", str(FOLDER), "--files", "spin_l*.npz", "--out", str(tmp_path)]
    assert command.main(arguments) == 0
    assert "spin_linear_corotated" in capsys.readouterr().out
    assert len((tmp_path / "soft.csv").read_text().splitlines()) == 5


def test_the_command_times_steps(tmp_path, capsys):
    assert command.main(["soft", "--quick", "--out", str(tmp_path)]) == 0
    assert "linear_corotated" in capsys.readouterr().out
    rows = read(tmp_path / "soft_speed.csv", soft_speed.Row)
    assert {row.vertices for row in rows} == {27}
    assert all(0 < row.least <= row.median for row in rows)
    assert all(row.over_ours == 1 for row in rows if row.engine == "sapwood")


def test_the_command_examines_random_problems(tmp_path, capsys):
    assert command.main(["soft", "--problems", "5", "--out", str(tmp_path)]) == 0
    assert "derivative" in capsys.readouterr().out
    rows = read(tmp_path / "soft_problems.csv", soft_problems.Row)
    assert [row.seed for row in rows] == list(range(5))
    assert soft_problems.hold(rows)
    # a broken limit is found
    assert not soft_problems.hold([*rows, dataclasses.replace(rows[0], derivative=1e-5)])


def test_the_command_times_large_bodies(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(soft_scale, "SCALES", (soft_scale.Scale((3, 3, 3), 1e3, 15),))
    assert command.main(["soft", "--scale", "--quick", "--out", str(tmp_path)]) == 0
    assert "vertices" in capsys.readouterr().out
    (row,) = read(tmp_path / "soft_scale.csv", soft_scale.Row)
    assert row.vertices == 64
    assert row.contacts > 0
    assert row.holds
    assert not dataclasses.replace(row, limit=row.least / 2).holds


def test_the_command_times_cloths(tmp_path, capsys):
    assert command.main(["soft", "--cloths", "--quick", "--out", str(tmp_path)]) == 0
    assert "sparse" in capsys.readouterr().out
    (row,) = read(tmp_path / "soft_cloth.csv", soft_cloth.Row)
    assert row.vertices == 25
    assert row.dense > 0
    assert row.sparse > 0

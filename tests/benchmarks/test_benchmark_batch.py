"""The question about batches: a row per model."""

from __future__ import annotations

import math

import pytest

mujoco = pytest.importorskip("mujoco")

from benchmarks import command, rows
from benchmarks.batch import Row, table


def test_quick_run(tmp_path):
    models = tmp_path / "models"
    models.mkdir()
    text = (
        "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 .09'><freejoint/>"
        "<geom size='.1'/></body></worldbody></mujoco>"
    )
    mujoco.mj_saveModel(mujoco.MjModel.from_xml_string(text), str(models / "ball.mjb"))
    arguments = ["batch", str(models), "--quick", "--out", str(tmp_path)]
    assert command.main(arguments) == 0
    (found,) = rows.read(tmp_path / "batch.csv", Row)
    assert (found.name, found.nv, found.worlds, found.substeps) == ("ball", 6, 4, 4)
    times = (found.ours, found.expanded, found.call, found.set_const, found.reset)
    assert all(value > 0.0 for value in times)
    assert math.isnan(found.theirs) or found.ratio == pytest.approx(found.theirs / found.ours)
    assert table([found])[-1][0] == "median"
    assert (tmp_path / "batch.txt").read_text().startswith("model")
    assert command.main(["batch", str(tmp_path / "none"), "--out", str(tmp_path)]) == 2

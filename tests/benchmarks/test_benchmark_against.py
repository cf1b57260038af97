"""Two builds of ours in turn on the same steps: ratios, processes, tables, a run of the command."""

from __future__ import annotations

import dataclasses
import math
import sys
from pathlib import Path

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import sapwood
from benchmarks import arguments, command, revisions, rows, step_pair
from benchmarks.models import against, against_report
from sapwood import _core

SITE = Path(sapwood.__file__).resolve().parents[1]
installed = pytest.mark.skipif(
    Path(_core.__file__).resolve().parent != SITE / "sapwood", reason="an editable installation"
)

BALL = """
<mujoco model="ball"><option timestep="0.002"/><worldbody><geom type="plane" size="1 1 1"/>
  <body pos="0 0 .099"><freejoint/><geom size=".1" mass="2"/></body></worldbody></mujoco>"""


def test_drift_of_the_machine_cancels_in_a_block():
    steady = [1e-3 * math.exp(0.1 * place) for place in range(4)]
    np.testing.assert_allclose(step_pair.block_ratio(steady), 1.0)
    half = [time * (0.5 if side == "B" else 1.0) for time, side in zip(steady, "ABBA", strict=True)]
    np.testing.assert_allclose(step_pair.block_ratio(half), 0.5)


def test_median_and_spread():
    assert step_pair.median_and_spread([1.5]) == (1.5, 0.0)
    assert step_pair.median_and_spread([1.0, 9.0, 2.0, 3.0, 4.0]) == (3.0, 1.0)


def environments():
    return dict.fromkeys("AB", revisions.environment_of(SITE))


def task_of(folder, text, **changes):
    model = mujoco.MjModel.from_xml_string(text)
    path = folder / "model.mjb"
    mujoco.mj_saveModel(model, str(path))
    state = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_INTEGRATION))
    mujoco.mj_getState(model, mujoco.MjData(model), state, mujoco.mjtState.mjSTATE_INTEGRATION)
    return step_pair.Task(path, [state.tolist()] * 2, 5, **changes)


@installed
def test_both_take_the_same_steps(tmp_path):
    task = task_of(tmp_path, BALL, ways=("run", "calls"), options={"friction": "lagged"})
    found = step_pair.compare(environments(), task, 1)
    assert found.windows["A"] == found.windows["B"]
    assert found.windows["A"][0] == found.windows["A"][1]
    assert found.changed == 0
    assert found.mean("A", "contacts") == 1.0
    assert found.mean("B", "unconverged") == 0.0
    for way in task.ways:
        times = found.times[way]
        assert min(times.before, times.after) > 0.0
        assert 0.1 < times.ratio < 10.0


@installed
def test_what_one_build_does_not_take_is_said_with_its_side(tmp_path):
    task = task_of(tmp_path, BALL, options={"no_such_option": 1})
    with pytest.raises(revisions.SideError, match=r"A: TypeError: .*no_such_option"):
        step_pair.compare(environments(), task, 1)


@installed
def test_a_process_that_dies_is_said_with_its_side(tmp_path):
    (tmp_path / "mujoco.py").write_text("import os\nos._exit(7)\n")
    broken = environments()
    broken["B"] = broken["B"] | {"PYTHONPATH": str(tmp_path)}
    with pytest.raises(revisions.SideError, match="B: the process ended with exit code 7"):
        step_pair.compare(broken, task_of(tmp_path, BALL), 1)


def test_changed_windows_are_counted():
    windows = {side: [{"end": "x"}, {"end": side}, {"end": side}] for side in "AB"}
    assert step_pair.Comparison(windows, {}).changed == 2


ROW = against.Row(
    "p", "arm", "zero", 7, "ran", "", 2.0, 1.5, 0, 10.0, 9.0, 0.9, 0.01, 12.0, 12.0, 1.0, 0.02
)


def test_tables():
    measured = [
        ROW,
        dataclasses.replace(ROW, file="q", ratio=1.2, single_ratio=1.1, changed=1),
        dataclasses.replace(ROW, file="r", group="hand", controls="random", ratio=1.0),
        dataclasses.replace(ROW, file="s", status="failed", reason="A: broken", ratio=math.nan),
    ]
    text = against_report.tables(measured, "one", "other")
    assert "B (other) over A (one)" in text
    assert "3 timed, 1 of them with results of other bits" in text
    lines = [line.split() for line in text.splitlines()]
    words = {tuple(line[:3]): line[3:] for line in lines if len(line) > 3}
    assert words["all", "both", "3"][:5] == ["1.000", "0.900", "1.200", "1.200", "q"]
    assert words["arm", "zero", "2"][:3] == ["1.050", "0.900", "1.200"]
    assert words["hand", "random", "1"][:3] == ["1.000"] * 3
    assert words["all", "zero", "2"][6:] == ["1.050", "1.000", "1.100"]
    # the slowest of B first
    assert [line[0] for line in lines if line[1:2] in (["zero"], ["random"]) and len(line) == 12][
        -3:
    ] == ["q", "r", "p"]
    assert "s, zero: failed: A: broken" in text
    assert "0 timed" in against_report.tables(measured[3:], "one", "other")


def test_builds_are_compared_by_speed_alone(tmp_path, capsys):
    (tmp_path / "ball.xml").write_text(BALL)
    line = ["models", str(tmp_path), "--out", str(tmp_path), "--builds", str(SITE), str(SITE)]
    assert command.main(line) == arguments.USAGE
    assert "need --speed" in capsys.readouterr().err
    assert command.main([*line, "--speed", "--resume"]) == arguments.USAGE
    assert "--resume: an earlier run" in capsys.readouterr().err


@pytest.mark.slow
@installed
def test_quick_run_of_the_same_build(tmp_path, capsys):
    (tmp_path / "ball.xml").write_text(BALL)
    (tmp_path / "other.xml").write_text(BALL)
    line = ["models", str(tmp_path), "--speed", "--quick", "--builds", str(SITE), str(SITE)]
    assert command.main([*line, "--out", str(tmp_path / "out")]) == 0
    measured = rows.read(tmp_path / "out" / "models_against.csv", against.Row)
    assert [(row.file, row.controls) for row in measured] == [
        (name, controls) for name in ("ball", "other") for controls in ("zero", "random")
    ]
    for row in measured:
        assert (row.status, row.changed) == ("ran", 0)
        assert 0.5 < row.ratio < 2.0
    text = (tmp_path / "out" / "models_against.txt").read_text(encoding="utf-8")
    assert "4 timed, 0 of them" in text
    assert text in capsys.readouterr().out

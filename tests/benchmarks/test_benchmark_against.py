"""Two builds of ours in turn on the same steps: ratios, processes, tables, a run of the command."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

import sapwood
from benchmarks import revisions, rows, step_pair
from benchmarks.models import against
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


@pytest.mark.slow
@installed
def test_quick_run_of_the_same_build(tmp_path, quick):
    (tmp_path / "ball.xml").write_text(BALL)
    (tmp_path / "other.xml").write_text(BALL)
    out, printed = quick("models", tmp_path, "--speed", "--builds", SITE, SITE, pictures=0)
    measured = rows.read(out / "models_against.csv", against.Row)
    assert [(row.file, row.controls) for row in measured] == [
        (name, controls) for name in ("ball", "other") for controls in ("zero", "random")
    ]
    for row in measured:
        assert (row.status, row.changed) == ("ran", 0)
        assert 0.5 < row.ratio < 2.0
    assert "4 timed, 0 of them" in printed.out

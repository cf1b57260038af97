"""The benchmark of linearizations, quickly."""

from __future__ import annotations

import dataclasses
import sys

import mujoco
import numpy as np
import pytest

from benchmarks import bridge_runs, dense_calls, linearize, run_gradients
from benchmarks.command import main
from sapwood.mujoco import Stepper, sensitivities

HOPPER = """
<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <geom type="plane" size="9 9 .1"/>
    <body pos="0 0 .12">
      <joint type="slide" axis="0 0 1"/><joint name="x" type="slide" axis="1 0 0"/>
      <geom type="sphere" size=".1"/>
    </body>
  </worldbody>
  <actuator><motor joint="x"/></actuator>
</mujoco>
"""


def test_rows_are_of_states_with_contact(tmp_path, capsys):
    (tmp_path / "hopper.xml").write_text(HOPPER, encoding="utf-8")
    (tmp_path / "faulty.xml").write_text("<mujoco><faulty/></mujoco>", encoding="utf-8")
    rows = linearize.run(
        [tmp_path / "faulty.xml", tmp_path / "hopper.xml"], tmp_path / "rows.csv", 2, 100, 1,
        lambda _: None,
    )  # fmt: skip
    assert "left out: faulty" in capsys.readouterr().out
    assert [row.contacts for row in rows] == [1, 1]
    assert max(row.error for row in rows) <= 1e-7
    assert min(min(row.ours, row.mujoco) for row in rows) > 0.0
    # where a difference moves the contact's velocity by less than its distance from a boundary
    far = [dataclasses.replace(row, distance=1.0) for row in rows]
    assert "2 of 2 states away from kinks within 1e-7" in linearize.table(far)
    near = [dataclasses.replace(row, distance=1e-8 * row.largest) for row in rows]
    assert "0 of 0 states away from kinks within 1e-7" in linearize.table(near)


def test_command(tmp_path):
    folder, out = tmp_path / "models", tmp_path / "out"
    folder.mkdir()
    (folder / "hopper.xml").write_text(HOPPER, encoding="utf-8")
    words = ["linearize", str(folder), "--quick", "--steps", "100", "--out", str(out)]
    assert main([*words, "--models", "hopper"]) == 0
    assert (out / "linearize.txt").read_text(encoding="utf-8").startswith("model")
    assert main([*words, "--models", "walker"]) == 2


def test_runs_and_their_gradients(tmp_path, capsys):
    assert main(["gradients", str(tmp_path), "--quick"]) == 2
    assert "has no folder `models`" in capsys.readouterr().err
    model = mujoco.MjModel.from_xml_string(run_gradients.PUSHED)
    by = run_gradients.numbers(model)
    assert len({tuple(number) for number in by}) == 6
    found = sensitivities(Stepper(model), mujoco.MjData(model), n_steps=2, parameters=by)
    assert found.X.shape == (2, 6, 6)


def test_calls_from_matrices():
    found = dense_calls.lines(1, 1)
    names = [line.split(":")[0].removeprefix("solve_dense by ") for line in found]
    assert names == list(dense_calls.WAYS)
    for line in found:
        whole, inside = (float(part.split()[0]) for part in line.split(": ")[1].split(", ")[:2])
        assert whole > inside > 0.0


def test_pucks_within_frameworks():
    pytest.importorskip("torch", reason="needs torch: make test-bridges")
    pytest.importorskip("jax", reason="needs jax: make test-bridges")
    stepper = Stepper(mujoco.MjModel.from_xml_string(bridge_runs.PUCK))
    controls = np.random.default_rng(0).standard_normal((3, 2, 1))
    one, other = (make(stepper, controls)() for make in (bridge_runs.by_torch, bridge_runs.by_jax))
    assert one.shape == controls.shape
    np.testing.assert_allclose(one, other, rtol=1e-12)
    v_star = np.array([[1.0, 0.0, -1.0], [0.0, 1.0, -2.0]])
    one, other = (f(v_star)() for f in (bridge_runs.solves_by_torch, bridge_runs.solves_by_jax))
    np.testing.assert_allclose(one, other, rtol=1e-12)
    found = bridge_runs.lines(1, 2, 2, 2)
    names = [line.split(":")[0].split()[-1] for line in found]
    assert names == ["PyTorch", "PyTorch", "JAX", "JAX"]


def test_a_framework_that_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "jax", None)
    found = bridge_runs.lines(1, 2, 2, 2)
    assert len(found) == 2
    assert found[0].startswith("PyTorch: ")
    assert found[1].startswith("JAX: ")

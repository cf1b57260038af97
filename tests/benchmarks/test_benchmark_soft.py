"""Soft bodies beside recorded runs of Drake: the rules, and a run of the command."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

import numpy as np
import pytest

from benchmarks import command, soft, soft_cloth, soft_problems, soft_scale, soft_speed
from benchmarks.rows import read
from benchmarks.soft_free import FreeBox, FreeBoxWorld
from sapwood import PressureField, fem

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
        "press_free_linear_corotated",
    ],
)
def test_runs_of_drake_are_repeated(name):
    rows = soft.replay(FOLDER / f"{name}.npz")
    assert rows
    for row in rows:
        assert row.holds, row


@needs_runs
def test_scenes_that_are_not_supported_are_named(tmp_path):
    with np.load(FOLDER / "press_free_linear_corotated.npz") as data:
        arrays = {name: data[name] for name in data.files}
    scene = json.loads(str(arrays["scene"]))
    scene["rigid"].reverse()
    np.savez(tmp_path / "free.npz", **{**arrays, "scene": json.dumps(scene)})
    assert "comes last" in soft.Run(tmp_path / "free.npz").reason
    assert soft.replay(tmp_path / "free.npz") == []


def free_scene(rng, time_step):
    """A turning box and a soft cube without gravity, which meet."""
    size = [0.12, 0.1, 0.08]
    shape = PressureField(modulus=1e6).box(size)
    q = np.concatenate([rng.normal(size=4), [0.0, 0.0, 0.115]])
    q[:4] *= 0.9 / np.linalg.norm(q[:4])
    v = np.concatenate([rng.normal(size=3), [0.1, 0.05, -0.5]])
    box = FreeBox(shape, size, 2.0, q, v, name="box", dissipation_time=0.01)
    rubber = fem.Material(young=1e5, poisson=0.3, density=1000.0)
    cube = fem.SoftBody(fem.box([0.1] * 3, 3), rubber, name="cube")
    return FreeBoxWorld([cube], rigid=[box], gravity=[0, 0, 0], time_step=time_step), box, cube


def test_a_free_box_takes_the_momentum_that_the_soft_body_loses(rng):
    world, box, cube = free_scene(rng, 1e-3)

    def momenta():
        linear = box.total_mass * box.v[3:]
        R = box.pose[:3, :3]
        spin = R @ (box.inertia * (R.T @ box.v[:3])) + np.cross(box.pose[:3, 3], linear)
        return np.array([linear + cube.momentum, spin + cube.angular_momentum])

    start, pushed = momenta(), 0.0
    for _ in range(60):
        touches = world.step().touches
        pushed += world.time_step * sum(np.linalg.norm(each.force) for each in touches)
    assert pushed > 0.1
    linear, angular = np.abs(momenta() - start).max(axis=1)
    assert linear < 1e-12
    # explicit turning and gyroscopic forces are of first order in the time step
    assert angular < 5e-4 * pushed


def test_a_free_box_turns_as_its_quaternion_says(rng):
    world, box, _ = free_scene(rng, 1e-5)
    before, points = box.pose.copy(), rng.normal(size=(5, 3))
    velocities = box.jacobian(points) @ box.v
    box.move(box.v, world.time_step)
    there = (points - before[:3, 3]) @ before[:3, :3] @ box.pose[:3, :3].T + box.pose[:3, 3]
    np.testing.assert_allclose((there - points) / world.time_step, velocities, rtol=0, atol=1e-3)
    with pytest.raises(ValueError, match="rigid: must be bodies at rest and a free box"):
        FreeBoxWorld(world.bodies, rigid=[fem.RigidBody(box.shape)])


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

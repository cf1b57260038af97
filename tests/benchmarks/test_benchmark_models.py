"""The benchmark over a folder of models: files, measures, trials, tables."""

from __future__ import annotations

import lzma
import math

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from benchmarks import rows
from benchmarks.models import files, quality, report, speed, trials
from benchmarks.models.measures import Gauge

BALL = """
<mujoco model="ball"><option timestep="0.002"/><worldbody><geom type="plane" size="1 1 1"/>
  <body pos="0 0 .1"><freejoint/><geom size=".1" mass="2"/></body></worldbody>
  <keyframe><key qpos="0 0 .09 1 0 0 0" qvel="3 0 0 0 0 0"/></keyframe></mujoco>"""

ARM = """
<mujoco model="arm"><option timestep="0.002"/>
  <worldbody>
    <body><joint name="a" axis="0 1 0" range="-20 60" limited="true"/>
      <geom type="capsule" fromto="0 0 0 .5 0 0" size=".03" contype="0"/>
      <body pos=".5 0 0"><joint type="ball" range="0 30" limited="true"/>
        <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03" contype="0"/></body></body>
    <body pos="0 1 0"><joint type="slide" axis="1 0 0" damping="2"/>
      <geom size=".1" contype="0"/></body>
  </worldbody>
  <equality><joint joint1="a" polycoef=".1 0 0 0 0" active="false"/></equality>
  <actuator><motor joint="a" ctrlrange="2 3" ctrllimited="true"/><motor joint="a"/></actuator>
</mujoco>"""


@pytest.fixture
def folder(tmp_path):
    """The same ball in all formats, and an arm below it."""
    (tmp_path / "more").mkdir()
    (tmp_path / "a.xml").write_text(BALL)
    (tmp_path / "more" / "arm.xml").write_text(ARM)
    (tmp_path / "notes.txt").write_text("no model")
    mujoco.mj_saveModel(mujoco.MjModel.from_xml_string(BALL), str(tmp_path / "b.mjb"))
    packed = lzma.compress((tmp_path / "b.mjb").read_bytes())
    (tmp_path / "c.mjb.xz").write_bytes(packed)
    return tmp_path


def test_files_of_all_formats_are_found_and_read(folder):
    found = files.find(folder)
    assert [files.name_of(path) for path in found] == ["a", "b", "c", "arm"]
    for path in found[:3]:
        model = files.load(path)
        assert (model.nv, model.nkey) == (6, 1)
        assert files.start(model).qpos[2] == 0.09
    assert files.start(files.load(found[3])).time == 0.0


def test_measures_of_a_state():
    model = mujoco.MjModel.from_xml_string(ARM)
    gauge, data = Gauge(model), mujoco.MjData(model)
    data.qpos[0] = np.deg2rad(70.0)
    half = np.deg2rad(100.0) / 2
    data.qpos[1:5] = -np.cos(half), 0.0, np.sin(half), 0.0
    data.eq_active[0] = 1
    data.qvel[-1] = 4.0
    before = data.qpos.copy()
    reading = gauge.read(data)
    np.testing.assert_array_equal(data.qpos, before)
    np.testing.assert_allclose(reading.limit, np.deg2rad(70.0))  # of the ball joint
    np.testing.assert_allclose(reading.equality, np.deg2rad(70.0) - 0.1)
    np.testing.assert_allclose(reading.kinetic, 0.5 * model.body_mass[3] * 16.0)
    assert reading.penetration == 0.0
    data.qpos[1:5] = 1.0, 0.0, 0.0, 0.0
    np.testing.assert_allclose(gauge.read(data).limit, np.deg2rad(10.0))
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_LIMIT
    assert Gauge(model).read(data).limit == 0.0


def test_free_model_neither_loses_nor_gains():
    """The slide's damper is off; a free arm keeps its energy but for what its integrator does."""
    model = mujoco.MjModel.from_xml_string(ARM)
    trial = trials.Trial(model, "arm", trials.FREE, 200)
    for course in (trial.ours(), trial.mujocos(), trial.recommended()):
        assert course.status == trials.RAN
        assert course.steps == 200
        total = course.series("kinetic") + course.series("potential")
        assert course.series("kinetic").max() > 0.1
        assert np.ptp(total) < 0.02 * course.series("kinetic").max()
    assert not model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_CONTACT


def test_row_of_a_model(folder):
    row = quality.measure(str(folder / "c.mjb.xz"), trials.ZERO, 100)
    assert (row.file, row.nv, row.trees, row.integrator) == ("c", 6, 1, "euler")
    assert (row.status, row.status_mj, row.status_recommended, row.steps) == (*["ran"] * 3, 100)
    np.testing.assert_allclose(row.penetration_start, 0.01)
    assert row.penetration < row.penetration_start
    assert row.kinetic >= 9.0
    np.testing.assert_allclose(row.ratio, row.kinetic / row.kinetic_mj, rtol=1e-3)
    np.testing.assert_allclose(
        row.ratio_recommended, row.kinetic / row.kinetic_recommended, rtol=1e-3
    )
    assert math.isnan(row.drift)
    assert row.iterations >= 1
    free = quality.measure(str(folder / "c.mjb.xz"), trials.FREE, 100)
    assert abs(free.drift) < 0.01
    assert free.penetration == 0.0


@pytest.mark.slow
def test_quick_runs(folder, quick):
    quick("models", folder)
    out, printed = quick("models", folder, "--speed")
    assert "speed over mj_step" in printed.out
    measured = rows.read(out / "models.csv", quality.Row)
    assert [(row.file, row.controls) for row in measured] == [
        (name, controls) for name in "ab" for controls in trials.CONTROLS
    ]
    assert {row.status for row in measured} == {"ran"}
    timed = rows.read(out / "models_speed.csv", speed.Row)
    assert [(row.file, row.controls) for row in timed] == [
        (name, controls) for name in "ab" for controls in (trials.ZERO, trials.RANDOM)
    ]
    for row in timed:
        assert row.solve > 0.0
        assert row.step > 0.0
        np.testing.assert_allclose(row.speed, row.step_mj / row.step, rtol=0.01)
        np.testing.assert_allclose(row.single_speed, row.single_mj / row.single, rtol=0.01)


@pytest.mark.nightly
@pytest.mark.skipif(files.default_folder() is None, reason="SAPWOOD_DATA names no models")
@pytest.mark.parametrize(
    "name",
    [
        "brax__assets_humanoid",
        "dm_control_suite__suite_cheetah",
        "menagerie__shadow_hand_scene_left",
        "menagerie__unitree_h1_scene",
        "mujoco_model__replicate_newton_cradle",
        "robosuite__ur5e_robot",
    ],
)
def test_models_of_the_folder_run_and_are_not_fired(name):
    path = files.default_folder() / f"{name}.mjb.xz"
    for controls in trials.CONTROLS:
        row = quality.measure(str(path), controls, 500)
        assert (row.status, row.steps) == ("ran", 500)
        assert not report.fired(row)
        if controls != trials.FREE:
            assert row.penetration <= max(row.penetration_mj, 1e-4)
            assert row.limit <= max(row.limit_mj, 1e-4)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=files.name_of(path)) for path in files.find(files.default_folder())]
    if files.default_folder()
    else [],
)
def test_every_model_of_the_folder_runs(path, tmp_path, monkeypatch):
    """With zero and random controls, to the end."""
    monkeypatch.chdir(tmp_path)  # MuJoCo leaves a log file
    model = files.load(path)
    for controls in (trials.ZERO, trials.RANDOM):
        course = trials.Trial(model, files.name_of(path), controls, 500).ours()
        assert course.status == trials.RAN, course.reason
        assert course.steps == 500
        assert np.isfinite(course.series("kinetic")).all()

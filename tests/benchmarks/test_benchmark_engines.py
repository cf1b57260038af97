"""The comparison of engines: the same scene in each, what is measured, and its files."""

from __future__ import annotations

import math

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from benchmarks import rows
from benchmarks.engines import comparison, quality, scenes
from sapwood.studies.engines import CannotSimulate, load
from sapwood.studies.engines.base import free_velocity


def engines():
    """The installed engines."""
    for name in comparison.ENGINES:
        try:
            yield name, load(name)
        except ImportError:
            continue


INSTALLED = dict(engines())


@pytest.fixture(params=INSTALLED)
def engine(request):
    return INSTALLED[request.param]


def test_every_engine_starts_at_the_start(engine):
    scene = scenes.make("open-5", 0.1)
    scene.qvel[:] = np.arange(30.0) / 10
    data = mujoco.MjData(scene.model)
    data.qpos[:] = 0.0
    simulation = engine(scene)
    simulation.read(data)
    np.testing.assert_allclose(data.qvel, scene.qvel, atol=1e-12)
    signs = np.sign(data.qpos.reshape(5, 7)[:, 3:4] * scene.model.qpos0.reshape(5, 7)[:, 3:4])
    found = data.qpos.reshape(5, 7).copy()
    found[:, 3:] *= signs
    np.testing.assert_allclose(found, scene.model.qpos0.reshape(5, 7), atol=1e-12)
    simulation.close()


def test_every_engine_falls_alike(engine):
    """Symplectic Euler in the air: v = -g t, z = z0 - g t (t + dt)/2."""
    scene = scenes.make("open-4", 0.1)
    scene.model.qpos0[2::7] += 5.0
    before, data = scene.model.qpos0.reshape(4, 7)[:, 2], mujoco.MjData(scene.model)
    simulation = engine(scene)
    simulation.advance(3)
    simulation.advance(2)
    simulation.read(data)
    simulation.close()
    np.testing.assert_allclose(data.time, 0.05)
    np.testing.assert_allclose(data.qvel.reshape(4, 6)[:, 2], -9.81 * 0.05, rtol=1e-6)
    fallen = before - data.qpos.reshape(4, 7)[:, 2]
    np.testing.assert_allclose(fallen, 9.81 * 0.05 * 0.06 / 2, rtol=1e-3)


def test_every_engine_knows_friction(engine):
    """A box that is pushed with less than its friction stays; its weight does not sink it."""
    slide = scenes.Slide(mass=2.0, mu=0.5, force=5.0, speed=0.0)
    scene = scenes.Scene("push", scenes.make("push").model, 0.2, np.zeros(6), slide)
    simulation, data = engine(scene), mujoco.MjData(scene.model)
    simulation.advance(100)
    simulation.read(data)
    simulation.close()
    assert abs(data.qpos[0]) < 2e-3
    assert abs(quality.lowest(scene.model, data)) < 2e-3


def test_every_engine_stands_the_robot(engine):
    """Springs, dampers, armature and masses are the same: so is where it comes to rest."""
    scene = scenes.make("quadrupeds-1")
    data = mujoco.MjData(scene.model)
    if "bullet" in engine.__module__:
        with pytest.raises(CannotSimulate, match="springs"):
            engine(scene)
        return
    simulation = engine(scene)
    simulation.advance(scene.steps)
    simulation.read(data)
    simulation.close()
    ours = mujoco.MjData(scene.model)
    reference = INSTALLED["sapwood-convex"](scene)
    reference.advance(scene.steps)
    reference.read(ours)
    np.testing.assert_allclose(data.qpos[2], ours.qpos[2], atol=5e-3)
    np.testing.assert_allclose(data.qpos[7:], ours.qpos[7:], atol=0.05)
    assert np.abs(data.qvel).max() < 0.2


def test_exact_speed_of_a_slide():
    assert scenes.SLIDES["push"].exact(2.0) == pytest.approx(2.0 * (6.0 - 0.5 * 9.81))
    assert scenes.SLIDES["brake"].exact(0.1) == pytest.approx(2.0 - 0.8 * 9.81 * 0.1)
    assert scenes.SLIDES["brake"].exact(1.0) == 0.0


def test_velocity_of_a_free_joint():
    rotation = np.empty(9)
    mujoco.mju_quat2Mat(rotation, np.array([1.0, 1.0, 0.0, 0.0]) / math.sqrt(2.0))
    found = free_velocity(rotation.reshape(3, 3), np.array([0.0, 0.0, 1.0]), np.array([1.0, 2, 3]))
    np.testing.assert_allclose(found, [1, 2, 3, 0, 1, 0], atol=1e-15)


def test_what_is_watched():
    scene = scenes.make("brake", 1.0)
    watch, data = quality.Watch(scene), mujoco.MjData(scene.model)
    for time, height, speed in ((0.0, 0.01, 2.0), (0.1, 0.03, 1.0), (0.2, 0.009, 0.5)):
        data.time, data.qpos[2], data.qvel[0] = time, height, speed
        watch.see(data)
    found = watch.measures()
    np.testing.assert_allclose(found["clearance"], 0.02)
    np.testing.assert_allclose(found["penetration"], 0.001)
    np.testing.assert_allclose(found["speed_error"], 2.0 - 0.8 * 9.81 * 0.1 - 1.0)
    assert found["gain"] == 0.0
    assert math.isnan(found["slip"])
    data.qvel[0] = 3.0
    watch.see(data)
    np.testing.assert_allclose(watch.measures()["gain"], 9.0 - 0.25)


def test_slip_is_the_speed_of_contact_points():
    """A ball that rolls does not slip, one that spins does."""
    scene = scenes.make("open-1", 0.1)
    model = scene.model
    gauge, data = quality.Gauge(model), mujoco.MjData(model)
    radius = float(model.geom_rbound[model.body_geomadr[1]])
    if model.geom_type[model.body_geomadr[1]] == mujoco.mjtGeom.mjGEOM_BOX:
        radius = float(model.geom_size[model.body_geomadr[1], 2])
    data.qpos[:7] = 0, 0, radius - 1e-6, 1, 0, 0, 0
    data.qvel[:] = 0.3, 0, 0, 0, 0.3 / radius, 0
    gauge.read(data)
    np.testing.assert_allclose(gauge.slip(), 0.0, atol=1e-5)
    data.qvel[4] = 0.0
    gauge.read(data)
    np.testing.assert_allclose(gauge.slip(), 0.3, rtol=1e-9)
    data.qpos[2] = 1.0
    gauge.read(data)
    assert math.isnan(gauge.slip())


@pytest.mark.slow
def test_quick_run(quick):
    measured = rows.read(quick("engines")[0] / "engines.csv", comparison.Row)
    assert {row.engine for row in measured} == set(INSTALLED)
    assert {row.status for row in measured} == {"ran"}

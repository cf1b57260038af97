"""The comparison of engines: the same scene in each, what is measured, and its files."""

from __future__ import annotations

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from benchmarks import rows
from benchmarks.engines import comparison, quality, scenes
from sapwood.studies.engines import CannotSimulate, load


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


@pytest.mark.slow
def test_quick_run(quick):
    measured = rows.read(quick("engines")[0] / "engines.csv", comparison.Row)
    assert {row.engine for row in measured} == set(INSTALLED)
    assert {row.status for row in measured} == {"ran"}

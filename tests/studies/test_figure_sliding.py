"""Requirements of the figure of sliding contacts, on its quick CSV file."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("mujoco")

from sapwood.studies.experiments.figures import make_figure
from sapwood.studies.experiments.sliding import (
    GRAVITY,
    MASS,
    MU,
    OUR_LAWS,
    SIGMA,
    exact_speed,
)
from sapwood.studies.plotting import read_steps, select

pytestmark = pytest.mark.slow

STEPS = (0.002, 0.01)
WEIGHT = MASS * GRAVITY


@pytest.fixture(scope="module")
def result(quick_results):
    return make_figure("sliding", quick_results, quick=True, progress=False)


@pytest.fixture
def run(result):
    """Rows of one scene under one law."""
    rows = read_steps(result.sweeps[0].csv)
    return lambda scene, law, dt: select(rows, scene=scene, law=law, dt=dt)


@pytest.mark.parametrize("dt", STEPS)
@pytest.mark.parametrize("scene", ["push", "brake"])
def test_exact_friction_keeps_the_box_on_the_floor(run, scene, dt):
    """Neither hop nor gap; the weight is carried in every step but the first, in which the box
    sinks into the floor; and the speed is Coulomb's.
    """
    rows = run(scene, "coulomb", dt)
    assert rows["clearance"].max() < 1e-4
    assert not rows["unconverged"].any()
    assert np.abs(rows["force"][1:] / WEIGHT - 1).max() < 0.01
    exact = exact_speed(scene, rows["time"])
    slides = exact > 0.0
    assert np.abs(rows["speed"] - exact)[slides].max() < 1e-3 * exact.max()


@pytest.mark.parametrize("dt", STEPS)
@pytest.mark.parametrize("scene", ["push", "brake"])
def test_the_convex_law_hops(run, scene, dt):
    rows = run(scene, "convex", dt)
    assert rows["clearance"].max() > 1e-3
    assert np.mean(rows["force"] == 0.0) > 0.2


@pytest.mark.parametrize("dt", STEPS)
def test_mujoco_as_recommended_creeps_less_and_hops(run, dt):
    """The manual's settings are against slip. The cone is the same, and with it the gliding."""
    for scene in ("push", "brake"):
        rows = run(scene, "mujoco-recommended", dt)
        assert rows["clearance"].max() > 1e-3
        assert np.mean(rows["force"] == 0.0) > 0.2
    creep, by_default = (
        run("grip", law, dt)["speed"][-1] for law in ("mujoco-recommended", "mujoco")
    )
    assert SIGMA * MU["grip"] * dt * GRAVITY < creep < 0.2 * by_default


@pytest.mark.parametrize("dt", STEPS)
def test_creep_of_a_held_weight_is_bounded(run, dt):
    """(23) for every law of ours; MuJoCo's at its defaults creep a hundred times as fast."""
    bound = SIGMA * MU["grip"] * dt * GRAVITY
    for law in OUR_LAWS:
        rows = run("grip", law, dt)
        late = rows["speed"][rows["time"] > 0.5]
        assert 0.0 < late.mean() < bound, law
        assert late.std() < 1e-3 * bound
    assert run("grip", "mujoco", dt)["speed"][-1] > 20 * bound
